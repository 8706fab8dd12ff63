"""A model folder: weights, configuration, relations, rules, measures and history; never pickle."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as parse_tensors
from safetensors.torch import save as dump_tensors
from torch import Tensor

from ..errors import DataError, ModelError
from ..knowledge import Relations
from ..model import ModelConfig, NeuralLP
from ..training import Epoch, Training, TrainingConfig
from .files import AnyPath, atomic_write, read_bytes

FORMAT_VERSION = 1

WEIGHTS = "weights.safetensors"
CHECKPOINT = "checkpoint.safetensors"
CONFIG = "config.json"
RELATIONS = "relations.json"
RULES = "rules.tsv"
METRICS = "metrics.json"
HISTORY = "history.jsonl"


def write_config(folder: AnyPath, model: NeuralLP, training: TrainingConfig) -> None:
    """Write what the model is, before there are weights; makes the folder."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(f"Cannot make the folder {folder}: {error.strerror or error}.") from error
    config = {
        "format_version": FORMAT_VERSION,
        "model": asdict(model.config),
        "training": asdict(training),
        "restricted_operators": model.controller.allowed is not None,
    }
    write_json(folder / CONFIG, config)
    write_json(folder / RELATIONS, list(model.relations))


def write_weights(folder: AnyPath, weights: Mapping[str, Tensor]) -> None:
    """Write the weights of a model."""
    atomic_write(Path(folder) / WEIGHTS, dump_tensors(_contiguous(weights)))


def write_history(folder: AnyPath, history: Iterable[Epoch]) -> None:
    """Write one line of JSON for each epoch."""
    atomic_write(Path(folder) / HISTORY, "".join(json.dumps(asdict(epoch)) + "\n" for epoch in history))


def read_history(folder: AnyPath) -> list[Epoch]:
    """Return the epochs a model was trained for."""
    path = Path(folder) / HISTORY
    lines = read_bytes(path).decode().splitlines() if path.exists() else []
    return [Epoch(**json.loads(line)) for line in lines]


def write_checkpoint(folder: AnyPath, training: Training) -> None:
    """Write all that resuming needs: one file, so that a kill leaves the epoch before or this one."""
    history = json.dumps([asdict(epoch) for epoch in training.history])
    data = dump_tensors(_contiguous(training.state()), metadata={"history": history})
    if training.history[-1].is_best:
        write_weights(folder, training.best_weights)
    atomic_write(Path(folder) / CHECKPOINT, data)
    write_history(folder, training.history)


def resume(folder: AnyPath, training: Training) -> None:
    """Take `training` up where the checkpoint in `folder` left off."""
    path = Path(folder) / CHECKPOINT
    if not path.exists():
        raise ModelError(f"{folder} has no {CHECKPOINT}: nothing to resume. Learn without resuming.")
    history = [Epoch(**epoch) for epoch in json.loads(_metadata(path)["history"])]
    weights = _read_tensors(Path(folder) / WEIGHTS)
    training.restore(_read_tensors(path), weights, history)


def read_config(folder: AnyPath) -> tuple[Relations, ModelConfig, TrainingConfig, bool]:
    """Return what a model folder says of itself; raise when it is not one this version can use."""
    config = _read_json(Path(folder) / CONFIG)
    version = config.get("format_version")
    if version != FORMAT_VERSION:
        raise ModelError(
            f"{folder} has format version {version!r}; this neurallp reads {FORMAT_VERSION}. "
            "Use the version that wrote it, or learn again."
        )
    relations = Relations(_read_json(Path(folder) / RELATIONS))
    try:
        model, training = ModelConfig(**config["model"]), TrainingConfig(**config["training"])
    except (KeyError, TypeError) as error:
        raise ModelError(f"{Path(folder) / CONFIG} is not a configuration: {error}. Learn again.") from error
    return relations, model, training, bool(config.get("restricted_operators"))


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
    try:
        model.load_state_dict(_read_tensors(Path(folder) / WEIGHTS))
    except RuntimeError as error:
        raise ModelError(f"{Path(folder) / WEIGHTS} does not fit {CONFIG}: {error}") from error
    return model, training


def write_json(path: AnyPath, value: Any) -> None:
    """Write a JSON file, readable by people."""
    atomic_write(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def _read_json(path: Path) -> Any:
    try:
        return json.loads(read_bytes(path))
    except (DataError, ValueError) as error:
        raise ModelError(
            f"{path} is missing or damaged ({error}). The model is incomplete; learn again."
        ) from error


def _read_tensors(path: Path) -> dict[str, Tensor]:
    try:
        return parse_tensors(read_bytes(path))
    except (DataError, SafetensorError) as error:
        raise ModelError(
            f"{path} is missing or damaged ({error}). The model is incomplete; learn again."
        ) from error


def _metadata(path: Path) -> dict[str, str]:
    data = read_bytes(path)
    size = int.from_bytes(data[:8], "little")
    metadata: dict[str, str] = json.loads(data[8 : 8 + size])["__metadata__"]
    return metadata


def _contiguous(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
