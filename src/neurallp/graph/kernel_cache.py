"""Where compiled kernels are kept: a folder for each version of their source code.

numba checks only whether the file of a kernel itself has changed. A kernel also depends on functions and
tuples of other modules: after an upgrade its old machine code would run, or fail to load. So the name of the
folder is a hash of all kernel modules, and an entry that cannot be loaded is compiled again.
"""

import hashlib
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

caching: Any = import_module("numba.core.caching")  # without type hints

#: Folders of other versions are removed when nothing was added to them for this many seconds.
MAX_AGE = 30 * 24 * 3600


def cache_on_disk(dispatcher: Any) -> Any:
    """Return a numba function that loads its compiled code from disk, if there is a folder to keep it in."""
    if kernel_folder() is not None:
        dispatcher._cache = _KernelCache(dispatcher.py_func)
    return dispatcher


@cache
def kernel_folder() -> Path | None:
    """Return the folder of this version's kernels; None where no place can be written to.

    It is in the folder that NEURALLP_CACHE names, or in the user's cache; if that cannot be written to, in
    the folder for temporary files.
    """
    name = source_hash()
    preferred = _cache_root() / "kernels"
    for root in (preferred, *(folder / "kernels" for folder in _temporary_roots())):
        if _is_usable(root / name):
            break
    else:
        warnings.warn(f"Cannot write to {preferred}: kernels are compiled in every run.", stacklevel=2)
        return None
    if root != preferred:
        warnings.warn(f"Cannot write to {preferred}: compiled kernels are kept in {root}.", stacklevel=2)
    return root / name


@cache
def source_hash() -> str:
    """Return a hash of all modules of this package that define kernels."""
    digest = hashlib.sha256()
    for path in sorted(_kernel_modules(Path(__file__).parents[1])):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _kernel_modules(package: Path) -> Iterator[Path]:
    """Yield the modules that define kernels or their arrays; not all are recognised by their name."""
    yield Path(__file__).with_name("compilation.py")
    for path in package.rglob("*.py"):
        if "kernel" in path.stem or b"\n@kernel" in path.read_bytes():
            yield path


def _cache_root() -> Path:
    if named := os.environ.get("NEURALLP_CACHE"):
        return Path(named)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "neurallp"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "neurallp"


def _temporary_roots() -> list[Path]:
    """Return the folder for this user's temporary files; none where the system is read-only."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    try:
        return [Path(tempfile.gettempdir()) / f"neurallp-{user}"]
    except FileNotFoundError:
        return []


def _is_usable(folder: Path) -> bool:
    """Return whether files can be written to a folder, which is made if need be, and this user owns it."""
    if not folder.is_dir():
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # another process may make it now
            _remove_old_folders(folder.parent)
        except OSError:
            return False
    return os.access(folder, os.W_OK) and (not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid())


def _remove_old_folders(root: Path) -> None:
    oldest = time.time() - MAX_AGE
    for folder in root.iterdir():
        if folder.stat().st_mtime < oldest:
            shutil.rmtree(folder, ignore_errors=True)


class _Locator(caching._CacheLocator):  # type: ignore[misc]
    """Tells numba the folder of a kernel's compiled code."""

    def __init__(self, function: Any, file: str) -> None:
        self._place = f"{Path(file).parent.name}-{function.__code__.co_firstlineno}"
        self._py_file = file

    def get_cache_path(self) -> str:
        return str(kernel_folder())

    def get_source_stamp(self) -> str:
        return source_hash()

    def get_disambiguator(self) -> str:
        return self._place

    @classmethod
    def from_function(cls, function: Any, file: str) -> "_Locator":
        return cls(function, file)


class _KernelCacheFiles(caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)


class _KernelCache(caching.FunctionCache):  # type: ignore[misc]
    """numba's cache of one function; an entry that cannot be loaded or saved is no error."""

    _impl_class = _KernelCacheFiles

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the compiled function, or None to have it compiled."""
        try:
            return super().load_overload(signature, target_context)
        except Exception:  # whatever unpickling raises: the entry is damaged or from another version
            self._discard()
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Save a compiled function; a full disk only means that the next run compiles it again."""
        try:
            super().save_overload(signature, compiled)
        except OSError:
            self.disable()

    def _discard(self) -> None:
        try:
            self.flush()
        except OSError:
            self.disable()
