"""A plan for new data: settings are chosen by trials on validation, one after the other.

A setting is chosen where it raises the MRR of the same questions by more than the standard error of the gain.
Settings that are given are not tried. Without a time limit no clock decides anything: equal data, equal plan.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ..config import ModelConfig, TrainingConfig, WeightingConfig, choose_weighting
from ..config.plan_log import Comparison, PlanLog
from ..graph.knowledge_base import Split, hold_out
from ..weighting.fitting import Candidates
from ..weighting.masking import linked_are_never_right
from .callbacks import Clock
from .decisions import DECISIONS, Decision, Option, first_length
from .survey import survey
from .trials import TrialResult, Trials, space_relations

#: The kinds of rules that a plan begins with, of which queries may leave some out. The others, which take
#: longest, are tried.
FIRST_KINDS = ("chain", "prior", "unary", "sourced", "near", "against")

#: Feature values of all questions to learn from, at most; and how many questions a query may have.
MAX_WORK = 2.6e9
NUMBERS_OF_QUESTIONS = (8000, 4000, 2000, 1000, 500, 250)

#: Feature values of a question for each entity, at most: on small dense graphs more rules predict the same.
ENTRIES_PER_ENTITY = 25

#: More questions raise the MRR more than more feature values of each: the number of values is lowered, down
#: to a minimum, until this many questions of a query fit.
WANTED_QUESTIONS = 4000
MIN_ENTRIES = 2000

#: Steps of walks in one epoch of the neural model, at most, for a trial of it; and the number of steps that
#: take as long as the controller takes for a question.
MAX_TRAINING_WORK = 3e8
CONTROLLER_WORK = 25_000

#: The least gain in MRR for which more rules are accepted, as a share of what is missing to 1; what doubles
#: the work must gain twice as much.
MIN_GAIN = 0.005

#: Feature values of the questions of a trial that refines queries, at most; and its number of relations, at
#: least, where these are not all.
MAX_REFINED_WORK = 1e8
MIN_REFINED = 12

#: The share of the time limit that trials may take.
TRIAL_SHARE = 0.3

#: How many times as long the first fit of a query takes as its trial, which has fewer pairs and settings; and
#: a question to refine as one of a trial, which also mines. Both measured on four sets.
FIRST_FIT_EFFORT = 2.0
REFINING_EFFORT = 0.25

#: How many times as long a run takes as a trial that refines all queries, which does not thin.
RUN_EFFORT = 2.0

#: Settings that a time limit scales, and the least that each may be.
SCALED = {"num_pairs": 10, "num_mined": 50, "num_counted": 30, "num_candidates": 30, "num_pilot": 40}


@dataclass(frozen=True)
class Estimate:
    """What a run will take, measured on trials. It is printed, not stored, as it differs from run to run."""

    seconds: float
    num_bytes: int

    def __str__(self) -> str:
        return f"About {self.seconds:,.0f} s and {self.num_bytes / 2**20:,.0f} MiB of memory."


class Planner:
    """Decides the settings of weighting, one after the other."""

    def __init__(
        self,
        split: Split,
        given: Mapping[str, Any],
        clock: Clock,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        held_out = not len(split.valid)
        self.given = {name: value for name, value in given.items() if value is not None}
        seed = self.given.get("seed", 0)
        self.split = hold_out(split, seed) if held_out else split
        self.clock, self.limit = clock, clock.part(TRIAL_SHARE)
        self.survey = survey(self.split, held_out)
        #: The number of known facts of each relation.
        self.sizes = np.bincount(self.split.known.facts[:, 1], minlength=len(split.relations))
        self._ends = should_stop
        self.trials = Trials(self.split, seed, self.should_stop)
        self.log: list[Comparison] = []
        self.cut: list[str] = []
        self.best: TrialResult | None = None
        self.tried = self._first()  # the settings chosen by trials
        self.tried_on: dict[str, Any] = {}  # the relations and the number of questions of each trial
        self.on_trial: Callable[[Comparison], None] = lambda trial: None

    def decide(self) -> WeightingConfig:
        """Return the settings of weighting."""
        config = self._first()
        if self.max_trials and not self.should_stop():
            self._begin(config)
        for decision in self._wanted:
            if self.trials.refines or not decision.needs_refined:
                config = self._decide(decision, config)
        self.tried = config
        return self._scale(self._choose_questions(config))

    def should_stop(self) -> bool:
        """Return whether there is no time for another trial."""
        return self.limit.is_over or self._ends()

    @property
    def can_try_training(self) -> bool:
        """Whether a few epochs of the neural model are little work: it follows walks of two steps."""
        work = 2 * self.survey.num_facts * (self.survey.walks[1] + CONTROLLER_WORK)
        return work <= MAX_TRAINING_WORK and not self.should_stop()

    @property
    def max_trials(self) -> int:
        """The number of trials, at most."""
        config = self._first()
        num = sum(len(list(each.options(self.survey, config))) for each in self._wanted)
        return num + 2 if num else 0

    @property
    def _wanted(self) -> list[Decision]:
        """What is to be decided: what is not given, where there is anything to validate on."""
        return [
            each
            for each in DECISIONS
            if self.trials.relations and self.given.keys().isdisjoint(each.settings)
        ]

    def _first(self) -> WeightingConfig:
        """Return the settings before any trial."""
        length = first_length(self.survey)
        entries = min(WeightingConfig().max_entries, ENTRIES_PER_ENTITY * self.survey.num_entities)
        links = ("linked",) if self._links_speak_against() else ()
        first = {"max_length": length, "kinds": (*FIRST_KINDS, *links), "max_entries": entries}
        return choose_weighting({**first, **self.given})

    def _links_speak_against(self) -> bool:
        """Return whether linked entities are candidates on request, although none is right by no accident."""
        return self.given.get("linked") == "include" and linked_are_never_right(self.split)

    def _begin(self, config: WeightingConfig) -> None:
        """Make the first trial. If enough queries can be refined with bounded work, all trials do that."""
        found = self.trials.run(config)
        if len(found.ranks):  # otherwise it was stopped before any query was fitted
            relations = self._relations_to_refine(found)
            if relations and not self._ends():
                found = self._refine(relations, config, found)
            self._log_questions(relations if self.trials.refines else self.trials.relations, found)
            self._record(f"bodies up to {config.max_length}", found, True)

    def _log_questions(self, relations: Sequence[int], found: TrialResult) -> None:
        """Log which relations each trial asks about, and how many questions."""
        self.tried_on = {
            "relations": sorted(self.split.relations[relation] for relation in relations),
            "questions": len(found.ranks),
            "refined": self.trials.refines,
        }

    def _relations_to_refine(self, few: TrialResult) -> list[int]:
        """Return all relations or every second, third, …, as trials can refine them with bounded work.

        None where these are too few relations, or fewer validation questions than those of a trial of few.
        """
        asked = np.bincount(self.split.valid[:, 1], minlength=len(self.sizes))
        step = 0
        while True:
            step += 1
            relations = space_relations(self.split, step)
            if step > 1 and (len(relations) < MIN_REFINED or 2 * asked[relations].sum() < len(few.ranks)):
                return []
            if 2 * self.sizes[relations].sum() * few.entries <= MAX_REFINED_WORK:
                return relations

    def _refine(self, relations: Sequence[int], config: WeightingConfig, few: TrialResult) -> TrialResult:
        """Return the first trial that refines queries; if there is no time for such trials, that of few."""
        share = self.sizes[relations].sum() / self.survey.num_facts
        if self._seconds_of_run(config, few) * share * self.max_trials <= self.limit.seconds_left:
            self.trials.refine(relations)
            found = self.trials.run(config)
            if not self.should_stop():
                return found
            self.trials.refines = False
        self.cut.append("trials that refine queries")
        return few

    def _decide(self, decision: Decision, config: WeightingConfig) -> WeightingConfig:
        for option in decision.options(self.survey, config):
            if option.change(config) == config:  # a part of what was chosen before
                continue
            found = self._try(option, config)
            if found is None:
                self.cut.append(f"trial of {option.words}")
            elif self.is_better(option.words, found):
                config = option.change(config)
            elif decision.is_ladder:
                break
        return config

    def _try(self, option: Option, config: WeightingConfig) -> TrialResult | None:
        """Return the trial of an option; None without time for it."""
        if self.best is None or self.should_stop():
            return None
        found = self.trials.run(option.change(config))
        return found if len(found.ranks) == len(self.best.ranks) else None

    def is_better_with(self, words: str, given: Candidates) -> bool:
        """Return whether a trial of the settings chosen is better with rules that are given besides."""
        assert self.best is not None
        found = self.trials.run_with(self.tried, given)
        if len(found.ranks) != len(self.best.ranks):
            self.cut.append(f"trial of {words}")
            return False
        return self.is_better(words, found)

    def is_better(self, words: str, found: TrialResult) -> bool:
        """Return whether a trial is better than the best so far, which it then replaces."""
        assert self.best is not None
        gain, error = found.gain_over(self.best)
        more_work = max(1.0, found.entries / max(self.best.entries, 1.0))
        least = MIN_GAIN * (1 - self.best.mrr) * more_work
        return self._record(words, found, gain > max(error, least))

    def _record(self, words: str, found: TrialResult, chosen: bool) -> bool:
        self._log(words, found, (0.0, 0.0) if self.best is None else found.gain_over(self.best), chosen)
        self.best = found if chosen else self.best
        return chosen

    def _log(self, words: str, found: TrialResult, gain: tuple[float, float], chosen: bool) -> None:
        """Log a trial with its gain and the standard error of that."""
        mrr, rise, error = (round(figure, 4) for figure in (found.mrr, *gain))
        self.log.append(Comparison(words, mrr, rise, error, chosen))
        self.on_trial(self.log[-1])

    def _choose_questions(self, config: WeightingConfig) -> WeightingConfig:
        """Return the settings with as many questions as bounded work allows."""
        if "max_questions" in self.given or self.best is None:
            return config
        per_question = max(self.best.entries, 1.0)
        fewer = max(MIN_ENTRIES, int(MAX_WORK / self._num_questions(WANTED_QUESTIONS)))
        if fewer < per_question and "max_entries" not in self.given:
            config, per_question = replace(config, max_entries=fewer), fewer
        allowed = [num for num in NUMBERS_OF_QUESTIONS if self._num_questions(num) * per_question <= MAX_WORK]
        return replace(config, max_questions=max(allowed, default=NUMBERS_OF_QUESTIONS[-1]))

    def _num_questions(self, max_questions: int) -> int:
        """Return the questions of all queries together, if each has at most `max_questions`."""
        return 2 * int(np.minimum(self.sizes, max_questions).sum())

    @property
    def plan_log(self) -> PlanLog:
        """How the plan was made."""
        found = self.survey.as_dict() | ({"tried_on": self.tried_on} if self.tried_on else {})
        return PlanLog(found, tuple(self.log), self.clock.minutes, tuple(self.cut))

    def estimate(self, config: WeightingConfig) -> Estimate | None:
        """Return the time and memory that weighting will take, or None where nothing was tried."""
        if self.best is None:
            return None
        return Estimate(min(self._seconds_of_run(config, self.best), self.clock.seconds_left), peak_bytes())

    def _seconds_of_run(self, config: WeightingConfig, trial: TrialResult) -> float:
        """Return the time of all fits, going by a trial."""
        first = self._seconds_of_first_fits(config, trial)
        if self.trials.refines:
            return RUN_EFFORT * first
        learned = REFINING_EFFORT * self._num_questions(config.max_questions) / self.trials.num_learned
        return first + trial.seconds_per_query * learned

    def _seconds_of_first_fits(self, config: WeightingConfig, trial: TrialResult) -> float:
        """Return the time of the first fits of all queries, going by a trial; if that refines, of all."""
        num_queries = 2 * np.count_nonzero(self.sizes)
        effort = FIRST_FIT_EFFORT * config.num_pairs / WeightingConfig().num_pairs
        return (1.0 if self.trials.refines else effort) * trial.seconds_per_query * num_queries

    def _scale(self, config: WeightingConfig) -> WeightingConfig:
        """Return the settings with fewer pairs, candidates and questions where a time limit needs it.

        The cheap fits of all queries are to end within half of the time that is left, so that every query has
        rules before any is refined.
        """
        if not self.clock.is_limited or self.best is None:
            return config
        share = 0.5 * self.clock.seconds_left / max(self._seconds_of_first_fits(config, self.best), 1e-9)
        if share >= 1:
            return config
        sizes: dict[str, Any] = {
            name: max(least, int(share * getattr(config, name))) for name, least in SCALED.items()
        }
        changed = {name: size for name, size in sizes.items() if name not in self.given}
        self.cut.append("sizes: " + ", ".join(f"{name} {size:,}" for name, size in changed.items()))
        return replace(config, **changed)


#: Settings of the neural model: where one is given, the model is trained.
NEURAL = {each.name for config in (ModelConfig, TrainingConfig) for each in fields(config)} - {"seed"}


def peak_bytes() -> int:
    """Return the most memory that this process has held so far; trials hold what the whole run needs."""
    if sys.platform == "win32":
        return 0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
