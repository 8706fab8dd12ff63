"""Audits: the facts of a graph that the rules find least likely, each judged without itself."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import require_positive
from ..graph.arrays import Floats, Ids
from ..graph.compilation import num_cores
from ..graph.knowledge_base import Triple
from ..rules.rule import atom
from .answers import Proof
from .calibration import sigmoid
from .calibration_sample import Evidence
from .masked import MaskedEvidence
from .reasons import ALTHOUGH, BECAUSE, strongest
from .scorers.weighted import WeightedScorer
from .verdicts import most_likely_proof

if TYPE_CHECKING:
    from .reasoner import Reasoner

#: Facts that an audit looks at, unless it is told a number: drawn at random where there are more.
MAX_FACTS = 20_000

#: The same for a neural model and for given rules, which need a graph of its own for every fact.
MAX_FACTS_WITHOUT_WEIGHTS = 500

#: Facts that are judged at a time.
FACTS_AT_ONCE = 256


@dataclass(frozen=True)
class Doubt:
    """A fact that the rules find unlikely: how likely it would be if it were not known, and why.

    The proof is that of the direction, from head to tail or back, that finds the fact more likely. The
    probability is None without a calibration.
    """

    head: str
    relation: str
    tail: str
    probability: float | None
    proof: Proof

    @property
    def fact(self) -> str:
        """The fact as an atom."""
        return atom(self.relation, self.head, self.tail)

    @property
    def reasons(self) -> list[str]:
        """The strongest reason on either side in words, or that there is none."""
        sides = ((BECAUSE, self.proof.reasons), (ALTHOUGH, self.proof.against))
        said = [f"{word} {strongest(reasons)}" for word, reasons in sides if reasons]
        return said or ["no rule applies to it"]

    def as_dict(self) -> dict[str, object]:
        """Return the doubt as one JSON object."""
        return {**vars(self), "fact": self.fact, "proof": self.proof.as_dict()}


@dataclass(frozen=True)
class Audit:
    """The least likely facts, the least likely first, of those that were looked at."""

    doubts: tuple[Doubt, ...]
    num_examined: int
    num_facts: int  # that could have been looked at

    @property
    def scope(self) -> str:
        """What was looked at, as a sentence."""
        return describe_scope(self.num_examined, self.num_facts)

    def as_dict(self) -> dict[str, object]:
        """Return the audit as one JSON object."""
        return {**vars(self), "doubts": [doubt.as_dict() for doubt in self.doubts]}


def describe_scope(num_examined: int, num_facts: int) -> str:
    """Return how many facts an audit looks at, as a sentence."""
    if num_examined == num_facts:
        return f"All {num_facts:,} facts were looked at."
    return f"{num_examined:,} of {num_facts:,} facts were looked at, drawn at random."


class FactJudge:
    """Judges facts of a reasoner's graph, each as if it alone were not known."""

    def __init__(self, reasoner: "Reasoner") -> None:
        self.reasoner = reasoner

    def log_odds(self, facts: Ids, inverse: bool) -> Floats:
        """Return the log odds of facts of one relation, asked from their heads or from their tails.

        Without a calibration those of their normalised scores.
        """
        sources, answers = facts[:, [2, 0] if inverse else [0, 2]].T
        relation = int(facts[0, 1])
        query = self.reasoner.relations.inverse(relation) if inverse else relation
        evidence = self._evidence(facts, sources, query, answers)
        calibration = self.reasoner.calibration
        if calibration is None:
            return evidence.odds
        return calibration.log_odds(evidence, self.reasoner.relations)

    def _evidence(self, facts: Ids, sources: Ids, query: int, answers: Ids) -> Evidence:
        scorer, graph = self.reasoner.scorer, self.reasoner.evidence
        if isinstance(scorer, WeightedScorer):
            return MaskedEvidence(scorer, graph).of(sources, query, answers)[0]
        found = []
        for fact, source, answer in zip(facts, sources.tolist(), answers.tolist(), strict=True):
            changed = self.reasoner.changed(removed=[self.name(fact)])
            row = changed.scores(np.array([source]), np.array([query])).row(0)
            score = float(row[1][row[0] == answer].sum())
            found.append(graph.without((source, query, answer), score, row))
        return Evidence.joined(found)

    def name(self, fact: Ids) -> Triple:
        """Return a fact by name."""
        head, relation, tail = fact.tolist()
        entities = self.reasoner.kb.entities
        return entities[head], self.reasoner.relations[relation], entities[tail]


def probability_if_unknown(reasoner: "Reasoner", fact: Triple) -> float | None:
    """Return how likely a known fact is if it alone were not known; None without a calibration."""
    if reasoner.calibration is None:
        return None
    (head, relation, tail), entities = fact, reasoner.kb.entities
    ids = np.array([[entities.id(head), reasoner.relations.id(relation), entities.id(tail)]])
    return float(probabilities_if_unknown(reasoner, ids)[0])


