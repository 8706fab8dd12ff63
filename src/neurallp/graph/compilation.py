"""How numba compiles the kernels: quickly, without the GIL, and cached on disk (`kernel_cache`)."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import numba
from numba import njit

from .kernel_cache import cache_on_disk

#: Kernels allocate nothing, so they need no reference counting, which saves a fifth of the compile time.
OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False, "error_model": "numpy", "no_cfunc_wrapper": True}

F = TypeVar("F", bound=Callable[..., Any])


def kernel(*fastmath_flags: str) -> Callable[[F], F]:
    """Return a decorator for functions that Python calls: compiled at the first call, cached on disk.

    `fastmath_flags` are the liberties that LLVM may take with sums and products.
    """

    def decorate(function: F) -> F:
        return cast(F, cache_on_disk(njit(**OPTIONS, fastmath=set(fastmath_flags))(function)))

    return decorate


def kernel_function(*fastmath_flags: str) -> Callable[[F], F]:
    """Return a decorator for functions that only kernels call; they compile faster, without a wrapper."""
    options = OPTIONS | {"no_cpython_wrapper": True}
    return cast(Callable[[F], F], njit(**options, fastmath=set(fastmath_flags)))


@contextmanager
def fast_compile() -> Iterator[None]:
    """Make numba compile in less time.

    Loops that wait for memory hardly run faster at LLVM's last optimisation level (below the second level
    they take up to twice as long), and the compiler's objects give the garbage collector nothing to free.
    """
    config: Any = numba.config
    level, collecting = config.OPT, gc.isenabled()
    config.OPT = 2
    gc.disable()
    try:
        yield
    finally:
        config.OPT = level
        if collecting:
            gc.enable()
