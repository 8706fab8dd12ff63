"""A model folder: weights, configuration, relations, rules, measures and history; never pickle."""

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as parse_tensors
from safetensors.torch import save as dump_tensors
from torch import Tensor

from ..errors import ConfigError, DataError, ModelError
from ..knowledge import Relations
from ..model import ModelConfig, NeuralLP
from ..rules import Rule
from ..training import Epoch, Training, TrainingConfig
from .files import AnyPath, read_bytes, replacing
from .rules import format_rules

FORMAT_VERSION = 1

WEIGHTS = "weights.safetensors"
CHECKPOINT = "checkpoint.safetensors"
CONFIG = "config.json"
RELATIONS = "relations.json"
RULES = "rules.tsv"
METRICS = "metrics.json"
HISTORY = "history.jsonl"


#: What a resumed run may change: how long it goes on.
CHANGEABLE = {"num_epochs", "patience"}


def make_folder(folder: AnyPath) -> None:
    """Make the folder where it is not there, so that a bad path fails before training and not after."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(f"Cannot make the folder {folder}: {error.strerror or error}.") from error


def write_model(
    folder: AnyPath,
    model: NeuralLP,
    training: TrainingConfig,
    history: Iterable[Epoch],
    rules: Iterable[Rule],
    metrics: Mapping[str, Any],
) -> None:
    """Write the whole folder; when a file cannot be written, the folder stays as it was."""
    contents: dict[str, str | bytes] = {
        **_describe(model, training, history),
        WEIGHTS: dump_tensors(_contiguous(model.state_dict())),
        RULES: format_rules(rules),
        METRICS: _to_json(metrics),
    }
    _write_together(folder, contents)


def write_checkpoint(folder: AnyPath, training: Training) -> None:
    """Write all that resuming needs as one file, and beside it the best model so far.

    Rules and measures go: they would tell of a model that is no longer there.
    """
    run = {**_settings(training), "relations": list(training.model.relations)}
    metadata = {"run": json.dumps(run), "history": _history_lines(training.history)}
    contents: dict[str, str | bytes] = {
        CHECKPOINT: dump_tensors(_contiguous(training.state()), metadata),
        **_describe(training.model, training.config, training.history),
        WEIGHTS: dump_tensors(_contiguous(training.best_weights)),
    }
    _write_together(folder, contents)
    for name in (RULES, METRICS):
        (Path(folder) / name).unlink(missing_ok=True)


def read_settings(folder: AnyPath) -> dict[str, Any]:
    """Return the settings of the run that a checkpoint is from."""
    run, _ = _read_checkpoint(folder)
    return {name: value for name, value in run.items() if name != "relations"}


def resume(folder: AnyPath, training: Training) -> None:
    """Take `training` up where the checkpoint in `folder` left off; it may only go on for longer."""
    run, history = _read_checkpoint(folder)
    if run["relations"] != list(training.model.relations):
        raise ModelError(f"The data has other relations than the run in {folder}. Learn into another folder.")
    for name, value in _settings(training).items():
        if run[name] != value and name not in CHANGEABLE:
            raise ModelError(
                f"The run in {folder} has {name} {run[name]}, not {value}. "
                "Resume with the same settings, or learn into another folder."
            )
    training.restore(_read_tensors(Path(folder) / CHECKPOINT), history)


def _settings(training: Training) -> dict[str, Any]:
    return {**asdict(training.model.config), **asdict(training.config)}


def _read_checkpoint(folder: AnyPath) -> tuple[dict[str, Any], list[Epoch]]:
    """Return the settings and relations of a run, and its epochs."""
    path = Path(folder) / CHECKPOINT
    if not path.exists():
        raise ModelError(f"{folder} has no {CHECKPOINT}: nothing to resume. Learn without --resume.")
    try:
        data = read_bytes(path)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        run, history = (header["__metadata__"][name] for name in ("run", "history"))
        return json.loads(run), _parse_history(history)
    except (ValueError, TypeError, KeyError) as error:
        raise _damaged(path, error) from error


def read_history(folder: AnyPath) -> list[Epoch]:
    """Return the epochs a model was trained for."""
    path = Path(folder) / HISTORY
    try:
        return _parse_history(read_bytes(path).decode())
    except (DataError, ValueError, TypeError) as error:
        raise _damaged(path, error) from error


def _parse_history(lines: str) -> list[Epoch]:
    return [Epoch(**json.loads(line)) for line in lines.splitlines()]


def read_config(folder: AnyPath) -> tuple[Relations, ModelConfig, TrainingConfig, bool]:
    """Return what a model folder says of itself; raise when it is not one this version can use."""
    path = Path(folder) / CONFIG
    config = _read_json(path, dict)
    version = config.get("format_version")
    if version != FORMAT_VERSION:
        raise ModelError(
            f"{folder} has format version {version!r}; this neurallp reads {FORMAT_VERSION}. "
            "Use the version that wrote it, or learn again."
        )
    try:
        model, training = ModelConfig(**config["model"]), TrainingConfig(**config["training"])
    except (KeyError, TypeError, ConfigError) as error:
        raise _damaged(path, error) from error
    return _read_relations(folder), model, training, bool(config.get("restricted_operators"))


def _read_relations(folder: AnyPath) -> Relations:
    path = Path(folder) / RELATIONS
    names = _read_json(path, list)
    if not names:
        raise _damaged(path, "no relations")
    try:
        return Relations(names)
    except (DataError, AttributeError, TypeError) as error:
        raise _damaged(path, error) from error


def read_model(folder: AnyPath) -> tuple[NeuralLP, TrainingConfig]:
    """Return the model of a folder and how it was trained."""
    if not Path(folder).is_dir():
        raise ModelError(
            f"There is no model folder {folder}. `neurallp learn DATA --out {folder}` makes one."
        )
    relations, config, training, restricted = read_config(folder)
    size = relations.num_operators
    allowed = torch.zeros(size, size, dtype=torch.bool).numpy() if restricted else None
    model = NeuralLP(relations, config, allowed=allowed)
    path = Path(folder) / WEIGHTS
    try:
        model.load_state_dict(_read_tensors(path))
    except RuntimeError as error:
        raise ModelError(f"{path} does not fit {CONFIG} and {RELATIONS} beside it. Learn again.") from error
    return model, training


def _describe(model: NeuralLP, training: TrainingConfig, history: Iterable[Epoch]) -> dict[str, str]:
    """Return the files that say what the weights belong to."""
    config = {
        "format_version": FORMAT_VERSION,
        "model": asdict(model.config),
        "training": asdict(training),
        "restricted_operators": model.controller.allowed is not None,
    }
    return {
        CONFIG: _to_json(config),
        RELATIONS: _to_json(list(model.relations)),
        HISTORY: _history_lines(history),
    }


def _write_together(folder: AnyPath, contents: Mapping[str, str | bytes]) -> None:
    """Write files of a folder; all are on disk before the first takes its place."""
    make_folder(folder)
    with ExitStack() as stack:
        for name, content in contents.items():
            file = stack.enter_context(replacing(Path(folder) / name))
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())


def _history_lines(history: Iterable[Epoch]) -> str:
    """Return one line of JSON for each epoch."""
    return "".join(json.dumps(asdict(epoch)) + "\n" for epoch in history)


def _to_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _read_json(path: Path, kind: type) -> Any:
    try:
        value = json.loads(read_bytes(path))
    except (DataError, ValueError) as error:
        raise _damaged(path, error) from error
    if not isinstance(value, kind):
        raise _damaged(path, f"expected a {kind.__name__}, got {value!r:.40}")
    return value


def _read_tensors(path: Path) -> dict[str, Tensor]:
    try:
        return parse_tensors(read_bytes(path))
    except (DataError, SafetensorError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, why: object) -> ModelError:
    return ModelError(f"{path} is missing or damaged ({why}). The model is incomplete; learn again.")


def _contiguous(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
