from dataclasses import replace

from hypothesis import given, settings
from oracle import enumerate_paths, is_apart
from samples import rules_over

from neurallp.datasets.family import family_knowledge_base
from neurallp.graph.knowledge_base import KnowledgeBase
from neurallp.rules.rule import Rule, RuleSet
from neurallp.rules.simplify import (
    drop_vacuous,
    face_forward,
    find_subsumed,
    invert_rule,
    merge_duplicates,
    normalize,
    require_distinct_ends,
    require_distinct_variables,
    simplify,
)
from neurallp.rules.support import derive, measure

UNCLE = Rule("uncle", ("father", "brother"), 0.5, 0.5, distinct_ends=True)
SELF = Rule("uncle", ("uncle",), 1.0)

TRIPLES = "a r b, b r c, c s a, a s a, d t b, b t d, d r d"
KB = KnowledgeBase.from_triples(tuple(triple.split()) for triple in TRIPLES.split(", "))

rules = rules_over(*KB.relations)


def oracle_pairs(rule):
    """Every (head, tail) that a rule concludes, by enumeration of paths."""
    num = len(KB.relations)
    edges = [edge for h, r, t in KB.facts.tolist() for edge in ((h, r, t), (t, r + num, h))]
    body = [KB.relations.operator_id(name) for name in rule.body]
    paths = (path for s in range(len(KB.entities)) for path in enumerate_paths(edges, s, body))
    pairs = {(path[0], path[-1]) for path in paths if is_apart(path, rule)}
    return {(t, h) for h, t in pairs} if rule.target.startswith("~") else pairs


@settings(deadline=None)  # compiled on first use
@given(rules)
def test_a_rule_derives_the_pairs_that_enumeration_finds(rule):
    pairs = derive(rule, KB).tolist()
    assert sorted(oracle_pairs(rule)) == list(map(tuple, pairs))


@settings(deadline=None)  # compiled on first use
@given(rules)
def test_what_is_derived_is_what_is_counted(rule):
    assert measure([rule], KB)[0].num_predictions == len(derive(rule, KB))


@given(rules)
def test_an_inverted_rule_derives_the_same_and_inverts_back(rule):
    assert (derive(invert_rule(rule), KB) == derive(rule, KB)).all()
    assert invert_rule(invert_rule(rule)) == rule
    assert not face_forward(rule).target.startswith("~")


def test_duplicates_become_one_whose_confidences_are_added():
    other = Rule("uncle", ("mother", "brother"), 0.1, 0.1)
    counted = replace(UNCLE, confidence=0.25, normalized_confidence=0.25, support=3, num_predictions=4)
    merged = merge_duplicates([UNCLE, other, counted])
    assert merged == RuleSet([replace(counted, confidence=0.75, normalized_confidence=0.75), other])
    assert merge_duplicates([UNCLE, counted], max)[0].confidence == 0.5


def test_rules_that_differ_in_distinct_ends_are_no_duplicates():
    assert len(merge_duplicates([UNCLE, replace(UNCLE, distinct_ends=False)])) == 2


def test_a_rule_that_a_fact_implies_itself_is_dropped():
    inverse, longer = Rule("~uncle", ("~uncle",), 1.0), Rule("uncle", ("uncle", "brother"), 1.0)
    assert drop_vacuous([SELF, inverse, UNCLE, longer]) == RuleSet([UNCLE, longer])


def test_a_rule_that_can_conclude_nothing_is_dropped():
    assert drop_vacuous([Rule("r", (), 1.0, distinct_ends=True)]) == RuleSet([])
    assert len(drop_vacuous([Rule("r", (), 1.0)])) == 1
    unnamed = [Rule("r", (), 1.0, distinct_ends=True, kind=kind) for kind in ("near", "linked")]
    assert len(drop_vacuous(unnamed)) == 2


def test_tidying_tells_what_went():
    found = simplify([UNCLE, SELF, UNCLE, SELF])
    assert (len(found.rules), found.num_merged, found.num_vacuous) == (1, 2, 1)


def test_distinct_ends_can_be_required_and_old_counts_go():
    rule = Rule("uncle", ("father", "brother"), 0.5, support=3, num_predictions=4)
    assert require_distinct_ends([rule]) == RuleSet([replace(UNCLE, normalized_confidence=1.0)])
    assert require_distinct_ends([replace(UNCLE, support=1)]) == RuleSet([replace(UNCLE, support=1)])


def test_all_variables_along_a_path_can_be_required_to_differ():
    rule = Rule("r", ("s", "~s", "t"), 0.5, support=3, num_predictions=4)
    (distinct,) = require_distinct_variables([rule])
    assert str(distinct) == (
        "r(X, Y) <= s(X, A), s(B, A), t(B, Y), X != A, X != B, X != Y, A != B, A != Y, B != Y"
    )
    assert distinct.measured_confidence is None
    assert require_distinct_variables([distinct]) == RuleSet([distinct])


