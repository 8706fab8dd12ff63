"""Reading and writing whole files; a write is complete or changes nothing."""

import gzip
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, BinaryIO
from uuid import uuid4

from ..errors import DataError, FormatError, brief
from .limits import max_bytes, require_within

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from ..graph.knowledge_base import Triple

AnyPath = str | os.PathLike[str]


@dataclass(frozen=True)
class TripleFile:
    """The triples of one file, the line number of each in text files, and the prefixes of RDF files."""

    path: Path
    triples: "list[Triple]"
    lines: list[int] = field(default_factory=list)
    prefixes: Mapping[str, str] = field(default_factory=dict)
    num_literals: int = 0  # triples that were skipped because their object is a literal


def suffix_of(path: AnyPath) -> str:
    """Return the suffix that identifies the format, in lower case and without .gz."""
    return PurePath(Path(path).name.lower().removesuffix(".gz")).suffix


def is_gzip(path: Path) -> bool:
    """Return whether a file is compressed, by its name."""
    return path.suffix.lower() == ".gz"


def read_bytes(path: AnyPath) -> bytes:
    """Return the content of a file, decompressed when its name ends in .gz; raise where it is too large."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            content = gzip.GzipFile(fileobj=file) if is_gzip(path) else file
            data = content.read(max_bytes(size) + 1)
    except FileNotFoundError:
        raise missing(path) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        why = brief(error)
        raise FormatError(f"{path}: damaged gzip ({why}). Download or compress the file again.") from error
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror or error}.") from error
    except (MemoryError, OverflowError) as error:
        raise DataError(f"{path} needs more memory than there is.") from error
    require_within(path, len(data), size)
    return data


def read_utf8(path: AnyPath) -> str:
    """Return the text of a UTF-8 file, without a byte order mark."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: byte {error.start + 1} is not UTF-8. Save as UTF-8.") from error


def missing(path: Path) -> DataError:
    """Return the error for a path that does not exist; it suggests the most similar name in its folder."""
    if not path.parent.is_dir():
        return DataError(f"There is no {path}: the folder {path.parent} does not exist.")
    near = get_close_matches(path.name, [other.name for other in path.parent.iterdir()], n=1)
    hint = f" Did you mean {str(path.with_name(near[0]))!r}?" if near else " Check the path."
    return DataError(f"There is no {path}.{hint}")


def atomic_write(path: AnyPath, data: bytes | str) -> None:
    """Write a file completely or not at all; text as UTF-8, compressed when the name ends in .gz."""
    content = _encode(path, data) if isinstance(data, str) else data
    with replacing(path) as file:
        # Without a time stamp, equal content gives equal files.
        file.write(gzip.compress(content, mtime=0) if is_gzip(Path(path)) else content)


def _encode(path: AnyPath, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        around = text[max(0, error.start - 20) : error.start + 20]
        raise FormatError(
            f"{path}: {around!r} contains half a surrogate pair, which UTF-8 cannot hold."
        ) from error


@contextmanager
def replacing(path: AnyPath) -> Iterator[BinaryIO]:
    """Yield a temporary file in the folder of `path` that replaces `path` when the block succeeds.

    If the block or the disk fails, the temporary file is deleted and `path` is unchanged. An OSError
    raised in the block is reported as a failure to write.
    """
    target = Path(path).resolve()  # a symbolic link stays, and its target is replaced
    if target.exists() and not target.is_file():
        raise DataError(f"Cannot write {path}: it exists and is not a regular file.")
    mark = sha256(target.name.encode(errors="surrogateescape")).hexdigest()[:12]
    temporary = target.with_name(f".{mark}-{uuid4().hex}.tmp")
    try:
        _remove_remains(target.parent, mark)
        with temporary.open("xb") as file:
            lock(file.fileno())
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        raise failed_to_write(path, error) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
            sync_folder(target.parent)


def failed_to_write(path: AnyPath, error: OSError) -> DataError:
    """Return the error for a file or folder that could not be written and is as it was."""
    return DataError(f"Cannot write {path}: {error.strerror or error}. Nothing was changed.")


def _remove_remains(folder: Path, mark: str) -> None:
    """Remove temporary files of earlier writes that were cut short; those in use are locked."""
    for remains in folder.glob(f".{mark}-*.tmp"):
        with suppress(OSError):
            if (descriptor := hold(remains)) is not None:
                os.close(descriptor)
                remains.unlink(missing_ok=True)


def write_synced(path: Path, content: bytes) -> None:
    """Write a new file and wait until it is on disk."""
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk, where the system can do so."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def hold(path: Path) -> int | None:
    """Open and lock a file or a folder and return its descriptor; None where another process has it."""
    descriptor = os.open(os.devnull if fcntl is None else path, os.O_RDONLY)
    if lock(descriptor):
        return descriptor
    os.close(descriptor)
    return None


def lock(descriptor: int) -> bool:
    """Return whether a lock was taken; the system ends it when the file is closed or the process ends.

    A system without such locks (Windows, some network drives) is taken to have no other process.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
