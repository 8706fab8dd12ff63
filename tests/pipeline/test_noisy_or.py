"""Chains for logic programs: chosen by how they rank together, with the fact of each question masked."""

import numpy as np
import pytest

from neurallp.datasets.family import family_knowledge_base
from neurallp.graph.questions import KnownAnswers, ask_both_ways
from neurallp.pipeline.noisy_or import Ranking, evidence, select_chains
from neurallp.rules.rule import Rule
from neurallp.rules.support import measure
from neurallp.weighting.graph_index import GraphIndex

PARENTS = [("father", "brother"), ("mother", "brother")]
BODIES = [*PARENTS, ("father",), ("brother", "uncle"), ("sister", "uncle")]


@pytest.fixture(scope="module")
def family():
    kb = family_knowledge_base(num_people=60, num_generations=3)
    questions = ask_both_ways(kb.facts, len(kb.relations))
    asked = questions[np.flatnonzero(questions.queries == kb.relations.id("uncle"))]
    rules = list(measure([Rule("uncle", body, 0.5, distinct_ends=True) for body in BODIES], kb))
    return GraphIndex.of(kb), rules, asked, KnownAnswers(kb.facts, len(kb.relations))


def test_rules_that_answer_best_together_are_chosen_and_those_that_mislead_left_out(family):
    index, rules, asked, known = family
    chosen = [rule.body for rule in select_chains(index, rules, asked, known, 4)]
    assert set(PARENTS) <= set(chosen[:3])
    assert ("father",) not in chosen
    assert len(select_chains(index, rules, asked, known, 1)) == 1


def test_the_fact_of_a_question_is_no_reason_for_itself(family):
    index, _, asked, known = family
    circular = Rule("uncle", ("uncle", "~uncle", "uncle"), 0.5, distinct_ends=True)
    alone = Ranking.of(index, [circular], asked, known)
    kb = index.kb
    facts = {(h, t) for h, r, t in kb.facts.tolist() if r == kb.relations.id("uncle")}
    for number, place in enumerate(alone.places.tolist()):
        source, answer = int(asked.sources[number]), int(asked.answers[number])
        others = {(h, t) for h, t in facts if (h, t) != (source, answer)}
        reached = {
            t
            for h, first in others
            if h == source
            for other, second in others
            if second == first
            for h2, t in others
            if h2 == other
        }
        assert (place >= 0) == (answer in reached)


def test_ranks_count_better_answers_half_of_the_ties_and_what_no_rule_predicts():
    questions, fired = np.array([0, 0, 0, 1]), np.ones((4, 1), dtype=bool)
    ranking = Ranking(questions, fired, np.array([1, 3, -1]), np.array([7, 9, 9]))
    assert ranking.mrr(np.array([2.0, 1.0, 1.0, 5.0])) == pytest.approx((1 / 2.5 + 1 + 0) / 3)
    assert ranking.mrr(np.array([0.0, 0.0, 0.0, 0.0])) == pytest.approx((1 / 5.5 + 1 / 5.5 + 0) / 3)


def test_noisy_or_is_a_sum_of_evidence():
    rules = [Rule("r", ("s",), 0.5), Rule("r", ("t",), 0.75)]
    assert 1 - np.exp(-sum(map(evidence, rules))) == pytest.approx(1 - 0.5 * 0.25)
    assert np.isfinite(evidence(Rule("r", ("s",), 1.0)))
