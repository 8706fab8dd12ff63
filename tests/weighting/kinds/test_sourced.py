"""Sourced rules: candidates, features and text, with the numbers written out."""

import numpy as np
import pytest

from neurallp import KnowledgeBase
from neurallp.graph.questions import ask_both_ways
from neurallp.graph.vocabulary import Relations
from neurallp.rules.rule import Rule
from neurallp.weighting.features import FeatureWalker, ask
from neurallp.weighting.graph_index import GraphIndex, MaskedGraph
from neurallp.weighting.kinds import compile_rules, get_kind, sourced
from neurallp.weighting.kinds.base import Candidate

KIND = get_kind("sourced")

#: Wilder makes four noirs of five, Lubitsch four comedies; noirs are six of eleven films.
FACTS = [
    *((f"wilder{i}", "director", "Wilder") for i in range(5)),
    *((f"wilder{i}", "genre", "noir") for i in range(4)),
    ("wilder4", "genre", "comedy"),
    *((f"lubitsch{i}", "director", "Lubitsch") for i in range(4)),
    *((f"lubitsch{i}", "genre", "comedy") for i in range(4)),
    *((f"other{i}", "genre", "noir") for i in range(2)),
]


@pytest.fixture
def index():
    return GraphIndex.of(KnowledgeBase.from_triples(FACTS))


class Search:
    """What a kind searches with, over all facts of a graph in their order."""

    def __init__(self, index, *, mask_pair=False):
        self.index, self.mask_pair_choices = index, (mask_pair,)

    def questions(self, query):
        questions = ask_both_ways(self.index.kb.facts, len(self.index.kb.relations))
        return questions[questions.queries == query]

    def sample(self, query, num):
        return self.questions(query)[:num]


@pytest.fixture(autouse=True)
def few_facts_are_enough(monkeypatch):
    monkeypatch.setattr(sourced, "MIN_SUPPORT", 3)
    monkeypatch.setattr(sourced, "FACTS_PER_RULE", 1)


def found_by_name(facts, query, *, mask_pair=False):
    index = GraphIndex.of(KnowledgeBase.from_triples(facts))
    name, query = index.kb.relations.operator_name, index.kb.relations.operator_id(query)
    found = KIND.find(Search(index, mask_pair=mask_pair), query, 3)
    assert all(rule.kind == "sourced" for rule in found)
    return [(rule.constant, name(rule.operators[0]), rule.end) for rule in found]


def features(index, rule, source, answer=None, *, mask_pair=False, exclude_source=False, query="~genre"):
    """Return the entities that a rule predicts, by name: from numpy and from the compiled loop alike."""
    entities, query = index.kb.entities, index.kb.relations.operator_id(query)
    answers = None if answer is None else np.array([entities.id(answer)])
    batch = ask(query, np.array([entities.id(source)]), answers, mask_pair, exclude_source)
    in_numpy = KIND.features(MaskedGraph(index, batch, 0), rule).entities
    in_numpy = in_numpy[~(exclude_source & (in_numpy == entities.id(source)))]
    compiled = FeatureWalker(index, 1).gather(compile_rules(index, query, [rule]).plans, batch).rows(0)
    assert in_numpy.tolist() == compiled[0].tolist()
    assert compiled[2].tolist() == compiled[3].tolist() == [1.0] * len(in_numpy)
    return [entities[each] for each in in_numpy.tolist()]


def rule_of(index, source, operator, start):
    return Candidate("sourced", (index.kb.relations.operator_id(operator),), source, start)


# Candidates


def test_candidates_are_ordered_by_support_and_surprise():
    # 4 of the 6 noirs are Wilder's, who made 5 of 11 films; 4 of the 5 comedies are Lubitsch's, who made 4.
    # 4 x log(4 / (5 x 6 / 11)) is less than 4 x log(4 / (4 x 5 / 11)).
    assert found_by_name(FACTS, "~genre") == [
        ("comedy", "~director", "Lubitsch"),
        ("noir", "~director", "Wilder"),
    ]


def test_a_rule_needs_a_few_known_answers(monkeypatch):
    monkeypatch.setattr(sourced, "MIN_SUPPORT", 5)
    assert found_by_name(FACTS, "~genre") == []


