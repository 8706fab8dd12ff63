"""Section 4.4: questions in plain words on WikiMovies and MetaQA, beside the published figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import mean
from time import perf_counter
from typing import Any

import numpy as np

from ..datasets.registry import find_data
from ..errors import QuestionError
from ..graph.knowledge_base import KnowledgeBase, Split
from ..graph.vocabulary import INVERSE_MARK
from ..io.questions import load_questions
from ..io.triples import load
from ..pipeline.questions import QuestionProgram, learn_questions
from ..qa.examples import WordQuestion
from .specification import Experiment, Outcome, Results, TableRow, TableSpec

MEASURES = (
    "accuracy",
    "hits@1",
    "f1",
    "own spotting: accuracy",
    "own spotting: hits@1",
    "chain named by the type",
    "ms an answer",
)

NOTES = (
    "Ties count in the mean over all orders. Films of one title are one entity in this knowledge base: who "
    "directed *The Three Musketeers* has several answers there, of which a question holds one film's to be "
    "right. No rule can tell, which bounds Hits@1 on one-hop questions at about .973.",
    "The published training files are not at hand: WikiMovies is fitted on 10,000 of its 96,185 training "
    "questions, MetaQA on its dev questions (a part of each is kept back to choose the epoch and the "
    "threshold). There is no three-hop test file here: a tenth of dev was held out and scored.",
)

#: The relation that leads from a film to each kind of thing in the names of MetaQA's types.
LINKS = {
    "director": "directed_by",
    "writer": "written_by",
    "actor": "starred_actors",
    "year": "release_year",
    "genre": "has_genre",
    "language": "in_language",
    "tags": "has_tags",
    "tag": "has_tags",
    "imdbrating": "has_imdb_rating",
    "imdbvotes": "has_imdb_votes",
}

MOST_EPOCHS = 15

#: Right answers whose chain is compared with the question's type.
CHAINS_COMPARED = 2000


#: Questions laid out in the picture, as in the paper.
NUM_DRAWN = 650


@dataclass(frozen=True)
class Trial:
    """One line of the table; without a test file, a tenth of the training file is held out and scored."""

    name: str
    train: str
    test: str | None
    preset: str
    num_steps: int
    published: Mapping[str, str]


TRIALS = (
    Trial(
        "WikiMovies",
        "wikimovies/train10k_1hop.tsv.gz",
        "wikimovies/test_1hop.tsv.gz",
        "paper",
        2,
        {"accuracy": ".946 (the paper)", "hits@1": ".968 (GraftNet)"},
    ),
    Trial(
        "MetaQA 1 hop",
        "metaqa/dev_1hop.tsv.gz",
        "metaqa/test_1hop.tsv.gz",
        "default",
        2,
        {"hits@1": ".975 (TransferNet)"},
    ),
    Trial(
        "MetaQA 2 hop",
        "metaqa/dev_2hop.tsv.gz",
        "metaqa/test_2hop.tsv.gz",
        "default",
        2,
        {"hits@1": "1.000 (TransferNet)"},
    ),
    Trial("MetaQA 3 hop", "metaqa/dev_3hop.tsv.gz", None, "default", 3, {"hits@1": "1.000 (TransferNet)"}),
)


def experiment(quick: bool, device: str) -> Experiment:
    """Return the table of section 4.4, and the picture of its questions."""
    cells = tuple(_cell(number, trial, quick) for number, trial in enumerate(TRIALS))
    plan = TableSpec("Questions in plain words", MEASURES, cells, NOTES)
    return Experiment((plan,), draw=partial(_draw, plan))


def _cell(number: int, trial: Trial, quick: bool) -> TableRow:
    labels = {
        "set": trial.name + (" (quick)" if quick else ""),
        "fitted on": trial.train.removesuffix(".tsv.gz"),
        "scored on": (trial.test or "a tenth of it, held out").removesuffix(".tsv.gz"),
        "encoder": {"paper": "the paper's", "default": "ours"}[trial.preset],
        "T": str(trial.num_steps),
    }
    return TableRow(labels, trial.published, measure, {"trial": number, "quick": quick})


def measure(*, seed: int, trial: int, quick: bool) -> Outcome:
    """Return how well questions are answered that learning did not see."""
    return _try(TRIALS[trial], seed, quick)


def _try(trial: Trial, seed: int, quick: bool) -> Outcome:
    kb = _facts(find_data("metaqa") / "kb.tsv.gz")
    train, test = split_questions(trial, seed)
    if quick:
        train, test = _some(train, 1500), _some(test, 500)
    program = learn_questions(
        kb,
        train,
        preset=trial.preset,
        num_steps=trial.num_steps,
        num_epochs=3 if quick else MOST_EPOCHS,
        seed=seed,
    )
    return {**_judge(program, kb, test), "places": _lay_out(program, kb, test, seed)}


def _facts(path: Path) -> KnowledgeBase:
    data = load(path)
    return data.known if isinstance(data, Split) else data


def _some(questions: Sequence[WordQuestion], num: int) -> list[WordQuestion]:
    """Return about `num` questions from all parts of a file, whose questions stand by type."""
    return list(questions[:: max(1, len(questions) // num)])


def split_questions(trial: Trial, seed: int) -> tuple[list[WordQuestion], list[WordQuestion]]:
    """Return the questions to fit on and those to score."""
    train = _questions(trial.train)
    if trial.test is not None:
        return train, _questions(trial.test)
    held = np.random.default_rng(seed).permutation(len(train)) < len(train) // 10
    return (
        [question for question, out in zip(train, held, strict=True) if not out],
        [question for question, out in zip(train, held, strict=True) if out],
    )


def _questions(path: str) -> list[WordQuestion]:
    data, name = path.split("/")
    return load_questions(find_data(data) / name)


def _judge(program: QuestionProgram, kb: KnowledgeBase, test: Sequence[WordQuestion]) -> dict[str, Any]:
    found = program.evaluate(test, kb)
    chains, milliseconds = compare_chains(program, kb, _some(test, CHAINS_COMPARED))
    return {
        "accuracy": found.marked.accuracy,
        "hits@1": found.marked.hits_at_1,
        "f1": found.marked.f1,
        "own spotting: accuracy": found.own_spotting.accuracy,
        "own spotting: hits@1": found.own_spotting.hits_at_1,
        "chain named by the type": chains,
        "ms an answer": milliseconds,
        "optimistic": {"hits@1": found.marked.optimistic[1]},
        "pessimistic": {"hits@1": found.marked.pessimistic[1]},
    }


def compare_chains(
    program: QuestionProgram, kb: KnowledgeBase, test: Sequence[WordQuestion]
) -> tuple[float | None, float]:
    """Return for how many of the right answers the rule is the type's chain, and the ms an answer takes."""
    same, took = [], []
    for question in test:
        started = perf_counter()
        try:
            found = program.ask_words(question.text, 1, kb)
        except QuestionError:
            continue
        took.append(perf_counter() - started)
        if question.kind is not None and found[0].entity in question.answers:
            same.append(found[0].rule.body == chain_of(question.kind))
    return (float(mean(same)) if same else None), 1000 * float(np.median(took))


