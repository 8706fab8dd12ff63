"""What all pages read: a program over one knowledge base, shared by all requests and safe under threads."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from ..errors import UnknownNameError, quoted
from ..graph.arrays import Ids
from ..graph.compilation import num_cores
from ..graph.knowledge_base import KnowledgeBase, Split, split_triples
from ..graph.name_index import NameIndex
from ..io.files import AnyPath
from ..io.models.folders import read_metrics
from ..pipeline.calibrating import measure as measure_reliability
from ..pipeline.program import LearnedProgram, Program
from ..pipeline.veto import veto
from ..reasoning.reasoner import Basis, Reasoner
from ..reasoning.reliability import Reliability
from ..rules.rule import Rule, RuleSet
from ..rules.support import measure
from ..weighting.weighted_rules import WeightedRules
from .changes import Changes, as_fact
from .word_reader import WordReader

if TYPE_CHECKING:
    from ..pipeline.questions import QuestionProgram

K = TypeVar("K")
V = TypeVar("V")

Reliabilities = Mapping[str, Mapping[str, Reliability]]

#: Changed graphs that are kept, each an index of all facts.
MAX_WORLDS = 8

#: Rules that are kept with their counts: as many as a person looks at, of all relations.
MAX_COUNTS = 50_000

#: Results of other kinds that are kept.
MAX_KEPT = 2000


class Cache(Generic[K, V]):
    """The results that were used last, at most `size` of them; threads may compute one twice, never half."""

    def __init__(self, size: int) -> None:
        self.size, self._lock = size, Lock()
        self._kept: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return the result that is kept under `key`, or make it."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()
        with self._lock:
            self._kept[key] = made
            self._kept.move_to_end(key)
            while len(self._kept) > self.size:
                self._kept.popitem(last=False)
        return made


@dataclass(frozen=True, eq=False)
class Explorer:
    """A program, the facts it answers about, and what was measured when it was learned."""

    program: Program
    data: KnowledgeBase | Split
    metrics: Mapping[str, Any] = field(default_factory=dict)
    name: str = "model"
    other: "Explorer | None" = None  # a second model, to compare with
    reader: WordReader | None = None  # a model of questions in words

    @cached_property
    def binned(self) -> KnowledgeBase | Split:
        """The data with the bins of the program in place of numbers, where it has any."""
        return self.program.binned(self.data)

    @cached_property
    def kb(self) -> KnowledgeBase:
        """All facts that questions are answered from."""
        return self.binned.given if isinstance(self.binned, Split) else self.binned

    @cached_property
    def split(self) -> Split:
        """The facts in parts: as given, or as `learn` splits one file."""
        found = self.binned
        return found if isinstance(found, Split) else split_triples(found, self.program.seed)

    @cached_property
    def reasoner(self) -> Reasoner:
        """The program bound to the facts."""
        return Reasoner(self.kb, self.program.basis, calibration=self.program.calibration)

    @cached_property
    def _worlds(self) -> Cache[Changes, Reasoner]:
        return Cache(MAX_WORLDS)

    @cached_property
    def _counts(self) -> Cache[tuple[int, int], Rule]:
        return Cache(MAX_COUNTS)

    @cached_property
    def _kept(self) -> Cache[tuple[Any, ...], Any]:
        return Cache(MAX_KEPT)

    def keep(self, key: tuple[Any, ...], make: Callable[[], V]) -> V:
        """Return a result that is kept under `key`, or make it."""
        made: V = self._kept.get(key, make)
        return made

    def find_relations(self, text: str, limit: int) -> list[str]:
        """Return the relations whose name matches a text."""
        return [self.reasoner.relations[each.id] for each in self._relation_names.find(text, limit)]

    @cached_property
    def _relation_names(self) -> NameIndex:
        return NameIndex(self.reasoner.relations.names)

    # Changed graphs

    def world(self, changes: Changes) -> Reasoner:
        """Return a reasoner over the facts and rules with some changes; those used last are kept."""
        if not changes:
            return self.reasoner
        return self._worlds.get(changes, lambda: self._change(changes))

    def _change(self, changes: Changes) -> Reasoner:
        found = self.with_vetoes(self.reasoner, changes.veto)
        if not changes.add and not changes.remove:
            return found
        return found.changed(map(as_fact, changes.add), map(as_fact, changes.remove))

    def with_vetoes(self, reasoner: Reasoner, vetoes: tuple[str, ...]) -> Reasoner:
        """Return a reasoner over the same facts that leaves out some rules."""
        if not vetoes:
            return reasoner
        return Reasoner(
            reasoner.kb, self.without(vetoes), calibration=reasoner.calibration, operators=reasoner.operators
        )

    @cached_property
    def relation_sizes(self) -> Ids:
        """How many facts each relation has."""
        edges = self.reasoner.operators.edges_by_operator
        return np.array([len(edges(relation)) for relation in range(len(self.reasoner.relations))])

    @property
    def num_queries(self) -> int:
        """The number of queries: relations in both directions."""
        return self.reasoner.relations.num_operators

    @property
    def has_weights(self) -> bool:
        """Whether weighted rules answer."""
        return isinstance(self.program.basis, WeightedRules)

    @property
    def is_neural(self) -> bool:
        """Whether a neural model answers, whose rules are read from its attention."""
        return not self.can_veto

    @property
    def can_veto(self) -> bool:
        """Whether single rules can be left out: a neural model answers with all its rules at once."""
        return isinstance(self.program.basis, WeightedRules | RuleSet)

    def without(self, vetoes: tuple[str, ...]) -> Basis:
        """Return the rules without some of them, each given as `query:number`."""
        unwanted: dict[str, list[str]] = {}
        for query, number in map(self.rule_number, vetoes):
            rule = self.rules(query)[number]
            unwanted.setdefault(rule.target, []).append(str(rule))
        return veto(self.program, unwanted).basis if unwanted else self.program.basis

    def rule_number(self, text: str) -> tuple[int, int]:
        """Return query and number of the rule that `query:number` names; raise where there is none."""
        name, _, number = text.rpartition(":")
        query = self.reasoner.relations.operator_id(name)
        if int(number) >= len(self.rules(query)):
            raise UnknownNameError(
                f"There is no rule {quoted(text)}: {quoted(name)} has {len(self.rules(query)):,} rules."
            )
        return query, int(number)

    # Rules

    @cached_property
    def _given(self) -> Mapping[int, list[Rule]]:
        found: dict[int, list[Rule]] = {}
        for rule in self.program.basis if isinstance(self.program.basis, RuleSet) else ():
            found.setdefault(self.reasoner.relations.operator_id(rule.target), []).append(rule)
        return found

    def rules(self, query: int) -> list[Rule]:
        """Return the rules of a query; the place of a rule is its number. Nothing is counted."""
        return self.keep(("rules", query), lambda: self._list_rules(query))

    def _list_rules(self, query: int) -> list[Rule]:
        basis = self.program.basis
        if isinstance(basis, WeightedRules):
            own = basis.queries.get(query, ())
            return [basis.rule(query, number) for number in range(len(own))]
        if isinstance(basis, RuleSet):
            return self._given.get(query, [])
        name = self.reasoner.relations.operator_name(query)
        return list(self.program.rules(name, limit=100, kb=self.kb))

    def num_rules(self, query: int) -> int:
        """Return how many rules a query has; those of a neural model are not counted but read on demand."""
        basis = self.program.basis
        if isinstance(basis, WeightedRules):
            return len(basis.queries.get(query, ()))
        return len(self._given.get(query, ()))

    def counted(self, query: int, number: int) -> Rule:
        """Return a rule with support and confidence counted on the facts."""
        rule = self.rules(query)[number]
        if rule.support is not None or rule.only_orders:
            return rule
        return self._counts.get((query, number), lambda: self._count(rule))

    def count(self, query: int, numbers: Iterable[int]) -> None:
        """Count some rules of a query on all cores; `counted` returns them at once then."""
        with ThreadPoolExecutor(num_cores()) as pool:
            list(pool.map(partial(self.counted, query), numbers))

    def _count(self, rule: Rule) -> Rule:
        (counted,) = measure([rule], self.reasoner.kb, self.reasoner.operators)
        return counted

    # Probabilities

    def reliability(self) -> Reliabilities:
        """Return how reliable probabilities are on the test part; measured once, empty without any."""
        with self._measuring:
            if self.measured_reliability is None:
                self.__dict__["measured_reliability"] = self._measure_reliability()
            return self.measured_reliability or {}

    @cached_property
    def measured_reliability(self) -> Reliabilities | None:
        """The reliability where it has been measured."""
        return None

    @cached_property
    def _measuring(self) -> Lock:
        return Lock()

    def _measure_reliability(self) -> Reliabilities:
        fitted = self.program.calibration
        if fitted is None or not len(self.split.test):
            return {}
        return measure_reliability(self.program.basis, fitted, self.split)

    @property
    def history(self) -> list[Any]:
        """The epochs of a neural model's training."""
        program = self.program
        return program.history if isinstance(program, LearnedProgram) and program.has_model else []


def open_explorer(
    source: AnyPath,
    program: Program,
    data: KnowledgeBase | Split,
    other: Explorer | None = None,
    questions: AnyPath | None = None,
) -> Explorer:
    """Return the explorer of a program that was loaded from `source`, with the measures beside it.

    `questions` is the folder of a question model, which the first question in words loads.
    """
    name, reader = Path(source).resolve().name, None
    if questions is not None:
        kb = data.given if isinstance(data, Split) else data
        reader = WordReader(partial(_load_questions, questions), kb)
    return Explorer(program, data, read_metrics(source), name, other, reader)


def _load_questions(folder: AnyPath) -> "QuestionProgram":
    from ..pipeline.questions import load_question_model

    return load_question_model(folder)
