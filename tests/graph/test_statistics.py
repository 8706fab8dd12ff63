import time

import numpy as np
import pytest

from neurallp.graph.arrays import distinct
from neurallp.graph.knowledge_base import KnowledgeBase
from neurallp.graph.statistics import describe_facts
from neurallp.graph.vocabulary import Relations, Vocabulary


@pytest.fixture(scope="module")
def found():
    """Statistics of facts whose properties are known."""
    n = 60
    rows = [(f"p{i}", "mother", f"m{i // 3}") for i in range(n)]
    rows += [(tail, "child", head) for head, _, tail in rows]
    rows += [
        row
        for i in range(0, n, 2)
        for row in ((f"p{i}", "spouse", f"p{i + 1}"), (f"p{i + 1}", "spouse", f"p{i}"))
    ]
    rows += [(f"q{i}", "older", f"q{j}") for i in range(12) for j in range(i)]
    rows += [(f"p{i}", "age", str(i)) for i in range(n)]
    rows += [(f"p{i}", "alias", f"m{i // 3}") for i in range(n)]
    rows += [("p1", "rare", "p2")] * 3
    return describe_facts(KnowledgeBase.from_triples(rows))


def kinds(found, name):
    return next(each.kinds for each in found.relations if each.name == name)


def test_relations_are_described_by_their_properties(found):
    assert kinds(found, "mother") == ["functional"]
    assert kinds(found, "child") == ["inverse functional"]
    assert kinds(found, "spouse") == ["functional", "inverse functional", "symmetric"]
    assert kinds(found, "older") == ["transitive"]
    assert "numbers" in kinds(found, "age")
    assert kinds(found, "rare") == ["few facts"]


def test_inverse_and_equal_relations_are_found(found):
    inverse = {(each.first, each.second) for each in found.inverse}
    assert inverse == {("mother", "child"), ("child", "alias")}
    assert [(each.first, each.second) for each in found.equal] == [("mother", "alias")]


def test_counts_and_degrees_are_those_of_the_facts(found):
    assert found.num_duplicates == 2
    assert found.num_facts == 60 * 5 + 66 + 1
    assert sum(each.num_facts for each in found.relations) == found.num_facts
    assert found.max_degree == 11
    assert found.mean_degree == pytest.approx(2 * found.num_facts / found.num_entities)
    assert found.as_dict()["relations"][0]["num_facts"] == 66


def test_what_to_expect_is_described(found):
    told = "\n".join(found.expectations)
    assert "rare" in told
    assert "mother and child" in told
    assert "--numbers bins" in told
    few = describe_facts(KnowledgeBase.from_triples([("a", "r", "b"), ("b", "r", "c")]))
    assert few.expectations[0].startswith("2 facts are too few")


def test_a_hundred_thousand_facts_take_seconds():
    rng = np.random.default_rng(0)
    facts = distinct(rng.integers(0, [10_000, 50, 10_000], (100_000, 3)))
    names = Vocabulary(f"e{i}" for i in range(10_000)), Relations(f"r{i}" for i in range(50))
    start = time.process_time()
    assert describe_facts(KnowledgeBase(*names, facts)).num_facts == len(facts)
    assert time.process_time() - start < 5
