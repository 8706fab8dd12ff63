"""Folders of question models: weights, configuration, relations, words, measures and history."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import Tensor

from ...config import QuestionConfig, QuestionTrainingConfig
from ...errors import ConfigError, ModelError
from ...neural.loop import Epoch
from ...qa.confidence import AnswerCalibration
from ...qa.evaluation import THRESHOLDS
from ...qa.model import QuestionModel
from ...qa.tokens import WordVocabulary
from ...qa.training import QuestionTraining
from ..files import AnyPath
from .calibration import CALIBRATION
from .checkpoints import dump_checkpoint, dump_tensors, read_tensors, resume_run
from .folders import (
    CHECKPOINT,
    CONFIG,
    FORMAT_VERSION,
    HISTORY,
    METRICS,
    RELATIONS,
    WEIGHTS,
    checksums,
    damaged,
    history_lines,
    read_epochs,
    read_json,
    read_relations,
    require_folder,
    require_together,
    require_version,
    to_json,
    write_together,
)

KIND = "questions"
WORDS = "words.json"


def write_model(
    folder: AnyPath,
    model: QuestionModel,
    training: QuestionTrainingConfig,
    threshold: float,
    history: Iterable[Epoch],
    metrics: Mapping[str, Any],
    calibration: AnswerCalibration | None = None,
) -> None:
    """Write the whole folder; when a file cannot be written, the folder stays as it was."""
    described = _describe(model, training, threshold, history, model.state_dict())
    calibrated = {} if calibration is None else {CALIBRATION: to_json(calibration.as_dict())}
    write_together(folder, {**described, METRICS: to_json(metrics), **calibrated})


def write_checkpoint(folder: AnyPath, training: QuestionTraining) -> None:
    """Write the checkpoint that resuming needs, and the best model so far.

    The measures and the calibration in the folder are those of an earlier model, so they are removed.
    """
    threshold = training.best_epoch.metrics["threshold"]
    contents = _describe(training.model, training.config, threshold, training.history, training.best_weights)
    checkpoint = dump_checkpoint(training, _settings(training), _origin(training))
    write_together(folder, {CHECKPOINT: checkpoint, **contents})
    for name in (METRICS, CALIBRATION):
        (Path(folder) / name).unlink(missing_ok=True)


def resume(folder: AnyPath, training: QuestionTraining) -> None:
    """Restore `training` from the checkpoint in `folder`, which must have the same settings and words."""
    resume_run(folder, training, _settings(training), _origin(training), Epoch)


def _describe(
    model: QuestionModel,
    training: QuestionTrainingConfig,
    threshold: float,
    history: Iterable[Epoch],
    weights: Mapping[str, Tensor],
) -> dict[str, str | bytes]:
    """Return the files that loading needs; the configuration holds the checksums of the others."""
    contents: dict[str, str | bytes] = {
        RELATIONS: to_json(list(model.relations)),
        WORDS: to_json(model.vocabulary.counts),
        HISTORY: history_lines(history),
        WEIGHTS: dump_tensors(weights),
    }
    config = {
        "format_version": FORMAT_VERSION,
        "kind": KIND,
        "model": asdict(model.config),
        "training": asdict(training),
        "threshold": threshold,
        "checksums": checksums(contents),
    }
    return {CONFIG: to_json(config), **contents}


def _settings(training: QuestionTraining) -> dict[str, Any]:
    return {**asdict(training.model.config), **asdict(training.config)}


def _origin(training: QuestionTraining) -> dict[str, Any]:
    return {"relations": list(training.model.relations), "words": training.model.vocabulary.counts}


def read_model(
    folder: AnyPath,
) -> tuple[QuestionModel, QuestionTrainingConfig, float, list[Epoch]]:
    """Return the model of a folder, its training configuration, its threshold and its epochs."""
    require_folder(folder, "neurallp qa learn KB QUESTIONS")
    path = Path(folder) / CONFIG
    config = read_json(path, dict)
    if config.get("kind") != KIND:
        raise ModelError(f"{folder} holds no model of questions in words. `neurallp qa learn` makes one.")
    require_version(folder, config)
    try:
        model_config = QuestionConfig(**config["model"])
        training = QuestionTrainingConfig(**config["training"])
        threshold = THRESHOLDS[THRESHOLDS.index(config["threshold"])]
    except (KeyError, TypeError, ValueError, ConfigError) as error:
        raise damaged(path, error) from error
    require_together(path)
    return _read_weights(folder, model_config), training, threshold, read_epochs(folder, Epoch)


def read_calibration(folder: AnyPath) -> AnswerCalibration | None:
    """Return the calibration of a question model, or None where training was stopped before it."""
    path = Path(folder) / CALIBRATION
    if not path.is_file():
        return None
    try:
        return AnswerCalibration.from_dict(read_json(path, dict))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise damaged(path, error) from error


def _read_weights(folder: AnyPath, config: QuestionConfig) -> QuestionModel:
    counts = read_json(Path(folder) / WORDS, dict)
    model = QuestionModel(read_relations(folder), WordVocabulary(counts), config)
    path = Path(folder) / WEIGHTS
    try:
        model.load_state_dict(read_tensors(path))
    except RuntimeError as error:
        raise ModelError(f"{path} does not fit {CONFIG} beside it. Learn again.") from error
    return model
