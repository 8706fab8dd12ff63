"""Limits on what a file may expand to, checked before memory is taken.

A small file can describe gigabytes: compressed zeros, a Parquet dictionary, entities of XML. By default a
file may expand to 200 times its size, and any file to 64 MiB; it is read whole up to 16 GiB. The environment
variable NEURALLP_MAX_BYTES sets one limit in place of these.
"""

import os

from ..errors import ConfigError, FormatError

RATIO, SMALL, LARGEST = 200, 64 << 20, 16 << 30

VARIABLE = "NEURALLP_MAX_BYTES"


def max_bytes(size: int) -> int:
    """Return how many bytes a file of `size` bytes may expand to."""
    named = os.environ.get(VARIABLE)
    if named is None:
        return min(LARGEST, max(SMALL, RATIO * size))
    if not named.isdecimal():
        raise ConfigError(f"{VARIABLE} must be a number of bytes, got {named!r:.40}.")
    return int(named)


def require_within(path: object, expanded: int, size: int) -> None:
    """Raise where a file of `size` bytes would expand to more than it may."""
    if expanded > max_bytes(size):
        raise too_large(path, size)


def too_large(path: object, size: int) -> FormatError:
    """Return the error for a file of `size` bytes that expands to more than it may."""
    return FormatError(
        f"{path}: its content takes more than {max_bytes(size):,} bytes, the limit for a file of {size:,}. "
        f"If you trust it, set {VARIABLE} to a larger number."
    )
