"""Vetoes, measured on validation."""

import pytest

from neurallp.web.explorer import Explorer
from neurallp.web.validation import measure_vetoes


def test_the_effect_of_no_veto_is_none_and_its_mrr_is_that_of_the_library(explorer, program, split):
    query = split.relations.id("cousin")
    effect = measure_vetoes(explorer, query, ())
    assert effect.mrr_before == effect.mrr_after
    assert effect.moved == []
    inverse = measure_vetoes(explorer, split.relations.inverse(query), ())
    both = program.evaluate_per_relation(split, "valid")[1]["cousin"]
    assert (effect.mrr_before + inverse.mrr_before) / 2 == pytest.approx(both.mrr)


def test_without_any_rule_answers_fall_to_the_middle_of_all(explorer, split):
    query = split.relations.id("cousin")
    vetoes = tuple(f"cousin:{number}" for number in range(len(explorer.rules(query))))
    effect = measure_vetoes(explorer, query, vetoes)
    assert effect.mrr_after < 0.2 < effect.mrr_before
    assert effect.num_worse > 0
    first = effect.moved[0]
    assert first.rank_after > first.rank_before
    assert first.source in split.entities


def test_there_is_no_effect_where_there_is_nothing_to_validate_on(explorer, split, given_rules):
    from dataclasses import replace

    empty = replace(split, valid=split.valid[:0])
    assert measure_vetoes(Explorer(given_rules, empty), 0, ()) is None
