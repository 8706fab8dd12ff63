"""Unary rules: candidates, features and text, with the numbers written out."""

from math import log

import numpy as np
import pytest

from neurallp import KnowledgeBase
from neurallp.graph.questions import ask_both_ways
from neurallp.graph.vocabulary import Relations
from neurallp.rules.rule import Rule
from neurallp.weighting.features import FeatureWalker, ask
from neurallp.weighting.graph_index import GraphIndex, MaskedGraph
from neurallp.weighting.kinds import compile_rules, get_kind
from neurallp.weighting.kinds.base import Candidate
from neurallp.weighting.kinds.unary import find_ended, find_unary

KIND = get_kind("unary")

#: Four of five drivers pay tax, and two who do not drive; three walkers pay a fee.
FACTS = [
    *((f"driver{i}", "drives", f"car{i}") for i in range(5)),
    *((f"driver{i}", "pays", "tax") for i in range(4)),
    *((f"rider{i}", "pays", "tax") for i in range(2)),
    *((f"walker{i}", "walks", "dog") for i in range(3)),
    *((f"walker{i}", "pays", "fee") for i in range(3)),
]


FEW = 3  # known answers that a rule needs here


@pytest.fixture
def index():
    return GraphIndex.of(KnowledgeBase.from_triples(FACTS))


def pairs_of(index, query):
    questions = ask_both_ways(index.kb.facts, len(index.kb.relations))
    return questions[questions.queries == index.kb.relations.operator_id(query)]


def found_by_name(index, query, *, mask_pair=False, limit=100, min_support=FEW):
    found = find_unary(index.segments, pairs_of(index, query), mask_pair, limit, min_support)
    return [(index.kb.relations.operator_name(k), index.kb.entities[answer]) for k, answer in found]


def features(index, rule, source, answer=None, *, mask_pair=False, query="pays"):
    """Return the entities that a rule predicts, by name: from numpy and from the compiled loop alike."""
    entities, query = index.kb.entities, index.kb.relations.operator_id(query)
    answers = None if answer is None else np.array([entities.id(answer)])
    batch = ask(query, np.array([entities.id(source)]), answers, mask_pair)
    in_numpy = KIND.features(MaskedGraph(index, batch, 0), rule)
    compiled = FeatureWalker(index, 1).gather(compile_rules(index, query, [rule]).plans, batch).rows(0)
    assert in_numpy.entities.tolist() == compiled[0].tolist()
    assert in_numpy.forward.tolist() == compiled[2].tolist() == [1.0] * len(in_numpy.entities)
    return [entities[each] for each in in_numpy.entities.tolist()]


def rule_of(index, operator, constant):
    return Candidate("unary", (index.kb.relations.operator_id(operator),), constant)


def test_candidates_are_ordered_by_support_and_surprise(index):
    # 9 payments: 6 of tax, 3 of a fee. drives and tax: 4 seen, 4 x 6 / 9 expected; walks and fee: 3, 1.
    scores = {"drives": 4 * log(4 / (4 * 6 / 9)), "walks": 3 * log(3 / (3 * 3 / 9))}
    assert scores["walks"] > scores["drives"] > 0
    assert found_by_name(index, "pays") == [("walks", "fee"), ("drives", "tax")]
    assert found_by_name(index, "pays", limit=1) == [("walks", "fee")]


def test_a_rule_needs_a_few_known_answers():
    few = [(f"walker{i}", verb, what) for i in range(FEW - 1) for verb, what in TOLL]
    others = [(f"rider{i}", "pays", "tax") for i in range(5)]
    index = GraphIndex.of(KnowledgeBase.from_triples([*few, *others]))
    assert found_by_name(index, "pays") == []
    last = [(f"walker{FEW}", verb, what) for verb, what in TOLL]
    index = GraphIndex.of(KnowledgeBase.from_triples([*few, *others, *last]))
    assert found_by_name(index, "pays") == [("walks", "fee")]


TOLL = (("walks", "dog"), ("pays", "fee"))


def test_the_asked_fact_is_no_sign_of_itself(index):
    # Everybody who pays tax has an edge of `pays`, but only that one.
    assert ("pays", "tax") not in found_by_name(index, "pays")
    twice = [*FACTS, *((f"rider{i}", "pays", "toll") for i in range(2)), ("driver0", "pays", "toll")]
    index = GraphIndex.of(KnowledgeBase.from_triples(twice))
    assert ("pays", "toll") in found_by_name(index, "pays")


def test_under_a_masked_pair_no_link_to_the_answer_is_a_sign_of_it():
    facts = [(f"p{i}", verb, "tax") for i in range(4) for verb in ("pays", "owes")]
    facts += [(f"q{i}", "pays", "fee") for i in range(6)]
    index = GraphIndex.of(KnowledgeBase.from_triples(facts))
    assert found_by_name(index, "pays") == [("owes", "tax")]
    assert found_by_name(index, "pays", mask_pair=True) == []


