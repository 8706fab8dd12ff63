"""The bypass of autograd gives the numbers that autograd gives."""

import numpy as np
import pytest
import torch
from samples import untrained

from neurallp.config import configure
from neurallp.controller.attention import Attention
from neurallp.datasets.family import family_knowledge_base
from neurallp.engines import make_engine
from neurallp.graph.knowledge_base import split_triples
from neurallp.graph.operators import Operators
from neurallp.neural.gradients import attend_with_backward, score_attention, score_with_backward
from neurallp.neural.objective import OBJECTIVES
from neurallp.pipeline.learn import prepare

SMALL = {"embedding_size": 8, "hidden_size": 8, "learning_rate": 0.01}


@pytest.fixture(scope="module")
def family():
    return split_triples(family_knowledge_base(num_people=40, num_generations=3))


@pytest.fixture
def training(family):
    training = prepare(family, *configure(**SMALL, num_controllers=2))
    training.model.double()
    return training


def assert_all_close(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs.detach(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_gradient_of_a_training_step_equals_that_of_autograd(training, objective):
    batch = training.examples.batch(training.examples.asked[:40])
    excludes = training.model.excludes_source(batch.questions.queries)
    pairs = OBJECTIVES[objective].pairs(batch.questions, training.examples.known, excludes)
    scores, totals = training.model.pair_scores(training.engine, batch.queries, *pairs)
    _, grad_scores, grad_totals = OBJECTIVES[objective].loss(scores.detach(), totals.detach(), pairs[0])
    grad_totals = torch.zeros_like(totals) if grad_totals is None else grad_totals
    parameters = [*training.model.parameters()]
    expected = torch.autograd.grad((scores, totals), parameters, (grad_scores, grad_totals))
    with torch.inference_mode():
        scored = score_with_backward(training.model, training.engine, batch.queries, *pairs)
        found = scored.backward(grad_scores, grad_totals)
    assert_all_close((scored.scores, scored.totals, *found), (scores, totals, *expected))


def test_no_graph_is_recorded(training):
    batch = training.examples.batch(training.examples.asked[:4])
    rows, answers = np.arange(8), batch.questions.answers
    scored = score_with_backward(training.model, training.engine, batch.queries, rows, answers)
    assert not scored.scores.requires_grad
    assert not any(each.requires_grad for each in scored.backward(torch.ones(8), None))


@pytest.mark.parametrize("num_controllers", [1, 3])
@pytest.mark.parametrize("memory_keys", ["previous", "present"])
def test_the_gradients_of_the_attention_equal_those_of_autograd(family, num_controllers, memory_keys):
    model = untrained(family.known, num_controllers=num_controllers, memory_keys=memory_keys)
    queries = torch.tensor([3, 1, 4])
    attention, backward = attend_with_backward(model.controller, queries)
    gradients = [torch.rand_like(each) for each in attention.pair]
    recorded = model.controller(queries)
    expected = torch.autograd.grad(recorded.pair, [*model.controller.parameters()], gradients)
    assert_all_close((*attention.pair, *backward(*gradients)), (*recorded.pair, *expected))


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("one_each", [False, True])
@pytest.mark.parametrize("with_totals", [False, True])
def test_the_gradients_of_an_engine_equal_those_of_autograd(training, engine, one_each, with_totals):
    rng = np.random.default_rng(0)
    scorer = make_engine(engine, Operators.of(training.split.known))
    _, batch = training.model.distinct_queries(training.examples.batch(training.examples.asked[:10]).queries)
    attention = training.model.attend(np.arange(batch.rows.max() + 1))
    num_entities = scorer.operators.num_entities
    rows = np.arange(20) if one_each else rng.integers(20, size=50)
    pairs = rows, rng.integers(num_entities, size=len(rows))
    given = Attention(*(each.clone().requires_grad_() for each in attention.pair))
    ends = scorer.pair_scores(given, batch, *pairs, normalize=True)
    gradients = [torch.rand_like(each) for each in ends]
    if not with_totals:
        gradients[1].zero_()
    expected = torch.autograd.grad(ends, given.pair, gradients)
    scored = score_attention(scorer, attention, batch, *pairs, normalize=True)
    found = scored.backward(gradients[0], gradients[1] if with_totals else None)
    assert_all_close((scored.scores, scored.totals, *found), (*ends, *expected))
