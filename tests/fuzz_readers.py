"""What the fuzzer lets read: each reader of files, the name of its file, and inputs that it accepts."""

import gzip
import io
import json
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path


@dataclass(frozen=True)
class Reader:
    """A function that reads a file, the name of that file, and inputs that it accepts."""

    read: Callable[[Path], object]
    name: str
    seeds: Callable[[], list[bytes]]


TRIPLES = [("anna", "father", "bob"), ("bob", "brother", "carl, sr."), ("anna", "uncle", "carl, sr.")]


def _triples(suffix: str) -> Callable[[], list[bytes]]:
    def seeds() -> list[bytes]:
        from neurallp.io.triples import write_triples

        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / f"facts{suffix}"
            write_triples(path, [(h.replace(", ", " "), r, t.replace(", ", "_")) for h, r, t in TRIPLES])
            return [path.read_bytes()]

    return seeds


RDF = b"""<?xml version="1.0"?><!DOCTYPE rdf:RDF [<!ENTITY ex "http://ex.org/">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:ex="http://ex.org/">
<rdf:Description rdf:about="&ex;anna"><ex:father><rdf:Description rdf:about="&ex;bob"/></ex:father>
<ex:age>7</ex:age></rdf:Description></rdf:RDF>"""

TURTLE = b"""@prefix ex: <http://ex.org/> .
ex:anna ex:father ex:bob ; ex:says "h\\u00e9", '''long'''@en ; ex:knows [ ex:father ( ex:bob 7 ) ] .
<< ex:anna ex:father ex:bob >> ex:in 1999 .
"""

LABELS = b"""@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<http://ex.org/anna> rdfs:label "Anna"@en, "Anne"@fr . <http://ex.org/bob> rdfs:label "Bob" ."""

ANYBURL = b"120\t60\t0.5\tuncle(X,Y) <= father(X,A), brother(A,Y)\n3\t1\t0.3\tuncle(X,bob) <= father(X,A)\n"
ANYBURL += b"3\t1\t0.3\tuncle(X,bob) <= father(X,carl)\n3\t1\t0.3\tuncle(bob,Y) <= father(carl,Y)\n"
AMIE = (
    b"Starting\n?a  father  ?h  ?h  brother  ?b   => ?a  uncle  ?b\t0.1\t0.5\t0.6\t60\t120\t100\n"
    b"?a  uncle  ?b   => ?b  nephew  ?a\t0.1\t0,5\t0.6\t60\t120\t100\n"
)
QUESTIONS = b"who directed [Blade Runner]\tRidley Scott|Another\tdirector\nwho acted in [Alien]\tSigourney\n"


def _rules(form: str) -> Callable[[], list[bytes]]:
    def seeds() -> list[bytes]:
        from importlib import import_module

        from neurallp import Rule

        rules = [
            Rule(
                "uncle", ("father", "brother"), 0.8, support=60, num_predictions=120, inequalities=((0, 1),)
            ),
            Rule("~uncle", ("~brother",), 0.25, weight=-1.5, distinct_ends=True),
            Rule("r", ("s",), 0.5, kind="unary", answer="anna", weight=2.0),
            Rule("r", ("s",), 0.5, kind="unary", answer="anna", body_end="bob", weight=1.0),
            Rule("r", ("s",), 0.5, kind="sourced", source="anna", body_start="bob", weight=1.0),
        ]
        return [import_module(f"neurallp.io.rules.{form}").render(rules, {}).encode()]

    return seeds


# Models: each file in turn is the input, the others are as they were saved


@cache
def _weighted() -> dict[str, bytes]:
    from weighted_samples import random_kb, random_rules

    from neurallp import Plan, WeightingConfig
    from neurallp.config.plan_log import Comparison, PlanLog
    from neurallp.graph.numbers import Bins, Numbers
    from neurallp.io.models.store import read_files
    from neurallp.pipeline.program import LearnedProgram
    from neurallp.reasoning.calibration import Calibration

    log = PlanLog({"walks": [2.0]}, (Comparison("bodies up to 3", 0.5, 0.1, 0.01, True),), 5.0, ("trials",))
    plan = Plan(None, None, WeightingConfig(), log)
    program = LearnedProgram(plan, weighted_rules=random_rules(random_kb(0), 0))
    program.numbers = Numbers({"born": Bins((1950.0,), ("before 1950", "from 1950"))}, "next")
    program.calibration = Calibration((0.0, 1.0), (1.0,) * 5, {"r": (0.0, 1.0, 2.0)}, (0.0, -1.0, -2.0))
    with tempfile.TemporaryDirectory() as place:
        program.save(place)
        return dict(read_files(place).contents)


