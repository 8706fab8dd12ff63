"""Folders of question models: weights, configuration, relations, words, measures and history."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor

from ...config import QuestionConfig, QuestionTrainingConfig
from ...neural.loop import Epoch
from ...qa.confidence import AnswerCalibration, StoredCalibration
from ...qa.evaluation import THRESHOLDS
from ...qa.model import QuestionModel
from ...qa.tokens import WordVocabulary
from ...qa.training import QuestionTraining
from ..files import AnyPath
from ..schema import as_error, parse_json, to_json
from .checkpoints import dump_checkpoint, dump_tensors, load_weights, resume_run
from .folders import (
    history_lines,
    read_epochs,
    read_json,
    read_relations,
    relations_file,
    require_question_model,
)
from .store import (
    CALIBRATION,
    CHECKPOINT,
    CONFIG,
    HISTORY,
    METRICS,
    WEIGHTS,
    WORDS,
    ModelFiles,
    damaged,
    is_saved,
    read_files,
    write_files,
)


@dataclass(frozen=True)
class QuestionSettings:
    """What `config.json` of a question model holds."""

    model: QuestionConfig
    training: QuestionTrainingConfig
    threshold: float


def write_model(
    folder: AnyPath,
    model: QuestionModel,
    settings: QuestionSettings,
    history: Iterable[Epoch],
    metrics: Mapping[str, Any],
    calibration: AnswerCalibration | None = None,
) -> None:
    """Write the whole folder in one step; a checkpoint stays where it is of this model."""
    files = _model_files(model, settings, history, model.state_dict())
    weights = files[WEIGHTS]
    assert isinstance(weights, bytes)
    keep = (CHECKPOINT,) if is_saved(folder, WEIGHTS, weights) else ()
    calibrated = {} if calibration is None else {CALIBRATION: to_json(calibration.as_dict())}
    write_files(folder, "questions", {**files, METRICS: to_json(metrics), **calibrated}, keep)


def write_checkpoint(folder: AnyPath, training: QuestionTraining) -> None:
    """Write the checkpoint that resuming needs, and the best model so far.

    The measures and the calibration in the folder are those of an earlier model, so they are removed.
    """
    threshold = training.best_epoch.metrics["threshold"]
    settings = QuestionSettings(training.model.config, training.config, threshold)
    files = _model_files(training.model, settings, training.history, training.best_weights)
    checkpoint = dump_checkpoint(training, _settings(training), _origin(training))
    write_files(folder, "questions", {CHECKPOINT: checkpoint, **files})


def resume(folder: AnyPath, training: QuestionTraining) -> None:
    """Restore `training` from the checkpoint in `folder`, which must have the same settings and words."""
    resume_run(folder, training, _settings(training), _origin(training), Epoch)


def _model_files(
    model: QuestionModel, settings: QuestionSettings, history: Iterable[Epoch], weights: Mapping[str, Tensor]
) -> dict[str, str | bytes]:
    """Return the files that loading needs."""
    return {
        CONFIG: to_json(asdict(settings)),
        WORDS: to_json(model.vocabulary.counts),
        HISTORY: history_lines(history),
        WEIGHTS: dump_tensors(weights),
        **relations_file(model.relations),
    }


def _settings(training: QuestionTraining) -> dict[str, Any]:
    return {**asdict(training.model.config), **asdict(training.config)}


def _origin(training: QuestionTraining) -> dict[str, Any]:
    return {"relations": list(training.model.relations), "words": training.model.vocabulary.counts}


def read_question_files(folder: AnyPath) -> ModelFiles:
    """Return the files of a folder that holds a question model."""
    require_question_model(folder)
    return read_files(folder)


def read_model(files: ModelFiles) -> tuple[QuestionModel, QuestionSettings, list[Epoch]]:
    """Return the model of a folder's files, its settings and its epochs."""
    settings = read_json(files, CONFIG, QuestionSettings)
    if settings.threshold not in THRESHOLDS:
        raise damaged(files.folder / CONFIG, f"no threshold {settings.threshold}")
    return _read_weights(files, settings.model), settings, read_epochs(files, Epoch)


def calibration_of(files: ModelFiles) -> AnswerCalibration | None:
    """Return the calibration of a question model, or None where training was stopped before it."""
    if CALIBRATION not in files:
        return None
    with as_error(lambda why: damaged(files.folder / CALIBRATION, why)):
        return AnswerCalibration.from_stored(parse_json(files[CALIBRATION], StoredCalibration))


def _read_weights(files: ModelFiles, config: QuestionConfig) -> QuestionModel:
    counts = read_json(files, WORDS, dict[str, int])
    if min(counts.values(), default=0) < 0:
        raise damaged(files.folder / WORDS, "a word occurs less than 0 times")
    relations, words = read_relations(files), WordVocabulary(counts)
    return load_weights(files, lambda: QuestionModel(relations, words, config))
