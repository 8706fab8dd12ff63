"""What one thread finds the candidates of queries and fits their weights with."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..graph.arrays import Body, Ids
from ..graph.questions import Questions, excludes_source
from .choice import Choice, reduce_rules, thin
from .example_kernels import Buffer
from .features import FeatureWalker, ask
from .kinds.base import Candidate, Kind
from .kinds.chain import count_conclusions
from .query_fit import FitResult, QueryFit, Setting

if TYPE_CHECKING:
    from .fitting import Weighting

#: The share of passes that a first fit takes.
PILOT_EFFORT = 0.5

#: Validation questions that a first fit is evaluated on, at most.
MAX_JUDGED = 200

T = TypeVar("T")


class StoppedError(Exception):
    """Raised inside a fit once the run is to stop."""


class Worker:
    """What one thread finds candidates and fits weights with: its working memory, and the settings."""

    def __init__(self, weighting: "Weighting") -> None:
        self.weighting, self.config, self.index = weighting, weighting.config, weighting.index
        self.walker = FeatureWalker(self.index, weighting.max_depth)
        self._buffers: dict[int, Buffer] = {}
        self.workspace: dict[Any, Any] = {}

    def buffer(self, num_settings: int) -> Buffer:
        """Return working memory for fits with some number of settings; kept once made."""
        if num_settings not in self._buffers:
            self._buffers[num_settings] = Buffer.of(num_settings, self.index.num_entities)
        return self._buffers[num_settings]

    def attempt(self, work: Callable[[], T]) -> T | None:
        """Return the result of some work, or None where the run stops before or during it."""
        try:
            self.weighting.check_stop()
            return work()
        except StoppedError:
            return None

    # Candidates

    @property
    def mask_pair_choices(self) -> Sequence[bool]:
        """Whether training questions mask their whole pair: every value that occurs."""
        return self.weighting.edge_masking.choices

    def questions(self, query: int) -> Questions:
        """Return the questions that the known facts of a query answer."""
        return self.weighting.questions[query]

    def sample(self, query: int, num: int, skip: int = 0) -> Questions:
        """Return some of them, fixed by the seed; those skipped come last."""
        questions = self.questions(query)
        order = np.random.default_rng((self.config.seed, query)).permutation(len(questions))
        return questions[np.roll(order, -skip)[:num]]

    def learning_questions(self, query: int) -> Questions:
        """Return the questions to fit weights on: not many of one source, whose answers are much the same."""
        questions = self.sample(query, len(self.questions(query)))
        order = np.argsort(questions.sources, kind="stable")
        _, first, counts = np.unique(questions.sources[order], return_index=True, return_counts=True)
        nth = np.empty(len(questions), np.int64)
        nth[order] = np.arange(len(questions)) - np.repeat(first, counts)
        kept = np.flatnonzero(nth < self.config.max_per_source)
        return questions[kept[: self.config.max_questions]]

    def validation_sample(self, query: int, num: int | None) -> Questions:
        """Return validation questions of a query, some of them where there are more than `num`."""
        questions = self.weighting.valid[query]
        if num is None or len(questions) <= num:
            return questions
        return questions[np.random.default_rng((self.config.seed, query)).permutation(len(questions))[:num]]

    @property
    def excludes_linked(self) -> bool:
        """Whether entities that a fact links to the source are no candidates."""
        return self.weighting.edge_masking.excludes_linked

    def answer_share(self, query: int) -> float:
        """Return the mean share of entities that are known answers of a source."""
        questions = self.questions(query)
        return len(questions) / len(np.unique(questions.sources)) / self.index.num_entities

    def count(self, query: int, rules: Sequence[Candidate], questions: Questions) -> Ids:
        """Return for each rule how many answers it predicts, and how many of them are right; (rule, 2)."""
        return QueryFit(self, query, tuple(rules), (Setting(0.0),)).count(questions)

    def count_chains(
        self, query: int, bodies: Sequence[Body], max_conclusions: float = inf
    ) -> tuple[Ids, float]:
        """Return (conclusions, right ones, hits) of each body, (body, 3), and the share of questions counted.

        Questions are sampled: others than those that bodies are mined between, as far as there are others.
        """
        weighting = self.weighting
        num_facts = len(self.questions(query))
        num_mined = self.config.pairs_for(num_facts)
        questions = self.sample(query, self.config.counted_for(num_facts), skip=num_mined)
        mask_pair = weighting.edge_masking.mask_pair(questions)
        exclude_source = bool(excludes_source(self.index.kb.reflexive_relations, query))
        batch = ask(query, questions.sources, questions.answers, mask_pair, exclude_source)
        filters = weighting.edge_masking.filters_of(weighting.known, questions, mask_pair)
        return count_conclusions(self.walker, bodies, batch, filters, max_conclusions)

    def candidates(self, query: int) -> list[tuple[Candidate, ...]]:
        """Return the rules to be weighted for a query, of all kinds that are wanted, for each length."""
        fixed = {
            kind.name: self._candidates(query, kind, 0)
            for kind in self.weighting.kinds
            if not kind.depends_on_length
        }
        return [
            tuple(
                rule
                for kind in self.weighting.kinds
                for rule in (
                    fixed[kind.name] if kind.name in fixed else self._candidates(query, kind, length)
                )
            )
            for length in self.config.lengths
        ]

    def _candidates(self, query: int, kind: Kind, max_length: int) -> list[Candidate]:
        """Return the rules of one kind: those given, and those found where the kind finds any besides."""
        given = self.weighting.given_of(query, kind)
        if kind.name in self.weighting.given_kinds and not kind.adds_to_given:
            return given
        return list(dict.fromkeys([*given, *self._find(query, kind, max_length)]))

    def _find(self, query: int, kind: Kind, max_length: int) -> list[Candidate]:
        """Return the rules of one kind that a search finds; the same search is made once."""
        found = self.weighting._found
        alike = {"kinds": (kind.name,), "max_length": 1, "other_lengths": (), "dropout": 0.0}
        key = query, kind.name, max_length, replace(self.config, **alike)  # type: ignore[arg-type]
        if key not in found:
            rules = kind.find(self, query, max_length)
            found[key] = [each for each in rules if kind.accepts(query, each)]
        return found[key]

    # Weights

    def first_fits(self, query: int) -> list[FitResult]:
        """Return the cheap fits of a query, for each of the lengths."""
        return self.pilot(query, self.candidates(query))

    def pilot(self, query: int, candidates: Sequence[tuple[Candidate, ...]]) -> list[FitResult]:
        """Return a cheap fit of a query under every setting, for the candidates of each length."""
        return [self._pilot(query, rules) for rules in candidates]

    def _pilot(self, query: int, rules: tuple[Candidate, ...]) -> FitResult:
        fit = self._start(query, rules, self._settings({rule.kind for rule in rules}), self.config.dropout)
        fit.learn(self.learning_questions(query)[: self.config.num_pilot], PILOT_EFFORT)
        return fit.validated(MAX_JUDGED)

    def _settings(self, kinds: Collection[str]) -> list[Setting]:
        """Return every penalty, and the middle one without each kind that a query may leave out at once."""
        settings = [Setting(penalty) for penalty in self.config.penalties]
        middle = settings[len(settings) // 2]
        names = self.weighting.optional_kinds(kinds, rare=False)
        return settings + [middle._replace(left_out=frozenset({name})) for name in names]

    def refine(self, query: int, choice: Choice) -> FitResult:
        """Return the weights of a query's rules, fitted on more questions under the settings chosen.

        Of the rules that the cheap fit gave a weight the best are taken, within the budget of feature values,
        and all that predict rarely. Where there are such, a second column of weights is without them.
        """
        questions = self.learning_questions(query)
        fit = self._refined(query, choice, questions)
        fit.learn(questions)
        return fit.validated()

    def _refined(self, query: int, choice: Choice, questions: Questions) -> QueryFit:
        """Return the fit of the best rules, to be made on all questions under the settings chosen."""
        given = frozenset(self.weighting.given.get(query, ()))
        rules = choice.fit.best_rules(self.config.max_entries, given, choice.left_out)
        rare = frozenset(self.weighting.optional_kinds({rule.kind for rule in rules}, rare=True))
        is_judged = rare and self.weighting.valid
        return self._continue(
            query, choice, rules, questions, [frozenset(), rare] if is_judged else [frozenset()]
        )

    def thin(self, query: int, choice: Choice) -> FitResult:
        """Return a query's refined weights with fewer rules: those of each level, or of `max_rules` rules."""
        questions = self.learning_questions(query)
        rules = tuple(choice.fit.rules[rule] for rule in choice.fit.used(choice.column))
        fit = self._continue(query, choice, rules, questions)
        if self.config.max_rules is None:
            levels = thin(fit, questions)
        else:
            reduce_rules(fit, questions, self.config.max_rules)
            levels = [fit.values]
        return fit.with_values(np.hstack(levels)).validated()

    def _continue(
        self,
        query: int,
        choice: Choice,
        rules: tuple[Candidate, ...],
        questions: Questions,
        left_out: Sequence[frozenset[str]] = (frozenset(),),
    ) -> QueryFit:
        """Return a fit of rules that begins with the weights chosen; a setting for each kinds left out."""
        # The loss is a mean: a penalty chosen on few questions counts for less on more of them, and so does
        # dropout, which has a similar effect.
        share = min(1.0, self.config.num_pilot / len(questions))
        settings = [Setting(share * choice.penalty, kinds) for kinds in left_out]
        fit = self._start(query, rules, settings, share * self.config.dropout)
        fit.start_from(choice.fit.rules, choice.fit.weights[:, :, choice.column])
        return fit

    def _start(
        self, query: int, rules: tuple[Candidate, ...], settings: Sequence[Setting], dropout: float = 0.0
    ) -> QueryFit:
        return QueryFit(self, query, rules, settings, dropout)
