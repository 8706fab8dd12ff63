"""Filtered ranks among all entities, with the tie rule, and the measures made of them; for every scorer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from .graph.arrays import Floats, Ids
from .graph.frames import Tabular, in_columns
from .graph.questions import KnownAnswers, Questions
from .graph.scores import Scores

#: Questions scored at a time: bounds memory to this many rows of scores.
QUESTIONS_AT_ONCE = 512


def realistic_rank(better: Any, ties: Any) -> Any:
    """Return the mean rank over all orders of the ties: the tie rule.

    `better` counts the candidates above the answer, `ties` those with its score, the answer included. Takes
    numbers, arrays or tensors, and compiles in kernels.

    >>> realistic_rank(better=2, ties=3)
    4.0
    """
    return better + (ties + 1) / 2.0


class Scorer(Protocol):
    """Anything that can score all entities as answers: a model, rules, a baseline."""

    def scores(self, sources: Ids, queries: Ids) -> Scores:
        """Return a row of scores for each question; -inf means no candidate answer."""
        ...


@dataclass(frozen=True, eq=False)
class Ranks:
    """The ranks of right answers, as counts that leave the treatment of ties open.

    `better` counts the candidates above the answer, `ties` those with its score, the answer included. The
    optimistic and the pessimistic rank place the answer first and last among its ties.
    """

    better: Ids
    ties: Ids

    def __len__(self) -> int:
        return len(self.better)

    def __getitem__(self, rows: "Ids | NDArray[np.bool_]") -> "Ranks":
        return Ranks(self.better[rows], self.ties[rows])

    @property
    def realistic(self) -> Floats:
        ranks: Floats = realistic_rank(self.better, self.ties)
        return ranks

    @property
    def optimistic(self) -> Floats:
        return self.better + 1.0

    @property
    def pessimistic(self) -> Floats:
        return (self.better + self.ties).astype(np.float64)


@dataclass(frozen=True)
class Measures:
    """Mean reciprocal rank, Hits@k and mean rank, for one treatment of ties."""

    mrr: float
    hits_at_1: float
    hits_at_3: float
    hits_at_10: float
    mean_rank: float

    @classmethod
    def of(cls, ranks: Floats) -> "Measures":
        """Return the measures of given ranks; all 0 for none."""
        if not len(ranks):
            return cls(0.0, 0.0, 0.0, 0.0, 0.0)
        return cls(
            mrr=float(np.mean(1 / ranks)),
            hits_at_1=float(np.mean(ranks <= 1)),
            hits_at_3=float(np.mean(ranks <= 3)),
            hits_at_10=float(np.mean(ranks <= 10)),
            mean_rank=float(np.mean(ranks)),
        )

    def as_dict(self) -> dict[str, float]:
        """Return the measures under their usual names, such as `hits@10`."""
        return {name.replace("_at_", "@"): value for name, value in vars(self).items()}


@dataclass(frozen=True)
class Evaluation(Tabular):
    """Measures over a set of questions; optimistic and pessimistic bound the realistic ones."""

    SCHEMA: ClassVar = {
        "ties": "string",
        "mrr": "double",
        "hits@1": "double",
        "hits@3": "double",
        "hits@10": "double",
        "mean_rank": "double",
        "queries": "int64",
    }

    realistic: Measures
    optimistic: Measures
    pessimistic: Measures
    num_questions: int

    @classmethod
    def of(cls, ranks: Ranks) -> "Evaluation":
        """Return the measures of ranks for each treatment of ties."""
        return cls(
            Measures.of(ranks.realistic),
            Measures.of(ranks.optimistic),
            Measures.of(ranks.pessimistic),
            len(ranks),
        )

    @property
    def mrr(self) -> float:
        """The realistic mean reciprocal rank."""
        return self.realistic.mrr

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return a row for each treatment of ties."""
        ties = {"realistic": self.realistic, "optimistic": self.optimistic, "pessimistic": self.pessimistic}
        rows = [
            {"ties": name, **measures.as_dict(), "queries": self.num_questions}
            for name, measures in ties.items()
        ]
        return in_columns(rows, self.SCHEMA)

    def as_dict(self) -> dict[str, object]:
        """Return one JSON object: the realistic measures, and the others under their names."""
        return {
            **self.realistic.as_dict(),
            "queries": self.num_questions,
            "optimistic": self.optimistic.as_dict(),
            "pessimistic": self.pessimistic.as_dict(),
        }


