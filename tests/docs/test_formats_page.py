import re
from pathlib import Path

import pytest

from neurallp.io.rules import EXPORTS, IMPORTS
from neurallp.io.triples import READERS, WRITERS

PAGE = (Path(__file__).parent.parent.parent / "docs" / "formats.md").read_text()


def test_the_example_runs():
    for library in ("networkx", "pandas", "polars", "pyarrow"):
        pytest.importorskip(library, reason=f"{library} is not installed: pip install 'neurallp[formats]'")
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(code, {})


def test_every_format_is_told():
    for suffix in {*READERS, *WRITERS}:
        assert f"`{suffix}`" in PAGE
    told = dict(re.findall(r"^\| `(\w+)` \| (both|in|out) \|", PAGE, re.MULTILINE))
    assert {name for name, way in told.items() if way != "in"} == set(EXPORTS)
    assert {name for name, way in told.items() if way != "out"} == set(IMPORTS)
