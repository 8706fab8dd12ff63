"""The sample for a calibration: the best new answers to questions, and which of them are held-out facts.

Any source may be asked about, whether it has known answers to a query or none. Sources are drawn more often
where an answer is likely, and each has a weight: the number of entities that it stands for.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..errors import DataError
from ..evaluation import Scorer, best_places
from ..graph.arrays import Flags, Floats, Ids, distinct
from ..graph.knowledge_base import KnowledgeBase
from ..graph.operators import Operators
from ..graph.questions import KnownAnswers, ask_both_ways
from .domains import Domains

#: The best answers of a question that enter the sample: as many as `ask` shows by default.
NUM_SHOWN = 10

#: Questions that are asked in all, about; more where so many relations get `MIN_SOURCES` each.
MAX_QUESTIONS = 24_000

#: Sources that are drawn of each query, at least, about.
MIN_SOURCES = 20

#: How often a source with a held-out answer is drawn, and the least that any is, relative to one with known
#: answers. One without is drawn in proportion to how likely it has an answer at all.
SOUGHT, LEAST = 10.0, 0.01

#: Held-out facts that are hidden to see how they score, at most.
MAX_HIDDEN = 4000

#: Times that chances above 1 are cut and the others raised.
NUM_ROUNDS = 5

#: Questions scored at a time.
QUESTIONS_AT_ONCE = 512

#: Normalised scores are clipped this far from 0 and 1, where log odds are infinite.
CLIP = 1e-9

#: What scores are multiplied by before they are normalised. The first is for all queries; answers that
#: exclude each other need others too: scores are fitted for ranking and often tell them apart too little.
SHARPNESS = (1.0, 2.0, 4.0)

#: Known answers of a source are counted as none, one, or more.
NUM_CASES = 3


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the probability of an answer depends on, one row for each answer."""

    queries: Ids
    num_known: Ids  # the known answers of the source
    shares: Floats  # (answer, sharpness) log odds of the normalised score among answers that are not known
    unknown: (
        Floats  # log of the fraction of all normalised scores that answers not known have; 0 without known
    )
    domain: Floats  # log odds that the source has an answer at all, estimated from its other relations

    def __len__(self) -> int:
        return len(self.queries)

    def __getitem__(self, rows: Flags | Ids) -> "Evidence":
        return Evidence(*(getattr(self, each.name)[rows] for each in fields(self)))

    @classmethod
    def joined(cls, parts: "Sequence[Evidence]") -> "Evidence":
        """Return the rows of all parts."""
        return cls(*_columns(parts, cls))

    @property
    def odds(self) -> Floats:
        """Log odds of the normalised score, as it is."""
        return self.shares[:, 0]

    @property
    def cases(self) -> Ids:
        """The number of known answers, at most `NUM_CASES` - 1."""
        return np.minimum(self.num_known, NUM_CASES - 1)


@dataclass(frozen=True, eq=False)
class Sample:
    """Answers with the evidence for each, which of them are held-out facts, and how much each counts."""

    evidence: Evidence
    right: Flags
    weights: Floats  # the number of answers of all sources that each stands for
    ranks: Ids  # 0 for the best answer of its question
    sought: Flags  # whether the question has a held-out answer

    def __len__(self) -> int:
        return len(self.right)

    def __getitem__(self, rows: Flags | Ids) -> "Sample":
        return Sample(*(getattr(self, each.name)[rows] for each in fields(self)))

    @classmethod
    def joined(cls, parts: "Sequence[Sample]") -> "Sample":
        """Return the answers of all parts."""
        evidence = Evidence.joined([part.evidence for part in parts])
        return cls(evidence, *_columns(parts, cls)[1:])


def _columns(parts: "Sequence[Any]", kind: type[Any]) -> list[Any]:
    """Return the columns of all parts, one part below the other; a column that is no array is left empty."""
    columns = ([getattr(part, each.name) for part in parts] for each in fields(kind))
    return [np.concatenate(column) if isinstance(column[0], np.ndarray) else None for column in columns]


