"""The files of a model folder, which change together in one step. Imports no torch.

A save writes its files to the subfolder `.staging`, with a manifest that lists every file of the model and
its checksum. Renaming `.staging` to `.next` is the one step that makes them the model: before it the old
files count, after it the new ones. Then they are moved into the folder, the manifest last. Where a save is
cut short after the step, readers look into `.next` first, and the next save finishes it.
"""

import hashlib
import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import get_ident
from typing import Literal

from ...errors import ModelError, brief
from ..files import AnyPath, failed_to_write, hold, sync_folder, write_synced
from ..schema import as_error, parse_json, to_json

#: The format of all model folders; an older or newer folder is refused.
FORMAT_VERSION = 5

MANIFEST = "manifest.json"
STAGING, NEXT = ".staging", ".next"

WEIGHTS = "weights.safetensors"
CHECKPOINT = "checkpoint.safetensors"
CONFIG = "config.json"
RELATIONS = "relations.json"
METRICS = "metrics.json"
HISTORY = "history.jsonl"
RULES = "rules.tsv"
WEIGHTED = "weighted.safetensors"
SETTINGS = "weighting.json"
WORDS = "words.json"
CALIBRATION = "calibration.json"
PLAN = "plan.json"
NUMBERS = "numbers.json"

#: Every file that a model may have. Those that a save does not list are removed; other files are not touched.
NAMES = frozenset(
    (
        *(WEIGHTS, CHECKPOINT, CONFIG, RELATIONS, METRICS, HISTORY, RULES),
        *(WEIGHTED, SETTINGS, WORDS, CALIBRATION, PLAN, NUMBERS),
    )
)

#: How often a folder is read again because it was saved in the meantime.
MAX_TRIES = 20

Kind = Literal["rules", "questions"]
Contents = Mapping[str, str | bytes]


@dataclass(frozen=True)
class Manifest:
    """What `manifest.json` holds: the kind of model, and the SHA-256 of each of its files."""

    format_version: int
    kind: Kind
    files: dict[str, str]


@dataclass(frozen=True)
class ModelFiles:
    """The contents of a model's files, all of one save; a file that was deleted since is left out."""

    folder: Path
    kind: Kind
    contents: Mapping[str, bytes]

    def __contains__(self, name: str) -> bool:
        return name in self.contents

    def __getitem__(self, name: str) -> bytes:
        """Return the content of a file that the model cannot do without."""
        if name not in self.contents:
            raise damaged(self.folder / name, "there is no such file")
        return self.contents[name]


def damaged(path: Path, why: object) -> ModelError:
    """Return the error for a file that is missing or has unexpected content."""
    return ModelError(f"{path} is missing or damaged ({brief(why)}). The model is incomplete; learn again.")


# Reading


def holds_model(folder: AnyPath) -> bool:
    """Return whether a folder holds a model of any kind."""
    return any((path / MANIFEST).is_file() for path in _places(Path(folder)))


def read_files(folder: AnyPath, *, without: Collection[str] = (CHECKPOINT,)) -> ModelFiles:
    """Return the files of the model in a folder, checked; raise where one is not the file that was saved."""
    folder = Path(folder)
    with as_error(lambda why: damaged(folder / MANIFEST, why)):
        for _ in range(MAX_TRIES):
            seen = _find_manifest(folder)
            manifest = _parse(folder, *seen)
            found = {name: _read_part(folder, name) for name in manifest.files if name not in without}
            if _find_manifest(folder) == seen and None not in found.values():
                break  # otherwise it was saved while it was read
    contents = {name: content for name, content in found.items() if content is not None}
    for name, content in contents.items():
        if _checksum(content) != manifest.files[name]:
            raise damaged(folder / name, f"it is not the file that {MANIFEST} lists")
    return ModelFiles(folder, manifest.kind, contents)


def _places(folder: Path) -> tuple[Path, Path]:
    """Return where a file of the model may be: of a save that is not finished, and in the folder."""
    return folder / NEXT, folder


def _find_manifest(folder: Path) -> tuple[Path, bytes]:
    """Return the manifest that counts, and its path."""
    for place in _places(folder):
        with suppress(FileNotFoundError, NotADirectoryError):
            return place / MANIFEST, (place / MANIFEST).read_bytes()
    if (folder / CONFIG).is_file() or (folder / SETTINGS).is_file():
        raise _other_version(folder, "3 or older", "Learn the model again")
    raise ModelError(
        f"{folder} holds no model: there is no {MANIFEST}. `neurallp learn DATA --out {folder}` makes one."
    )


def _parse(folder: Path, path: Path, content: bytes) -> Manifest:
    with as_error(lambda why: damaged(path, why)):
        version = parse_json(content, dict[str, object]).get("format_version")
    if version != FORMAT_VERSION or isinstance(version, bool):
        newer = isinstance(version, int) and version > FORMAT_VERSION
        raise _other_version(folder, repr(version), "Update neurallp" if newer else "Learn the model again")
    with as_error(lambda why: damaged(path, why)):
        manifest = parse_json(content, Manifest)
    if unknown := manifest.files.keys() - NAMES:
        raise damaged(path, f"unknown file {min(unknown)!r}")
    return manifest


