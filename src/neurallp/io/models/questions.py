"""A question model's folder: weights, configuration, relations, words, measures and history."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ...config import QuestionConfig, QuestionTrainingConfig
from ...errors import ConfigError, ModelError
from ...qa.evaluation import THRESHOLDS
from ...qa.model import QuestionModel
from ...qa.tokens import WordVocabulary
from ...qa.training import QuestionEpoch, QuestionTraining
from ..files import AnyPath
from .checkpoints import dump_checkpoint, dump_tensors, read_tensors, resume_run
from .folders import (
    CHECKPOINT,
    CONFIG,
    FORMAT_VERSION,
    HISTORY,
    METRICS,
    RELATIONS,
    WEIGHTS,
    damaged,
    history_lines,
    read_epochs,
    read_json,
    read_relations,
    require_folder,
    require_version,
    to_json,
    write_together,
)

KIND = "questions"
WORDS = "words.json"


def write_question_model(
    folder: AnyPath,
    model: QuestionModel,
    training: QuestionTrainingConfig,
    threshold: float,
    history: Iterable[QuestionEpoch],
    metrics: Mapping[str, Any],
) -> None:
    """Write the whole folder; when a file cannot be written, the folder stays as it was."""
    contents: dict[str, str | bytes] = {
        **_describe(model, training, threshold, history),
        METRICS: to_json(metrics),
        WEIGHTS: dump_tensors(model.state_dict()),
    }
    write_together(folder, contents)


def write_question_checkpoint(folder: AnyPath, training: QuestionTraining) -> None:
    """Write all that resuming needs as one file, and beside it the best model so far.

    Measures go: they would tell of a model that is no longer there.
    """
    threshold = training.best_epoch.threshold
    contents: dict[str, str | bytes] = {
        CHECKPOINT: dump_checkpoint(training, _settings(training), _origin(training)),
        **_describe(training.model, training.config, threshold, training.history),
        WEIGHTS: dump_tensors(training.best_weights),
    }
    write_together(folder, contents)
    (Path(folder) / METRICS).unlink(missing_ok=True)


def resume_questions(folder: AnyPath, training: QuestionTraining) -> None:
    """Take `training` up where the checkpoint in `folder` left off; it may only go on for longer."""
    resume_run(folder, training, _settings(training), _origin(training), QuestionEpoch)


def _describe(
    model: QuestionModel,
    training: QuestionTrainingConfig,
    threshold: float,
    history: Iterable[QuestionEpoch],
) -> dict[str, str]:
    """Return the files that say what the weights belong to."""
    config = {
        "format_version": FORMAT_VERSION,
        "kind": KIND,
        "model": asdict(model.config),
        "training": asdict(training),
        "threshold": threshold,
    }
    return {
        CONFIG: to_json(config),
        RELATIONS: to_json(list(model.relations)),
        WORDS: to_json(model.vocabulary.counts),
        HISTORY: history_lines(history),
    }


def _settings(training: QuestionTraining) -> dict[str, Any]:
    return {**asdict(training.model.config), **asdict(training.config)}


def _origin(training: QuestionTraining) -> dict[str, Any]:
    return {"relations": list(training.model.relations), "words": training.model.vocabulary.counts}


def read_question_model(
    folder: AnyPath,
) -> tuple[QuestionModel, QuestionTrainingConfig, float, list[QuestionEpoch]]:
    """Return the model of a folder, how it was trained, its threshold and its epochs."""
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
    return _read_weights(folder, model_config), training, threshold, read_epochs(folder, QuestionEpoch)


def _read_weights(folder: AnyPath, config: QuestionConfig) -> QuestionModel:
    counts = read_json(Path(folder) / WORDS, dict)
    model = QuestionModel(read_relations(folder), WordVocabulary(counts), config)
    path = Path(folder) / WEIGHTS
    try:
        model.load_state_dict(read_tensors(path))
    except RuntimeError as error:
        raise ModelError(f"{path} does not fit the files beside it. Learn again.") from error
    return model