def probabilities_if_unknown(reasoner: "Reasoner", facts: Ids) -> Floats:
    """Return how likely known facts are, each as if it alone were not known. Needs a calibration.

    They are asked from head to tail and back, and judged by the question that finds them more likely.
    """
    judge, found = FactJudge(reasoner), np.zeros(len(facts))
    for rows in _batches(facts):
        some = facts[rows]
        found[rows] = np.maximum(judge.log_odds(some, False), judge.log_odds(some, True))
    return sigmoid(found)


class Auditor:
    """Judges facts of a reasoner's graph, those of one relation or entity, or a sample of them."""

    def __init__(
        self,
        reasoner: "Reasoner",
        relation: str | None = None,
        entity: str | None = None,
        sample: int | None = None,
        seed: int = 0,
    ) -> None:
        """Choose the facts; `sample` is their number at most, drawn by `seed` (None: a default)."""
        self.reasoner, self.judge = reasoner, FactJudge(reasoner)
        is_weighted = isinstance(reasoner.scorer, WeightedScorer)
        if sample is None:
            sample = MAX_FACTS if is_weighted else MAX_FACTS_WITHOUT_WEIGHTS
        require_positive("sample", sample)
        rows = np.arange(len(reasoner.kb.facts))
        if relation is not None:
            rows = rows[reasoner.kb.facts[rows, 1] == reasoner.relations.id(relation)]
        if entity is not None:
            ends = reasoner.kb.facts[rows][:, [0, 2]]
            rows = rows[(ends == reasoner.kb.entities.id(entity)).any(axis=1)]
        self.num_facts = len(rows)
        if len(rows) > sample:
            rows = np.sort(np.random.default_rng(seed).permutation(rows)[:sample])
        self.facts = reasoner.kb.facts[rows]

    def run(self, limit: int = 20, k: int = 3, on_done: Callable[[int], None] = lambda num: None) -> Audit:
        """Return the `limit` least likely facts, each with up to `k` reasons for and against.

        `on_done` is called with the number of facts just looked at.
        """
        doubts = tuple(self.doubt(row, k) for row in self.least_likely(limit, on_done).tolist())
        return Audit(doubts, len(self.facts), self.num_facts)

    def least_likely(self, limit: int, on_done: Callable[[int], None] = lambda num: None) -> Ids:
        """Return the numbers of the `limit` least likely facts of `facts`, the least likely first."""
        require_positive("limit", limit)
        beliefs = self._beliefs(self.facts, False, on_done)
        for rows in self._doubtful(beliefs, limit):
            beliefs[rows] = np.maximum(beliefs[rows], self._beliefs(self.facts[rows], True))
        return np.argsort(beliefs, kind="stable")[:limit]

    def _doubtful(self, beliefs: Floats, limit: int) -> Iterator[Ids]:
        """Yield facts by ascending belief, until no other can be among the least likely.

        The caller raises the beliefs of each batch; those of later facts are lower bounds.
        """
        order = np.argsort(beliefs, kind="stable")
        for start in range(0, len(order), FACTS_AT_ONCE):
            done = beliefs[order[:start]]
            if start >= limit and np.partition(done, limit - 1)[limit - 1] <= beliefs[order[start]]:
                return
            yield order[start : start + FACTS_AT_ONCE]

    def _beliefs(
        self, facts: Ids, inverse: bool, on_done: Callable[[int], None] = lambda num: None
    ) -> Floats:
        """Return the log odds of each fact, asked from its head or from its tail.

        Without a calibration those of its normalised score.
        """
        found = np.zeros(len(facts))
        with ThreadPoolExecutor(num_cores()) as pool:
            batches = list(_batches(facts))
            judged = pool.map(lambda rows: self.judge.log_odds(facts[rows], inverse), batches)
            for rows, values in zip(batches, judged, strict=True):
                found[rows] = values
                on_done(len(rows))
        return found

    def doubt(self, row: int, k: int) -> Doubt:
        """Return the doubt about one of `facts`."""
        fact = self.judge.name(self.facts[row])
        proof = most_likely_proof(self.reasoner.changed(removed=[fact]), fact, k)
        return Doubt(*fact, proof.answer.probability, proof)


def _batches(facts: Ids) -> Iterator[Ids]:
    """Yield the numbers of facts of one relation each, a batch at a time."""
    order = np.argsort(facts[:, 1], kind="stable")
    bounds = np.flatnonzero(np.diff(facts[order, 1])) + 1
    for group in np.split(order, bounds):
        yield from (group[i : i + FACTS_AT_ONCE] for i in range(0, len(group), FACTS_AT_ONCE))
