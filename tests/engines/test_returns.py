"""Every engine equals the oracle, on walks that may and may not come back to their source."""

from dataclasses import replace

import numpy as np
import oracle
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import attentions, edges, knowledge_bases

from neurallp.controller.attention import Attention
from neurallp.engines import make_engine
from neurallp.engines.base import QueryBatch
from neurallp.graph.operators import Operators

few = settings(max_examples=40, deadline=None)
ENGINES = ("reference", "cpu")


def attention(operator, memory):
    """Return attention of one query in double precision, ready for gradients."""
    return Attention(*(torch.tensor(each).unsqueeze(1).requires_grad_() for each in (operator, memory)))


def expected(kb, given_attention, source, normalize, may_return):
    links = edges(kb) if may_return else oracle.without_return(edges(kb), source)
    scores = np.zeros(len(kb.entities))
    for operator, memory in zip(*given_attention, strict=True):
        for entity, score in oracle.score(links, operator, memory, source, normalize=normalize).items():
            scores[entity] += score
    return scores


@few
@given(
    kb=knowledge_bases(num_relations=2),
    drawn=attentions(most_steps=3, num_operators=4),
    normalize=st.booleans(),
    may_return=st.booleans(),
)
@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_equals_the_enumeration_of_chains(name, kb, drawn, normalize, may_return):
    engine = make_engine(name, Operators.of(kb))
    sources = np.arange(len(kb.entities))
    walks = QueryBatch.unmasked(sources, np.zeros_like(sources), may_return=may_return)
    found = engine.scores(attention(*drawn), walks, normalize=normalize).dense()
    want = [expected(kb, drawn, int(source), normalize, may_return) for source in sources]
    np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)


@few
@given(
    kb=knowledge_bases(num_relations=2),
    drawn=attentions(most_steps=3, num_operators=4),
    normalize=st.booleans(),
    hides=st.booleans(),
)
def test_pairs_totals_and_gradients_of_walks_that_may_not_return_equal_the_reference(
    kb, drawn, normalize, hides
):
    operators = Operators.of(kb)
    everyone = np.arange(len(kb.entities))
    sources, entities = (each.reshape(-1) for each in np.meshgrid(everyone, everyone, indexing="ij"))
    hidden = operators.edges_of(kb.facts[:1]).repeat(len(sources), axis=0)
    walks = QueryBatch.masked(sources, np.zeros_like(sources), hidden if hides else hidden[:, :0])
    walks = replace(walks, may_return=False)
    outcomes = []
    for name in ENGINES:
        # Attention of exactly 0 gets no gradient from the cpu engine, which does not follow it.
        inputs = attention(drawn[0] + 0.01, np.tril(drawn[1] + 0.01))
        pairs, totals = make_engine(name, operators).pair_scores(
            inputs, walks, np.arange(len(walks)), entities, normalize=normalize
        )
        weights = torch.linspace(0.5, 2.0, len(pairs), dtype=torch.float64)
        ((weights * pairs).sum() + (totals**2).sum()).backward()
        outcomes.append([each.detach() for each in (pairs, totals, *(a.grad for a in inputs.pair))])
    for reference, cpu in zip(*outcomes, strict=True):
        torch.testing.assert_close(cpu, reference, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", ENGINES)
def test_a_walk_that_may_not_return_finds_only_other_films_of_the_director(name):
    facts = np.array([[0, 0, 2], [1, 0, 2]])  # films 0 and 1, director 2
    engine = make_engine(name, Operators.of_facts(facts, 3, 1))
    there_and_back = Attention(
        torch.tensor([[[[1.0, 0.0], [0.0, 1.0]]]]), torch.tensor([[[[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]]]])
    )
    source, row = np.array([0]), np.array([0])
    for may_return, share in ((True, [0.5, 0.5, 0.0]), (False, [0.0, 1.0, 0.0])):
        walks = QueryBatch.unmasked(source, row, may_return=may_return)
        found = engine.scores(there_and_back, walks, normalize=True).dense()
        np.testing.assert_allclose(found, [share])
