"""Rules: how they read, their inequality constraints, sets and filters."""

import json

import pytest

from neurallp import ConfigError, KnowledgeBase, Reasoner, Rule, RuleSet
from neurallp.config import KINDS
from neurallp.errors import DataWarning
from neurallp.rules.rule import RuleFilter, atom, facts_along

# How rules read


@pytest.mark.parametrize(
    ("target", "body", "text"),
    [
        ("uncle", ("father", "brother"), "uncle(X, Y) <= father(X, A), brother(A, Y)"),
        ("uncle", ("father", "~brother"), "uncle(X, Y) <= father(X, A), brother(Y, A)"),
        ("~uncle", ("brother", "~father"), "uncle(Y, X) <= brother(X, A), father(Y, A)"),
        ("uncle", ("uncle",), "uncle(X, Y) <= uncle(X, Y)"),
        ("uncle", ("~nephew",), "uncle(X, Y) <= nephew(Y, X)"),
        ("same", (), "same(X, Y) <= X = Y"),
        ("r", ("a", "b", "c", "d"), "r(X, Y) <= a(X, A), b(A, B), c(B, C), d(C, Y)"),
    ],
)
def test_a_rule_reads_from_the_source_to_the_answer(target, body, text):
    assert str(Rule(target, body, 0.5)) == text
    assert str(Rule(target, body, 0.5, distinct_ends=True)) == f"{text}, X != Y"


def test_a_long_rule_never_uses_a_variable_twice():
    text = str(Rule("r", ("s",) * 40, 0.5)).split("<= ")[1]
    variables = [atom.split(", ")[0] for atom in text.split("s(")[1:]]
    assert len(set(variables)) == 40


def test_a_rule_is_one_json_object_that_reads_itself():
    rule = Rule("uncle", ("father", "brother"), 0.5, 1.0, True, support=1, num_predictions=2)
    found = json.loads(json.dumps(rule.as_dict()))
    assert found == {
        "target": "uncle",
        "body": ["father", "brother"],
        "confidence": 0.5,
        "normalized_confidence": 1.0,
        "distinct_ends": True,
        "support": 1,
        "num_answerable": None,
        "num_paths": None,
        "pca_confidence": None,
        "num_predictions": 2,
        "inequalities": [],
        "weight": None,
        "kind": "chain",
        "answer": None,
        "body_end": None,
        "source": None,
        "body_start": None,
        "rule": "uncle(X, Y) <= father(X, A), brother(A, Y), X != Y",
    }


def test_json_has_the_counted_confidence_and_beside_it_what_a_neural_model_gave():
    counted = Rule("uncle", ("father", "brother"), 0.9, support=1, num_predictions=2).as_dict()
    assert (counted["confidence"], counted["alpha"]) == (0.5, 0.9)
    assert Rule("uncle", ("father", "brother"), 0.9).as_dict()["confidence"] == 0.9


def test_a_rule_is_vacuous_only_when_its_body_is_its_target():
    assert Rule("uncle", ("uncle",), 1.0).is_vacuous
    assert Rule("~uncle", ("~uncle",), 1.0).is_vacuous
    assert not Rule("uncle", ("~uncle",), 1.0).is_vacuous
    assert not Rule("uncle", ("uncle", "uncle"), 1.0).is_vacuous


def test_an_atom_of_an_inverse_swaps_its_ends():
    assert atom("father", "anna", "bob") == "father(anna, bob)"
    assert atom("~father", "bob", "anna") == "father(anna, bob)"


def test_inequalities_read_as_variables_in_order():
    rule = Rule("r", ("a", "b", "c"), 1.0, distinct_ends=True, inequalities=((0, 1), (1, 3)))
    assert rule.all_inequalities == [(0, 1), (0, 3), (1, 3)]
    assert rule.unequal_variables == [("X", "A"), ("X", "Y"), ("A", "Y")]
    assert str(rule).endswith("c(B, Y), X != A, X != Y, A != Y")


def test_a_path_satisfies_inequalities_where_its_entities_differ_at_those_positions():
    rule = Rule("r", ("a", "b"), 1.0, distinct_ends=True, inequalities=((0, 1),))
    assert rule.satisfies_inequalities("xyz")
    assert rule.satisfies_inequalities("xyy")
    assert not rule.satisfies_inequalities("xxz")
    assert not rule.satisfies_inequalities("xyx")


def test_a_rule_never_returns_if_every_later_position_differs_from_the_source():
    assert not Rule("r", ("a", "b"), 1.0, distinct_ends=True).never_returns
    assert Rule("r", ("a", "b"), 1.0, distinct_ends=True, inequalities=((0, 1),)).never_returns
    assert Rule("r", ("a",), 1.0, distinct_ends=True).never_returns


def test_only_chains_that_raise_scores_are_deductive():
    assert Rule("r", ("a",), 1.0).is_deductive
    assert Rule("r", ("a",), 1.0, weight=0.5).is_deductive
    assert not Rule("r", ("a",), 1.0, weight=-0.5).is_deductive
    assert not Rule("r", ("a",), 1.0, weight=0.5, kind="unary", answer="b").is_deductive
    assert not SOURCED.is_deductive


