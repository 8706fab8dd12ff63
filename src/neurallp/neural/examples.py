"""Training examples: questions asked from facts, and the edges masked while each is scored."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..config import TrainingConfig, TrainingMasking
from ..engines.base import QueryBatch
from ..graph.arrays import Ids
from ..graph.knowledge_base import Split, separate_facts
from ..graph.operators import Operators
from ..graph.questions import KnownAnswers, Questions, ask_both_ways


@dataclass(frozen=True, eq=False)
class Batch:
    """Questions, and the same as queries for an engine; `queries.rows` are the operators asked for."""

    questions: Questions
    queries: QueryBatch

    def __len__(self) -> int:
        return len(self.questions)

    def __getitem__(self, part: slice) -> "Batch":
        """Return some of the questions; what is masked for them stays masked."""
        return Batch(self.questions[part], self.queries[part])


@dataclass(frozen=True, eq=False)
class TrainingExamples:
    """The graph that training uses, the facts it asks for, and the edges it masks.

    - `fact`: the graph is all that is known, every fact is asked, and masked in its own two questions;
    - `batch`: the graph is all that is known, train is asked, and the batch is masked (authors' program);
    - `train`: the graph is the facts part alone, and train is asked (the paper's text).
    """

    operators: Operators
    asked: Ids
    known: KnownAnswers
    masking: TrainingMasking
    facts_at_once: int

    @classmethod
    def of(cls, split: Split, config: TrainingConfig) -> "TrainingExamples":
        """Return the examples that `config` asks for; facts are separated 3:1 where it needs that."""
        if config.training_masking != "fact":
            split = separate_facts(split, config.seed, unlinked=config.facts_apart == "unlinked")
        graph = split.facts if config.training_masking == "train" else split.known.facts
        asked = split.known.facts if config.training_masking == "fact" else split.train
        num_relations = len(split.relations)
        return cls(
            Operators.of_facts(graph, len(split.entities), num_relations),
            asked,
            KnownAnswers(split.known.facts, num_relations),
            config.training_masking,
            max(1, config.batch_size // 2),
        )

    @property
    def num_batches(self) -> int:
        """The number of batches of an epoch."""
        return -(-len(self.asked) // self.facts_at_once)

    @property
    def num_questions(self) -> int:
        """The number of questions of a full batch: each fact is asked in both directions."""
        return 2 * self.facts_at_once

    def batches(self, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield all questions once, in random order."""
        facts = self.asked[rng.permutation(len(self.asked))]
        questions, edges = self._ask(facts)
        for start in range(0, len(facts), self.facts_at_once):
            end = start + self.facts_at_once
            yield self._batch(questions[2 * start : 2 * end], edges[start:end])

    def batch(self, facts: Ids) -> Batch:
        """Return both questions of each fact as one batch."""
        return self._batch(*self._ask(facts))

    def _ask(self, facts: Ids) -> tuple[Questions, Ids]:
        """Return both questions of each fact, and its edges."""
        return ask_both_ways(facts, self.operators.num_relations), self.operators.edges_of(facts)

    def _batch(self, questions: Questions, edges: Ids) -> Batch:
        sources, queries = questions.sources, questions.queries
        if self.masking == "train":
            return Batch(questions, QueryBatch.unmasked(sources, queries))
        if self.masking == "fact":
            own_fact = np.repeat(np.arange(len(edges)), 2)
            return Batch(questions, QueryBatch.masked(sources, queries, edges, own_fact))
        whole_batch = np.zeros(len(sources), dtype=np.int64)
        return Batch(questions, QueryBatch.masked(sources, queries, edges.reshape(1, -1), whole_batch))
