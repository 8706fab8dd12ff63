"""The shape of the code: short functions and files, few parameters and layers, tests that mirror the tree."""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "neurallp"
FILES = sorted(PACKAGE.rglob("*.py"))

MAX_FUNCTION_LINES, MAX_FILE_LINES, MAX_PARAMETERS = 40, 400, 7
MAX_ROOT_ENTRIES, MAX_LAYERS = 19, 8

#: Folders of tests that have no package of the same name.
EXTRA_TEST_FOLDERS = {"docs"}

#: What is over a limit and should not be: {place: size}. Remove a line when its place is mended.
KNOWN_LONG_FUNCTIONS: dict[str, int] = {}
KNOWN_LONG_FILES: dict[str, int] = {}
KNOWN_MANY_PARAMETERS: dict[str, int] = {}


def name_of(path):
    return path.relative_to(PACKAGE).as_posix()


def functions(path):
    """Yield the functions of a file, nested ones and methods included."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def code_lines(function, lines):
    """Return the number of lines of a body that are neither docstring, comment nor blank."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not body:
        return 0
    text = lines[body[0].lineno - 1 : function.end_lineno]
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in text)


def num_parameters(function):
    """Return how many parameters a function has, without `self` and `cls`."""
    given = function.args
    names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def check_limit(measured, limit, known):
    """Fail where something is over a limit and not known, and where something known has been mended."""
    over = {place: size for place, size in measured if size > limit}
    new = {place: size for place, size in over.items() if size > known.get(place, limit)}
    assert not new, f"over {limit}: {new}"
    assert not known.keys() - over.keys(), f"mended, remove from the list: {known.keys() - over.keys()}"


def test_no_function_is_longer_than_its_limit():
    measured = [
        (
            f"{name_of(path)}:{function.name}",
            code_lines(function, path.read_text(encoding="utf-8").splitlines()),
        )
        for path in FILES
        for function in functions(path)
    ]
    assert len(measured) > 500
    check_limit(measured, MAX_FUNCTION_LINES, KNOWN_LONG_FUNCTIONS)


def test_no_file_is_longer_than_its_limit():
    measured = [(name_of(path), len(path.read_text(encoding="utf-8").splitlines())) for path in FILES]
    check_limit(measured, MAX_FILE_LINES, KNOWN_LONG_FILES)


def is_exempt(path):
    """Return whether functions of a file may have many parameters: commands and kernels."""
    return path.is_relative_to(PACKAGE / "cli") or path.stem.endswith("kernels")


def test_no_function_outside_the_command_line_and_kernels_has_more_parameters_than_its_limit():
    measured = [
        (f"{name_of(path)}:{function.name}", num_parameters(function))
        for path in FILES
        if not is_exempt(path)
        for function in functions(path)
    ]
    check_limit(measured, MAX_PARAMETERS, KNOWN_MANY_PARAMETERS)


@pytest.mark.parametrize("mark", ["TO" + "DO", "FIX" + "ME", "X" * 3])
def test_there_are_no_marks_of_unfinished_work(mark):
    folders = [PACKAGE, ROOT / "tests", ROOT / "benchmarks"]
    found = [path for folder in folders for path in folder.rglob("*.py") if mark in path.read_text("utf-8")]
    assert not found


def test_the_package_root_has_few_entries():
    left_out = {"__init__.py", "py.typed", "__pycache__"}
    entries = sorted(path.name for path in PACKAGE.iterdir() if path.name not in left_out)
    assert len(entries) <= MAX_ROOT_ENTRIES, entries


def test_there_are_few_layers_and_every_package_is_in_one():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (each for each in settings["tool"]["importlinter"]["contracts"] if each["type"] == "layers")
    assert len(contract["layers"]) <= MAX_LAYERS
    assert contract["exhaustive"]


def test_every_folder_of_tests_is_a_package_of_the_source():
    folders = [path for path in (ROOT / "tests").rglob("*") if path.is_dir() and path.name != "__pycache__"]
    names = {path.relative_to(ROOT / "tests").as_posix() for path in folders if any(path.glob("test_*.py"))}
    assert {name for name in names if not (PACKAGE / name).is_dir()} == EXTRA_TEST_FOLDERS


def test_every_package_has_tests():
    packages = [path for path in PACKAGE.iterdir() if (path / "__init__.py").exists()]
    assert [path.name for path in packages if not any((ROOT / "tests" / path.name).rglob("test_*.py"))] == []
