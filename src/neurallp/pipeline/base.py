"""The base of all programs: the knowledge base that they answer about, and the reasoner over it."""

from typing import Any, Generic, TypeVar, get_args

from ..config import Part
from ..errors import ConfigError, DataError, require_choice
from ..graph.knowledge_base import KnowledgeBase, Split
from ..graph.questions import KnownAnswers, Questions, ask_both_ways

R = TypeVar("R")


class BaseProgram(Generic[R]):
    """A learned program; `R` is the type of the reasoner that answers its questions."""

    kb: KnowledgeBase | None = None  # None: loaded, so that the knowledge base is given with each question
    _last: tuple[KnowledgeBase, R] | None = None

    def reasoner(self, kb: KnowledgeBase | None = None) -> R:
        """Return a reasoner over `kb`, or over the knowledge base learned from; the last one is cached."""
        facts = kb or self.kb
        if facts is None:
            raise ConfigError("A loaded program has no facts. Give the knowledge base to ask: kb=….")
        last = self._last  # another thread may ask about other facts meanwhile
        if last is None or last[0] is not facts:
            last = self._last = facts, self._make_reasoner(facts)
        return last[1]

    def _make_reasoner(self, kb: KnowledgeBase) -> R:
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        # The reasoner holds indexes of all facts, and is made anew by the first question.
        return {name: value for name, value in vars(self).items() if name != "_last"}


def ask_part(split: Split, part: Part) -> tuple[Questions, KnownAnswers]:
    """Return the questions of a part, and all answers that are known to be true."""
    require_choice("part", part, get_args(Part))
    triples = getattr(split, part)
    if not len(triples):
        raise DataError(f"There is nothing to evaluate: the part {part!r} is empty.")
    num_relations = len(split.relations)
    # Validation ranks are filtered without the test part, which must not influence any choice.
    true = split.true_triples if part == "test" else split.given.facts
    return ask_both_ways(triples, num_relations), KnownAnswers(true, num_relations)
