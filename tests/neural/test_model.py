import numpy as np
import oracle
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import attention_of, edges, knowledge_bases, model_settings, untrained

from neurallp import ConfigError, KnowledgeBase, ModelConfig
from neurallp.engines.base import QueryBatch
from neurallp.engines.reference import ReferenceEngine
from neurallp.graph.operators import Operators
from neurallp.graph.vocabulary import Vocabulary
from neurallp.neural.model import ModelScorer, most_related_operators

few = settings(max_examples=30, deadline=None)


def all_questions(kb):
    """Return every (source, query) of a knowledge base, as two arrays."""
    grid = np.mgrid[: len(kb.entities), : kb.relations.num_operators]
    return tuple(grid.reshape(2, -1))


def dense_scores(model, kb, *questions):
    questions = questions or all_questions(kb)
    return ModelScorer(model, ReferenceEngine(Operators.of(kb))).scores(*questions).dense()


def chain(*links):
    return KnowledgeBase.from_triples(links)


# Scores


@few
@given(kb=knowledge_bases(), settings_=model_settings)
def test_a_score_is_the_sum_over_chains_and_ranks(kb, settings_):
    model = untrained(kb, **settings_ | {"exclude_source": False})
    for source, query in [(0, 0), (1 % len(kb.entities), 3)]:
        expected = np.zeros(len(kb.entities))
        for operator, memory in attention_of(model, query):
            found = oracle.score(edges(kb), operator, memory, source, normalize=settings_["normalize"])
            for entity, score in found.items():
                expected[entity] += score
        scores = dense_scores(model, kb, np.array([source]), np.array([query]))[0]
        np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-15)


@few
@given(kb=knowledge_bases(), settings_=model_settings)
def test_a_question_scores_the_same_alone_and_in_company(kb, settings_):
    model = untrained(kb, **settings_)
    sources, queries = all_questions(kb)
    together = dense_scores(model, kb)
    alone = [
        dense_scores(model, kb, np.array([source]), np.array([query]))[0]
        for source, query in zip(sources, queries, strict=True)
    ]
    np.testing.assert_allclose(together, alone)


@few
@given(kb=knowledge_bases(), settings_=model_settings, data=st.data())
def test_renaming_entities_permutes_the_scores_and_changes_nothing_else(kb, settings_, data):
    place = np.array(data.draw(st.permutations(range(len(kb.entities)))))
    names = [""] * len(place)
    for old, new in enumerate(place):
        names[new] = kb.entities[old]
    facts = kb.facts.copy()
    facts[:, [0, 2]] = place[facts[:, [0, 2]]]
    renamed = KnowledgeBase(Vocabulary(names), kb.relations, facts)
    sources, queries = all_questions(kb)
    before = dense_scores(untrained(kb, **settings_), kb, sources, queries)
    after = dense_scores(untrained(renamed, **settings_), renamed, place[sources], queries)
    np.testing.assert_allclose(after[:, place], before)


@few
@given(kb=knowledge_bases(), settings_=model_settings)
def test_scores_of_pairs_are_the_scores_and_each_question_s_total_is_their_sum(kb, settings_):
    model = untrained(kb, **settings_ | {"exclude_source": False})
    sources, queries = all_questions(kb)
    dense = dense_scores(model, kb)
    rows, entities = (grid.reshape(-1) for grid in np.mgrid[: len(sources), : len(kb.entities)])
    engine = ReferenceEngine(Operators.of(kb))
    scores, totals = model.pair_scores(engine, QueryBatch.unmasked(sources, queries), rows, entities)
    np.testing.assert_allclose(scores.detach().reshape(dense.shape), dense)
    np.testing.assert_allclose(totals.detach(), dense.sum(1))


