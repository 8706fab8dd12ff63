"""Arguments and options that several commands share, and options derived from configurations."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from ..config import ENGINE_CHOICES
from ..errors import ConfigError, quoted
from .common import columns_of_data
from .completion import complete_entity, complete_relation
from .output import printed_names

if TYPE_CHECKING:
    from ..graph.knowledge_base import KnowledgeBase, Split
    from ..pipeline.program import Program
    from ..reasoning.reasoner import Reasoner
    from ..scale.learning import SparkWorkers

#: The relation whose rules are wanted: `rules` and `export`.
RulesOf = Annotated[
    str | None,
    typer.Option(
        "--relation",
        autocompletion=complete_relation,
        help="Only this relation's rules (~name: its inverse).",
    ),
]

#: What is predicted: options of `predict` and `apply`.
Predicted = Annotated[
    list[str] | None,
    typer.Option(
        "--relation", autocompletion=complete_relation, help="Only this one (~name: its inverse; repeat)."
    ),
]
MaxAnswers = Annotated[int, typer.Option("-k", min=1, help="Answers to each question, at most.")]
WithKnown = Annotated[bool, typer.Option("--known", help="Also answers that are facts of DATA.")]
Unlinked = Annotated[
    bool,
    typer.Option("--unlinked", help="Only answers that no known fact links to the entity asked about."),
]
LeastProbability = Annotated[
    float,
    typer.Option("--min-probability", min=0, max=1, help="Only answers with at least this probability."),
]


def existing_data(path: Path | None) -> Path | None:
    """Return a path to data; where nothing is there, raise before anything heavy is imported."""
    from ..io.files import missing

    if path is not None and not path.exists():
        raise missing(path)
    return path


def existing_model(path: Path) -> Path:
    """Return a model folder; raise with the command that makes one where there is none."""
    from ..io.models.folders import require_folder

    require_folder(path, "neurallp learn DATA")
    return path


def existing_question_model(path: Path) -> Path:
    """Return the folder of a question model; raise with the command that makes one where it is none."""
    from ..io.models.folders import require_question_model

    require_question_model(path)
    return path


def require_new(out: Path, *, force: bool = False, resume: bool = False) -> None:
    """Raise where a folder holds a model, unless it is to be replaced or continued."""
    from ..io.models.store import holds_model

    if not (force or resume) and holds_model(out):
        raise ConfigError(f"{out} holds a model. Give another --out, or --force to replace it.")


def existing_source(path: Path) -> Path:
    """Return a model folder or a file of rules."""
    return path if path.is_file() else existing_model(path)


FactHead = Annotated[str, typer.Argument(autocompletion=complete_entity, help="The fact's head.")]
FactRelation = Annotated[str, typer.Argument(autocompletion=complete_relation, help="The fact's relation.")]
FactTail = Annotated[str, typer.Argument(autocompletion=complete_entity, help="The fact's tail.")]
Reasons = Annotated[int, typer.Option("-k", min=1, help="Reasons, at most.")]
Prefixes = Annotated[
    list[str] | None, typer.Option(metavar="NAME=IRI", help="What a prefix of names stands for (repeat).")
]

#: The parameter of a command whose place the derived options take.
SETTINGS = "settings"

Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        callback=existing_data,
        help="A file of triples, a folder with train [facts, valid, test], or a packed folder.",
    ),
]
OptionalData = Annotated[
    Path | None,
    typer.Argument(metavar="DATA", callback=existing_data, help="Facts to count confidence and support on."),
]
#: The option by which earlier versions took DATA, where DATA may be left out.
GivenData = Annotated[Path | None, typer.Option("--data", hidden=True, callback=existing_data)]
Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", callback=existing_model, help="A model folder that `neurallp learn` wrote."
    ),
]
Source = Annotated[
    Path,
    typer.Argument(metavar="MODEL", callback=existing_source, help="A model folder, or a file of rules."),
]
SafeCsv = Annotated[
    bool, typer.Option("--safe-csv", help="Put ' before names that spreadsheets take for formulas.")
]
LabelFile = Annotated[
    Path | None,
    typer.Option(
        "--labels",
        metavar="FILE",
        callback=existing_data,
        show_default="rdfs:label of DATA",
        help="Labels of entities: lines of name, tab, label; or RDF.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Engine = Annotated[
    Literal[ENGINE_CHOICES],  # type: ignore[valid-type]
    typer.Option(help="The engine that computes the walks."),
]
Device = Annotated[str, typer.Option(help="cpu, cuda, or auto.")]
Workers = Annotated[
    str,
    typer.Option(
        metavar="N|SPARK", help="Processes that weigh rules, or a Spark master; the result is the same."
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue the run in --out.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a model that is in --out.")]


def with_settings(
    *configs: type, defaults: Mapping[str, Any] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each setting of some configurations that has a help text.

    The command takes `settings`, a dictionary of the settings that were given on the command line. The help
    shows `defaults` instead of the configuration's own. A setting of two configurations gets one option.
    """
    settings = {name: each for config in reversed(configs) for name, each in _settings(config).items()}
    settings = {name: settings[name] for name in _in_order(configs)}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def run(**given: Any) -> None:
            chosen = {name: _parse(settings[name], given.pop(name)) for name in settings}
            command(**given, settings={name: value for name, value in chosen.items() if value is not None})

        options = [_option(*each, (defaults or {}).get(name, MISSING)) for name, each in settings.items()]
        signature = inspect.signature(command, eval_str=True)
        own = [each for each in signature.parameters.values() if each.name != SETTINGS]
        place = list(signature.parameters).index(SETTINGS)
        parameters = [
            each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own[:place] + options + own[place:]
        ]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
        return run

    return decorate


