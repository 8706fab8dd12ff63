from math import log

import numpy as np
import pytest

from neurallp import KnowledgeBase
from neurallp.datasets.family import family_knowledge_base
from neurallp.graph.operators import Operators
from neurallp.reasoning.domains import Domains


def oracle(kb, query):
    """Return the log odds of every entity, from sets of names."""
    has = {entity: set() for entity in kb.entities}
    for head, relation, tail in kb.named_facts():
        has[head].add(relation)
        has[tail].add(f"~{relation}")
    owners = {name: {e for e in has if name in has[e]} for e in has for name in has[e]}
    asked = owners.get(query, set())
    found = []
    for entity in kb.entities:
        chances = [(len(owners[k] & asked) + 0.5) / (len(owners[k]) + 1) for k in has[entity] - {query}]
        best = max([*chances, (len(asked) + 0.5) / (len(has) + 1)])
        found.append(log(best / (1 - best)))
    return found


@pytest.mark.parametrize("query", ["uncle", "~father", "wife"])
def test_who_has_the_relations_of_those_with_an_answer_is_likely_to_have_one(query):
    kb = family_knowledge_base(num_people=60, num_generations=3)
    found = Domains(Operators.of(kb)).log_odds(np.arange(len(kb.entities)), kb.relations.operator_id(query))
    assert found == pytest.approx(oracle(kb, query))


def test_an_entity_without_facts_is_judged_by_how_many_have_an_answer():
    kb = KnowledgeBase.from_triples([("a", "r", "b"), ("a", "s", "c"), ("d", "s", "c")])
    bare = KnowledgeBase(kb.entities, kb.relations, kb.facts[:2])  # d has no fact
    found = Domains(Operators.of(bare)).log_odds(np.array([kb.entities.id("d")]), 0)
    base = (1 + 0.5) / (4 + 1)
    assert found == pytest.approx([log(base / (1 - base))])
