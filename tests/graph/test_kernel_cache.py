"""Compiled kernels are found again, and a cache that cannot be used is never an error."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from samples import KERNEL_PROGRAM

from neurallp.graph import kernel_cache

KERNELS = (
    KERNEL_PROGRAM
    + """stats = double.dispatcher.stats
print(values.tolist(), sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""
)


def run(tmp_path, cache):
    script = tmp_path / "own_kernels.py"
    script.write_text(KERNELS)
    environment = os.environ | {"NEURALLP_CACHE": str(cache), "TMPDIR": str(tmp_path)}
    found = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment)
    assert found.returncode == 0, found.stderr
    return found.stdout.strip(), found.stderr


@pytest.fixture(autouse=True)
def fresh():
    yield
    kernel_cache.kernel_folder.cache_clear()


def test_a_second_run_loads_what_the_first_compiled_and_a_damaged_entry_is_compiled_again(tmp_path):
    cache = tmp_path / "cache"
    assert run(tmp_path, cache) == ("[0, 2, 4] 0 1", "")
    assert run(tmp_path, cache) == ("[0, 2, 4] 1 0", "")
    for index in cache.rglob("*.nbi"):
        content = index.read_bytes()
        index.write_bytes(content[: len(content) // 2])
    assert run(tmp_path, cache) == ("[0, 2, 4] 0 1", "")
    assert run(tmp_path, cache) == ("[0, 2, 4] 1 0", "")


def test_the_folder_is_named_by_the_kernel_sources(tmp_path, monkeypatch):
    monkeypatch.setenv("NEURALLP_CACHE", str(tmp_path))
    folder = kernel_cache.kernel_folder.__wrapped__()
    assert folder == tmp_path / "kernels" / kernel_cache.source_hash()
    modules = {path.name for path in kernel_cache._kernel_modules(Path(kernel_cache.__file__).parents[1])}
    assert {"cpu_kernels.py", "cpu_kernel_arrays.py", "fitting_kernels.py", "compilation.py"} <= modules


def test_every_module_with_a_kernel_names_the_folder():
    package = Path(kernel_cache.__file__).parents[1]
    decorated = {
        path
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        if {ast.unparse(each).split("(")[0] for each in node.decorator_list} & {"kernel", "kernel_function"}
    }
    assert {"unary.py", "adam_kernels.py", "shared_neighbours_kernels.py"} <= {
        each.name for each in decorated
    }
    assert decorated <= set(kernel_cache._kernel_modules(package))


def test_a_place_that_cannot_be_written_to_gives_way_to_the_temporary_folder(tmp_path, monkeypatch):
    taken = tmp_path / "file"
    taken.touch()
    monkeypatch.setenv("NEURALLP_CACHE", str(taken))
    monkeypatch.setattr(kernel_cache, "_temporary_roots", lambda: [tmp_path / "temporary"])
    with pytest.warns(UserWarning, match=r"Cannot write to .*file.*kept in .*temporary"):
        folder = kernel_cache.kernel_folder.__wrapped__()
    assert folder.is_relative_to(tmp_path / "temporary")


def test_where_no_place_can_be_written_to_nothing_is_cached(tmp_path, monkeypatch):
    taken = tmp_path / "file"
    taken.touch()
    monkeypatch.setenv("NEURALLP_CACHE", str(taken))
    monkeypatch.setattr(kernel_cache, "_temporary_roots", lambda: [taken])
    with pytest.warns(UserWarning, match="compiled in every run"):
        assert kernel_cache.kernel_folder.__wrapped__() is None


def test_folders_of_other_versions_are_removed_when_they_are_old(tmp_path, monkeypatch):
    monkeypatch.setenv("NEURALLP_CACHE", str(tmp_path))
    old, recent = tmp_path / "kernels" / "old", tmp_path / "kernels" / "recent"
    for folder in (old, recent):
        folder.mkdir(parents=True)
    os.utime(old, (0, 0))
    kernel_cache.kernel_folder.__wrapped__()
    assert recent.exists()
    assert not old.exists()


def test_the_cpu_engine_compiles_in_a_process_that_has_compiled_nothing_before(tmp_path):
    script = "from neurallp.engines.cpu_kernels import compile_kernel; compile_kernel()"
    environment = os.environ | {"NEURALLP_CACHE": str(tmp_path)}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)
    assert [*tmp_path.rglob("cpu_kernels.score_chunk*.nbc")]