def chain_of(kind: str) -> tuple[str, ...]:
    """Return the chain that a type of MetaQA names.

    >>> chain_of("movie_to_director_to_movie")
    ('directed_by', '~directed_by')
    """
    stops = kind.split("_to_")
    return tuple(
        LINKS[target] if source == "movie" else INVERSE_MARK + LINKS[source]
        for source, target in pairwise(stops)
    )


def _lay_out(
    program: QuestionProgram, kb: KnowledgeBase, test: Sequence[WordQuestion], seed: int
) -> list[tuple[float, float, str]]:
    """Return places on the plane for some questions and the rule each uses, for the first seed only."""
    if seed or find_spec("sklearn") is None:
        return []
    from .question_picture import lay_out

    chosen = Random(seed).sample(list(test), min(NUM_DRAWN, len(test)))
    places, rules = lay_out(program, kb, chosen, seed)
    return [(float(x), float(y), rule) for (x, y), rule in zip(places, rules, strict=True)]


def _draw(plan: TableSpec, results: Results, out: Path) -> None:
    from .question_picture import draw_questions

    for cell in plan.rows:
        for outcome in results.of(cell)[:1]:
            if outcome["places"]:
                name = cell.labels["set"].split(" (")[0].lower().replace(" ", "-")
                draw_questions(outcome["places"], out / f"questions-{name}.png")