SOURCED = Rule("~r", ("~a",), 1.0, weight=0.5, kind="sourced", source="b", body_start="c", distinct_ends=True)


def test_kinds_whose_body_does_not_lead_to_the_answer_are_no_path_rules():
    assert Rule("r", ("a",), 1.0).is_path_rule
    assert not Rule("r", ("a",), 1.0, kind="unary", answer="b").is_path_rule
    assert not SOURCED.is_path_rule
    assert not Rule("r", ("r",), 1.0, kind="prior").is_path_rule
    assert not Rule("r", (), 1.0, kind="near").is_path_rule
    assert Rule("r", ("a", "b"), 1.0, kind="near").is_path_rule  # with the body of an example
    assert [Rule("r", ("r",), 1.0, kind=kind).ignores_source for kind in ("prior", "chain")] == [True, False]


def test_each_kind_has_its_text_form():
    assert str(Rule("r", ("a",), 1.0, kind="unary", answer="b", distinct_ends=True)) == "r(X, b) <= a(X, A)"
    assert str(Rule("r", ("~a",), 1.0, kind="unary", answer="b", body_end="c")) == "r(X, b) <= a(c, X)"
    assert str(SOURCED) == "r(Y, b) <= a(Y, c)"
    assert str(Rule("r", ("a",), 1.0, kind="sourced", source="b", body_start="c")) == "r(b, Y) <= a(c, Y)"
    assert str(Rule("r", ("~r",), 1.0, kind="prior")) == "r(X, Y) <= r(Y, A)"
    assert str(Rule("~r", (), 1.0, kind="near", distinct_ends=True)) == "r(Y, X) <= near(X, Y)"
    assert str(Rule("r", ("a",), 1.0, kind="against")) == "not r(X, Y) <= a(X, Y)"
    assert str(Rule("~r", (), 1.0, kind="linked", distinct_ends=True)) == "not r(Y, X) <= linked(X, Y)"


def test_rules_that_name_an_entity_are_those_about_one_answer_or_one_source():
    assert SOURCED.names_entities
    assert Rule("r", ("a",), 1.0, kind="unary", answer="b").names_entities
    assert not Rule("r", ("a",), 1.0).names_entities
    assert not SOURCED.ends_anywhere
    assert facts_along(SOURCED, ("c", "film")) == ["a(film, c)"]


def test_a_rule_against_is_one_by_its_kind_until_it_has_a_weight():
    assert Rule("r", ("a",), 1.0, kind="against").is_against
    assert not Rule("r", ("a",), 1.0, kind="against", weight=0.5).is_against
    assert Rule("r", ("a",), 1.0, weight=-0.5).is_against


UNSOURCED = "Rules of the kind sourced name their source and the start of their body, and no others do"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "cyclic"}, f"one of {', '.join(KINDS)}, got 'cyclic'"),
        ({"kind": "unary"}, "Rules of the kind unary name their answer, and no others do"),
        ({"answer": "b"}, "Rules of the kind unary name their answer, and no others do"),
        ({"body_end": "b"}, r"^Only a rule that names its answer can name the end of its body\.$"),
        ({"kind": "sourced"}, UNSOURCED),
        ({"kind": "sourced", "source": "b"}, UNSOURCED),
        ({"kind": "sourced", "body_start": "b"}, UNSOURCED),
        ({"source": "b", "body_start": "c"}, UNSOURCED),
        ({"body_start": "c"}, UNSOURCED),
        ({"kind": "unary", "answer": "b", "source": "c"}, UNSOURCED),
        ({"kind": "sourced", "source": "b", "body_start": "c", "answer": "d"}, "unary name their answer"),
    ],
)
def test_a_rule_whose_parts_do_not_fit_its_kind_is_refused(fields, message):
    with pytest.raises(ConfigError, match=message):
        Rule("r", ("a",), 1.0, **fields)


@pytest.mark.parametrize(
    ("support", "predictions", "measured"), [(None, None, None), (0, 0, 0.0), (1, 4, 0.25)]
)
def test_measured_confidence_is_support_over_predictions(support, predictions, measured):
    rule = Rule("r", ("a",), 1.0, support=support, num_predictions=predictions)
    assert rule.measured_confidence == measured


# Rule sets and filters


def test_a_rule_set_is_a_sequence_that_knows_its_targets():
    rules = [Rule("uncle", ("a",), 0.5), Rule("aunt", ("b",), 0.4), Rule("uncle", ("c",), 0.3)]
    found = RuleSet(rules)
    assert list(found) == rules
    assert found == RuleSet(iter(rules))
    assert found.targets == ["uncle", "aunt"]
    assert list(found.about("uncle")) == [rules[0], rules[2]]
    assert repr(found) == "RuleSet(3 rules for 2 queries)"


