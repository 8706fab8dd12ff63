"""Node+LinkFeat: its likelihood and scores equal those written out in plain Python."""

from math import exp, log

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import edges, knowledge_bases

from neurallp.experiments.baselines.node_link import NodeLink
from neurallp.graph.operators import Operators
from neurallp.graph.questions import Questions, ask_both_ways

few = settings(max_examples=30, deadline=None)


def model_over(kb, seed):
    """Return a model with random biases and weights."""
    model, rng = NodeLink(Operators.of(kb)), np.random.default_rng(seed)
    for parameter in model.parameters():
        parameter.data = torch.tensor(rng.normal(size=parameter.shape))
    return model


def expected_scores(kb, model, source, query, masked=()):
    """Return bias + weights of the links from the source, one for each entity."""
    scores, weight = list(model.bias.tolist()[query]), model.weight.tolist()
    for start, k, end in set(edges(kb)) - set(masked):
        scores[end] += weight[query][k] if start == source else 0.0
    return scores


@few
@given(kb=knowledge_bases(), seed=st.integers(0, 9))
def test_scores_are_a_bias_and_the_weights_of_all_links(kb, seed):
    model = model_over(kb, seed)
    sources = np.repeat(np.arange(len(kb.entities)), 4)
    queries = np.tile(np.arange(4), len(kb.entities))
    found = model.scores(sources, queries).dense()
    for row, (source, query) in enumerate(zip(sources.tolist(), queries.tolist(), strict=True)):
        np.testing.assert_allclose(found[row], expected_scores(kb, model, source, query), atol=1e-9)


@few
@given(kb=knowledge_bases(), seed=st.integers(0, 9))
def test_the_likelihood_is_a_softmax_without_the_asked_fact(kb, seed):
    model = model_over(kb, seed)
    questions = ask_both_ways(kb.facts, len(kb.relations))
    found = model.log_likelihood(questions).tolist()
    asked = zip(
        questions.sources.tolist(), questions.queries.tolist(), questions.answers.tolist(), strict=True
    )
    for likelihood, (source, query, answer) in zip(found, asked, strict=True):
        scores = expected_scores(kb, model, source, query, {(source, query, answer)})
        assert likelihood == pytest.approx(scores[answer] - log(sum(map(exp, scores))), abs=1e-9)


@few
@given(kb=knowledge_bases(), seed=st.integers(0, 9))
def test_scoring_leaves_the_model_as_it_was(kb, seed):
    model = model_over(kb, seed)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    model.scores(np.arange(len(kb.entities)), np.zeros(len(kb.entities), dtype=np.int64))
    assert all(torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))


def test_an_entity_without_links_is_scored_by_its_bias_alone():
    operators = Operators.of_facts(np.array([[0, 0, 1]]), num_entities=3, num_relations=1)
    model = NodeLink(operators)
    model.bias.data[0] = torch.tensor([0.5, 1.5, 2.5])
    model.weight.data[:] = 7.0
    assert model.scores(np.array([2]), np.array([0])).dense().tolist() == [[0.5, 1.5, 2.5]]
    question = Questions(np.array([2]), np.array([0]), np.array([0]))
    total = log(sum(map(exp, (0.5, 1.5, 2.5))))
    assert model.log_likelihood(question).item() == pytest.approx(0.5 - total)


def test_the_penalty_is_a_weighted_sum_of_squares():
    model = NodeLink(Operators.of_facts(np.array([[0, 0, 1]]), num_entities=2, num_relations=1))
    assert model.penalty().item() == 0.0
    model.bias.data[:] = 2.0  # two operators, two entities
    model.weight.data[:] = 3.0
    assert model.penalty().item() == pytest.approx(4 * 4 * 1.0 + 4 * 9 * 1e-3)
