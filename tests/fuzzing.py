"""A mutation fuzzer for every reader: damaged files are errors of this package, never tracebacks.

`python tests/fuzzing.py --num 100000` (or `make fuzz`) runs all readers, each in a process of its own, and
reports the number of inputs, the worst time and the memory. An input that fails is written to `tests/corpus`,
where the tests find it from then on.
"""

import argparse
import gzip
import json
import multiprocessing
import random
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"

#: What a message may be long, and what one input may take.
MAX_MESSAGE, MAX_SECONDS = 2000, 10.0

TOKENS = (
    *(
        b"[",
        b"]",
        b"{",
        b"}",
        b"\x00",
        b"\xff\xfe",
        b"\t",
        b"\n",
        b'"',
        b"'",
        b",",
        b"<",
        b">",
        b"&",
        b"null",
    ),
    *(
        b"-1",
        b"1e999",
        b"NaN",
        b"18446744073709551616",
        b"true",
        b'""',
        b"~",
        b"\xed\xa0\x80",
        b"<<",
        b"[" * 3000,
    ),
)


@dataclass(frozen=True)
class Reader:
    """A function that reads a file, the name of that file, and inputs that it accepts."""

    read: Callable[[Path], object]
    name: str
    seeds: Callable[[], list[bytes]]


@dataclass
class Report:
    """What a run of the fuzzer found."""

    num_inputs: int = 0
    num_refused: int = 0
    slowest: float = 0.0
    failures: list[tuple[str, bytes]] = field(default_factory=list)


def mutate(data: bytes, random: random.Random) -> bytes:
    """Return the input with a few places changed."""
    content = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4))):
        place = random.randrange(len(content) + 1)
        match random.randrange(6):
            case 0 if content:
                content[place % len(content)] ^= 1 << random.randrange(8)
            case 1:
                del content[place : place + random.choice((1, 4, 64))]
            case 2:
                content[place:place] = random.choice(TOKENS)
            case 3:
                content[place : place + random.choice((1, 4))] = random.choice(TOKENS)
            case 4:
                content = content[:place]
            case _:
                content[place:place] = content[place // 2 : place // 2 + random.choice((1, 8, 64))]
    return bytes(content)


def check(reader: Reader, data: bytes, folder: Path, report: Report) -> None:
    """Let a reader read an input; a traceback, a long message and a slow one are failures."""
    from neurallp.errors import NeuralLPError

    path = folder / reader.name
    path.write_bytes(data)
    report.num_inputs += 1
    started = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader.read(path)
    except NeuralLPError as error:
        report.num_refused += 1
        if len(str(error)) > MAX_MESSAGE:
            report.failures.append((f"a message of {len(str(error)):,} characters", data))
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        report.failures.append((f"{type(error).__name__}: {str(error)[:200]}", data))
    seconds = time.perf_counter() - started
    report.slowest = max(report.slowest, seconds)
    if seconds > MAX_SECONDS:
        report.failures.append((f"{seconds:.1f} s", data))


def fuzz(name: str, num: int, seed: int = 0) -> Report:
    """Return what a reader does with the corpus and `num` mutated inputs."""
    reader, report, chance = READERS[name], Report(), random.Random(f"{name} {seed}")
    seeds = reader.seeds()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        check(reader, seeds[0], folder, Report())  # imports take their time once
        for data in [*seeds, *(path.read_bytes() for path in sorted((CORPUS / name).glob("*")))]:
            check(reader, data, folder, report)
        for _ in range(num):
            check(reader, mutate(chance.choice(seeds), chance), folder, report)
    return report


# Inputs that readers accept


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

ANYBURL = b"120\t60\t0.5\tuncle(X,Y) <= father(X,A), brother(A,Y)\n3\t1\t0.3\tuncle(X,bob) <= father(X,A)\n"
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
        ]
        return [import_module(f"neurallp.io.rules.{form}").render(rules, {}).encode()]

    return seeds


# Models: each file in turn is the input, the others are as they were saved


@cache
def _weighted() -> dict[str, bytes]:
    from weighted_samples import random_kb, random_rules

    from neurallp import Plan, WeightingConfig
    from neurallp.io.models.store import read_files
    from neurallp.pipeline.program import LearnedProgram
    from neurallp.reasoning.calibration import Calibration

    program = LearnedProgram(
        Plan(None, None, WeightingConfig()), weighted_rules=random_rules(random_kb(0), 0)
    )
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


def _read_model(files: Callable[[], dict[str, bytes]]) -> Callable[[Path], object]:
    def read(path: Path) -> object:
        from neurallp.io.models.store import ModelFiles
        from neurallp.pipeline.program import LearnedProgram

        contents = files() | {path.name: path.read_bytes()}
        return LearnedProgram.read(ModelFiles(path.parent, "rules", contents)).rules()

    return read


def _resume(path: Path) -> object:
    from neurallp.io.models.neural import resume
    from neurallp.io.models.store import CHECKPOINT, write_files

    write_files(path.parent / "model", "rules", {CHECKPOINT: path.read_bytes()})
    return resume(path.parent / "model", _training())


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


def _file(files: Callable[[], dict[str, bytes]], name: str) -> Reader:
    return Reader(_read_model(files), name, lambda: [files()[name]])


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
        lambda: [b'{"format_version": 4, "kind": "rules", "files": {"rules.tsv": "0"}}'],
    ),
    "checkpoint": Reader(_resume, "checkpoint.safetensors", lambda: [_neural()["checkpoint.safetensors"]]),
    **{
        f"weighted.{name}": _file(_weighted, name)
        for name in ("weighted.safetensors", "weighting.json", "relations.json", "calibration.json")
    },
    **{
        f"neural.{name}": _file(_neural, name)
        for name in ("weights.safetensors", "config.json", "history.jsonl", "relations.json")
    },
}


def _run(name: str, num: int, seed: int) -> Report:
    sys.path.insert(0, str(Path(__file__).parent))
    report = fuzz(name, num, seed)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    counts = f"{report.num_inputs:>9,} inputs, {report.num_refused:>9,} refused"
    limits = f"slowest {report.slowest:6.2f} s, memory {memory:5.0f} MiB"
    sys.stdout.write(f"{name:32} {counts}, {limits}, {len(report.failures)} failures\n")
    for reason, data in report.failures[:20]:
        sys.stdout.write(f"    {reason}\n")
        (CORPUS / name).mkdir(parents=True, exist_ok=True)
        (CORPUS / name / sha256(data).hexdigest()[:12]).write_bytes(data)
    sys.stdout.flush()
    return report


def main() -> None:
    """Run the fuzzer; exit with 1 where an input failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readers", nargs="*", help=f"all unless given: {', '.join(READERS)}")
    parser.add_argument("--num", type=int, default=10_000, help="inputs of each reader")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="another seed, other inputs")
    chosen = parser.parse_args()
    context, failed = multiprocessing.get_context("spawn"), False
    for name in chosen.readers or READERS:
        with context.Pool(1) as pool:  # a process that crashes ends one reader, and tells its name
            failed |= bool(pool.apply(_run, (name, chosen.num, chosen.seed)).failures)
    sys.exit(failed)


if __name__ == "__main__":
    main()
