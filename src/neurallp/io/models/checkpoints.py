"""Checkpoints: tensors in files, and training runs that are continued from them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from safetensors import SafetensorError
from safetensors.torch import load as parse_tensors
from safetensors.torch import save
from torch import Tensor

from ...errors import ModelError
from ..files import AnyPath, read_bytes
from .folders import (
    CHECKPOINT,
    FORMAT_VERSION,
    damaged,
    history_lines,
    parse_epochs,
    read_file,
    require_version,
)

#: The settings that a resumed run may change: how long it goes on.
CHANGEABLE = {"num_epochs", "patience"}

E = TypeVar("E")


class Run(Protocol[E]):
    """A training run that can be continued from a checkpoint; `E` is the type of its epochs."""

    history: list[E]

    def state(self) -> dict[str, Tensor]:
        """Return the tensors that resuming needs."""
        ...

    def restore(self, state: dict[str, Tensor], history: list[E]) -> None:
        """Continue from such tensors and the epochs before."""
        ...


def dump_tensors(tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """Return tensors, on any device, as the content of a file."""
    return save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, metadata)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file."""
    try:
        return parse_tensors(read_file(path))
    except SafetensorError as error:
        raise damaged(path, error) from error


def dump_checkpoint(run: Run[E], settings: Mapping[str, Any], origin: Mapping[str, Any]) -> bytes:
    """Return the content of a checkpoint: tensors, epochs, settings, and the names of the data (`origin`)."""
    facts = {"format_version": FORMAT_VERSION, "settings": settings, "origin": origin}
    # One entry: several would be written in any order, and equal runs write equal files.
    metadata = {"run": json.dumps(facts | {"history": history_lines(run.history)})}
    return dump_tensors(run.state(), metadata)


def read_settings(folder: AnyPath) -> dict[str, Any]:
    """Return the settings of the run whose checkpoint a folder holds."""
    settings: dict[str, Any] = _read_header(folder)[0]["settings"]
    return settings


def resume_run(
    folder: AnyPath, run: Run[E], settings: Mapping[str, Any], origin: Mapping[str, Any], kind: type[E]
) -> None:
    """Restore `run` from the checkpoint in `folder`; all settings but CHANGEABLE ones must be the same."""
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
    run.restore(read_tensors(Path(folder) / CHECKPOINT), parse_epochs(lines, kind))


def _read_header(folder: AnyPath) -> tuple[dict[str, Any], str]:
    """Return the settings and origin of a checkpoint, and the lines of its epochs."""
    path = Path(folder) / CHECKPOINT
    if not path.exists():
        raise ModelError(f"{folder} has no {CHECKPOINT}: nothing to resume. Learn without --resume.")
    try:
        data = read_bytes(path)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]
        run = dict(json.loads(header["run"]))
        require_version(folder, run)
        return {name: dict(run[name]) for name in ("settings", "origin")}, str(run["history"])
    except (ValueError, TypeError, KeyError) as error:
        raise damaged(path, error) from error