def _settings(config: type) -> dict[str, tuple["Field[Any]", Any]]:
    """Return the field and the type of each setting that the command line offers."""
    hints = get_type_hints(config)
    return {each.name: (each, hints[each.name]) for each in fields(config) if each.metadata.get("help")}


def _in_order(configs: tuple[type, ...]) -> list[str]:
    return list(dict.fromkeys(name for config in configs for name in _settings(config)))


def _option(each: "Field[Any]", hint: Any, default: Any) -> inspect.Parameter:
    """Return the parameter of one setting; None, its default, means not given."""
    shown = each.default if default is MISSING else default
    option = typer.Option(
        *_flags(each, hint),
        help=each.metadata["help"],
        show_default=_show(each, shown),
        metavar="A,B" if _is_list(hint) else None,
    )
    kind = str if _is_list(hint) else _without_none(hint)
    return inspect.Parameter(
        each.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )


def _flags(each: "Field[Any]", hint: Any) -> list[str]:
    name = each.name.replace("_", "-")
    plain = f"--{name}/--no-{name}" if hint is bool else f"--{name}"
    flags: str = each.metadata["flag"] or plain
    return flags.split()


def _show(each: "Field[Any]", default: Any) -> str:
    """Return a default as the help text shows it."""
    if default is None or default == ():
        return each.metadata["unset"] or "none"
    if isinstance(default, bool):
        return _flags(each, bool)[0].split("/")[0 if default else 1].removeprefix("--")
    return ",".join(map(str, default)) if isinstance(default, tuple) else str(default)


def _is_list(hint: Any) -> bool:
    return get_origin(hint) is tuple


def _without_none(hint: Any) -> Any:
    given = [each for each in get_args(hint) if each is not NoneType]
    return given[0] if NoneType in get_args(hint) else hint


def _parse(setting: tuple["Field[Any]", Any], value: Any) -> Any:
    """Return the value of a setting: a tuple from a list with commas, or the value as it is."""
    each, hint = setting
    if value is None or not _is_list(hint):
        return value
    kind = get_args(hint)[0]
    try:
        return tuple(kind(item.strip()) for item in value.split(","))
    except ValueError:
        flag = _flags(each, hint)[0]
        raise ConfigError(
            f"{flag} takes values of type {kind.__name__}, separated by commas, got {quoted(value)}."
        ) from None


@contextmanager
def open_workers(given: str, out: Path) -> "Iterator[int | SparkWorkers]":
    """Yield a number of processes, or the executors of a Spark master, which share the folder of `out`."""
    if given.isdecimal() and int(given):
        yield int(given)
    elif given.startswith("local") or "://" in given or given == "yarn":
        from ..scale.learning import spark_workers

        with spark_workers(given, out) as workers:
            yield workers
    else:
        raise ConfigError(f"--workers takes a number of processes or a Spark master, got {quoted(given)}.")


def _load(path: Path, program: "Program | None" = None, *, numbers: bool = False) -> "KnowledgeBase | Split":
    """Return what a path holds, with the bins of a program; its names are those that will be printed."""
    from ..io.triples import load

    bins = None if program is None else program.numbers
    data = load(path, columns_of_data.get(), numbers=numbers or bins is not None)
    data = data if bins is None else bins.apply(data)
    printed_names.set((data.entities, data.relations))
    return data


def load_split(
    path: Path,
    seed: int,
    num_facts: int | None = None,
    *,
    program: "Program | None" = None,
    numbers: bool = False,
) -> "Split":
    """Return the split of a folder, or one made from a file by `seed`; of a sample where a size is given.

    With a program that has bins, or with `numbers`, literals that are numbers or dates are facts too.
    """
    from ..graph.knowledge_base import Split, split_triples

    data = _load(path, program, numbers=numbers)
    if num_facts is not None:
        from ..scale.sampling import sample

        data = sample(data, num_facts, seed)
    return data if isinstance(data, Split) else split_triples(data, seed)


def load_known(path: Path, program: "Program | None" = None) -> "KnowledgeBase":
    """Return all facts that questions are answered from: every part of a folder but test."""
    from ..graph.knowledge_base import Split

    data = _load(path, program)
    return data.given if isinstance(data, Split) else data


def load_all(path: Path, program: "Program | None" = None) -> "KnowledgeBase":
    """Return the facts of every part, test included: nothing of these is new."""
    from ..graph.knowledge_base import KnowledgeBase, Split

    data = _load(path, program)
    if not isinstance(data, Split):
        return data
    return KnowledgeBase(data.entities, data.relations, data.true_triples)


def load_reasoner(model: Path, data: Path) -> "Reasoner":
    """Return a reasoner with the program of `model` over the facts of `data`."""
    from ..pipeline.program import load_program

    return bind(load_program(model), data)


def bind(program: "Program", data: Path) -> "Reasoner":
    """Return a reasoner with a program over the facts of `data`."""
    reasoner: Reasoner = program.reasoner(load_known(data, program))
    printed_names.set((reasoner.kb.entities, reasoner.relations))
    return reasoner


def load_labels(data: Path, given: Path | None) -> dict[str, str]:
    """Return what to call the entities of `data`."""
    from ..io.labels import load_labels

    return load_labels(data, given)


def parse_prefixes(given: list[str] | None) -> dict[str, str]:
    """Return the prefixes that `NAME=IRI` options define."""
    pairs = [each.partition("=") for each in given or ()]
    for name, equals, iri in pairs:
        if not equals or ":" not in iri:
            raise ConfigError(
                f"Give a prefix as NAME=IRI, such as ex=http://ex.org/, not {quoted(name + equals + iri)}."
            )
    return {name: iri for name, _, iri in pairs}
