import pytest

from neurallp import ConfigError, KnowledgeBase
from neurallp.pipeline.base import BaseProgram

ONE, OTHER = (KnowledgeBase.from_triples([(name, "r", "b")]) for name in ("a", "c"))


class Counting(BaseProgram[tuple]):
    """A program whose reasoners are numbered."""

    def __init__(self, kb=None):
        self.kb, self.made = kb, 0

    def _make_reasoner(self, kb):
        self.made += 1
        return self.made, kb


def test_the_knowledge_base_given_comes_before_the_one_learned_from():
    program = Counting(ONE)
    assert program.reasoner()[1] is ONE
    assert program.reasoner(OTHER)[1] is OTHER


def test_only_the_last_reasoner_is_cached():
    program = Counting(ONE)
    assert [program.reasoner()[0], program.reasoner(ONE)[0]] == [1, 1]
    assert [program.reasoner(OTHER)[0], program.reasoner(OTHER)[0], program.reasoner()[0]] == [2, 2, 3]


def test_without_any_knowledge_base_the_error_asks_for_one():
    with pytest.raises(ConfigError, match=r"Give the knowledge base to ask: kb="):
        Counting().reasoner()