def log_odds(fractions: Floats) -> Floats:
    """Return the log odds of fractions, which are clipped to stay finite."""
    inner = np.clip(fractions, CLIP, 1 - CLIP)
    return np.asarray(np.log(inner / (1 - inner)))


@dataclass(frozen=True)
class Row:
    """The scores of one question: those listed, every other of `num_entities` being 0; -inf: no candidate."""

    entities: Ids
    scores: Floats
    num_entities: int
    logarithmic: bool  # scores of weighted rules, which are fitted by softmax, are logarithms

    def evidence(self, query: int, answers: Floats, known: Ids, domain: float) -> Evidence:
        """Return the evidence for answers with these scores; the domain counts where no answer is known."""
        top = self.scores.max(initial=0.0)
        of_known, of_others = self._totals(known, top)
        total = of_known[0] + of_others[0]
        unknown = np.log(max(of_others[0] / (total or 1.0), CLIP)) if len(known) else 0.0
        columns = query, len(known), unknown, 0.0 if len(known) else domain
        queries, num_known, of_unknown, domains = (np.full(len(answers), value) for value in columns)
        shares = log_odds(sharpen(self._amounts(answers, top)) / np.where(of_others > 0, of_others, 1.0))
        return Evidence(queries, num_known, shares, of_unknown, domains)

    def _totals(self, known: Ids, top: float) -> tuple[Floats, Floats]:
        """Return the sums that normalised scores are fractions of, over known answers and over others."""
        is_known = np.isin(self.entities, known)
        amounts, rest = self._amounts(self.scores, top), sharpen(self._amounts(np.zeros(1), top))[0]
        num_unlisted = len(known) - int(is_known.sum())
        num_others = self.num_entities - len(self.scores) - num_unlisted
        return (
            sharpened_sums(amounts[is_known]) + num_unlisted * rest,
            sharpened_sums(np.where(is_known, 0.0, amounts)) + num_others * rest,
        )

    def _amounts(self, scores: Floats, top: float) -> Floats:
        """Return the scores, or their exponentials divided by that of the top."""
        return np.exp(scores - top) if self.logarithmic else np.maximum(scores, 0.0)


def sharpen(amounts: Floats) -> Floats:
    """Return amounts to the powers `SHARPNESS`, (amount, sharpness).

    >>> sharpen(np.array([1.0, 2.0])).tolist()
    [[1.0, 1.0, 1.0], [2.0, 4.0, 16.0]]
    """
    squares = amounts * amounts
    return np.stack([amounts, squares, squares * squares], axis=-1)


def sharpened_sums(amounts: Floats) -> Floats:
    """Return the sums of amounts to the powers `SHARPNESS`, without a table of all powers."""
    squares = amounts * amounts
    return np.array([amounts.sum(), squares.sum(), squares @ squares])


# Drawing


def draw_sample(
    scorer: Scorer,
    kb: KnowledgeBase,
    held_out: Ids,
    *,
    logarithmic: bool,
    max_questions: int = MAX_QUESTIONS,
    seed: int = 0,
    on_done: Callable[[int], None] = lambda num: None,
) -> Sample:
    """Return the `NUM_SHOWN` best new answers to questions that any entity may be asked about.

    Facts of `kb` are known; of the other answers, those in `held_out` are right. Calls `on_done` with the
    number of each query's questions when they are answered.
    """
    drawing, rng = Drawing(scorer, kb, held_out, logarithmic), np.random.default_rng(seed)
    parts: list[Sample] = []
    for query, num in drawing.shares(max_questions).items():
        sources, weights = drawing.draw_sources(query, num, rng)
        parts.extend(drawing.ask(sources, weights, query))
        on_done(len(sources))
    if not parts:
        raise DataError("There is nothing to calibrate on: no question has a new answer.")
    return Sample.joined(parts)