def test_a_query_has_a_rule_for_a_few_facts_each_and_no_more_than_the_limit(monkeypatch):
    monkeypatch.setattr(sourced, "MAX_RULES", 1)
    assert found_by_name(FACTS, "~genre") == [("comedy", "~director", "Lubitsch")]
    monkeypatch.setattr(sourced, "FACTS_PER_RULE", 12)
    assert found_by_name(FACTS, "~genre") == []


def test_an_edge_that_predicts_too_many_answers_is_no_candidate(monkeypatch):
    monkeypatch.setattr(sourced, "MAX_PREDICTED", 4)
    assert found_by_name(FACTS, "~genre") == [("comedy", "~director", "Lubitsch")]  # Wilder made five films


def test_what_too_many_share_takes_no_place_of_a_rule(monkeypatch):
    monkeypatch.setattr(sourced, "MAX_RULES", 1)
    monkeypatch.setattr(sourced, "MAX_PREDICTED", 4)
    more = [*FACTS, *((f"wilder{i}", "genre", "noir") for i in (5, 6, 7))]
    more += [(f"wilder{i}", "director", "Wilder") for i in (5, 6, 7)]
    assert found_by_name(more, "~genre") == [("comedy", "~director", "Lubitsch")]


def test_the_asked_fact_is_no_sign_of_itself():
    # Every answer of noir has an edge of `genre` to noir: that is the fact asked.
    assert ("noir", "~genre", "noir") not in found_by_name(FACTS, "~genre")
    # But films of one genre may share another one.
    twice = [*FACTS, *((f"wilder{i}", "genre", "crime") for i in range(4))]
    assert ("noir", "~genre", "crime") in found_by_name(twice, "~genre")


def test_an_edge_to_the_source_itself_is_no_candidate():
    # That is a chain: it holds for every source.
    facts = [(f"film{i}", verb, "noir") for i in range(4) for verb in ("genre", "style")]
    facts += [(f"film{i}", "genre", "comedy") for i in range(4, 9)]
    assert found_by_name(facts, "~genre") == found_by_name(facts, "~genre", mask_pair=True) == []


def test_without_facts_there_are_no_candidates():
    assert found_by_name([("a", "r", "b"), ("c", "s", "d")], "~r") == []


# Features


def test_a_rule_predicts_the_entities_with_its_edge_for_its_one_source(index):
    rule = rule_of(index, "noir", "~director", "Wilder")
    assert features(index, rule, "noir") == [f"wilder{i}" for i in range(5)]
    assert features(index, rule, "comedy") == []
    assert features(index, rule, "Wilder") == []


def test_rules_of_many_sources_are_told_apart(index):
    rules = [
        rule_of(index, *each)
        for each in (
            ("noir", "~director", "Wilder"),
            ("comedy", "~director", "Lubitsch"),
            ("comedy", "~director", "Wilder"),
            ("noir", "~director", "Lubitsch"),
        )
    ]
    entities, query = index.kb.entities, index.kb.relations.operator_id("~genre")
    batch = ask(query, np.array([entities.id(each) for each in ("comedy", "wilder0", "noir")]))
    found = FeatureWalker(index, 1).gather(compile_rules(index, query, rules).plans, batch)
    numbers = [found.rows(question)[1].tolist() for question in range(3)]
    assert [set(each) for each in numbers] == [{1, 2}, set(), {0, 3}]
    assert [len(each) for each in numbers] == [9, 0, 9]


def test_a_rule_about_an_entity_that_the_graph_lacks_predicts_nothing(index):
    for names in (("nothing", "~director", "Wilder"), ("noir", "~director", "nobody")):
        assert features(index, rule_of(index, *names), "noir") == []
    nobody = rule_of(index, "noir", "~director", "nobody")
    assert KIND.reachable(index, 0, nobody).tolist() == []


def test_a_start_without_such_edges_predicts_nothing(index):
    assert features(index, rule_of(index, "noir", "director", "Wilder"), "noir") == []