def kept(wanted):
    rules = RuleSet(
        [
            Rule("uncle", ("father", "brother"), 0.5, 1.0),
            Rule("uncle", ("mother", "~brother"), 0.3, 0.6),
            Rule("uncle", ("~nephew",), 0.1, 0.2),
            Rule("uncle", (), 0.05, 0.1),
        ]
    )
    return [rule.body for rule in rules.select(wanted)]


def test_filters_keep_what_they_say():
    father, mother, nephew, same = kept(RuleFilter())
    assert kept(RuleFilter(min_share=0.2)) == [father, mother, nephew]
    assert kept(RuleFilter(max_length=1)) == [nephew, same]
    assert kept(RuleFilter(max_length=0)) == [same]
    assert kept(RuleFilter(allow=["father", "brother"])) == [father, same]
    assert kept(RuleFilter(allow=[])) == [same]
    assert kept(RuleFilter(deny=["brother"])) == [nephew, same]
    assert kept(RuleFilter(min_share=0.5, deny=["father"])) == [mother]


@pytest.mark.parametrize("kind", ["near", "linked"])
def test_a_rule_along_facts_of_any_relation_uses_those_that_are_denied(kind):
    rule = Rule("uncle", (), 0.5, kind=kind)
    assert RuleFilter(max_length=0).keeps(rule)
    assert not RuleFilter(deny=["father"]).keeps(rule)
    assert not RuleFilter(allow=["father"]).keeps(rule)


# Natural mistakes


def test_a_body_given_as_text_tells_how_to_write_it():
    with pytest.raises(ConfigError, match=r"write Rule\('aunt', \('father',\), …\)"):
        Rule("aunt", "father", 0.9)


@pytest.mark.parametrize("confidence", [-0.1, float("nan"), "0.9", None])
def test_a_confidence_is_a_number_from_0(confidence):
    with pytest.raises(ConfigError, match="from 0 to 1, got"):
        Rule("aunt", ("father", "sister"), confidence)


def test_rules_with_a_confidence_above_1_are_noticed_when_they_answer():
    kb = KnowledgeBase.from_triples([("anna", "father", "bob"), ("bob", "sister", "eve")])
    with pytest.warns(DataWarning, match=r"aunt\(X, Y\) <= father\(X, A\), sister\(A, Y\) has 7"):
        Reasoner(kb, [Rule("aunt", ("father", "sister"), 7)])


@pytest.mark.parametrize(
    ("support", "num_predictions", "is_kept"),
    [(None, None, True), (5, 10, True), (4, 8, False), (5, 11, False), (5, 0, False)],
)
def test_counts_have_to_suffice_where_there_are_any(support, num_predictions, is_kept):
    wanted = RuleFilter(min_confidence=0.5, min_support=5)
    rule = Rule("r", ("s",), 0.1, support=support, num_predictions=num_predictions)
    assert wanted.keeps_counted(rule) == is_kept


def test_equal_sets_of_rules_are_one_key():
    rules = [Rule("r", ("s",), 0.5), Rule("r", ("t",), 0.4)]
    assert {RuleSet(rules): 1}[RuleSet(tuple(rules))] == 1
    assert len({RuleSet(rules), RuleSet(rules[:1])}) == 2


def test_columns_have_every_field_of_the_rules():
    counted, weighted = (
        Rule("r", ("s",), 0.5, support=1, num_predictions=4),
        Rule("r", ("t",), 0.5, weight=2.0),
    )
    columns = RuleSet([counted, weighted]).columns()
    assert list(columns) == list(RuleSet.SCHEMA)
    assert columns["rule"] == ["r(X, Y) <= s(X, Y)", "r(X, Y) <= t(X, Y)"]
    assert (columns["body"], columns["alpha"]) == ([("s",), ("t",)], [0.5, None])


def test_rule_sets_of_other_rules_are_other_sets():
    rules = [Rule("r", ("s",), 0.5), Rule("r", ("t",), 0.4)]
    assert RuleSet(rules) != RuleSet(rules[:1])
    assert RuleSet(rules) != rules
    assert hash(RuleSet(rules)) != hash(RuleSet(rules[:1]))


@pytest.mark.parametrize(
    ("body", "path", "facts"),
    [
        (("father", "~brother"), ("anna", "bob", "carl"), ["father(anna, bob)", "brother(carl, bob)"]),
        (("father",), ("anna", "bob"), ["father(anna, bob)"]),
        ((), ("anna",), []),
    ],
)
def test_the_facts_along_a_path_are_the_atoms_of_the_body_with_its_entities(body, path, facts):
    assert facts_along(Rule("r", body, 0.5), path) == facts


def test_of_a_long_body_given_as_text_the_beginning_is_shown():
    with pytest.raises(ConfigError) as caught:
        Rule("aunt", "x" * 61, 0.9)
    shown = f"'{'x' * 60}'…"
    assert str(caught.value) == (
        f"The body of a rule is a tuple of relations, got the text {shown}: "
        f"write Rule('aunt', ({shown},), …)."
    )