@cache
def _training() -> object:
    from weighted_samples import random_kb

    from neurallp.config import configure
    from neurallp.graph.knowledge_base import split_triples
    from neurallp.pipeline.learn import prepare

    settings = {"embedding_size": 4, "hidden_size": 4, "num_epochs": 1}
    training = prepare(split_triples(random_kb(0)), *configure(**settings), engine="reference")
    list(training.epochs())
    return training


@cache
def _neural() -> dict[str, bytes]:
    from neurallp.io.models.neural import write_checkpoint
    from neurallp.io.models.store import read_files

    with tempfile.TemporaryDirectory() as place:
        write_checkpoint(place, _training())
        return dict(read_files(place, without=()).contents)


@cache
def _films() -> tuple[object, list[object], object]:
    """Return facts about films, questions about them, and a run that was trained on these."""
    from neurallp.config import configure_questions
    from neurallp.datasets.movies import movie_questions, movies_knowledge_base
    from neurallp.pipeline.questions import prepare_questions

    kb = movies_knowledge_base(num_films=5)
    settings = {"embedding_size": 4, "hidden_size": 4, "num_epochs": 1}
    questions = movie_questions(kb, 60)
    training = prepare_questions(kb, questions, *configure_questions(**settings), engine="reference")
    list(training.epochs())
    return kb, questions, training


@cache
def _words() -> dict[str, bytes]:
    from neurallp.io.models.questions import write_checkpoint
    from neurallp.io.models.store import read_files
    from neurallp.pipeline.questions import finish_questions

    kb, _, training = _films()
    with tempfile.TemporaryDirectory() as place:
        write_checkpoint(place, training)
        finish_questions(training, kb).save(place)
        return dict(read_files(place, without=()).contents)


@cache
def _packed() -> dict[str, bytes]:
    from weighted_samples import random_kb

    from neurallp.io.triples import write_triples
    from neurallp.io.triples.packed import pack

    with tempfile.TemporaryDirectory() as place:
        write_triples(Path(place) / "facts.csv", list(random_kb(0).named_facts()))
        pack(Path(place) / "facts.csv", Path(place) / "packed")
        return {path.name: path.read_bytes() for path in (Path(place) / "packed").iterdir()}


def _read_model(files: Callable[[], dict[str, bytes]]) -> Callable[[Path], object]:
    def read(path: Path) -> object:
        from neurallp.io.models.store import ModelFiles
        from neurallp.pipeline.program import LearnedProgram

        contents = files() | {path.name: path.read_bytes()}
        return LearnedProgram.read(ModelFiles(path.parent, "rules", contents)).rules()

    return read


def _ask_in_words(path: Path) -> object:
    from neurallp.io.models.store import ModelFiles
    from neurallp.pipeline.questions import QuestionProgram

    contents = _words() | {path.name: path.read_bytes()}
    program = QuestionProgram.read(ModelFiles(path.parent, "questions", contents))
    kb, questions, _ = _films()
    return program.ask_words(questions[0].text, kb=kb, min_probability=0.0)


def _resume(path: Path, kind: str) -> object:
    from neurallp.io.models import neural, questions
    from neurallp.io.models.store import CHECKPOINT, write_files

    write_files(path.parent / "model", kind, {CHECKPOINT: path.read_bytes()})
    if kind == "rules":
        return neural.resume(path.parent / "model", _training())
    return questions.resume(path.parent / "model", _films()[2])


def _open_packed(path: Path) -> object:
    from neurallp.io.triples.packed import open_packed

    folder = path.parent
    for name, content in _packed().items():
        if name != path.name and not (folder / name).exists():
            (folder / name).write_bytes(content)
    if path.suffix == ".npy":  # its size is as described, so that its content is read
        described = json.loads(_packed()["packed.json"])
        described["files"][path.name] = path.stat().st_size
        (folder / "packed.json").write_text(json.dumps(described))
    kb = open_packed(folder)
    names = list(kb.entities), list(kb.relations)
    return names, [kb.operators.edges_by_operator(k) for k in range(2 * len(names[1]))], kb.facts


def _unpack(path: Path) -> object:
    from neurallp.datasets.download import unpack

    return unpack(path, {"train": "train.txt", "test": "test.txt"})


def _archive() -> list[bytes]:
    found = []
    for mode in ("w", "w:gz", "w:xz", "w:bz2"):
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode=mode) as archive:
            for name in ("set/train.txt", "set/test.txt"):
                header = tarfile.TarInfo(name)
                header.size = 60
                archive.addfile(header, io.BytesIO(b"a\tr\tb\n" * 10))
        found.append(content.getvalue())
    return found


