from dataclasses import replace

import numpy as np
import pytest

from neurallp.config import WeightingConfig
from neurallp.graph.knowledge_base import name_parts
from neurallp.pipeline.learn import weigh_rules
from neurallp.weighting.fitting import Weighting
from neurallp.weighting.kinds import get_kind
from neurallp.weighting.kinds.base import Candidate

QUICK = WeightingConfig(max_length=2, num_candidates=20, num_pairs=40, max_questions=200, thinning=False)


@pytest.fixture(scope="module")
def split():
    """Every person likes all of a club but those whom the person hates."""
    members = [(f"c{club}", f"p{club}{i}") for club in range(6) for i in range(8)]
    facts = [(person, "in", club) for club, person in members]
    pairs = [(a, b) for c, a in members for d, b in members if c == d and a != b]
    hates = [(a, b) for number, (a, b) in enumerate(pairs) if number % 3 == 0]
    likes = [(a, b) for a, b in pairs if (a, b) not in set(hates)]
    facts += [(a, "hates", b) for a, b in hates] + [(a, "likes", b) for a, b in likes]
    held_out = [(a, "likes", b) for a, b in likes[::5]]
    return name_parts({"train": [fact for fact in facts if fact not in set(held_out)], "valid": held_out})


def likes_of(split, **settings):
    weighted = weigh_rules(split, replace(QUICK, **settings)).weighted_rules
    return weighted, weighted.queries[split.relations.id("likes")]


def test_a_relation_that_excludes_another_speaks_against_it(split):
    weighted, likes = likes_of(split)
    hates = Candidate("against", (split.relations.id("hates"),))
    assert likes.weights[likes.rules.index(hates), 0] < -1
    rules = list(map(str, weighted.rules(split.relations.id("likes"))))
    assert "not likes(X, Y) <= hates(X, Y), X != Y" in rules


def test_only_rules_against_and_the_prior_may_have_a_negative_weight(split):
    _, likes = likes_of(split)
    for rule, weights in zip(likes.rules, likes.weights, strict=True):
        assert (
            (weights <= 0).all() if rule.kind == "against" else (weights >= 0).all() or rule.kind == "prior"
        )
    _, free = likes_of(split, signs="any", kinds=("chain",))
    assert (free.weights < 0).any()


def test_validation_is_better_with_rules_against(split):
    config = replace(QUICK, kinds=("chain", "prior"))
    query = split.relations.id("likes")
    with_, without = (Weighting(split, each).trial([query]).mrr for each in (QUICK, config))
    assert with_ > without + 0.02


def test_a_step_that_is_often_right_is_no_candidate_against(split):
    weighting = Weighting(split, QUICK)
    with weighting._worker() as worker:
        found = get_kind("against").find(worker, split.relations.id("likes"), 0)
    names = [split.relations.operator_name(rule.operators[0]) for rule in found]
    assert "hates" in names
    assert "~likes" not in names


def test_where_linked_entities_are_no_candidates_nothing_speaks_against(split):
    weighted, _ = likes_of(split, linked="exclude")
    assert "against" not in weighted.num_of_kinds
    assert weighted.excludes_linked


def test_the_indicator_is_the_only_feature(split):
    _, likes = likes_of(split)
    against = [rule.kind == "against" for rule in likes.rules]
    assert np.all(likes.weights[against, 1:] == 0)
