"""Warming up: what the first visitors ask for is computed before they come, within a time limit."""

import pytest

from neurallp.web.explorer import Explorer
from neurallp.web.warming import warm_up


@pytest.fixture
def fresh(program, split):
    return Explorer(program, split)


def test_rules_are_compiled_and_counted_and_probabilities_measured(fresh):
    warm_up(fresh)
    assert fresh.reasoner.scorer.loops_are_loaded
    assert fresh.measured_reliability
    query = fresh.reasoner.relations.operator_id("uncle")
    counted = fresh._counts.get((query, 0), lambda: pytest.fail("the rule was not counted"))
    assert counted.support is not None


def test_it_ends_in_time(fresh):
    warm_up(fresh, seconds=0)
    assert not fresh.reasoner.scorer._compiled
    assert fresh.reasoner.ask(head=fresh.kb.entities[0], relation="uncle") is not None
