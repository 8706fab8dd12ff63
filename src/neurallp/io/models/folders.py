"""Model folders: files written together, their format version, JSON and arrays. Imports no torch."""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ...config import ModelConfig, TrainingConfig
from ...errors import ConfigError, DataError, ModelError
from ...graph.vocabulary import Relations
from ..files import AnyPath, read_bytes, replacing

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The format of all model folders; an older or newer folder is refused.
FORMAT_VERSION = 3

WEIGHTS = "weights.safetensors"
CHECKPOINT = "checkpoint.safetensors"
CONFIG = "config.json"
RELATIONS = "relations.json"
METRICS = "metrics.json"
HISTORY = "history.jsonl"
RULES = "rules.tsv"

#: Names of files that a data folder has, and a model folder has not.
DATA_PARTS = ("train", "facts", "valid", "test")

E = TypeVar("E")


def make_folder(folder: AnyPath) -> None:
    """Make the folder where it does not exist, so that a bad path fails before training and not after."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(f"Cannot make the folder {folder}: {error.strerror or error}.") from error


def write_together(folder: AnyPath, contents: Mapping[str, str | bytes]) -> None:
    """Write files of a folder; all are on disk before the first replaces an older one."""
    make_folder(folder)
    with ExitStack() as stack:
        for name, content in contents.items():
            file = stack.enter_context(replacing(Path(folder) / name))
            file.write(_encode(content))
            file.flush()
            os.fsync(file.fileno())


def _encode(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def checksums(contents: Mapping[str, str | bytes]) -> dict[str, str]:
    """Return the SHA-256 of each file, for another file of the same save to record."""
    return {name: _checksum(_encode(content)) for name, content in contents.items()}


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def require_together(path: Path) -> None:
    """Raise where a file whose checksum the JSON file `path` records comes from another save."""
    recorded = read_json(path, dict).get("checksums")
    if not isinstance(recorded, dict):
        raise damaged(path, "no checksums")
    for name, expected in recorded.items():
        if _checksum(read_file(path.with_name(name))) != expected:
            raise ModelError(
                f"{path} and {name} come from two saves: the last one was cut short. Learn or weigh again."
            )


def damaged(path: Path, why: object) -> ModelError:
    """Return the error for a file that is missing or has unexpected content."""
    return ModelError(f"{path} is missing or damaged ({why}). The model is incomplete; learn again.")


def require_folder(folder: AnyPath, command: str) -> None:
    """Raise where there is no model folder, naming the command that makes one."""
    if not Path(folder).is_dir():
        raise ModelError(f"There is no model folder {folder}. `{command} --out {folder}` makes one.")
    names = {path.name for path in Path(folder).iterdir()}
    if RELATIONS not in names and any(name.partition(".")[0] in DATA_PARTS for name in names):
        remedy = f"Learn one from it with `{command.replace('DATA', str(folder))} --out MODEL`"
        raise ModelError(f"{folder} is a folder of data, not of a model. {remedy}, and give MODEL here.")


def require_version(folder: AnyPath, content: Mapping[str, Any]) -> None:
    """Raise unless a folder has the format that this version reads."""
    if (found := content.get("format_version")) == FORMAT_VERSION:
        return
    newer = isinstance(found, int) and found > FORMAT_VERSION
    advice = "Update neurallp" if newer else "Learn the model again"
    raise ModelError(
        f"{folder} has format version {found!r}, but this neurallp reads version {FORMAT_VERSION}. {advice}, "
        "or use the neurallp that wrote it."
    )


def to_json(value: Any) -> str:
    """Return a value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def read_file(path: Path) -> bytes:
    """Return the content of a file of a model; raise a ModelError where it cannot be read."""
    try:
        return read_bytes(path)
    except DataError as error:
        raise damaged(path, error) from error


def read_json(path: Path, kind: type) -> Any:
    """Return the value of a JSON file; raise unless it is of type `kind`."""
    try:
        value = json.loads(read_file(path))
    except ValueError as error:
        raise damaged(path, error) from error
    if not isinstance(value, kind):
        raise damaged(path, f"expected a {kind.__name__}, got {value!r:.40}")
    return value


def read_relations(folder: AnyPath) -> Relations:
    """Return the relations of a model."""
    path = Path(folder) / RELATIONS
    names = read_json(path, list)
    if not names:
        raise damaged(path, "no relations")
    try:
        return Relations(names)
    except (DataError, AttributeError, TypeError) as error:
        raise damaged(path, error) from error


# Neural models


def has_model(folder: AnyPath) -> bool:
    """Return whether a folder holds a neural model, even one that has lost a file."""
    return any((Path(folder) / name).is_file() for name in (WEIGHTS, CONFIG))


def require_no_model(folder: AnyPath) -> None:
    """Raise where a folder holds a neural model: weighted rules without a model would mix with its files."""
    if has_model(folder):
        raise ConfigError(f"{folder} holds a neural model. Give another folder for the weighted rules.")


def read_config(folder: AnyPath) -> tuple[Relations, ModelConfig, TrainingConfig, bool]:
    """Return a model's relations and configurations, and whether each query uses only some operators."""
    path = Path(folder) / CONFIG
    config = read_json(path, dict)
    require_version(folder, config)
    try:
        model, training = ModelConfig(**config["model"]), TrainingConfig(**config["training"])
    except (KeyError, TypeError, ConfigError) as error:
        raise damaged(path, error) from error
    return read_relations(folder), model, training, bool(config.get("restricted_operators"))


# Arrays


def dump_arrays(arrays: "Mapping[str, NDArray[Any]]") -> bytes:
    """Return arrays as the content of a file."""
    from safetensors.numpy import save

    return save({name: array.copy(order="C") for name, array in arrays.items()})


def read_arrays(path: Path) -> "dict[str, NDArray[Any]]":
    """Return the arrays of a file."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return load(read_file(path))
    except SafetensorError as error:
        raise damaged(path, error) from error


# Epochs


def history_lines(history: Iterable[Any]) -> str:
    """Return one line of JSON for each epoch, without its time: equal runs write equal files."""
    rows = ({name: value for name, value in asdict(epoch).items() if name != "seconds"} for epoch in history)
    return "".join(json.dumps(row) + "\n" for row in rows)


def read_epochs(folder: AnyPath, kind: type[E]) -> list[E]:
    """Return the epochs of a model's training, as objects of type `kind`."""
    path = Path(folder) / HISTORY
    try:
        return parse_epochs(read_file(path).decode(), kind)
    except (ValueError, TypeError) as error:
        raise damaged(path, error) from error


def parse_epochs(lines: str, kind: type[E]) -> list[E]:
    """Return the epochs of a history."""
    return [kind(**{"seconds": 0.0, **json.loads(line)}) for line in lines.splitlines()]
