"""A question model's folder: weights, configuration, relations, words, measures and history."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from safetensors.torch import save as dump_tensors

from ..errors import ConfigError, DataError, ModelError
from ..language.judging import THRESHOLDS
from ..language.learning import QuestionEpoch, QuestionTrainingConfig
from ..language.model import QuestionConfig, QuestionModel
from ..language.words import WordVocabulary
from . import models
from .files import AnyPath, read_bytes

FORMAT_VERSION = 1
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
    config = {
        "format_version": FORMAT_VERSION,
        "kind": KIND,
        "model": asdict(model.config),
        "training": asdict(training),
        "threshold": threshold,
    }
    models._write_together(
        folder,
        {
            models.CONFIG: models._to_json(config),
            models.RELATIONS: models._to_json(list(model.relations)),
            WORDS: models._to_json(model.vocabulary.counts),
            models.HISTORY: "".join(json.dumps(asdict(epoch)) + "\n" for epoch in history),
            models.METRICS: models._to_json(metrics),
            models.WEIGHTS: dump_tensors(models._contiguous(model.state_dict())),
        },
    )


def read_question_model(
    folder: AnyPath,
) -> tuple[QuestionModel, QuestionTrainingConfig, float, list[QuestionEpoch]]:
    """Return the model of a folder, how it was trained, its threshold and its epochs."""
    if not Path(folder).is_dir():
        raise ModelError(
            f"There is no model folder {folder}. `neurallp qa learn KB QUESTIONS --out {folder}` makes one."
        )
    path = Path(folder) / models.CONFIG
    config = models._read_json(path, dict)
    _require_readable(folder, config)
    try:
        model_config = QuestionConfig(**config["model"])
        training = QuestionTrainingConfig(**config["training"])
        threshold = THRESHOLDS[THRESHOLDS.index(config["threshold"])]
    except (KeyError, TypeError, ValueError, ConfigError) as error:
        raise models._damaged(path, error) from error
    return _read_weights(folder, model_config), training, threshold, _read_history(folder)


def _require_readable(folder: AnyPath, config: Mapping[str, Any]) -> None:
    if config.get("kind") != KIND:
        raise ModelError(f"{folder} holds no model of questions in words. `neurallp qa learn` makes one.")
    if (version := config.get("format_version")) != FORMAT_VERSION:
        raise ModelError(
            f"{folder} has format version {version!r}; this neurallp reads {FORMAT_VERSION}. "
            "Use the version that wrote it, or learn again."
        )


def _read_weights(folder: AnyPath, config: QuestionConfig) -> QuestionModel:
    counts = models._read_json(Path(folder) / WORDS, dict)
    model = QuestionModel(models._read_relations(folder), WordVocabulary(counts), config)
    path = Path(folder) / models.WEIGHTS
    try:
        model.load_state_dict(models._read_tensors(path))
    except RuntimeError as error:
        raise ModelError(f"{path} does not fit the files beside it. Learn again.") from error
    return model


def _read_history(folder: AnyPath) -> list[QuestionEpoch]:
    path = Path(folder) / models.HISTORY
    try:
        return [QuestionEpoch(**json.loads(line)) for line in read_bytes(path).decode().splitlines()]
    except (DataError, ValueError, TypeError) as error:
        raise models._damaged(path, error) from error
