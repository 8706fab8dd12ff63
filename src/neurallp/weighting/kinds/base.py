"""What a kind of rule defines: how candidates are found, features, text form, and paths in a proof.

A kind is one module with a `KIND`, listed by name in `config.registry`. Its name is what is stored on disk.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ...config import KINDS, WeightingConfig
from ...graph.arrays import Body, Floats, Ids
from ...graph.questions import Questions
from ...graph.vocabulary import Relations
from ...rules.paths import Path, PathLattice
from ...rules.rule import Rule
from ..features import FeatureWalker
from ..features_kernels import Entries, QuestionBatch
from ..graph_index import GraphIndex, MaskedGraph

if TYPE_CHECKING:
    from ..features_gpu import GpuFeatureWalker, Layout


class Candidate(NamedTuple):
    """A rule of one query before it has a weight: its kind, the operators it uses, and names of entities."""

    kind: str
    operators: Body
    #: Its one answer, or its one source, where the kind names it.
    constant: str | None = None
    #: The entity at which its body ends, or starts where the kind names its source; if it names one.
    end: str | None = None


class RuleFeatures(NamedTuple):
    """The features of one rule for one question; forward features are above 0."""

    entities: Ids
    forward: Floats
    backward: Floats


def log_scale(probabilities: Floats) -> Floats:
    """Return log(1 + 100 p) / log(101) for each p, which spreads small probabilities."""
    scaled: Floats = np.log1p(100 * probabilities) / np.log(101)
    return scaled


class CandidateSearch(Protocol):
    """What a kind finds candidates with: the graph, the settings, and the known facts of a query."""

    index: GraphIndex
    config: WeightingConfig
    workspace: dict[Any, Any]  # working memory that a kind keeps from one query to the next

    @property
    def mask_pair_choices(self) -> Sequence[bool]:
        """Whether training questions mask their whole pair: every value that occurs."""
        ...

    def questions(self, query: int) -> Questions:
        """Return the questions that the known facts of a query answer."""
        ...

    def sample(self, query: int, num: int) -> Questions:
        """Return some of them, fixed by the seed."""
        ...

    def count(self, query: int, rules: Sequence[Candidate], questions: Questions) -> Ids:
        """Return for each rule how many answers it predicts, and how many of them are right; (rule, 2)."""
        ...

    def count_chains(
        self, query: int, bodies: Sequence[Body], max_conclusions: float = inf
    ) -> tuple[Ids, float]:
        """Return (conclusions, right ones, hits) of each body, (body, 3), and the share of questions counted.

        A body with more than `max_conclusions` is not followed any further.
        """
        ...

    def answer_share(self, query: int) -> float:
        """Return the mean share of entities that are known answers of a source."""
        ...

    @property
    def excludes_linked(self) -> bool:
        """Whether entities that a fact links to the source are no candidates."""
        ...


class Kind(ABC):
    """One kind of rule. A subclass defines at least `name`, `find`, `rule`, `candidate` and its features.

    Its features are `features` (one rule and question, in numpy), `gather` (many questions, compiled), or
    both: then the first few questions are answered without loading the compiled loops.
    """

    name: str
    #: How many of (indicator, forward, backward) are features; weights of the others stay 0.
    num_features = 3
    #: How many times the penalty on squared weights its weights have.
    penalty = 1.0
    #: Whether a query may do without the rules of this kind, where that validates better.
    is_optional = True
    #: Whether each rule predicts so rarely that the few questions of a first fit are no evidence about it:
    #: refined fits then have all rules of the kind, and decide whether the query does without them.
    predicts_rarely = False
    #: Whether candidates depend on the maximum length of a body.
    depends_on_length = False
    #: Whether candidates are found besides given ones, not only where none are given.
    adds_to_given = False

    @property
    def sign(self) -> int:
        """The sign of weights where signs are bounded: 1 at least 0, -1 at most 0, 0 any."""
        return -1 if KINDS[self.name].negates else 1

    # Candidates

    @abstractmethod
    def find(self, search: CandidateSearch, query: int, max_length: int) -> Sequence[Candidate]:
        """Return the candidates for a query, most promising first."""

    def accepts(self, query: int, candidate: Candidate) -> bool:
        """Return whether a given candidate can be weighted for a query."""
        return True

    def is_direct_link(self, candidate: Candidate) -> bool:
        """Return whether the rule is one edge from source to answer: such a weight is not penalised."""
        return False

    def max_depth(self, candidate: Candidate) -> int:
        """Return how many frontiers the features of a rule need at once."""
        return 1

    # Features

    def compile(self, index: GraphIndex, query: int, rules: Mapping[int, Candidate]) -> Any:
        """Return the rules of a query, by number, in the form that `gather` takes."""
        return rules

    def gather(
        self, plan: Any, walker: FeatureWalker, batch: QuestionBatch, entries: Entries, ends: Ids
    ) -> int:
        """Write the features of questions and where each ends; return how many questions fit."""
        last = 0
        for question in range(batch.size):
            graph = MaskedGraph(walker.index, batch, question)
            for number, candidate in plan.items():
                last = last if last < 0 else self._write(number, candidate, graph, batch, entries, last)
            if last < 0:
                return question
            ends[question] = last
        return batch.size

    def _write(
        self,
        number: int,
        candidate: Candidate,
        graph: MaskedGraph,
        batch: QuestionBatch,
        entries: Entries,
        last: int,
    ) -> int:
        """Write one rule's features for one question; return the number of segments, or -1 without room."""
        found = self.features(graph, candidate)
        kept = found.entities != (graph.source if batch.exclude_source else -1)
        start = entries.bounds[last]
        stop = start + int(kept.sum())
        if stop > len(entries.entities):
            return -1
        if stop == start:
            return last
        for column, values in zip(entries[:3], found, strict=True):
            column[start:stop] = values[kept]
        entries.rules[last], entries.bounds[last + 1] = number, stop
        return last + 1

    def features(self, graph: MaskedGraph, candidate: Candidate) -> RuleFeatures:
        """Return a rule's features for the question of a masked graph."""
        raise NotImplementedError(f"{type(self).__name__} defines neither features() nor gather().")

    @property
    def has_python_features(self) -> bool:
        """Whether `features` is defined, so that a few questions need no compiled kernels."""
        return type(self).features is not Kind.features

    def reachable(self, index: GraphIndex, query: int, candidate: Candidate) -> Ids:
        """Return the entities that a rule can predict, ascending; a GPU keeps a row for each."""
        return np.arange(index.num_entities)

    # Features on a GPU: a kind without an implementation of its own is computed on the CPU and copied there.

    has_gpu_features = False

    def gpu_numbers(self, walker: "GpuFeatureWalker", plan: Any) -> int:
        """Return how many numbers a GPU holds for a question, besides the features themselves."""
        return 0

    def fill_block(
        self, walker: "GpuFeatureWalker", plan: Any, layout: "Layout", batch: QuestionBatch, values: Any
    ) -> None:
        """Write features into `values`, (row, 2, question), on the GPU."""
        raise NotImplementedError(f"{type(self).__name__} has no GPU features of its own.")

    # Text form

    @abstractmethod
    def rule(self, relations: Relations, query: int, candidate: Candidate, exclude_source: bool) -> Rule:
        """Return a candidate as a rule of logic, without weight."""

    @abstractmethod
    def candidate(self, rule: Rule, relations: Relations) -> Candidate | None:
        """Return the candidate that a rule is the text form of; None for what is found for every query."""

    def invert(self, candidate: Candidate, relations: Relations) -> Candidate | None:
        """Return the same candidate for the inverse query; None where there is none."""
        return None

    # Proofs

    def paths(self, index: GraphIndex, rule: Rule, ends: tuple[int, int]) -> Iterator[tuple[Path, float]]:
        """Yield a rule's paths from source to answer with their share of its contribution, largest first."""
        body = index.body_ids(rule.body)
        lattice = PathLattice(
            index.operators,
            body,
            ends,
            _excluded_places(rule, ends),
            lambda place, entities: self.step_weights(index, body, place, entities),
        )
        total = lattice.total
        for path, weight in lattice.paths():
            yield path, weight / total

    def along(self, index: GraphIndex, rule: Rule, path: Path) -> Rule:
        """Return the rule as it is told along a path; one that names no relation gets those of the path."""
        return rule

    def step_weights(self, index: GraphIndex, body: Body, place: int, entities: Ids) -> Floats:
        """Return each entity's factor in the weight of a path: 1 / the number of its edges that lead on."""
        begin, end = index.operators.spans(entities, body[place])
        weights: Floats = 1 / (end - begin)
        return weights


