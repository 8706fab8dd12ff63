"""Folders of neural models: weights, configuration, relations, rules, measures and history; no pickle."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import torch

from ...config import TrainingConfig
from ...neural.model import NeuralLP
from ...neural.training import Epoch, Training
from ..files import AnyPath
from ..schema import to_json
from .checkpoints import dump_checkpoint, dump_tensors, load_weights, resume_run
from .folders import NeuralSettings, history_lines, read_config, read_epochs, read_relations, relations_file
from .store import CHECKPOINT, CONFIG, HISTORY, WEIGHTS, Contents, ModelFiles, is_saved, write_files


def write_model(folder: AnyPath, contents: Contents) -> None:
    """Write the files of a model with all that is beside it; a checkpoint stays where it is of this model."""
    weights = contents[WEIGHTS]
    assert isinstance(weights, bytes)
    write_files(folder, "rules", contents, (CHECKPOINT,) if is_saved(folder, WEIGHTS, weights) else ())


def write_checkpoint(folder: AnyPath, training: Training) -> None:
    """Write a checkpoint, and the best model so far beside it.

    Rules, measures and calibration are removed: they belong to a model that is replaced.
    """
    contents: dict[str, str | bytes] = {
        CHECKPOINT: dump_checkpoint(training, _settings(training), _origin(training)),
        **model_files(training.model, training.config, training.history, training.best_weights),
    }
    write_files(folder, "rules", contents)


def resume(folder: AnyPath, training: Training) -> None:
    """Restore `training` from the checkpoint in `folder`."""
    resume_run(folder, training, _settings(training), _origin(training), Epoch)


def _settings(training: Training) -> dict[str, Any]:
    return {**asdict(training.model.config), **asdict(training.config)}


def _origin(training: Training) -> dict[str, Any]:
    return {"relations": list(training.model.relations)}


def read_model(files: ModelFiles) -> tuple[NeuralLP, TrainingConfig, list[Epoch]]:
    """Return the model of a folder, how it was trained, and its epochs."""
    relations, settings = read_relations(files), read_config(files)

    def make() -> NeuralLP:
        size = relations.num_operators
        allowed = torch.zeros(size, size, dtype=torch.bool) if settings.restricted_operators else None
        return NeuralLP(relations, settings.model, allowed=allowed)

    return load_weights(files, make), settings.training, read_epochs(files, Epoch)


def model_files(
    model: NeuralLP,
    training: TrainingConfig,
    history: Iterable[Epoch],
    weights: Mapping[str, torch.Tensor] | None = None,
) -> dict[str, str | bytes]:
    """Return the files that loading a model needs; with other weights than its own where they are given."""
    settings = NeuralSettings(model.config, training, model.controller.allowed is not None)
    return {
        CONFIG: to_json(asdict(settings)),
        HISTORY: history_lines(history),
        WEIGHTS: dump_tensors(model.state_dict() if weights is None else weights),
        **relations_file(model.relations),
    }
