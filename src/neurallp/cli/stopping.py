"""How a command ends: errors as one message, Ctrl-C and SIGTERM as one line, and the exit code of each."""

import errno
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any

from ..errors import NeuralLPError, brief
from .output import note, show_error, show_traceback

#: The exit code of a command that ends by an error that a user can cause.
FAILED = 2


class Terminated(KeyboardInterrupt):
    """SIGTERM: as Ctrl-C, but with another exit code."""


def exit_code(number: int) -> int:
    """Return the exit code of a command that was ended by a signal, as shells count."""
    return 128 + number


@contextmanager
def sigterm_as_ctrl_c() -> Iterator[None]:
    """Raise Terminated where the process gets SIGTERM, so that it ends as after Ctrl-C."""

    def stop(number: int, frame: Any) -> None:
        raise Terminated

    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def ending(*, debug: bool) -> Iterator[None]:
    """Turn whatever ends a command into a message and SystemExit; with `debug`, show tracebacks."""
    try:
        with sigterm_as_ctrl_c():
            yield
    except SystemExit as done:
        _finish(done)
    except KeyboardInterrupt as stop:
        sys.exit(_stopped(stop))
    except Exception as error:
        if (message := _describe(error)) is None:
            raise
        if debug:
            show_traceback(traceback.format_exc())
        show_error(message)
        sys.exit(FAILED)


def _finish(done: SystemExit) -> None:
    """End with the code of `done`; what is printed and cannot be written is an error."""
    # Typer exits with 130 after Ctrl-C and says nothing.
    cause = getattr(done.__context__, "__cause__", None)
    code = _stopped(cause) if isinstance(cause, KeyboardInterrupt) else done.code
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes again at its end
        if error.errno != errno.EPIPE:
            show_error(f"Cannot write the output: {error.strerror}.")
        code = FAILED
    sys.exit(code)


def _stopped(stop: KeyboardInterrupt) -> int:
    is_terminated = isinstance(stop, Terminated)
    note(f"{'Terminated' if is_terminated else 'Interrupted'}. Files that were being written are as before.")
    return exit_code(signal.SIGTERM if is_terminated else signal.SIGINT)


def _describe(error: Exception) -> str | None:
    """Return the message for an error that is no fault of the program, or None."""
    if isinstance(error, NeuralLPError):
        return str(error)
    if isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__ or _is_allocation(error):
        return "There is not enough memory. Try smaller settings, or --dry-run to see what a plan takes."
    if isinstance(error, OSError):
        what = f"read or write {error.filename}" if error.filename else "write the output"
        return f"Cannot {what}: {brief(error.strerror or error)}."
    return None


def _is_allocation(error: Exception) -> bool:
    """Return whether an error of torch, or of loading a library, is one of memory."""
    told = {RuntimeError: "can't allocate memory", ImportError: "failed to map segment"}
    return any(isinstance(error, kind) and text in str(error) for kind, text in told.items())