def best_places(values: Floats, num: int) -> Ids:
    """Return the places of the `num` largest scores, best first, equal ones in order; only those above 0."""
    positive = np.flatnonzero(values > 0)
    if len(positive) > num:  # sorting all of a large graph's scores would take longer than computing them
        least = np.partition(values[positive], -num)[-num]
        positive = positive[values[positive] >= least]
    return positive[np.argsort(-values[positive], kind="stable")[:num]]


def rank_within(values: Floats, row: Floats, num_entities: int) -> Ranks:
    """Return the ranks that scores have in one row of `num_entities` scores; those not listed are 0."""
    ascending, num_unlisted = np.sort(row[row >= values.min(initial=np.inf)]), num_entities - len(row)
    below, up_to = (np.searchsorted(ascending, values, side) for side in ("left", "right"))
    return Ranks(
        better=len(ascending) - up_to + num_unlisted * (values < 0),
        ties=up_to - below + num_unlisted * (values == 0),
    )


def rank(scores: Scores, answers: Ids, known: tuple[Ids, Ids]) -> Ranks:
    """Return the rank of each row's answer among all entities but the other `known` (row, entity) answers."""
    wanted = scores.at(np.arange(len(answers)), answers)
    others = known[1] != answers[known[0]]
    rows, entities = known[0][others], known[1][others]
    filtered = scores.at(rows, entities)
    return Ranks(
        better=_count(scores, wanted, np.greater) - _tally(rows, filtered > wanted[rows], len(answers)),
        ties=_count(scores, wanted, np.equal) - _tally(rows, filtered == wanted[rows], len(answers)),
    )


def _count(scores: Scores, wanted: NDArray[np.floating], compare: Callable[..., NDArray[np.bool_]]) -> Ids:
    """Return for each row how many scores compare so with the wanted one; unlisted entities score 0."""
    rows = scores.rows
    listed = _tally(rows, compare(scores.values, wanted[rows]), len(scores))
    num_unlisted = scores.num_entities - np.diff(scores.offsets)
    return np.asarray(listed + num_unlisted * compare(0, wanted), dtype=np.int64)


def _tally(rows: Ids, flags: NDArray[np.bool_], num_rows: int) -> Ids:
    return np.bincount(rows[flags], minlength=num_rows)


def rank_questions(
    scorer: Scorer,
    questions: Questions,
    known: KnownAnswers,
    on_done: Callable[[int], None] = lambda num: None,
) -> Ranks:
    """Return the ranks of all answers; `on_done` is called with the number of questions just done."""
    parts = []
    for start in range(0, len(questions), QUESTIONS_AT_ONCE):
        asked = questions[start : start + QUESTIONS_AT_ONCE]
        parts.append(_rank_part(scorer, asked, known))
        on_done(len(asked))
    none = np.zeros(0, dtype=np.int64)
    return Ranks(
        np.concatenate([none, *(part.better for part in parts)]),
        np.concatenate([none, *(part.ties for part in parts)]),
    )


def _rank_part(scorer: Scorer, questions: Questions, known: KnownAnswers) -> Ranks:
    scores = scorer.scores(questions.sources, questions.queries)
    return rank(scores, questions.answers, known.pairs(questions.sources, questions.queries))


def evaluate(
    scorer: Scorer,
    questions: Questions,
    known: KnownAnswers,
    on_done: Callable[[int], None] = lambda num: None,
) -> Evaluation:
    """Return the measures of `scorer` on `questions`; other `known` answers are not candidates."""
    return Evaluation.of(rank_questions(scorer, questions, known, on_done))


def per_relation(ranks: Ranks, questions: Questions, num_relations: int) -> dict[int, Evaluation]:
    """Return the measures of each relation, both directions together."""
    relations = questions.queries % num_relations
    return {int(r): Evaluation.of(ranks[relations == r]) for r in np.unique(relations)}
