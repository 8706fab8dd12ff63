"""Questions in words: a question model over the facts of an explorer, loaded by the first question."""

from collections.abc import Callable
from functools import cached_property
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING

from ..errors import QuestionError
from ..graph.knowledge_base import KnowledgeBase

if TYPE_CHECKING:
    from ..pipeline.questions import QuestionProgram
    from ..qa.answering import QuestionReasoner
    from ..qa.answers import WordAnswers

#: Questions that are offered as examples.
NUM_EXAMPLES = 4


class WordReader:
    """Reads and answers questions in words about one knowledge base, one at a time."""

    def __init__(self, load: Callable[[], "QuestionProgram"], kb: KnowledgeBase) -> None:
        """Take what loads the model: that needs torch, which takes seconds."""
        self._load, self._kb, self._lock = load, kb, Lock()

    @cached_property
    def _reasoner(self) -> "QuestionReasoner":
        return self._load().reasoner(self._kb)

    def warm_up(self) -> None:
        """Load the model, and prepare the names and the examples."""
        self.examples()

    def ask(self, text: str, k: int) -> "WordAnswers":
        """Return the answers to a question, however likely; raise QuestionError where there is none."""
        with self._lock:
            return self._reasoner.ask(text, k, min_probability=0.0)

    def similar(self, text: str) -> list[str]:
        """Return known questions about the same entity that are most similar to one; none if it has none."""
        with self._lock:
            try:
                return self._reasoner.similar_questions(text)
            except QuestionError:
                return []

    def examples(self) -> list[str]:
        """Return some questions of different meanings that can be answered."""
        with self._lock:
            return self._examples

    @cached_property
    def _examples(self) -> list[str]:
        return list(islice(self._reasoner.example_questions(), NUM_EXAMPLES))
