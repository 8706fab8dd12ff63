"""How numba compiles the frontier engine's loops: soon done, kept on disk, and free of the GIL."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import numba
from numba import njit

#: Kernels allocate nothing, so they need no counting of references: a fifth less to compile.
OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False, "error_model": "numpy", "no_cfunc_wrapper": True}

F = TypeVar("F", bound=Callable[..., Any])


def kernel(*fastmath_flags: str) -> Callable[[F], F]:
    """Return what compiles a function at its first call, to be kept on disk and free of the GIL.

    `freedoms` are those that LLVM may take with sums and products.
    """
    return cast(Callable[[F], F], njit(**OPTIONS, cache=True, fastmath=set(fastmath_flags)))


def kernel_function(*fastmath_flags: str) -> Callable[[F], F]:
    """Return what compiles a function for kernels to call, not for Python, in half the time."""
    return cast(
        Callable[[F], F], njit(**OPTIONS | {"no_cpython_wrapper": True}, fastmath=set(fastmath_flags))
    )


@contextmanager
def fast_compile() -> Iterator[None]:
    """Have numba compile in less time.

    Loops that wait for memory hardly run faster for the last of LLVM's optimisations (without the second
    level they take up to twice as long), and what the compiler holds on to is no garbage, so looking for it
    is lost time.
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