def _read_labels(path: Path) -> object:
    from neurallp.io.labels import read_labels

    return read_labels(path)


def _manifest(path: Path) -> object:
    from neurallp.io.models.store import read_files

    return read_files(path.parent)


def _outcome(path: Path) -> object:
    from neurallp.experiments.run import Job
    from neurallp.experiments.specification import TableRow

    return Job(TableRow({}), 0, path).finished()


def _beside_rules(path: Path) -> object:
    from neurallp.io.models.calibration import read_calibration

    path.with_name("rules.tsv").write_bytes(b"rules")
    return read_calibration(path.with_name("rules.tsv"))


def _scored() -> list[bytes]:
    from weighted_samples import random_kb, random_rules

    from neurallp.io.rules.scored_json import render

    return [render(random_rules(random_kb(0), 0)).encode()]


def _of_rules() -> list[bytes]:
    calibration = json.loads(_weighted()["calibration.json"])
    return [json.dumps({"rules": sha256(b"rules").hexdigest(), "calibration": calibration}).encode()]


def _file(
    files: Callable[[], dict[str, bytes]], name: str, read: Callable[[Path], object] | None = None
) -> Reader:
    return Reader(read or _read_model(files), name, lambda: [files()[name]])


def _read_triples(path: Path) -> object:
    from neurallp.io.triples import load

    return load(path)


def _read_rules(path: Path) -> object:
    from neurallp.pipeline.program import load_program

    return load_program(path).rules()


def _read_questions(path: Path) -> object:
    from neurallp.io.questions import load_questions

    return load_questions(path)


READERS = {
    **{
        f"triples{suffix}": Reader(_read_triples, f"facts{suffix}", _triples(suffix))
        for suffix in (".tsv", ".csv", ".txt", ".parquet", ".nt")
    },
    "triples.tsv.gz": Reader(
        _read_triples, "facts.tsv.gz", lambda: [gzip.compress(b"a\tr\tb\n" * 50, mtime=0)]
    ),
    "triples.ttl": Reader(_read_triples, "facts.ttl", lambda: [TURTLE]),
    "triples.rdf": Reader(_read_triples, "facts.rdf", lambda: [RDF]),
    "rules.tsv": Reader(_read_rules, "rules.tsv", _rules("table")),
    "rules.json": Reader(_read_rules, "rules.json", _rules("json_list")),
    "rules.scored": Reader(_read_rules, "rules.json", _scored),
    "rules.anyburl": Reader(_read_rules, "rules.txt", lambda: [ANYBURL]),
    "rules.amie": Reader(_read_rules, "rules.txt", lambda: [AMIE]),
    "rules.calibration": Reader(_beside_rules, "rules.tsv.calibration.json", _of_rules),
    "questions": Reader(_read_questions, "questions.tsv", lambda: [QUESTIONS]),
    "experiment": Reader(
        _outcome, "row.json", lambda: [b'{"labels": {}, "arguments": {}, "seed": 0, "outcome": {"MRR": 0.5}}']
    ),
    "manifest": Reader(
        _manifest,
        "manifest.json",
        lambda: [b'{"format_version": 5, "kind": "rules", "files": {"rules.tsv": "0"}}'],
    ),
    "archive": Reader(_unpack, "download.tar", _archive),
    "labels.tsv": Reader(_read_labels, "labels.tsv", lambda: [b"e1\tAnna\ne2\tBob, sr.\n"]),
    "labels.ttl": Reader(_read_labels, "labels.ttl", lambda: [LABELS]),
    "checkpoint": _file(_neural, "checkpoint.safetensors", partial(_resume, kind="rules")),
    "words.checkpoint": _file(_words, "checkpoint.safetensors", partial(_resume, kind="questions")),
    **{
        f"weighted.{name}": _file(_weighted, name)
        for name in (
            *("weighted.safetensors", "weighting.json", "relations.json", "calibration.json"),
            *("plan.json", "numbers.json"),
        )
    },
    **{
        f"neural.{name}": _file(_neural, name)
        for name in ("weights.safetensors", "config.json", "history.jsonl", "relations.json")
    },
    **{
        f"words.{name}": _file(_words, name, _ask_in_words)
        for name in (
            *("weights.safetensors", "config.json", "history.jsonl", "relations.json"),
            *("words.json", "calibration.json"),
        )
    },
    **{
        f"packed.{name}": _file(_packed, name, _open_packed)
        for name in (
            *("packed.json", "names.npy", "name_offsets.npy", "shared.npy"),
            *("offsets.npy", "operators.npy", "starts.npy", "targets.npy", "fan_in.npy"),
            *("operator_offsets.npy", "sources.npy", "own.npy"),
        )
    },
}
