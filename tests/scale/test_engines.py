"""Engines that cannot be opened say why."""

from importlib.util import find_spec

import pytest

from neurallp.errors import ConfigError
from neurallp.scale.engines import open_engine, open_session


def test_an_unknown_engine_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="duckdb or spark"), open_engine("sqlite", tmp_path, memory="1GB"):
        pass


@pytest.mark.skipif(find_spec("grpc") is not None, reason="the client of Spark Connect is installed")
def test_spark_connect_without_its_client_names_what_to_install():
    pytest.importorskip("pyspark", reason="Spark is not installed: pip install 'neurallp[spark]'")
    with pytest.raises(ConfigError, match=r"pyspark\[connect\]"), open_session("sc://localhost:1"):
        pass
