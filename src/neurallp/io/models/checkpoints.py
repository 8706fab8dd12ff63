"""Checkpoints: tensors in files, and training runs that are continued from them."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from safetensors.torch import load as parse_tensors
from safetensors.torch import save
from torch import Tensor, nn

from ...errors import ModelError
from ..files import AnyPath
from ..schema import as_error, parse_json
from .folders import history_lines, parse_epochs
from .store import CHECKPOINT, CONFIG, NAMES, RELATIONS, WEIGHTS, ModelFiles, damaged, holds_model, read_files

#: The settings that a resumed run may change: how long it goes on.
CHANGEABLE = {"num_epochs", "patience"}

E = TypeVar("E")
M = TypeVar("M", bound=nn.Module)


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


def load_weights(files: ModelFiles, make: Callable[[], M]) -> M:
    """Return the model that `make` makes with the weights of a folder.

    It is made on the device `meta`, which takes no memory: so a configuration of any size is compared with
    the tensors before memory is taken.
    """
    path, content = files.folder / WEIGHTS, files[WEIGHTS]
    with as_error(lambda why: damaged(path, why)):
        tensors = parse_tensors(content)
    misfit = ModelError(f"{path} does not fit {CONFIG} and {RELATIONS} beside it. Learn again.")
    with as_error(lambda why: misfit), torch.device("meta"):
        model = make()
    expected = {key: (value.shape, value.dtype) for key, value in model.state_dict().items()}
    if {key: (value.shape, value.dtype) for key, value in tensors.items()} != expected:
        raise misfit
    if not all(value.isfinite().all() for value in tensors.values()):
        raise damaged(path, "it holds numbers that are not finite")
    # Copied: the file's own memory may not be written to.
    model.load_state_dict({key: value.clone() for key, value in tensors.items()}, assign=True)
    return model


def dump_checkpoint(run: Run[E], settings: Mapping[str, Any], origin: Mapping[str, Any]) -> bytes:
    """Return the content of a checkpoint: tensors, epochs, settings, and the names of the data (`origin`)."""
    facts = {"settings": settings, "origin": origin, "history": history_lines(run.history)}
    # One entry: several would be written in any order, and equal runs write equal files.
    return dump_tensors(run.state(), {"run": json.dumps(facts)})


def read_settings(folder: AnyPath) -> dict[str, Any]:
    """Return the settings of the run whose checkpoint a folder holds."""
    settings: dict[str, Any] = _read_header(folder)[1]["settings"]
    return settings


def resume_run(
    folder: AnyPath, run: Run[E], settings: Mapping[str, Any], origin: Mapping[str, Any], kind: type[E]
) -> None:
    """Restore `run` from the checkpoint in `folder`; all settings but CHANGEABLE ones must be the same."""
    content, before = _read_header(folder)
    for what, value in origin.items():
        if before["origin"].get(what) != value:
            raise ModelError(
                f"The data has other {what} than the run in {folder}. Learn into another folder."
            )
    for name, value in settings.items():
        if (old := before["settings"].get(name)) != value and name not in CHANGEABLE:
            raise ModelError(
                f"The run in {folder} has {name} {old}, not {value}. "
                "Resume with the same settings, or learn into another folder."
            )
    with as_error(lambda why: damaged(Path(folder) / CHECKPOINT, why)):
        run.restore(parse_tensors(content), parse_epochs(before["history"], kind))


def _read_header(folder: AnyPath) -> tuple[bytes, dict[str, Any]]:
    """Return a checkpoint, and its settings, origin and lines of epochs."""
    path = Path(folder) / CHECKPOINT
    files = read_files(folder, without=NAMES - {CHECKPOINT}) if holds_model(folder) else None
    if files is None or CHECKPOINT not in files:
        raise ModelError(f"{folder} has no {CHECKPOINT}: nothing to resume. Learn without --resume.")
    content = files[CHECKPOINT]
    with as_error(lambda why: damaged(path, why)):
        header = parse_json(content[8 : 8 + int.from_bytes(content[:8], "little")], dict[str, Any])
        run = parse_json(header["__metadata__"]["run"], dict[str, Any])
        return content, {**run, "settings": {**run["settings"]}, "origin": {**run["origin"]}}