def find_hidden(
    scorer: Scorer, kb: KnowledgeBase, hidden: Ids, *, logarithmic: bool, weight: float = 1.0
) -> Iterator[Sample]:
    """Yield those of the facts `hidden`, which `kb` does not have, that are among the best answers."""
    drawing = Drawing(scorer, kb, hidden, logarithmic)
    questions = ask_both_ways(hidden, len(kb.relations))
    for query in np.unique(questions.queries).tolist():
        sources = np.unique(questions.sources[questions.queries == query])
        for sample in drawing.ask(sources, np.full(len(sources), weight), query):
            yield sample[sample.right]


class Drawing:
    """Draws sources and asks about them, for each query that has known facts."""

    def __init__(self, scorer: Scorer, kb: KnowledgeBase, held_out: Ids, logarithmic: bool) -> None:
        self.scorer, self.num_entities, self.logarithmic = scorer, len(kb.entities), logarithmic
        new = distinct(np.concatenate([kb.facts, held_out]))[len(kb.facts) :]
        self.known, self.sought = (KnownAnswers(facts, len(kb.relations)) for facts in (kb.facts, new))
        self.questions = ask_both_ways(kb.facts, len(kb.relations))
        self.domains = Domains(Operators.of(kb))

    def shares(self, max_questions: int) -> dict[int, int]:
        """Return the number of questions of each query, in proportion to its facts."""
        queries, counts = np.unique(self.questions.queries, return_counts=True)
        shares = np.maximum(max_questions * counts / max(counts.sum(), 1), MIN_SOURCES).astype(np.int64)
        return dict(zip(queries.tolist(), shares.tolist(), strict=True))

    def draw_sources(self, query: int, num: int, rng: np.random.Generator) -> tuple[Ids, Floats]:
        """Return about `num` sources to ask about, and the number of entities that each stands for."""
        chances = self._frequencies(query)
        for _ in range(NUM_ROUNDS):  # what exceeds 1 is shared among the others
            chances = np.minimum(1.0, chances * num / max(chances.sum(), 1e-300))
        sources = np.flatnonzero(rng.random(self.num_entities) < chances)
        return sources, 1.0 / chances[sources]

    def _frequencies(self, query: int) -> Floats:
        """Return how often to draw each entity, relative to one with known answers."""
        everyone, asked = np.arange(self.num_entities), np.full(self.num_entities, query)
        has, seeks = (np.isin(everyone, each.pairs(everyone, asked)[0]) for each in (self.known, self.sought))
        odds = np.exp(self.domains.log_odds(everyone, query))
        return np.asarray(np.where(seeks, SOUGHT, np.where(has, 1.0, LEAST + odds / (1 + odds))))

    def ask(self, sources: Ids, weights: Floats, query: int) -> Iterator[Sample]:
        """Yield the sample of each question that has an answer to show."""
        for start in range(0, len(sources), QUESTIONS_AT_ONCE):
            batch = slice(start, start + QUESTIONS_AT_ONCE)
            yield from self._ask(sources[batch], weights[batch], query)

    def _ask(self, sources: Ids, weights: Floats, query: int) -> Iterator[Sample]:
        asked = np.full(len(sources), query)
        scores, domain = self.scorer.scores(sources, asked), self.domains.log_odds(sources, query)
        known, sought = (
            _by_row(each.pairs(sources, asked), len(sources)) for each in (self.known, self.sought)
        )
        for i in range(len(sources)):
            row = Row(*scores.row(i), self.num_entities, self.logarithmic)
            new = np.where(np.isin(row.entities, known[i]), -np.inf, row.scores)
            best = best_places(new, NUM_SHOWN)
            if len(best):
                evidence = row.evidence(query, new[best], known[i], float(domain[i]))
                right = np.isin(row.entities[best], sought[i])
                seeks = np.full(len(best), len(sought[i]) > 0)
                yield Sample(evidence, right, np.full(len(best), weights[i]), np.arange(len(best)), seeks)


def _by_row(pairs: tuple[Ids, Ids], num_rows: int) -> list[Ids]:
    """Return the entities of each row."""
    return np.split(pairs[1], np.searchsorted(pairs[0], np.arange(1, num_rows)))
