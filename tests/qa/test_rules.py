import numpy as np
import pytest
from hypothesis import given, settings
from samples import attentions

from neurallp import KnowledgeBase
from neurallp.graph.operators import Operators
from neurallp.qa import rules as question_rules
from neurallp.qa.rules import DegreeExtension, DegreeStatistics, extract_by_degree
from neurallp.rules.extraction import extract_all

FILMS = [
    ("Alien", "directed_by", "Scott"),
    ("Alien", "has_genre", "Horror"),
    ("Alien", "has_genre", "SciFi"),
    ("Gladiator", "directed_by", "Scott"),
    ("Gladiator", "in_language", "English"),
]


def statistics():
    kb = KnowledgeBase.from_triples(FILMS)
    return kb, DegreeStatistics(Operators.of(kb))


def chain_attention(*operators, size):
    """Return attention of one controller that walks the given operators one after another."""
    steps = len(operators)
    return np.eye(size)[None, list(operators)], np.eye(steps + 1)[None]


@settings(max_examples=40, deadline=None)
@given(attentions(most_steps=3))
def test_with_all_degrees_1_bodies_have_the_confidences_of_algorithm_1(drawn):
    operator, memory = drawn
    size = operator.shape[2]
    want = {body: c for body, c in extract_all(operator, memory).items() if body and c > 0}
    extension = DegreeExtension(np.ones(size), np.ones((size, size)), normalize=False)
    found = extract_by_degree(operator, memory, extension)
    total = sum(want.values())
    assert dict(found) == pytest.approx({body: c / total for body, c in want.items()})
    assert [c for _, c in found] == sorted((c for _, c in found), reverse=True)


@settings(max_examples=40, deadline=None)
@given(attentions(most_steps=3))
def test_shares_add_up_to_1_with_and_without_normalised_memories(drawn):
    operator, memory = drawn
    size = operator.shape[2]
    for normalize in (False, True):
        extension = DegreeExtension(np.ones(size), np.full((size, size), 3.0), normalize)
        found = extract_by_degree(operator, memory, extension)
        assert not found or sum(c for _, c in found) == pytest.approx(1)


def test_a_body_counts_in_proportion_to_the_edges_of_its_step():
    operator, memory = np.array([[[0.5, 0.5]]]), np.eye(2)[None]
    extension = DegreeExtension(np.array([3.0, 1.0]), np.ones((2, 2)), normalize=True)
    assert extract_by_degree(operator, memory, extension) == [((0,), 0.75), ((1,), 0.25)]


def test_a_body_whose_step_has_no_edges_is_left_out():
    operator, memory = np.array([[[0.1, 0.9]]]), np.eye(2)[None]
    extension = DegreeExtension(np.array([1.0, 0.0]), np.ones((2, 2)), normalize=True)
    assert extract_by_degree(operator, memory, extension) == [((0,), 1.0)]


def test_no_body_is_found_where_no_step_has_edges():
    operator, memory = chain_attention(0, 0, size=1)
    for normalize in (False, True):
        extension = DegreeExtension(np.zeros(1), np.zeros((1, 1)), normalize)
        assert extract_by_degree(operator, memory, extension) == []


def test_the_second_step_uses_the_degrees_after_the_first_operator():
    operator = np.array([[[0.5, 0.5], [1.0, 0.0]]])
    after = np.array([[4.0, 0.0], [1.0, 0.0]])
    extension = DegreeExtension(np.ones(2), after, normalize=False)
    found = dict(extract_by_degree(operator, np.eye(3)[None], extension))
    assert found == pytest.approx({(0, 0): 0.8, (1, 0): 0.2})


def test_only_the_most_confident_bodies_stay_in_the_beam(monkeypatch):
    monkeypatch.setattr(question_rules, "BEAM", 2)
    operator = np.array([[[0.5, 0.3, 0.2]]])
    extension = DegreeExtension(np.ones(3), np.ones((3, 3)), normalize=False)
    found = extract_by_degree(operator, np.eye(2)[None], extension)
    assert [body for body, _ in found] == [(0,), (1,)]


def test_degrees_are_means_over_the_facts():
    kb, degrees = statistics()
    directed, genre = kb.relations.operator_id("directed_by"), kb.relations.operator_id("has_genre")
    back = kb.relations.operator_id("~directed_by")
    assert degrees.after[directed, back] == 2  # Scott directed two films
    assert degrees.after[back, genre] == 1  # of two films one has two genres
    assert degrees.beside[genre, directed] == 1


def test_an_entity_without_an_operator_gets_the_mean_of_entities_like_it():
    kb, degrees = statistics()
    genre = kb.relations.operator_id("has_genre")
    assert degrees.of(kb.entities.id("Alien"))[genre] == 2
    assert degrees.of(kb.entities.id("Gladiator"))[genre] == 1  # films with a director have one in the mean
    assert degrees.of(kb.entities.id("Scott"))[genre] == 0  # no director has a genre
