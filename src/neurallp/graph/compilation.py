"""How kernels are compiled and run: by numba at their first call, cached on disk, without the GIL.

numba is imported only then. As kernels release the GIL, threads run them on several cores.
"""

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from threading import Lock
from typing import Any, TypeVar, cast

#: Kernels allocate nothing, so they need no reference counting: a fifth less to compile.
OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False, "error_model": "numpy", "no_cfunc_wrapper": True}

F = TypeVar("F", bound=Callable[..., Any])


class LazyKernel:
    """A function that numba compiles at its first call; until then numba is not imported.

    Importing numba and loading a compiled kernel takes longer than answering a few questions in numpy.
    """

    _lock = Lock()

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], *, cached: bool) -> None:
        self._function, self._options, self._cached = function, options, cached
        self._dispatcher: Any = None
        update_wrapper(self, function)

    @property
    def dispatcher(self) -> Any:
        """The numba dispatcher of the function."""
        if self._dispatcher is None:
            with self._lock:
                self._dispatcher = self._dispatcher or self._make_dispatcher()
        return self._dispatcher

    def _make_dispatcher(self) -> Any:
        from numba import njit

        from .kernel_cache import cache_on_disk

        dispatcher = njit(**self._options)(self._function)
        return cache_on_disk(dispatcher) if self._cached else dispatcher

    @property
    def _numba_type_(self) -> Any:
        """The type that numba gives to the function where another kernel calls it."""
        return self.dispatcher._numba_type_

    def __call__(self, *arguments: Any) -> Any:
        return self.dispatcher(*arguments)


def kernel(*fastmath_flags: str) -> Callable[[F], F]:
    """Return a decorator that compiles a function at its first call, caches it on disk and releases the GIL.

    `fastmath_flags` are the liberties that LLVM may take with sums and products.
    """
    return compiled(**OPTIONS, fastmath=set(fastmath_flags), cache=True)


def kernel_function(*fastmath_flags: str) -> Callable[[F], F]:
    """Return a decorator for functions that only kernels call, not Python: they compile in half the time."""
    return compiled(**OPTIONS, fastmath=set(fastmath_flags), no_cpython_wrapper=True)


def compiled(*, cache: bool = False, **options: Any) -> Callable[[F], F]:
    """Return a decorator that compiles a function with options of numba's `njit` at its first call."""

    def decorate(function: F) -> F:
        return cast(F, LazyKernel(function, options, cached=cache))

    return decorate


@contextmanager
def fast_compile() -> Iterator[None]:
    """Make numba compile in less time.

    The last level of LLVM's optimisations gains little in loops that wait for memory (without the second
    level they take up to twice as long). The garbage collector is off because the compiler's objects all
    stay in use.
    """
    import numba

    config: Any = numba.config
    level, collecting = config.OPT, gc.isenabled()
    config.OPT = type(level)(2)  # not a plain int: numba may start its code generator here
    gc.disable()
    try:
        yield
    finally:
        config.OPT = level
        if collecting:
            gc.enable()


def num_cores() -> int:
    """Return the cores that this process may use; on some systems only the number of all is known."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
