"""Fetching public sets: downloads that go on where they broke off, checked, and put in place whole."""

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
from .registry import PublicSet, Source

#: What is told while a file comes: bytes so far, and all of them where the server says.
Progress = Callable[[int, int | None], object]

CHUNK = 1 << 16


@dataclass(frozen=True)
class RetryPolicy:
    """How often a server that stutters is asked again, and how long is waited for it."""

    tries: int = 4
    seconds: float = 30.0  # without a byte
    pause: float = 1.0  # before the second try; twice as long before each further one


class FetchError(DataError):
    """A download that did not work; asking the same address again is no use."""


class BrokenOffError(FetchError):
    """A download that broke off and may go on."""


def fetch(
    public: PublicSet,
    folder: Path,
    on_progress: Progress = lambda done, total: None,
    patience: RetryPolicy = RetryPolicy(),  # noqa: B008 (frozen)
) -> Path:
    """Put a set into `folder` and return its own folder there; what is there is not fetched again."""
    target = folder / public.name
    if not public.sources:
        raise DataError(
            f"{public.name} has no address that a program can fetch. Get it from {public.home} and lay it "
            f"out as {', '.join(public.files)} in {target}."
        )
    if target.is_dir():
        return target
    unfinished = target.with_name(f".{target.name}.part")
    unfinished.mkdir(parents=True, exist_ok=True)
    for source in public.sources:
        _fetch_source(public, source, unfinished, on_progress, patience)
    unfinished.rename(target)
    return target


def _fetch_source(
    public: PublicSet, source: Source, folder: Path, on_progress: Progress, patience: RetryPolicy
) -> None:
    """Fetch from the first address that gives what is expected."""
    if all((folder / public.file_of(part)).exists() for part in source.members):
        return
    faults = []
    for address in source.addresses:
        arrived = folder / f".{sha256(address.encode()).hexdigest()[:12]}"
        try:
            download(address, arrived, on_progress, patience)
            _take_parts(public, source, arrived, folder)
            return
        except FetchError as error:
            faults.append(f"{address}: {error}")
    raise DataError(f"{public.name} could not be fetched.\n" + "\n".join(faults))


def _take_parts(public: PublicSet, source: Source, arrived: Path, folder: Path) -> None:
    """Keep the parts of what has arrived if all are as expected; drop the download in any case."""
    try:
        parts = _unpack(arrived, source.members)
        for part, data in parts.items():
            if not public.files[public.file_of(part)].fits(data):
                raise FetchError(f"{part} is not what was expected; it may have been changed.")
        for part, data in parts.items():
            atomic_write(folder / public.file_of(part), data)
    finally:
        arrived.unlink(missing_ok=True)


def _unpack(path: Path, members: Mapping[str, str]) -> dict[str, bytes]:
    if list(members.values()) == [""]:
        return {next(iter(members)): path.read_bytes()}
    try:
        with tarfile.open(fileobj=BytesIO(path.read_bytes())) as archive:
            return {part: _member(archive, member) for part, member in members.items()}
    except (tarfile.TarError, EOFError, OSError) as error:
        raise FetchError(f"no archive that can be read ({error}).") from error


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    """Return a file of an archive, whatever folder it is in there."""
    for info in archive:
        if info.isfile() and PurePosixPath(info.name).name == name:
            file = archive.extractfile(info)
            assert file is not None
            return file.read()
    raise FetchError(f"{name} is not in the archive.")


def download(address: str, path: Path, on_progress: Progress, patience: RetryPolicy) -> None:
    """Bring what is at `address` to `path`; what a broken run left in `path`.part is gone on with."""
    if path.exists():
        return
    partial = path.with_name(f"{path.name}.part")
    for number in range(patience.tries):
        try:
            _continue(address, partial, on_progress, patience.seconds)
        except BrokenOffError:
            if number + 1 == patience.tries:
                raise
            sleep(patience.pause * 2**number)
        else:
            partial.rename(path)
            return


def _continue(address: str, partial: Path, on_progress: Progress, seconds: float) -> None:
    """Ask for what is not there yet, and add it."""
    had = partial.stat().st_size if partial.exists() else 0
    request = urllib.request.Request(address, headers={"Range": f"bytes={had}-"} if had else {})
    with _faults_of_servers(partial), urllib.request.urlopen(request, timeout=seconds) as answer:
        goes_on = answer.status == 206 and _start(answer) == had
        had = had if goes_on else 0
        total = None if answer.length is None else had + answer.length
        with partial.open("ab" if goes_on else "wb") as file:
            while block := answer.read(CHUNK):
                had += file.write(block)
                on_progress(had, total)
    if total is not None and had < total:
        raise BrokenOffError(f"broke off after {had:,} of {total:,} bytes.")


def _start(answer: http.client.HTTPResponse) -> int:
    """Return the first byte that a server says it sends, or -1."""
    span = answer.headers.get("Content-Range", "").removeprefix("bytes ").split("-")[0]
    return int(span) if span.isdigit() else -1


@contextmanager
def _faults_of_servers(partial: Path) -> Iterator[None]:
    """Tell faults that may pass from those that stay."""
    try:
        yield
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416:  # there is no such rest: what we have is not what they have
            partial.unlink(missing_ok=True)
            raise BrokenOffError("the rest could not be had; beginning anew.") from error
        kind = BrokenOffError if error.code in (408, 429) or error.code >= 500 else FetchError
        raise kind(f"the server answers {error.code} {error.reason}.") from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise BrokenOffError(f"no answer, or one that broke off ({reason}).") from error