def test_without_pairs_there_are_no_candidates(index):
    assert find_unary(index.segments, pairs_of(index, "pays")[:0], False, 10, FEW) == []


def test_a_rule_predicts_its_answer_for_every_source_with_an_edge(index):
    rule = rule_of(index, "drives", "tax")
    assert features(index, rule, "driver0") == ["tax"]
    assert features(index, rule, "driver4") == ["tax"]
    assert features(index, rule, "rider0") == []


def test_an_edge_that_is_masked_supports_nothing(index):
    rule = rule_of(index, "pays", "fee")
    assert features(index, rule, "driver0") == ["fee"]
    assert features(index, rule, "driver0", "tax") == []


def test_the_edge_of_another_relation_is_masked_only_with_the_whole_pair():
    facts = [("p", "pays", "tax"), ("p", "owes", "tax"), ("q", "pays", "fee")]
    index = GraphIndex.of(KnowledgeBase.from_triples(facts))
    rule = rule_of(index, "owes", "fee")
    assert features(index, rule, "p", "tax") == ["fee"]
    assert features(index, rule, "p", "tax", mask_pair=True) == []


def test_a_second_edge_of_the_operator_is_enough_when_the_first_is_masked():
    facts = [("p", "pays", "tax"), ("p", "pays", "toll"), ("q", "pays", "fee")]
    index = GraphIndex.of(KnowledgeBase.from_triples(facts))
    assert features(index, rule_of(index, "pays", "fee"), "p", "tax") == ["fee"]


def test_a_rule_about_an_entity_that_the_graph_lacks_predicts_nothing(index):
    rule = rule_of(index, "drives", "nothing")
    assert features(index, rule, "driver0") == []
    assert KIND.reachable(index, 0, rule).tolist() == []


def test_only_its_answer_can_be_reached(index):
    assert KIND.reachable(index, 0, rule_of(index, "drives", "tax")).tolist() == [index.kb.entities.id("tax")]


def test_the_text_form_leads_back_to_the_rule():
    relations = Relations(["pays", "drives"])
    candidate = Candidate("unary", (3,), "tax")
    rule = KIND.rule(relations, 0, candidate, True)
    assert rule == Rule("pays", ("~drives",), 0.0, distinct_ends=True, kind="unary", answer="tax")
    assert KIND.candidate(rule, relations) == candidate
    assert KIND.invert(candidate, relations) is None
    named = Candidate("unary", (1,), "tax", "car")
    assert str(KIND.rule(relations, 0, named, True)) == "pays(X, tax) <= drives(X, car)"
    assert KIND.candidate(KIND.rule(relations, 0, named, True), relations) == named


# Rules that name the end of their edge


def ended(index, operator, end, answer):
    return Candidate("unary", (index.kb.relations.operator_id(operator),), answer, end)


def test_a_rule_that_names_an_end_predicts_for_sources_with_that_edge_alone(index):
    rule = ended(index, "drives", "car1", "tax")
    assert features(index, rule, "driver1") == ["tax"]
    assert features(index, rule, "driver0") == []
    assert features(index, ended(index, "drives", "nothing", "tax"), "driver1") == []


def test_a_masked_edge_is_no_sign_even_where_the_source_has_others_of_its_operator():
    facts = [("p", "pays", "tax"), ("p", "pays", "toll"), ("q", "pays", "fee")]
    index = GraphIndex.of(KnowledgeBase.from_triples(facts))
    assert features(index, ended(index, "pays", "tax", "fee"), "p") == ["fee"]
    assert features(index, ended(index, "pays", "tax", "fee"), "p", "tax") == []
    assert features(index, ended(index, "pays", "toll", "fee"), "p", "tax") == ["fee"]


def test_an_edge_to_one_entity_is_found_as_a_sign_of_an_answer():
    facts = [(f"p{i}", "speaks", "French" if i < 6 else "German") for i in range(12)]
    facts += [(f"p{i}", "pays", "taxe" if i < 6 else "Steuer") for i in range(12)]
    index = GraphIndex.of(KnowledgeBase.from_triples(facts))
    name, entities = index.kb.relations.operator_name, index.kb.entities
    found = find_ended(index.segments, pairs_of(index, "pays"), False, 10, FEW)
    assert {(name(k), entities[end], entities[answer]) for k, end, answer in found} == {
        ("speaks", "French", "taxe"),
        ("speaks", "German", "Steuer"),
    }
    assert found_by_name(index, "pays") == []  # everybody speaks something


def test_its_one_feature_is_the_indicator():
    assert KIND.num_features == 1
    assert not KIND.depends_on_length
    assert not KIND.is_direct_link(Candidate("unary", (0,), "tax"))
