"""The base of all reasoners: a knowledge base with certain relations, and its operators."""

import warnings
from collections.abc import Iterable, Sequence

from ..errors import DataWarning
from ..graph.knowledge_base import KnowledgeBase
from ..graph.operators import Operators
from ..graph.vocabulary import Relations
from ..rules.rule import Rule


class BaseReasoner:
    """Binds something learned for `relations` to the facts of a knowledge base."""

    def __init__(
        self,
        kb: KnowledgeBase,
        relations: Relations,
        engine: str = "auto",
        operators: Operators | None = None,
    ) -> None:
        self.kb = kb.with_relations(relations)
        self.operators = Operators.of(self.kb) if operators is None else operators
        self._engine = engine

    @property
    def relations(self) -> Relations:
        """The relations that can be asked and that rules may use."""
        return self.kb.relations

    def _names(self, entities: Iterable[int]) -> tuple[str, ...]:
        return tuple(self.kb.entities[entity] for entity in entities)


def warn_of_confidences(rules: Sequence[Rule]) -> None:
    """Warn of confidences above 1, which only rules of a model with several controllers may have."""
    if high := [rule for rule in rules if rule.confidence > 1]:
        warnings.warn(
            f"Confidences lie between 0 and 1, but {high[0]} has {high[0].confidence:g}: "
            f"such rules outweigh all others ({len(high):,} of {len(rules):,} rules).",
            DataWarning,
            stacklevel=4,
        )
