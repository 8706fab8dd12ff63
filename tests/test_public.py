import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import neurallp


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def promised():
    """Return {name: module}, as a type checker reads them."""
    tree = ast.parse(Path(neurallp.__file__).read_text())
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 1)
    return {alias.name: f"neurallp.{node.module}" for node in imports for alias in node.names}


def test_all_is_sorted_and_equals_what_is_exported():
    assert neurallp.__all__ == sorted(promised())


def test_every_name_is_the_one_its_module_defines():
    for name, module in promised().items():
        assert getattr(neurallp, name) is getattr(import_module(module), name)


def test_completion_shows_the_public_names_and_nothing_else():
    assert set(dir(neurallp)) == {*neurallp.__all__, "__version__"}


def test_a_star_import_brings_every_name():
    space = {}
    exec("from neurallp import *", space)
    assert set(neurallp.__all__) == space.keys() - {"__builtins__"}


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'unlearn'"):
        _ = neurallp.unlearn


def test_the_import_costs_neither_torch_nor_numba():
    heavy = "{'torch', 'numba', 'numpy'}"
    assert run(f"import sys, neurallp; print({heavy} & sys.modules.keys())") == "set()\n"
