"""The base of all reasoners: a knowledge base with certain relations, and its operators."""

from collections.abc import Iterable

from ..graph.knowledge_base import KnowledgeBase
from ..graph.operators import Operators
from ..graph.vocabulary import Relations


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
