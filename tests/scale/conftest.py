import os
import sys

import pytest


@pytest.fixture(scope="session")
def spark():
    """One small Spark session for all tests: starting one takes seconds."""
    sql = pytest.importorskip("pyspark.sql", reason="Spark is not installed: pip install 'neurallp[spark]'")
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.sql.adaptive.enabled": "false",
        # The tables have a few rows: compiling statements would take longer than running them.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -Xshare:auto",
        "spark.driver.memory": "1g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    os.environ["PYSPARK_PYTHON"] = sys.executable  # Spark's own choice may be another version
    builder = sql.SparkSession.builder.master("local[1]")
    for key, value in options.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
