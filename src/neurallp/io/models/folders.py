"""What the folders of all models have in common: files written together, tensors, JSON, and checkpoints."""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, TypeVar

from safetensors import SafetensorError
from safetensors.torch import load as parse_tensors
from safetensors.torch import save
from torch import Tensor

from ...errors import DataError, ModelError
from ...graph.vocabulary import Relations
from ..files import AnyPath, read_bytes, replacing

WEIGHTS = "weights.safetensors"
CHECKPOINT = "checkpoint.safetensors"
CONFIG = "config.json"
RELATIONS = "relations.json"
METRICS = "metrics.json"
HISTORY = "history.jsonl"
RULES = "rules.tsv"

#: What a resumed run may change: how long it goes on.
CHANGEABLE = {"num_epochs", "patience"}

E = TypeVar("E")


class Run(Protocol[E]):
    """A training run that can be taken up again; `E` is what it calls an epoch."""

    history: list[E]

    def state(self) -> dict[str, Tensor]:
        """Return the tensors that resuming needs."""
        ...

    def restore(self, state: dict[str, Tensor], history: list[E]) -> None:
        """Go on from them."""
        ...


def make_folder(folder: AnyPath) -> None:
    """Make the folder where it is not there, so that a bad path fails before training and not after."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(f"Cannot make the folder {folder}: {error.strerror or error}.") from error


def write_together(folder: AnyPath, contents: Mapping[str, str | bytes]) -> None:
    """Write files of a folder; all are on disk before the first takes its place."""
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
    """Return the SHA-256 of each file: what a file says of those that it belongs to."""
    return {name: _checksum(_encode(content)) for name, content in contents.items()}


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def require_together(path: Path, record: Mapping[str, Any]) -> None:
    """Raise where a file that `path` belongs to is of another save; folders of old do not tell."""
    recorded = record.get("checksums", {})
    if not isinstance(recorded, dict):
        raise damaged(path, "its checksums are no object")
    for name, expected in recorded.items():
        if _checksum(_read(path.with_name(name))) != expected:
            raise ModelError(
                f"{path} and {name} beside it are of two saves: the last was cut short. Learn or weigh again."
            )


def damaged(path: Path, why: object) -> ModelError:
    """Return the error for a file that is not what it should be."""
    return ModelError(f"{path} is missing or damaged ({why}). The model is incomplete; learn again.")


def require_folder(folder: AnyPath, command: str) -> None:
    """Raise where there is no folder, naming the command that makes one."""
    if not Path(folder).is_dir():
        raise ModelError(f"There is no model folder {folder}. `{command} --out {folder}` makes one.")


def require_version(folder: AnyPath, config: Mapping[str, Any], *versions: int) -> None:
    """Raise unless a folder is of a format that is read here."""
    if (found := config.get("format_version")) not in versions:
        raise ModelError(
            f"{folder} has format version {found!r}; this neurallp reads {' and '.join(map(str, versions))}. "
            "Use the version that wrote it, or learn again."
        )


def to_json(value: Any) -> str:
    """Return a value as JSON for people to read."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _read(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except DataError as error:
        raise damaged(path, error) from error


def read_json(path: Path, kind: type) -> Any:
    """Return the value of a JSON file, which must be of one kind."""
    try:
        value = json.loads(_read(path))
    except ValueError as error:
        raise damaged(path, error) from error
    if not isinstance(value, kind):
        raise damaged(path, f"expected a {kind.__name__}, got {value!r:.40}")
    return value


def read_relations(folder: AnyPath) -> Relations:
    """Return the relations that a model knows."""
    path = Path(folder) / RELATIONS
    names = read_json(path, list)
    if not names:
        raise damaged(path, "no relations")
    try:
        return Relations(names)
    except (DataError, AttributeError, TypeError) as error:
        raise damaged(path, error) from error


def dump_tensors(tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """Return tensors, wherever they live, as the content of a file."""
    return save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, metadata)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file."""
    try:
        return parse_tensors(_read(path))
    except SafetensorError as error:
        raise damaged(path, error) from error


# Epochs


def history_lines(history: Iterable[Any]) -> str:
    """Return one line of JSON for each epoch."""
    return "".join(json.dumps(asdict(epoch)) + "\n" for epoch in history)


def read_epochs(folder: AnyPath, kind: type[E]) -> list[E]:
    """Return the epochs a model was trained for."""
    path = Path(folder) / HISTORY
    try:
        return _parse_epochs(_read(path).decode(), kind)
    except (ValueError, TypeError) as error:
        raise damaged(path, error) from error


def _parse_epochs(lines: str, kind: type[E]) -> list[E]:
    return [kind(**json.loads(line)) for line in lines.splitlines()]


# Checkpoints


def dump_checkpoint(run: Run[E], settings: Mapping[str, Any], origin: Mapping[str, Any]) -> bytes:
    """Return all that resuming needs: `settings` as they were chosen, `origin` as the data has it."""
    facts = {"settings": settings, "origin": origin}
    metadata = {"run": json.dumps(facts), "history": history_lines(run.history)}
    return dump_tensors(run.state(), metadata)


def read_settings(folder: AnyPath) -> dict[str, Any]:
    """Return the settings of the run that a checkpoint is from."""
    settings: dict[str, Any] = _read_header(folder)[0]["settings"]
    return settings


def resume_run(
    folder: AnyPath, run: Run[E], settings: Mapping[str, Any], origin: Mapping[str, Any], kind: type[E]
) -> None:
    """Take `run` up where the checkpoint in `folder` left off; it may only go on for longer."""
    before, lines = _read_header(folder)
    for what, value in origin.items():
        if before["origin"][what] != value:
            raise ModelError(
                f"The data has other {what} than the run in {folder}. Learn into another folder."
            )
    for name, value in settings.items():
        if (old := before["settings"][name]) != value and name not in CHANGEABLE:
            raise ModelError(
                f"The run in {folder} has {name} {old}, not {value}. "
                "Resume with the same settings, or learn into another folder."
            )
    run.restore(read_tensors(Path(folder) / CHECKPOINT), _parse_epochs(lines, kind))


def _read_header(folder: AnyPath) -> tuple[dict[str, Any], str]:
    """Return what a checkpoint says of its run, and the lines of its epochs."""
    path = Path(folder) / CHECKPOINT
    if not path.exists():
        raise ModelError(f"{folder} has no {CHECKPOINT}: nothing to resume. Learn without --resume.")
    try:
        data = read_bytes(path)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]
        run = json.loads(header["run"])
        return {name: dict(run[name]) for name in ("settings", "origin")}, header["history"]
    except (ValueError, TypeError, KeyError) as error:
        raise damaged(path, error) from error
