"""Whole files in and out: read with an error that helps, written completely or not at all."""

import gzip
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, BinaryIO
from uuid import uuid4

from ..errors import DataError, FormatError

if TYPE_CHECKING:
    from ..graph.knowledge_base import Triple

AnyPath = str | os.PathLike[str]


@dataclass(frozen=True)
class TripleFile:
    """The triples of one file, the line of each where it has lines, and what RDF tells besides."""

    path: Path
    triples: "list[Triple]"
    lines: list[int] = field(default_factory=list)
    prefixes: Mapping[str, str] = field(default_factory=dict)
    num_literals: int = 0  # triples left out because they end in one


def suffix_of(path: AnyPath) -> str:
    """Return the suffix that tells the format, in small letters; .gz does not count."""
    return PurePath(Path(path).name.lower().removesuffix(".gz")).suffix


def is_gzip(path: Path) -> bool:
    """Return whether the name says that the content is compressed."""
    return path.suffix.lower() == ".gz"


def read_bytes(path: AnyPath) -> bytes:
    """Return the content of a file, decompressed when its name ends in .gz."""
    path = Path(path)
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if is_gzip(path) else data
    except FileNotFoundError:
        raise missing(path) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FormatError(f"{path}: damaged gzip ({error}). Fetch or compress the file again.") from error
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror or error}.") from error


def missing(path: Path) -> DataError:
    """Return the error for a path that does not exist, with the nearest name beside it."""
    if not path.parent.is_dir():
        return DataError(f"There is no {path}: the folder {path.parent} does not exist.")
    near = get_close_matches(path.name, [other.name for other in path.parent.iterdir()], n=1)
    hint = f" Did you mean {str(path.with_name(near[0]))!r}?" if near else " Check the path."
    return DataError(f"There is no {path}.{hint}")


def atomic_write(path: AnyPath, data: bytes | str) -> None:
    """Write a file whole; text as UTF-8, compressed when the name ends in .gz."""
    content = _encode(path, data) if isinstance(data, str) else data
    with replacing(path) as file:
        # No time stamp, so that equal content gives equal files.
        file.write(gzip.compress(content, mtime=0) if is_gzip(Path(path)) else content)


def _encode(path: AnyPath, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        around = text[max(0, error.start - 20) : error.start + 20]
        raise FormatError(
            f"{path}: {around!r} has half a surrogate pair, which UTF-8 cannot hold."
        ) from error


@contextmanager
def replacing(path: AnyPath) -> Iterator[BinaryIO]:
    """Give a temporary file beside `path` that takes its place when the block ends well.

    When the block or the disk fails, the temporary file goes and what was at `path` stays. An
    OSError within the block counts as a failure to write.
    """
    target = Path(path).resolve()  # a link keeps pointing at what is written
    if target.exists() and not target.is_file():
        raise DataError(f"Cannot write {path}: it exists and is not a regular file.")
    temporary = target.with_name(f".{uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        raise DataError(f"Cannot write {path}: {error.strerror or error}. Nothing was changed.") from error
    finally:
        temporary.unlink(missing_ok=True)
