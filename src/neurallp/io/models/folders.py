"""What the kinds of models share: relations, configurations, arrays and epochs in files. Imports no torch."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ...config import ModelConfig, TrainingConfig
from ...errors import ConfigError, ModelError
from ...graph.vocabulary import Relations
from ..files import AnyPath
from ..schema import as_error, parse_json, to_json
from .store import CONFIG, HISTORY, METRICS, NAMES, RELATIONS, ModelFiles, damaged, holds_model, read_files

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Names of files that a data folder has, and a model folder has not.
DATA_PARTS = ("train", "facts", "valid", "test")

E = TypeVar("E")
T = TypeVar("T")


def require_folder(folder: AnyPath, command: str) -> None:
    """Raise where there is no model folder, naming the command that makes one."""
    if Path(folder).is_file():
        advice = "`neurallp weigh` makes one of a file of rules, `neurallp learn` of a file of triples."
        raise ModelError(f"{folder} is a file, not a model folder. {advice}")
    if not Path(folder).is_dir():
        raise ModelError(f"There is no model folder {folder}. `{command} --out {folder}` makes one.")
    names = {path.name for path in Path(folder).iterdir()}
    if RELATIONS not in names and any(name.partition(".")[0] in DATA_PARTS for name in names):
        remedy = f"Learn one from it with `{command.replace('DATA', str(folder))} --out MODEL`"
        raise ModelError(f"{folder} is a folder of data, not of a model. {remedy}, and give MODEL here.")


def read_rules_model(folder: AnyPath) -> ModelFiles:
    """Return the files of a folder that holds a model of rules: neural, weighted or both."""
    files = read_files(folder)
    if files.kind != "rules":
        raise ModelError(f"{folder} holds a model of questions in words. Ask it with `neurallp qa ask`.")
    return files


def is_question_model(path: AnyPath) -> bool:
    """Return whether a folder holds a model of questions in words."""
    return holds_model(path) and read_files(path, without=NAMES).kind == "questions"


def require_question_model(folder: AnyPath) -> None:
    """Raise where a folder does not hold a model of questions in words."""
    require_folder(folder, "neurallp qa learn DATA QUESTIONS")
    if not is_question_model(folder):
        raise ModelError(f"{folder} holds no model of questions in words. `neurallp qa learn` makes one.")


def read_json(files: ModelFiles, name: str, kind: type[T]) -> T:
    """Return the value of a JSON file of a model."""
    with as_error(lambda why: damaged(files.folder / name, why)):
        return parse_json(files[name], kind)


def relations_file(relations: Relations) -> dict[str, str]:
    """Return the file of a model's relations."""
    return {RELATIONS: to_json(list(relations))}


def read_relations(files: ModelFiles) -> Relations:
    """Return the relations of a model."""
    names = read_json(files, RELATIONS, list[str])
    if not names:
        raise damaged(files.folder / RELATIONS, "no relations")
    with as_error(lambda why: damaged(files.folder / RELATIONS, why)):
        return Relations(names)


def read_metrics(folder: AnyPath) -> dict[str, Any]:
    """Return the measures stored with a model; none where there are no such."""
    files = read_files(folder) if holds_model(folder) else None
    return {} if files is None or METRICS not in files else read_json(files, METRICS, dict[str, Any])


# Neural models


@dataclass(frozen=True)
class NeuralSettings:
    """What `config.json` of a neural model holds."""

    model: ModelConfig
    training: TrainingConfig
    restricted_operators: bool  # whether each query uses only some operators


def require_no_model(folder: AnyPath) -> None:
    """Raise where a folder holds a neural model: weighted rules without a model would replace it."""
    if holds_model(folder) and CONFIG in read_files(folder):
        raise ConfigError(f"{folder} holds a neural model. Give another folder for the weighted rules.")


def read_config(files: ModelFiles) -> NeuralSettings:
    """Return the configurations of a neural model."""
    return read_json(files, CONFIG, NeuralSettings)


# Arrays


def dump_arrays(arrays: "Mapping[str, NDArray[Any]]") -> bytes:
    """Return arrays as the content of a file."""
    from safetensors.numpy import save

    return save({name: array.copy(order="C") for name, array in arrays.items()})


def read_arrays(files: ModelFiles, name: str) -> "dict[str, NDArray[Any]]":
    """Return the arrays of a file."""
    from safetensors.numpy import load

    content = files[name]
    with as_error(lambda why: damaged(files.folder / name, why)):
        return load(content)


# Epochs


def history_lines(history: Iterable[Any]) -> str:
    """Return one line of JSON for each epoch, without its time: equal runs write equal files."""
    rows = ({name: value for name, value in asdict(epoch).items() if name != "seconds"} for epoch in history)
    return "".join(json.dumps(row) + "\n" for row in rows)


def read_epochs(files: ModelFiles, kind: type[E]) -> list[E]:
    """Return the epochs of a model's training, as objects of type `kind`."""
    content = files[HISTORY]
    with as_error(lambda why: damaged(files.folder / HISTORY, why)):
        return parse_epochs(content.decode(), kind)


def parse_epochs(lines: str, kind: type[E]) -> list[E]:
    """Return the epochs of a history."""
    rows = (parse_json(line, dict[str, Any]) for line in lines.splitlines())
    return [parse_json(json.dumps({"seconds": 0.0, **row}), kind) for row in rows]
