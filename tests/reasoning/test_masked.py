"""The evidence for a known fact is that of a graph without it."""

from dataclasses import fields

import numpy as np
import pytest
from weighted_samples import random_kb, random_rules

from neurallp import Reasoner
from neurallp.graph.operators import Operators
from neurallp.graph.questions import ask_both_ways
from neurallp.reasoning.domains import Domains
from neurallp.reasoning.masked import MaskedEvidence


def without(kb, fact):
    kept = np.array([each for each in kb.facts.tolist() if each != fact])
    return Operators.of_facts(kept, len(kb.entities), len(kb.relations))


def named(kb, fact):
    return kb.entities[fact[0]], kb.relations[fact[1]], kb.entities[fact[2]]


@pytest.mark.parametrize("seed", range(6))
def test_masked_evidence_equals_that_of_a_graph_without_the_fact(seed):
    kb = random_kb(seed)
    reasoner = Reasoner(kb, random_rules(kb, seed, excludes_linked=seed % 2 == 1))
    questions = ask_both_ways(kb.facts, len(kb.relations))
    for query in np.unique(questions.queries).tolist():
        rows = np.flatnonzero(questions.queries == query)
        asked = questions[rows]
        masked, scores = MaskedEvidence(reasoner.scorer, reasoner.evidence).of(
            asked.sources, query, asked.answers
        )
        for i, row in enumerate(rows.tolist()):
            changed = reasoner.changed(removed=[named(kb, kb.facts[row // 2].tolist())])
            source, answer = int(asked.sources[i]), int(asked.answers[i])
            scored = changed.scores(np.array([source]), np.array([query])).row(0)
            score = scored[1][scored[0] == answer].sum(keepdims=True)
            assert scores[i] == pytest.approx(score[0])
            expected = changed.evidence.of(source, query, score, scored)
            for each in fields(expected):
                got = getattr(masked, each.name)[i]
                assert got == pytest.approx(getattr(expected, each.name)[0], rel=1e-6), each.name


@pytest.mark.parametrize("seed", range(10))
def test_domains_without_a_fact_are_those_of_a_graph_without_it(seed):
    kb = random_kb(seed, num_facts=14)
    domains, questions = Domains(Operators.of(kb)), ask_both_ways(kb.facts, len(kb.relations))
    keys = questions.sources * kb.relations.num_operators + questions.queries
    only = np.isin(
        keys, [key for key, num in zip(*np.unique(keys, return_counts=True), strict=True) if num == 1]
    )
    assert only.any()
    for row in np.flatnonzero(only).tolist():
        source, query, answer = (
            questions.sources[[row]],
            int(questions.queries[row]),
            questions.answers[[row]],
        )
        expected = Domains(without(kb, kb.facts[row // 2].tolist())).log_odds(source, query)
        assert domains.log_odds_without(source, query, answer) == pytest.approx(expected)