def _other_version(folder: Path, found: str, advice: str) -> ModelError:
    return ModelError(
        f"{folder} has format version {brief(found, 40)}, but this neurallp reads version {FORMAT_VERSION}. "
        f"{advice}, or use the neurallp that wrote it."
    )


def _read_part(folder: Path, name: str) -> bytes | None:
    """Return the content of a file, or None where there is none."""
    for place in _places(folder):
        try:
            return (place / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):  # not there, or a save has just moved it
            continue
        except OSError as error:
            raise damaged(place / name, error) from error
    return None


# Writing


def make_folder(folder: AnyPath) -> None:
    """Make the folder where it does not exist, so that a bad path fails before training and not after."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(f"Cannot make the folder {folder}: {error.strerror or error}.") from error


def require_writable(folder: AnyPath) -> None:
    """Raise where a folder cannot be made or written to, before a long run; nothing is made yet."""
    place = Path(folder).absolute()
    while not place.exists():
        place = place.parent
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        why = "it may not be written to" if place.is_dir() else "it is a file"
        raise ModelError(f"Cannot make the folder {folder}: {place}: {why}.")


def write_files(folder: AnyPath, kind: Kind, contents: Contents, keep: Collection[str] = ()) -> None:
    """Make `contents`, and those files of the model before that `keep` names, the model of a folder.

    Whenever this is cut short, the folder holds the old model or the new one.
    """
    with locked(folder):
        before = _recorded(folder)
        encoded = {name: each.encode() if isinstance(each, str) else each for name, each in contents.items()}
        kept = {name: before[name] for name in keep if name in before and name not in encoded}
        checksums = {name: _checksum(content) for name, content in encoded.items()}
        manifest = Manifest(FORMAT_VERSION, kind, dict(sorted((kept | checksums).items())))
        _switch(Path(folder), encoded, manifest)


def update_files(folder: AnyPath, contents: Contents) -> None:
    """Replace or add some files of a model; all others stay."""
    with locked(folder):
        write_files(folder, read_files(folder, without=NAMES).kind, contents, keep=NAMES)


def is_saved(folder: AnyPath, name: str, content: bytes) -> bool:
    """Return whether the model in a folder has a file with this content."""
    return _recorded(folder).get(name) == _checksum(content)


def _recorded(folder: AnyPath) -> dict[str, str]:
    """Return the checksums of the model in a folder; none where it holds none that this version reads."""
    try:
        return _parse(Path(folder), *_find_manifest(Path(folder))).files
    except ModelError:
        return {}
    except OSError as error:
        raise failed_to_write(folder, error) from error


def _switch(folder: Path, contents: Mapping[str, bytes], manifest: Manifest) -> None:
    staging = folder / STAGING
    try:
        _finish(folder)
        staging.mkdir()
        for name, content in contents.items():
            write_synced(staging / name, content)
        write_synced(staging / MANIFEST, to_json(asdict(manifest)).encode())
        sync_folder(staging)
        staging.rename(folder / NEXT)
    except OSError as error:
        raise failed_to_write(folder, error) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    with suppress(OSError, ModelError):  # the new model counts already; the next save finishes this
        sync_folder(folder)
        _finish(folder)


def _finish(folder: Path) -> None:
    """Move the files of a save that was made into place, and remove what no manifest lists."""
    shutil.rmtree(folder / STAGING, ignore_errors=True)
    if (folder / NEXT / MANIFEST).is_file():
        listed = _parse(folder, *_find_manifest(folder)).files.keys()
        for path in (folder / NEXT).iterdir():
            if path.name != MANIFEST:
                path.replace(folder / path.name)
        for name in NAMES - listed:
            (folder / name).unlink(missing_ok=True)
        sync_folder(folder)
        (folder / NEXT / MANIFEST).replace(folder / MANIFEST)
    if (folder / NEXT).is_dir():
        (folder / NEXT).rmdir()


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# Locking

#: The folders that this process has locked, and the thread of each.
_held: dict[Path, int] = {}


@contextmanager
def locked(folder: AnyPath) -> Iterator[None]:
    """Make a folder and let no other run write to it; raise where one does.

    The system ends the lock with the process, however that ends. A thread that has the lock may ask again.
    """
    make_folder(folder)
    path = Path(folder).resolve()
    if _held.get(path) == get_ident():
        yield
        return
    try:
        descriptor = hold(path)
    except OSError as error:
        raise failed_to_write(folder, error) from error
    if descriptor is None:
        raise ModelError(f"Another run is writing to {folder}. Wait until it ends, or give another --out.")
    _held[path] = get_ident()
    try:
        yield
    finally:
        del _held[path]
        os.close(descriptor)