def test_scores_of_pairs_have_a_gradient_for_every_weight_of_the_controller():
    kb = chain(("a", "r", "b"), ("b", "r", "c"), ("c", "s", "d"), ("a", "s", "d"))
    model = untrained(kb, num_controllers=2)
    engine = ReferenceEngine(Operators.of(kb))
    batch = QueryBatch.unmasked(np.array([0, 1]), np.array([0, 1]))
    scores, _ = model.pair_scores(engine, batch, np.array([0, 1]), np.array([2, 3]))
    gradients = torch.autograd.grad(scores.log().sum(), [*model.parameters()])
    for (name, _), gradient in zip(model.named_parameters(), gradients, strict=True):
        assert gradient.abs().sum() > 0, name


def test_entities_are_no_part_of_a_model():
    small = chain(("a", "r", "b"), ("b", "s", "c"))
    large = chain(*((f"{i}", name, f"{i + 1}") for i in range(50) for name in "rs"))
    one, other = untrained(small).state_dict(), untrained(large).state_dict()
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


# The source as an answer


@few
@given(kb=knowledge_bases(), settings_=model_settings)
def test_the_source_is_no_candidate_exactly_where_its_relation_has_no_reflexive_fact(kb, settings_):
    scores = dense_scores(untrained(kb, **settings_ | {"exclude_source": True}), kb)
    reflexive = {relation for head, relation, tail in kb.facts.tolist() if head == tail}
    for row, (source, query) in enumerate(zip(*all_questions(kb), strict=True)):
        excluded = query % len(kb.relations) not in reflexive
        assert np.isneginf(scores[row]).tolist() == [
            excluded and entity == source for entity in range(len(kb.entities))
        ]


def test_the_source_stays_a_candidate_where_the_configuration_says_so():
    kb = chain(("a", "r", "b"))
    scores = dense_scores(untrained(kb, exclude_source=False), kb)
    assert (scores[:2, 0] > 0).all()
    assert np.isfinite(scores).all()


# Restricted operators


def family():
    """uncle meets brother in 3 entities, father in 2 and lives_in in none."""
    return chain(
        ("anna", "uncle", "carl"),
        ("dora", "uncle", "carl"),
        ("anna", "father", "bob"),
        ("dora", "father", "emil"),
        ("anna", "brother", "dora"),
        ("dora", "brother", "carl"),
        ("fred", "lives_in", "ghent"),
    )


def names_allowed(kb, query, limit):
    flags = most_related_operators(kb, limit)[kb.relations.operator_id(query)]
    return {kb.relations.operator_name(k) for k in np.flatnonzero(flags)}


@pytest.mark.parametrize("query", ["uncle", "~uncle"])
def test_the_most_related_operators_are_both_ways_of_those_that_share_most_entities(query):
    kb = family()
    nearest = {"uncle", "~uncle", "brother", "~brother"}
    assert names_allowed(kb, query, limit=4) == nearest
    assert names_allowed(kb, query, limit=6) == nearest | {"father", "~father"}


def test_a_relation_that_shares_no_entity_is_most_related_to_itself():
    assert names_allowed(family(), "lives_in", limit=2) == {"lives_in", "~lives_in"}


def test_at_least_one_relation_and_at_most_all_are_allowed():
    kb = family()
    assert len(names_allowed(kb, "uncle", limit=1)) == 2
    assert len(names_allowed(kb, "uncle", limit=100)) == kb.relations.num_operators


def test_a_model_gives_exactly_0_to_operators_beyond_the_limit():
    kb = family()
    queries = np.arange(kb.relations.num_operators)
    operator = untrained(kb, operators_per_query=4, num_controllers=2).attend(queries).operator
    allowed = most_related_operators(kb, 4)
    assert ((operator > 0).numpy() == allowed[None, :, None, :]).all()


# Configuration


@pytest.mark.parametrize(
    "field", ["num_steps", "num_controllers", "embedding_size", "hidden_size", "operators_per_query"]
)
def test_a_size_below_1_is_refused_by_name(field):
    with pytest.raises(ConfigError, match=f"^{field} must be at least 1, got 0"):
        ModelConfig(**{field: 0})


def test_unknown_memory_keys_are_refused_with_the_choices():
    with pytest.raises(ConfigError, match="memory_keys must be one of present, previous, got 'future'"):
        ModelConfig(memory_keys="future")
