"""Folders of neural models: weights, configuration, relations, rules, measures and history; no pickle."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from ...config import TrainingConfig, WeightingConfig
from ...errors import ModelError
from ...neural.model import NeuralLP
from ...neural.training import Epoch, Training
from ...rules.rule import Rule
from ...weighting.weighted_rules import WeightedRules
from ..files import AnyPath
from ..rules.table import format_rules
from .calibration import CALIBRATION
from .checkpoints import dump_checkpoint, dump_tensors, read_tensors, resume_run
from .folders import (
    CHECKPOINT,
    CONFIG,
    FORMAT_VERSION,
    HISTORY,
    METRICS,
    RELATIONS,
    RULES,
    WEIGHTS,
    checksums,
    history_lines,
    read_config,
    read_epochs,
    require_folder,
    require_together,
    to_json,
    write_together,
)
from .weighted import describe_weighted, drop_weighted


def write_model(
    folder: AnyPath,
    model: NeuralLP,
    training: TrainingConfig,
    history: Iterable[Epoch],
    rules: Iterable[Rule],
    metrics: Mapping[str, Any],
    weighted: tuple[WeightedRules, WeightingConfig] | None = None,
) -> None:
    """Write the whole folder; when a file cannot be written, the folder stays as it was.

    `weighted` rules are written beside the model; those of an earlier model are removed.
    """
    described = _describe(model, training, history, model.state_dict())
    contents = {**described, RULES: format_rules(rules), METRICS: to_json(metrics)}
    if weighted is not None:
        contents |= describe_weighted(*weighted, beside=described)
    write_together(folder, contents)
    if weighted is None:
        drop_weighted(folder)


def write_checkpoint(folder: AnyPath, training: Training) -> None:
    """Write a checkpoint, and the best model so far beside it.

    Rules, measures and calibration are removed: they belong to a model that is replaced.
    """
    contents: dict[str, str | bytes] = {
        CHECKPOINT: dump_checkpoint(training, _settings(training), _origin(training)),
        **_describe(training.model, training.config, training.history, training.best_weights),
    }
    write_together(folder, contents)
    drop_weighted(folder)
    for name in (RULES, METRICS, CALIBRATION):
        (Path(folder) / name).unlink(missing_ok=True)


def resume(folder: AnyPath, training: Training) -> None:
    """Restore `training` from the checkpoint in `folder`."""
    resume_run(folder, training, _settings(training), _origin(training), Epoch)


def _settings(training: Training) -> dict[str, Any]:
    return {**asdict(training.model.config), **asdict(training.config)}


def _origin(training: Training) -> dict[str, Any]:
    return {"relations": list(training.model.relations)}


def read_history(folder: AnyPath) -> list[Epoch]:
    """Return the epochs of a model's training."""
    return read_epochs(folder, Epoch)


def read_model(folder: AnyPath) -> tuple[NeuralLP, TrainingConfig, list[Epoch]]:
    """Return the model of a folder, how it was trained, and its epochs."""
    require_folder(folder, "neurallp learn DATA")
    relations, config, training, restricted = read_config(folder)
    size = relations.num_operators
    allowed = torch.zeros(size, size, dtype=torch.bool).numpy() if restricted else None
    model = NeuralLP(relations, config, allowed=allowed)
    path = Path(folder) / WEIGHTS
    try:
        model.load_state_dict(read_tensors(path))
    except RuntimeError as error:
        raise ModelError(f"{path} does not fit {CONFIG} and {RELATIONS} beside it. Learn again.") from error
    history = read_history(folder)
    require_together(Path(folder) / CONFIG)
    return model, training, history


def _describe(
    model: NeuralLP, training: TrainingConfig, history: Iterable[Epoch], weights: Mapping[str, torch.Tensor]
) -> dict[str, str | bytes]:
    """Return the files that loading needs; the configuration records the checksums of the others."""
    contents: dict[str, str | bytes] = {
        RELATIONS: to_json(list(model.relations)),
        HISTORY: history_lines(history),
        WEIGHTS: dump_tensors(weights),
    }
    config = {
        "format_version": FORMAT_VERSION,
        "model": asdict(model.config),
        "training": asdict(training),
        "restricted_operators": model.controller.allowed is not None,
        "checksums": checksums(contents),
    }
    return {CONFIG: to_json(config), **contents}
