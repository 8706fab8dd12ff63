"""Trials: settings compared on validation questions, of a few queries with little to learn from, or of many.

The work of a trial is counted, not timed, so that what is chosen does not depend on the machine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from ..config import WeightingConfig
from ..graph.arrays import Floats, Ids
from ..graph.knowledge_base import Split
from ..graph.questions import Questions
from ..weighting.fitting import Candidates, Weighting

#: Relations of a trial, drawn in proportion to their validation facts; each is asked in both directions.
NUM_RELATIONS = 6

#: Validation questions of each query, and questions to learn from, at most.
NUM_VALID = 100
NUM_LEARNED = 150

#: The share of all facts that a trial learns from, at most, but at least so many of each query.
SHARE_LEARNED = 0.05
MIN_LEARNED = 50


@dataclass(frozen=True, eq=False)
class TrialResult:
    """The reciprocal ranks of a trial's validation questions, its work, and its time."""

    ranks: Floats  # (question,) in the same order for all settings
    entries: float  # feature values of one question, on average
    seconds_per_query: float

    @property
    def mrr(self) -> float:
        """The mean reciprocal rank; 0 without questions."""
        return float(self.ranks.mean()) if len(self.ranks) else 0.0

    def gain_over(self, other: "TrialResult") -> tuple[float, float]:
        """Return the gain in MRR over another trial of the same questions, and its standard error."""
        if len(self.ranks) < 2 or len(self.ranks) != len(other.ranks):
            return 0.0, 0.0
        gains = self.ranks - other.ranks
        return float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(len(gains)))


class Trials:
    """Runs trials on one split; equal settings are tried once."""

    def __init__(self, split: Split, seed: int = 0, should_stop: Callable[[], bool] = lambda: False) -> None:
        self.split, self.seed, self.should_stop = split, seed, should_stop
        self.relations = draw_relations(split)
        self.queries = self._both_ways(self.relations)
        num = len(self.queries) or 1
        self.num_learned = int(
            np.clip(SHARE_LEARNED * len(split.known.facts) / num, MIN_LEARNED, NUM_LEARNED)
        )
        #: Whether queries are refined as in a run, rather than fitted on few questions.
        self.refines = False
        self._weighting: Weighting | None = None
        self._done: dict[WeightingConfig, TrialResult] = {}

    def refine(self, relations: Sequence[int]) -> None:
        """From now on refine the queries of some relations, on as many questions as a run does."""
        self.refines, self._weighting, self._done = True, None, {}
        self.queries = self._both_ways(relations)

    def run(self, config: WeightingConfig) -> TrialResult:
        """Return how well and at what cost some settings answer."""
        if config not in self._done:
            self._done[config] = self._run(self._base(config), config)
        return self._done[config]

    def run_with(self, config: WeightingConfig, given: Candidates) -> TrialResult:
        """Return the same with rules that are given besides."""
        return self._run(self._prepare(Weighting(self.split, config, given)), config)

    def _both_ways(self, relations: Sequence[int]) -> list[int]:
        """Return the queries of relations in both directions."""
        return [r + side for r in relations for side in (0, len(self.split.relations))]

    def _base(self, config: WeightingConfig) -> Weighting:
        if self._weighting is None:
            self._weighting = self._prepare(Weighting(self.split, config))
            self._warm_up(self._weighting, config)
        return self._weighting

    def _warm_up(self, weighting: Weighting, config: WeightingConfig) -> None:
        """Load the compiled loops by a fit of next to nothing, so that trials are timed without that."""
        smallest = min(self.queries, key=lambda query: len(weighting.questions[query]))
        few = {"num_pairs": 1, "num_mined": 1, "num_counted": 1, "num_pilot": 1, "min_steps": 1}
        weighting.trial([smallest], replace(config, **few))  # type: ignore[arg-type]

    def _prepare(self, weighting: Weighting) -> Weighting:
        """Return a weighting with the validation questions of trials, which stops when they stop."""
        weighting.should_stop = self.should_stop
        if not self.refines:
            weighting.valid = {query: self._some(weighting.valid[query]) for query in self.queries}
        return weighting

    def _run(self, weighting: Weighting, config: WeightingConfig) -> TrialResult:
        started = perf_counter()
        used = config if self.refines else self._reduce(config)
        found = weighting.trial(self.queries, used, refined=self.refines)
        entries = list(found.entries_per_question.values())  # of the queries that there was time for
        seconds = (perf_counter() - started) / max(len(entries), 1)
        return TrialResult(found.pooled, float(np.mean(entries or [0.0])), seconds)

    def _reduce(self, config: WeightingConfig) -> WeightingConfig:
        """Return settings that take less time, in the same proportions for all that are compared."""
        return replace(
            config,
            num_candidates=-(-2 * config.num_candidates // 5),
            num_pairs=-(-config.num_pairs // 20),
            num_mined=-(-config.num_mined // 2),
            num_counted=-(-config.num_counted // 6),
            num_pilot=self.num_learned,
            max_questions=self.num_learned,
            min_steps=config.min_steps // 2,
            penalties=config.penalties[len(config.penalties) // 2 :][:1],
        )

    def _some(self, questions: Questions) -> Questions:
        order = np.random.default_rng(self.seed).permutation(len(questions))
        return questions[np.sort(order[:NUM_VALID])]


def draw_relations(split: Split) -> list[int]:
    """Return relations that stand for all validation facts.

    They are evenly spaced among the validation facts, sorted by the size of their relation, so that large
    relations are drawn for certain and small ones in proportion.
    """
    sizes = np.bincount(split.valid[:, 1], minlength=len(split.relations))
    left = _largest_first(split, sizes)
    drawn: list[int] = []
    while left and len(drawn) < NUM_RELATIONS:
        num, ends = NUM_RELATIONS - len(drawn), np.cumsum(sizes[left])
        places = np.searchsorted(ends, (np.arange(num) + 0.5) / num * ends[-1], side="right")
        drawn += [left[place] for place in np.unique(places)]
        left = [r for r in left if r not in drawn]
    return sorted(drawn)


def space_relations(split: Split, step: int) -> list[int]:
    """Return every `step`-th of the relations with validation facts, beginning with the largest."""
    return _largest_first(split, np.bincount(split.known.facts[:, 1]))[::step]


def _largest_first(split: Split, sizes: Ids) -> list[int]:
    """Return the relations with validation facts and known ones, those with the largest size first."""
    num = len(split.relations)
    asked, known = (np.bincount(facts[:, 1], minlength=num) for facts in (split.valid, split.known.facts))
    return [r for r in np.argsort(-sizes, kind="stable").tolist() if asked[r] and known[r]]