class UnnamedKind(Kind):
    """A kind whose one rule follows edges of all relations: it has no operators, and names no relation."""

    def find(self, search: CandidateSearch, query: int, max_length: int) -> list[Candidate]:
        """Return the one rule of a query."""
        return [Candidate(self.name, ())]

    def compile(self, index: GraphIndex, query: int, rules: Mapping[int, Candidate]) -> int:
        """Return the number of the one rule."""
        (number,) = rules
        return number

    def rule(self, relations: Relations, query: int, candidate: Candidate, exclude_source: bool) -> Rule:
        """Return `query(X, Y) <= kind(X, Y)`."""
        name = relations.operator_name(query)
        return Rule(name, (), confidence=0.0, distinct_ends=exclude_source, kind=self.name)

    def candidate(self, rule: Rule, relations: Relations) -> None:
        """Return None: every query has such a rule where the kind is wanted."""
        return


class DenseKind(Kind):
    """A kind whose one rule has a value for every entity, whatever the source; a query has at most one.

    Its feature is a dense term of the score: entities that no other rule predicts need not be listed.
    """

    is_optional = False
    has_python_features = True

    @abstractmethod
    def values(self, index: GraphIndex, query: int) -> Floats:
        """Return the feature of each entity; (entity,)."""

    def masked_values(self, index: GraphIndex, query: int) -> Floats:
        """Return the feature of each entity as an answer whose own fact is masked; (entity,)."""
        return self.values(index, query)


def _excluded_places(rule: Rule, ends: tuple[int, int]) -> Collection[tuple[int, int]]:
    """Return the (place, entity) that a rule's inequalities exclude.

    Of two places that must differ one is an end of the path, so the entity there is known.
    """
    return {(j, ends[0]) if i == 0 else (i, ends[1]) for i, j in rule.all_inequalities}
