"""What a program can be asked: each method takes the knowledge base to answer about, or uses its own."""

from collections.abc import Callable, Iterable

from ..graph.knowledge_base import KnowledgeBase, Triple
from ..reasoning.answers import FoundEntity, Proof, WhyNot
from ..reasoning.audit import Audit
from ..reasoning.frames import Answers, PredictionBatches
from ..reasoning.reasoner import Reasoner
from ..reasoning.verdicts import LIKELY, Verdict
from .base import BaseProgram


class AskingProgram(BaseProgram[Reasoner]):
    """A program whose reasoner answers questions about relations."""

    def ask(
        self,
        *,
        head: str | None = None,
        tail: str | None = None,
        relation: str,
        k: int = 10,
        unlinked: bool = False,
        kb: KnowledgeBase | None = None,
    ) -> Answers:
        """Return the best answers to (head, relation, ?) or (?, relation, tail).

        With `unlinked` those that a fact of any relation links to the given end already are left out.
        """
        return self.reasoner(kb).ask(head=head, tail=tail, relation=relation, k=k, unlinked=unlinked)

    def explain(
        self, head: str, relation: str, tail: str, k: int = 3, kb: KnowledgeBase | None = None
    ) -> Proof:
        """Return the rules and paths that contribute to the score of (head, relation, tail).

        A known fact is no reason for itself: it is explained as if it alone were not known.
        """
        return self.reasoner(kb).explain(head, relation, tail, k, without_itself=True)

    def why_not(
        self, head: str, relation: str, tail: str, k: int = 3, kb: KnowledgeBase | None = None
    ) -> WhyNot:
        """Return the rules that are one fact short of (head, relation, tail)."""
        return self.reasoner(kb).why_not(head, relation, tail, k)

    def predict(
        self,
        relations: Iterable[str] | None = None,
        k: int = 10,
        kb: KnowledgeBase | None = None,
        *,
        unlinked: bool = False,
    ) -> PredictionBatches:
        """Yield new answers of every source to every relation, in batches.

        With `unlinked` those that a fact of any relation links to the source already are left out.
        """
        return self.reasoner(kb).predict(relations, k, unlinked=unlinked)

    def verify(
        self,
        head: str,
        relation: str,
        tail: str,
        k: int = 3,
        threshold: float = LIKELY,
        kb: KnowledgeBase | None = None,
    ) -> Verdict:
        """Return whether (head, relation, tail) is true, likely, unlikely or unknown, and why."""
        return self.reasoner(kb).verify(head, relation, tail, k, threshold)

    def audit(
        self,
        relation: str | None = None,
        *,
        limit: int = 20,
        sample: int | None = None,
        seed: int = 0,
        kb: KnowledgeBase | None = None,
        on_done: Callable[[int], None] = lambda num: None,
    ) -> Audit:
        """Return the facts that the rules find least likely, each scored as if it alone were not known."""
        found = self.reasoner(kb)
        return found.audit(relation, limit=limit, sample=sample, seed=seed, on_done=on_done)

    def find_entities(self, text: str, limit: int = 10, kb: KnowledgeBase | None = None) -> list[FoundEntity]:
        """Return the entities whose name matches a text: as a whole, by a word, or with typos."""
        return self.reasoner(kb).find_entities(text, limit)

    def what_if(
        self,
        added: Iterable[Triple] = (),
        removed: Iterable[Triple] = (),
        kb: KnowledgeBase | None = None,
    ) -> Reasoner:
        """Return a reasoner over the facts with some added and some removed; nothing else changes."""
        return self.reasoner(kb).changed(added, removed)
