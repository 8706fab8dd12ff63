"""A sample of a graph keeps whole neighbourhoods."""

import numpy as np
import pytest

from neurallp.datasets.family import family_knowledge_base
from neurallp.errors import ConfigError
from neurallp.graph.knowledge_base import KnowledgeBase, split_triples
from neurallp.graph.operators import Operators
from neurallp.scale.sampling import HUB, draw_entities, sample


def chain_of(num):
    """Return a long chain of families whose members all live in one town."""
    links = [(f"e{i}", "next", f"e{i + 1}") for i in range(num)]
    return KnowledgeBase.from_triples(links + [(f"e{i}", "lives", "town") for i in range(num)])


def test_a_sample_has_about_so_many_facts_and_all_that_link_its_entities():
    kb = chain_of(2000)
    part = sample(kb, 400)
    assert 400 <= len(part.facts) < 1200
    names = set(part.entities)
    assert sorted(part.named_facts()) == sorted(
        fact for fact in kb.named_facts() if fact[0] in names and fact[2] in names
    )


def test_drawn_entities_keep_all_their_facts_and_hubs_are_not_followed():
    kb = chain_of(2000)
    operators = Operators.of(kb)
    members = draw_entities(operators, 100, seed=1)
    first = np.random.default_rng(1).permutation(len(kb.entities))[:1]
    reached = operators.targets_at(operators.edges_out_of(first))
    assert members[first].all()
    assert members[reached].all()
    assert operators.degrees(np.array([kb.entities.id("town")]))[0] > HUB
    assert members.sum() < 300


def test_a_split_keeps_its_parts_and_a_small_graph_is_taken_whole():
    split = split_triples(family_knowledge_base(num_people=300, num_generations=4))
    part = sample(split, 300)
    assert len(part.train) < len(split.train)
    assert len(part.valid) <= len(split.valid)
    facts = {(split.entities[h], r, split.entities[t]) for h, r, t in split.train.tolist()}
    assert {(part.entities[h], r, part.entities[t]) for h, r, t in part.train.tolist()} <= facts
    assert sample(split, 10**9) is split
    with pytest.raises(ConfigError, match="at least 1"):
        sample(split, 0)
