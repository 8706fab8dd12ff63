"""Downloads of public data sets: continued after an interruption, checked, and installed as a whole."""

import http.client
import tarfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path, PurePosixPath
from time import sleep

from ..errors import DataError
from ..io.files import atomic_write
from ..io.limits import LARGEST, VARIABLE, max_bytes
from ..io.schema import as_error
from .registry import PublicSet, Source

#: Called during a download with the bytes received and the total, or None if the server does not state it.
Progress = Callable[[int, int | None], object]

CHUNK = 1 << 16


@dataclass(frozen=True)
class RetryPolicy:
    """How often a failed download is tried again, and how long to wait."""

    tries: int = 4
    timeout: float = 30.0  # seconds without receiving a byte
    pause: float = 1.0  # seconds before the second try; doubled before each further one


class FetchError(DataError):
    """A download that failed; trying the same address again would not help."""


class InterruptedDownloadError(FetchError):
    """A download that was interrupted and can be continued."""


def fetch(
    public: PublicSet,
    folder: Path,
    on_progress: Progress = lambda done, total: None,
    retry: RetryPolicy = RetryPolicy(),  # noqa: B008 (frozen)
) -> Path:
    """Download a data set into `folder` and return its own folder there; do nothing if that exists."""
    target = folder / public.name
    if not public.sources:
        raise DataError(
            f"{public.name} cannot be downloaded automatically. Get it from {public.home} and store it "
            f"as {', '.join(public.files)} in {target}."
        )
    if target.is_dir():
        return target
    unfinished = target.with_name(f".{target.name}.part")
    unfinished.mkdir(parents=True, exist_ok=True)
    for source in public.sources:
        _fetch_source(public, source, unfinished, on_progress, retry)
    unfinished.rename(target)
    return target


def _fetch_source(
    public: PublicSet, source: Source, folder: Path, on_progress: Progress, retry: RetryPolicy
) -> None:
    """Download from the first address whose files have the expected checksums."""
    if all((folder / public.file_of(part)).exists() for part in source.members):
        return
    faults = []
    for address in source.addresses:
        arrived = folder / f".{sha256(address.encode()).hexdigest()[:12]}"
        try:
            download(address, arrived, on_progress, retry)
            _keep_parts(public, source, arrived, folder)
            return
        except FetchError as error:
            faults.append(f"{address}: {error}")
    raise DataError(f"{public.name} could not be downloaded.\n" + "\n".join(faults))


def _keep_parts(public: PublicSet, source: Source, arrived: Path, folder: Path) -> None:
    """Keep the parts of a download if all have the expected checksums; delete the download in any case."""
    try:
        parts = unpack(arrived, source.members)
        for part, data in parts.items():
            if not public.files[public.file_of(part)].fits(data):
                raise FetchError(f"{part} has another checksum than expected; the file may have changed.")
        for part, data in parts.items():
            atomic_write(folder / public.file_of(part), data)
    finally:
        arrived.unlink(missing_ok=True)


def unpack(path: Path, members: Mapping[str, str]) -> dict[str, bytes]:
    """Return the parts of a download: the file itself, or members of an archive by their names."""
    if list(members.values()) == [""]:
        return {next(iter(members)): path.read_bytes()}
    with (
        as_error(lambda why: FetchError(f"not a readable archive ({why}).")),
        tarfile.open(fileobj=BytesIO(path.read_bytes())) as archive,
    ):
        limit = max_bytes(path.stat().st_size)
        return {part: _member(archive, member, limit) for part, member in members.items()}


def _member(archive: tarfile.TarFile, name: str, limit: int) -> bytes:
    """Return a file of an archive, from any folder in it; raise where it has more bytes than `limit`."""
    for info in archive:
        if info.isfile() and PurePosixPath(info.name).name == name:
            if info.size > limit:
                raise FetchError(f"{name} takes {info.size:,} bytes, more than {limit:,} ({VARIABLE}).")
            file = archive.extractfile(info)
            assert file is not None
            return file.read()
    raise FetchError(f"{name} is not in the archive.")


def download(address: str, path: Path, on_progress: Progress, retry: RetryPolicy) -> None:
    """Download `address` to `path`; an interrupted download in `path`.part is continued."""
    if path.exists():
        return
    partial = path.with_name(f"{path.name}.part")
    for number in range(retry.tries):
        try:
            _continue(address, partial, on_progress, retry.timeout)
        except InterruptedDownloadError:
            if number + 1 == retry.tries:
                raise
            sleep(retry.pause * 2**number)
        else:
            partial.rename(path)
            return


def _continue(address: str, partial: Path, on_progress: Progress, timeout: float) -> None:
    """Request the missing bytes and append them."""
    had = partial.stat().st_size if partial.exists() else 0
    request = urllib.request.Request(address, headers={"Range": f"bytes={had}-"} if had else {})
    with _server_errors(partial), urllib.request.urlopen(request, timeout=timeout) as answer:
        continues = answer.status == 206 and _start(answer) == had
        had = had if continues else 0
        total = None if answer.length is None else had + answer.length
        with partial.open("ab" if continues else "wb") as file:
            while block := answer.read(CHUNK):
                had += file.write(block)
                on_progress(had, total)
                if had > max_bytes(LARGEST):
                    raise FetchError(f"more than {max_bytes(LARGEST):,} bytes ({VARIABLE}).")
    if total is not None and had < total:
        raise InterruptedDownloadError(f"interrupted after {had:,} of {total:,} bytes.")


def _start(answer: http.client.HTTPResponse) -> int:
    """Return the position of the first byte in a partial response, or -1."""
    span = answer.headers.get("Content-Range", "").removeprefix("bytes ").split("-")[0]
    return int(span) if span.isdigit() else -1


@contextmanager
def _server_errors(partial: Path) -> Iterator[None]:
    """Translate errors: temporary ones can be tried again, permanent ones cannot."""
    try:
        yield
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416:  # range not satisfiable: the partial file does not match the server's
            partial.unlink(missing_ok=True)
            raise InterruptedDownloadError("the download cannot be continued; starting again.") from error
        kind = InterruptedDownloadError if error.code in (408, 429) or error.code >= 500 else FetchError
        raise kind(f"the server responded {error.code} {error.reason}.") from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise InterruptedDownloadError(f"no response, or an interrupted one ({reason}).") from error
