"""Rules as a person reads them: order, groups, examples, and what speaks against."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurallp import KnowledgeBase, Rule
from neurallp.datasets.family import DEFINITIONS, RELATIONS, family_knowledge_base, is_true_by_definition
from neurallp.rules.listing import Listing, RuleGroup, clarity, in_order, list_rules, lower_bound
from neurallp.rules.support import measure

OPERATORS = [name for relation in RELATIONS for name in (relation, f"~{relation}")]


@pytest.fixture(scope="module")
def kb():
    return family_knowledge_base(num_people=120, num_generations=4)


def weighted(target, *body, weight=1.0):
    return Rule(target, body, 0.0, distinct_ends=True, weight=weight)


def listing_of(kb, target, bodies, **settings):
    rules = measure([weighted(target, *body) for body in bodies], kb)
    return list_rules(target, [rule for rule in rules if rule.support], kb, **settings)


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_rule_that_is_true_by_definition_is_among_the_first_three(kb, relation):
    bodies = [(k,) for k in OPERATORS if k != relation] + [(k, j) for k in OPERATORS for j in OPERATORS]
    first = listing_of(kb, relation, bodies, limit=3).reasons
    assert any(is_true_by_definition(relation, group.rule.body) for group in first)


def test_most_definitions_are_among_the_first_three(kb):
    bodies = [(k,) for k in OPERATORS] + [(k, j) for k in OPERATORS for j in OPERATORS]
    found = 0
    for relation, definitions in DEFINITIONS.items():
        first = listing_of(kb, relation, [b for b in bodies if b != (relation,)], limit=3).reasons
        shown = {rule.body for group in first for rule in (group.rule, *group.similar)}
        found += not shown.isdisjoint(definitions)
    assert found >= 9  # of 11


def test_rules_that_predict_the_same_pairs_are_one_group_with_an_example(kb):
    listing = listing_of(kb, "mother", [("father", "wife"), ("father", "~husband"), ("~son", "wife")])
    assert [len(group.similar) for group in listing.reasons] == [1, 0]
    first = listing.reasons[0]
    head, tail = first.example.removeprefix("mother(").split(")")[0].split(", ")
    assert (head, "mother", tail) in set(kb.named_facts())
    assert f"father({head}, " in first.example


def test_a_conclusion_is_no_example_of_itself():
    links = ["c based_in rome", "c country italy", "a based_in oslo", "b based_in oslo", "b country norway"]
    alone, both = (
        KnowledgeBase.from_triples(tuple(link.split()) for link in [*links, *more])
        for more in ([], ["a country norway"])
    )
    rule = weighted("country", "based_in", "~based_in", "country")
    (group,) = list_rules("country", [rule], alone).reasons
    assert (group.example, group.circular_share) == (None, 1.0)
    (group,) = list_rules("country", [rule], both).reasons
    assert group.circular_share == pytest.approx(1 / 3)  # of a, b and c, which is alone in rome
    assert group.example == "country(a, norway) as based_in(a, oslo), based_in(b, oslo), country(b, norway)"
    named = Rule("country", ("country",), 0.5, weight=1.0, kind="unary", answer="italy")
    assert list_rules("country", [named], both).reasons[0].example is None


def test_what_speaks_against_stands_apart_with_an_example_of_a_wrong_conclusion(kb):
    against = weighted("uncle", "father", weight=-2.0)
    rules = measure([weighted("uncle", "father", "brother"), against], kb)
    listing = list_rules("uncle", rules, kb)
    assert [group.rule.body for group in listing.reasons] == [("father", "brother")]
    assert [group.rule.body for group in listing.against] == [("father",)]
    facts, not_so = listing.against[0].example.split(", but not ")
    assert facts.startswith("father(")
    assert not_so.startswith("uncle(")


def test_a_prior_has_no_example_and_comes_last(kb):
    prior = Rule("uncle", ("uncle",), 0.0, weight=3.0, kind="prior")
    listing = list_rules("uncle", [prior, *measure([weighted("uncle", "father", "brother")], kb)], kb)
    assert [group.rule.kind for group in listing.reasons] == ["chain", "prior"]
    assert listing.reasons[1].example is None


@pytest.mark.parametrize(
    ("order", "expected"),
    [("weight", [3.0, 2.0, 1.0]), ("confidence", [1.0, 2.0, 3.0]), ("support", [2.0, 3.0, 1.0])],
)
def test_rules_are_sorted_as_asked(order, expected):
    def rule(weight, confidence, support):
        return Rule("r", ("s",), confidence, weight=weight, support=support, num_predictions=10)

    rules = [rule(2.0, 0.5, 9), rule(1.0, 0.9, 2), rule(3.0, 0.1, 5)]
    assert [each.weight for each in in_order(rules, order)] == expected


def test_without_facts_rules_are_sorted_by_weight():
    rules = [weighted("r", "s", weight=1.0), weighted("r", "t", weight=2.0)]
    assert [group.rule.weight for group in list_rules("r", rules, None).reasons] == [2.0, 1.0]


def test_many_paths_to_each_conclusion_are_less_clear():
    one = Rule("r", ("s",), 1.0, support=10, num_predictions=10, num_paths=10)
    assert clarity(one) > clarity(replace(one, num_paths=40))
    assert clarity(Rule("r", ("s",), 1.0)) == 0


@given(st.integers(0, 50), st.integers(0, 50))
def test_a_lower_bound_is_a_share_below_the_observed_one(successes, failures):
    bound = lower_bound(successes, successes + failures)
    assert 0 <= bound <= (successes / (successes + failures) if successes + failures else 0)


def test_a_rule_that_names_a_rare_answer_comes_after_one_that_concludes_most_facts():
    links = [f"c{i} based_in city{i % 5}" for i in range(40)] + [
        f"c{i} country land{i % 5}" for i in range(40)
    ]
    links += [f"c{i} sells tea" for i in (0, 1, 2, 5, 6)]
    kb = KnowledgeBase.from_triples(tuple(link.split()) for link in links)
    chain = weighted("country", "based_in", "~based_in", "country")
    named = Rule("country", ("sells",), 0.5, weight=3.0, kind="unary", answer="land0", body_end="tea")
    most = replace(named, body=("based_in",), body_end="city0")
    listing = list_rules("country", measure([named, chain, most], kb), kb)
    assert [group.rule.body_end for group in listing.reasons] == ["city0", None, "tea"]


def test_the_clarity_of_a_rule_about_one_source_is_multiplied_by_its_share_of_the_facts():
    facts = [("noir", f"film{i}") for i in range(8)] + [(f"genre{i % 4}", f"film{i}") for i in range(8, 40)]
    facts = [(film, "genre", genre) for genre, film in facts]
    facts += [(film, "director", f"d_{genre}") for film, _, genre in facts]
    kb = KnowledgeBase.from_triples(facts)
    about = {"kind": "sourced", "source": "noir", "body_start": "d_noir"}
    named = Rule("~genre", ("~director",), 0.0, weight=9.0, **about)
    chain = weighted("~genre", "~genre", "director", "~director")
    named, chain = measure([named, chain], kb)
    assert (named.support, named.num_predictions) == (8, 8)
    assert clarity(named, 40) == pytest.approx(clarity(named) * 8 / 40)
    assert clarity(chain, 40) == clarity(chain)


def test_a_unary_rule_is_an_example_of_its_answer():
    kb = KnowledgeBase.from_triples([("a", "eats", "b"), ("a", "colour", "red"), ("c", "colour", "blue")])
    rule = Rule("colour", ("eats",), 0.0, weight=1.0, kind="unary", answer="red")
    (group,) = list_rules("colour", measure([rule], kb), kb).reasons
    assert group.example == "colour(a, red) as eats(a, b)"


def test_a_sourced_rule_has_an_example_though_its_source_is_not_among_the_sampled_ones(monkeypatch):
    films = [(f"film{i}", "genre", f"genre{i % 9}") for i in range(27)]
    films += [(f"film{i}", "director", "wilder" if i % 9 == 7 else "lang") for i in range(27)]
    kb = KnowledgeBase.from_triples(films)
    monkeypatch.setattr("neurallp.rules.listing.NUM_SOURCES", 2)
    rules = [
        Rule("~genre", ("~director",), 0.0, weight=1.0, kind="sourced", source=genre, body_start="wilder")
        for genre in ("genre7", "genre8")
    ]
    right, wrong = list_rules("~genre", measure(rules, kb), kb).reasons
    assert (right.rule.source, right.rule.support) == ("genre7", 3)
    assert right.example == "genre(film7, genre7) as director(film7, wilder)"
    assert (wrong.rule.source, wrong.example, wrong.similar) == ("genre8", None, ())
    unknown = replace(rules[0], source="nothing")
    assert list_rules("~genre", measure([unknown], kb), kb).reasons[0].example is None


def test_sourced_rules_of_one_source_that_predict_the_same_are_one_group():
    films = [(f"film{i}", "genre", "noir") for i in range(4)]
    films += [(f"film{i}", made, "wilder") for i in range(4) for made in ("director", "writer")]
    kb = KnowledgeBase.from_triples([*films, *((f"film{i}", "genre", "drama") for i in range(4))])
    rules = [
        Rule("~genre", (f"~{made}",), 0.0, weight=1.0, kind="sourced", source=genre, body_start="wilder")
        for made in ("director", "writer")
        for genre in ("noir", "drama")
    ]
    groups = list_rules("~genre", measure(rules, kb), kb).reasons
    assert [(group.rule.source, len(group.similar)) for group in groups] == [("noir", 1), ("drama", 1)]


def test_a_circular_sourced_rule_is_no_example_of_itself():
    kb = KnowledgeBase.from_triples([("a", "likes", "b"), ("c", "likes", "b"), ("c", "likes", "d")])
    rule = Rule("likes", ("likes",), 0.0, weight=1.0, kind="sourced", source="a", body_start="a")
    (group,) = list_rules("likes", measure([rule], kb), kb).reasons
    assert (group.rule.support, group.example, group.circular_share) == (1, None, 1.0)


def test_a_listing_is_one_json_object_and_has_a_heading_for_the_inverse():
    listing = Listing("~uncle", (RuleGroup(weighted("~uncle", "nephew")),), ())
    assert listing.heading == "uncle(Y, X): X is given, Y is sought (inverse)"
    described = listing.as_dict()
    assert described["reasons"][0]["rule"] == "uncle(Y, X) <= nephew(X, Y), X != Y"
    assert described["against"] == []
