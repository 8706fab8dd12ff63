"""File operations that fail: the n-th one, for every n, by an error of the system or by a kill."""

import builtins
import errno
import io
import os
from contextlib import contextmanager

#: Functions of `os` that change or open something.
OPERATIONS = ("open", "fsync", "rename", "replace", "mkdir", "unlink", "rmdir")

ERRORS = {"full": errno.ENOSPC, "broken": errno.EIO, "read-only": errno.EROFS}


class Killed(BaseException):
    """The process ends here: no file operation after this one happens, whatever handlers would do."""


class Faults:
    """Counts file operations; the one with the number `at` fails, after a kill every one does."""

    def __init__(self, fault, at):
        self.fault, self.at, self.count = fault, at, 0

    @property
    def has_failed(self):
        return self.count >= self.at

    def count_one(self):
        self.count += 1
        if self.count == self.at and self.fault != "kill":
            raise OSError(ERRORS[self.fault], os.strerror(ERRORS[self.fault]))
        if self.has_failed and self.fault == "kill":
            raise Killed

    def wrap(self, function):
        def counted(*arguments, **options):
            self.count_one()
            return function(*arguments, **options)

        return counted

    def wrap_open(self, function):
        def counted(*arguments, **options):
            self.count_one()
            file = function(*arguments, **options)
            mode = arguments[1] if len(arguments) > 1 else options.get("mode", "r")
            return Writing(file, self) if set(mode) & set("wxa+") else file

        return counted


class Writing:
    """A file whose writes are counted."""

    def __init__(self, file, faults):
        self._file, self._faults = file, faults

    def write(self, data):
        self._faults.count_one()
        return self._file.write(data)

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()


@contextmanager
def failing(fault, at):
    """Let the file operation with the number `at` fail in this block."""
    faults = Faults(fault, at)
    kept = {name: getattr(os, name) for name in OPERATIONS}, io.open, builtins.open
    try:
        for name, function in kept[0].items():
            setattr(os, name, faults.wrap(function))
        io.open = builtins.open = faults.wrap_open(kept[1])
        yield faults
    finally:
        for name, function in kept[0].items():
            setattr(os, name, function)
        io.open, builtins.open = kept[1:]


def outcomes(fault, prepare, write):
    """Yield what is left after each fault, and whether the write told of it, until none is met.

    `prepare()` makes the old state, `write()` the new one.
    """
    from neurallp.errors import NeuralLPError

    for at in range(1, 10_000):
        prepare()
        told = False
        with failing(fault, at) as faults:
            try:
                write()
            except (NeuralLPError, Killed):
                told = True
        if not faults.has_failed:
            return
        yield told
    raise AssertionError("the write never ends")