def test_only_its_answers_can_be_reached(index):
    rule = rule_of(index, "noir", "~director", "Lubitsch")
    reached = KIND.reachable(index, index.kb.relations.operator_id("~genre"), rule)
    assert [index.kb.entities[each] for each in reached] == [f"lubitsch{i}" for i in range(4)]


def test_an_edge_that_is_masked_supports_nothing():
    # The rule starts at its own source, so one of its answers is the masked fact itself.
    kb = KnowledgeBase.from_triples([("noir", "r", "a"), ("noir", "r", "b"), ("noir", "s", "a")])
    index = GraphIndex.of(kb)
    rule = rule_of(index, "noir", "r", "noir")
    assert features(index, rule, "noir", query="r") == ["a", "b"]
    assert features(index, rule, "noir", "a", query="r") == ["b"]
    assert features(index, rule, "noir", "a", query="s") == ["a", "b"]
    assert features(index, rule, "noir", "a", query="s", mask_pair=True) == ["b"]


def test_an_edge_back_from_the_answer_is_masked_with_its_fact():
    # The answer starts the body: r(noir, Y) <= r(Y, a) holds for Y = noir by the masked fact alone.
    kb = KnowledgeBase.from_triples([("noir", "r", "a"), ("c", "r", "a"), ("noir", "s", "a")])
    index = GraphIndex.of(kb)
    back = rule_of(index, "noir", "~r", "a")
    assert set(features(index, back, "noir", query="r")) == {"c", "noir"}
    assert features(index, back, "noir", "a", query="r") == ["c"]
    other = rule_of(index, "noir", "~s", "a")
    assert features(index, other, "noir", "a", query="r") == ["noir"]
    assert features(index, other, "noir", "a", query="r", mask_pair=True) == []


def test_a_reflexive_fact_is_masked_whichever_way_it_is_followed():
    index = GraphIndex.of(KnowledgeBase.from_triples([("a", "r", "a"), ("a", "r", "b"), ("c", "r", "a")]))
    for operator, left in (("r", ["b"]), ("~r", ["c"])):
        rule = rule_of(index, "a", operator, "a")
        assert set(features(index, rule, "a", query="r")) == {"a", *left}
        assert features(index, rule, "a", "a", query="r") == left


def test_an_excluded_source_is_no_answer():
    index = GraphIndex.of(KnowledgeBase.from_triples([("d", "s", "c"), ("d", "s", "b"), ("c", "r", "b")]))
    rule = rule_of(index, "c", "s", "d")
    assert set(features(index, rule, "c", query="r")) == {"b", "c"}
    assert features(index, rule, "c", query="r", exclude_source=True) == ["b"]


# Text


def test_the_text_form_leads_back_to_the_rule():
    relations = Relations(["genre", "director"])
    candidate = Candidate("sourced", (3,), "noir", "Wilder")
    rule = KIND.rule(relations, 2, candidate, True)
    names = {"kind": "sourced", "source": "noir", "body_start": "Wilder"}
    assert rule == Rule("~genre", ("~director",), 0.0, distinct_ends=True, **names)
    assert str(rule) == "genre(Y, noir) <= director(Y, Wilder)"
    assert rule.variables == ["Wilder", "Y"]
    assert KIND.candidate(rule, relations) == candidate


def test_a_rule_inverts_to_the_unary_rule_that_states_the_same_and_back():
    relations, unary = Relations(["genre", "director"]), get_kind("unary")
    candidate = Candidate("sourced", (3,), "noir", "Wilder")
    inverted = KIND.invert(candidate, relations)
    assert inverted == Candidate("unary", (1,), "noir", "Wilder")
    assert str(unary.rule(relations, 0, inverted, True)) == "genre(X, noir) <= director(X, Wilder)"
    assert unary.invert(inverted, relations) == candidate
    assert unary.invert(inverted._replace(end=None), relations) is None


def test_its_one_feature_is_the_indicator():
    assert KIND.num_features == 1
    assert KIND.predicts_rarely
    assert KIND.is_optional
    assert not KIND.depends_on_length
    assert not KIND.is_direct_link(Candidate("sourced", (0,), "noir", "Wilder"))