def test_confidences_are_normalised_within_each_target():
    given = [Rule("uncle", ("a",), 0.5), Rule("uncle", ("b",), 0.25), Rule("aunt", ("c",), 0.1)]
    assert [rule.normalized_confidence for rule in normalize(given)] == [1.0, 0.5, 1.0]
    assert normalize([Rule("uncle", ("a",), 0.0)])[0].normalized_confidence == 0.0


def test_a_rule_is_subsumed_by_a_more_confident_one_that_predicts_all_it_does():
    kb = family_knowledge_base(num_people=80)
    wide = Rule("uncle", ("father", "brother"), 0.9)
    married = Rule("uncle", ("father", "brother", "wife", "husband"), 0.5)
    wider = Rule("uncle", ("father", "father", "son"), 0.3)
    assert find_subsumed([married, wide, wider], kb) == {married: wide}


def test_a_rule_is_not_subsumed_by_an_equal_confidence_another_target_or_for_predicting_nothing():
    kb = family_knowledge_base(num_people=80)
    rule = Rule("uncle", ("father", "brother"), 0.5)
    idle = Rule("uncle", ("wife", "wife"), 0.1)
    assert find_subsumed([rule, replace(rule, distinct_ends=True), idle], kb) == {}
    assert find_subsumed([rule, replace(rule, target="aunt", confidence=0.9)], kb) == {}


def test_the_rules_left_when_subsumed_ones_go_derive_the_same_pairs():
    kb = family_knowledge_base(num_people=80)
    bodies = [("father", "brother"), ("mother", "brother"), ("father", "brother", "wife", "husband")]
    given = [Rule("uncle", body, 0.9 - 0.1 * i) for i, body in enumerate(bodies)]
    kept = [rule for rule in given if rule not in find_subsumed(given, kb)]
    assert len(kept) == 2

    def derived(rules):
        return {pair for rule in rules for pair in map(tuple, derive(rule, kb).tolist())}

    assert derived(kept) == derived(given)


COUNTED = Rule("r", ("s", "t"), 0.5, support=1, num_predictions=2, num_answerable=2, num_paths=3)


def test_a_new_constraint_removes_all_counts_and_a_constraint_that_is_there_none():
    (ends,), (every,) = require_distinct_ends([COUNTED]), require_distinct_variables([COUNTED])
    none = {"support": None, "num_predictions": None, "num_answerable": None, "num_paths": None}
    assert ends == replace(COUNTED, **none, distinct_ends=True)
    assert every == replace(COUNTED, **none, distinct_ends=True, inequalities=((0, 1), (1, 2)))
    counted = replace(COUNTED, distinct_ends=True, inequalities=((0, 1), (1, 2)))
    assert list(require_distinct_variables([counted])) == [counted]
    half = replace(counted, inequalities=())
    assert list(require_distinct_variables([half])) == [every]


def test_duplicates_are_combined_as_asked_and_the_counted_one_is_kept():
    plain, counted = Rule("r", ("s",), 0.75, 0.75), Rule("r", ("s",), 0.5, 0.5, support=1, num_predictions=2)
    assert list(simplify([plain, counted], max).rules) == [
        replace(counted, confidence=0.75, normalized_confidence=0.75)
    ]
    (added,) = simplify([plain, counted]).rules
    assert (added.confidence, added.normalized_confidence, added.support) == (1.25, 1.0, 1)
    first = replace(plain, num_paths=7)
    assert next(iter(simplify([first, plain], max).rules)).num_paths == 7


def test_a_rule_that_leads_to_the_same_answers_from_other_sources_is_not_subsumed():
    kb = KnowledgeBase.from_triples([("a", "s", "x"), ("b", "s", "x"), ("c", "t", "x")])
    assert find_subsumed([Rule("r", ("s",), 0.9), Rule("r", ("t",), 0.5)], kb) == {}


def test_every_subsumed_rule_is_told_with_the_most_confident_that_subsumes_it():
    kb = KnowledgeBase.from_triples(
        [(h, r, "x") for r, heads in (("s", "abc"), ("t", "ab"), ("u", "a")) for h in heads]
    )
    wide, middle, narrow = (Rule("r", (name,), 0.9 - 0.1 * i) for i, name in enumerate("stu"))
    assert find_subsumed([narrow, middle, wide], kb) == {middle: wide, narrow: wide}


def test_the_inequalities_of_an_inverted_rule_are_counted_from_its_other_end():
    rule = Rule("r", ("s", "t", "~u"), 0.5, inequalities=((0, 1), (1, 3)))
    assert invert_rule(rule) == Rule("~r", ("u", "~t", "~s"), 0.5, inequalities=((0, 2), (2, 3)))
