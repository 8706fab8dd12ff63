"""Scores of given and of weighted rules, against enumeration, and what has to be imported for them."""

import subprocess
import sys
from dataclasses import replace
from textwrap import dedent

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reasoning_samples import BIG_FAMILY, FAMILY, UNCLES, family, questions, reason, rule_sets
from samples import edges, knowledge_bases, weighted_program
from weighted_samples import random_kb, random_rules

from neurallp import KnowledgeBase, Reasoner, Rule, RuleProgram
from neurallp.config import WeightingConfig
from neurallp.graph.knowledge_base import name_parts
from neurallp.io.rules.table import write_rules
from neurallp.reasoning.missing_facts import RULES_EXAMINED
from neurallp.reasoning.reasoner import has_logarithmic_scores
from neurallp.reasoning.scorers import choose_scorer, weighted
from neurallp.rules.rule import RuleSet
from neurallp.rules.simplify import invert_rule
from neurallp.weighting.kinds.base import Candidate
from neurallp.weighting.weighted_rules import WeightedQuery, WeightedRules

few = settings(max_examples=25, deadline=None)
ALL = 10**6


def test_each_basis_has_its_scorer_and_only_weights_are_logarithmic():
    kb = KnowledgeBase.from_triples(FAMILY)
    bases = [family(), WeightedRules(kb.relations, kb.reflexive_relations, {}), UNCLES]
    names = ["NeuralScorer", "WeightedScorer", "GivenScorer"]
    assert [choose_scorer(basis).__name__ for basis in bases] == names
    assert list(map(has_logarithmic_scores, bases)) == [False, True, False]


# Given rules


def rule_scores(kb, rules, source, query):
    """Return {entity: score}, every ground path of every rule counted."""
    own = [rule for rule in rules if rule.target == query]
    turned = [invert_rule(rule) for rule in rules if invert_rule(rule).target == query]
    scores = {}
    for rule in own or turned:
        body = tuple(map(kb.relations.operator_id, rule.body))
        for path in oracle.enumerate_paths(edges(kb), source, body):
            if oracle.is_apart(path, rule):
                scores[path[-1]] = scores.get(path[-1], 0) + rule.confidence
    return scores


@few
@given(kb=knowledge_bases(), rules=rule_sets())
def test_given_rules_score_their_confidence_times_their_paths(kb, rules):
    reasoner = reason(kb, rules)
    for head, relation in questions(kb)[::3]:
        answers = reasoner.ask(head=head, relation=relation, k=ALL)
        found = {kb.entities.id(answer.entity): answer.score for answer in answers}
        assert found == pytest.approx(rule_scores(kb, rules, kb.entities.id(head), relation))


@few
@given(kb=knowledge_bases(), rules=rule_sets())
def test_the_terms_of_given_rules_add_up_and_the_largest_come_first(kb, rules):
    reasoner = reason(kb, rules)
    for head, relation in questions(kb)[::3]:
        for tail in kb.entities:
            proof = reasoner.explain(head, relation, tail, k=ALL)
            contributions = [term.contribution for term in proof.terms]
            assert sum(contributions) == pytest.approx(proof.answer.score, rel=1e-12)
            assert contributions == sorted(contributions, reverse=True)


@few
@given(kb=knowledge_bases(), rules=rule_sets())
def test_a_batch_of_questions_scores_as_each_does_alone(kb, rules):
    reasoner = reason(kb, rules)
    rng = np.random.default_rng(0)
    sources, queries = rng.integers(len(kb.entities), size=20), rng.integers(4, size=20)
    together = reasoner.scores(sources, queries).dense()
    alone = [reasoner.scores(sources[i : i + 1], queries[i : i + 1]).dense()[0] for i in range(20)]
    assert (together == np.array(alone)).all()


def test_no_questions_have_no_scores():
    kb, none = random_kb(0), np.zeros(0, dtype=np.int64)
    for basis in (random_rules(kb, 0), RuleSet([Rule("r", ("T",), 0.5)])):
        assert Reasoner(kb, basis).scores(none, none).dense().shape == (0, len(kb.entities))


def test_rules_written_by_hand_derive_what_has_no_facts_yet():
    kb = KnowledgeBase.from_triples(BIG_FAMILY)
    reasoner = Reasoner(kb, UNCLES, "reference")
    answers = reasoner.ask(head="zoe", relation="uncle")
    assert {answer.entity: answer.score for answer in answers} == {"xan": 1.4, "will": 0.5}
    assert [answer.entity for answer in reasoner.ask(tail="will", relation="uncle")] == ["zoe"]
    proof = reasoner.explain("zoe", "uncle", "xan")
    assert str(proof.reasons[0]) == "father(zoe, yan) and brother(yan, xan)"
    assert proof.terms[0].rule == UNCLES[0]


COMPANIES = KnowledgeBase.from_triples(
    tuple(link.split())
    for link in ["a country usa", "a listed nyse", "a listed lse", "b country uk", "b regulator fca"]
)
NAMED = [
    Rule("regulator", ("country",), 0.75, kind="unary", answer="fca", body_end="usa", distinct_ends=True),
    Rule("regulator", ("listed",), 0.5, kind="unary", answer="fca", distinct_ends=True),
    Rule("regulator", ("country",), 0.9, kind="unary", answer="unheard_of"),
]


def test_given_rules_that_name_their_answer_count_once_and_their_terms_add_up():
    reasoner = Reasoner(COMPANIES, NAMED)
    (answer,) = reasoner.ask(head="a", relation="regulator")
    assert (answer.entity, answer.score) == ("fca", 1.25)
    proof = reasoner.explain("a", "regulator", "fca")
    assert [(str(term), term.contribution) for term in proof.terms] == [
        ("country(a, usa)", 0.75),
        ("listed(a, nyse)", 0.5),
    ]
    assert list(reasoner.ask(head="b", relation="regulator")) == []


def test_given_rules_answer_questions_in_the_other_direction_too_if_they_can_be_inverted():
    links = [Rule("regulator", ("listed", "~listed", "regulator"), 0.5), *NAMED]
    (answer,) = Reasoner(COMPANIES, links).ask(tail="fca", relation="regulator")
    assert (answer.entity, answer.score) == ("a", 0.75)  # listed(X, A) leads back to no company
    own = Rule("~regulator", ("~country",), 0.25, kind="sourced", source="fca", body_start="usa")
    reasoner = Reasoner(COMPANIES, [Rule("regulator", ("country",), 1.0), *NAMED, own])
    (answer,) = reasoner.ask(tail="fca", relation="regulator")
    assert (answer.entity, answer.score) == ("a", 0.25)
    assert [each.entity for each in reasoner.ask(tail="usa", relation="regulator")] == [
        "a"
    ]  # a chain, inverted


def test_why_not_names_the_fact_that_a_rule_with_a_named_end_lacks():
    found = Reasoner(COMPANIES, NAMED).why_not("b", "regulator", "fca")
    assert [fact.missing for fact in found.missing_facts] == ["country(b, usa)"]


#: Which companies the regulator supervises; the last two are about entities of no fact.
SOURCED = [
    Rule("~regulator", (body,), confidence, kind="sourced", source=source, body_start=start)
    for body, confidence, source, start in (
        ("~country", 0.75, "fca", "usa"),
        ("~listed", 0.5, "fca", "nyse"),
        ("~country", 0.9, "unheard_of", "usa"),
        ("~country", 0.9, "fca", "nowhere"),
    )
]


def test_given_rules_that_name_their_source_count_once_and_their_terms_add_up():
    reasoner, names = Reasoner(COMPANIES, SOURCED), COMPANIES.entities
    (answer,) = reasoner.ask(tail="fca", relation="regulator")
    assert (answer.entity, answer.score) == ("a", 1.25)
    proof = reasoner.explain("fca", "~regulator", "a")
    assert [(str(term), term.contribution) for term in proof.terms] == [
        ("country(a, usa)", 0.75),
        ("listed(a, nyse)", 0.5),
    ]
    assert list(reasoner.ask(tail="usa", relation="regulator")) == []
    query = COMPANIES.relations.operator_id("~regulator")
    many = reasoner.scores(np.arange(len(names)), np.full(len(names), query)).dense()
    assert np.argwhere(many > 0).tolist() == [[names.id("fca"), names.id("a")]]


def test_a_given_rule_that_excludes_its_source_gives_it_no_score():
    kb = KnowledgeBase.from_triples([("d", "s", "c"), ("d", "s", "b"), ("c", "r", "b")])
    rule = Rule("r", ("s",), 0.5, kind="sourced", source="c", body_start="d")
    assert {each.entity for each in Reasoner(kb, [rule]).ask(head="c", relation="r")} == {"b", "c"}
    reasoner = Reasoner(kb, [replace(rule, distinct_ends=True)])
    assert [each.entity for each in reasoner.ask(head="c", relation="r")] == ["b"]
    assert reasoner.explain("c", "r", "c").terms == ()


def test_a_given_rule_against_the_answers_of_one_source_is_not_used():
    rules = [replace(rule, weight=-1.0) for rule in SOURCED]
    assert list(Reasoner(COMPANIES, rules).ask(tail="fca", relation="regulator")) == []


def test_why_not_names_the_fact_that_a_rule_about_its_source_lacks():
    reasoner = Reasoner(COMPANIES, SOURCED)
    found = reasoner.why_not("fca", "~regulator", "b")
    assert [str(fact) for fact in found.missing_facts] == [
        "country(b, usa) is missing",
        "listed(b, nyse) is missing",
    ]
    assert reasoner.why_not("fca", "~regulator", "a").follows
    assert reasoner.why_not("nyse", "~regulator", "b").missing_facts == ()  # no rule is about nyse


def test_why_not_looks_past_the_rules_about_other_sources():
    others = [replace(SOURCED[0], confidence=0.9, source=f"other{i}") for i in range(2 * RULES_EXAMINED)]
    found = Reasoner(COMPANIES, [*others, SOURCED[0]]).why_not("fca", "~regulator", "b")
    assert [fact.missing for fact in found.missing_facts] == ["country(b, usa)"]


def test_the_fact_in_question_is_not_the_one_that_a_rule_about_its_source_lacks():
    circular = Rule("~regulator", ("~regulator",), 0.5, kind="sourced", source="fca", body_start="fca")
    assert Reasoner(COMPANIES, [circular]).why_not("fca", "~regulator", "a").missing_facts == ()


def test_given_rules_are_ranked_by_the_same_code():
    split = name_parts({"train": [*BIG_FAMILY, ("zoe", "uncle", "will")], "test": [("zoe", "uncle", "xan")]})
    found = RuleProgram(UNCLES).evaluate(split, engine="reference")
    assert (found.mrr, found.num_questions) == (1.0, 2)
    assert RuleProgram(UNCLES).evaluate_per_relation(split, engine="reference")[1].keys() == {"uncle"}


def test_the_source_is_no_candidate_where_every_rule_excludes_it():
    kb = KnowledgeBase.from_triples([("a", "r", "a"), ("a", "r", "b")])
    excluding = Rule("s", ("r",), 0.5, distinct_ends=True)
    including = Rule("s", ("r",), 0.25)
    source, query = np.array([kb.entities.id("a")]), np.array([1])
    assert reason(kb, [excluding]).scores(source, query).dense().tolist() == [[-np.inf, 0.5]]
    assert reason(kb, [excluding, including]).scores(source, query).dense().tolist() == [[0.25, 0.75]]


def test_parallel_facts_count_as_paths_of_their_own():
    kb = KnowledgeBase.from_triples([("a", "r", "b"), ("a", "r", "c"), ("b", "s", "d"), ("c", "s", "d")])
    reasoner = reason(kb, [Rule("t", ("r", "s"), 0.5), Rule("t", ("r", "s"), 0.25)])
    (answer,) = reasoner.ask(head="a", relation="t")
    assert (answer.entity, answer.score) == ("d", 1.5)
    assert len(reasoner.explain("a", "t", "d", k=ALL).terms) == 4


def test_a_query_without_rules_has_no_answers():
    reasoner = reason(KnowledgeBase.from_triples(FAMILY), UNCLES)
    assert reasoner.ask(head="anna", relation="father") == []
    assert reasoner.explain("anna", "father", "bob").terms == ()


# Weighted rules: numpy for a few questions, compiled loops for many


NAMES = [f"e{i}" for i in range(5)]
CANDIDATES = st.lists(
    st.one_of(
        st.builds(
            Candidate,
            st.just("chain"),
            st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple),
            st.none(),
            st.none(),
        ),
        st.builds(
            Candidate,
            st.just("unary"),
            st.tuples(st.integers(0, 3)),
            st.sampled_from(NAMES),
            st.none() | st.sampled_from(NAMES),
        ),
        st.builds(
            Candidate,
            st.just("sourced"),
            st.tuples(st.integers(0, 3)),
            st.sampled_from(NAMES),
            st.sampled_from(NAMES),
        ),
        st.builds(
            Candidate,
            st.sampled_from(["anchored", "mirrored"]),
            st.tuples(st.integers(0, 3)),
            st.none(),
            st.none(),
        ),
    ),
    min_size=1,
    max_size=6,
    unique=True,
)


def weigh(kb, query, candidates, with_prior=True):
    """Return rules for one query with random weights."""
    rules = [*candidates, *([Candidate("prior", (query,))] if with_prior else [])]
    weights = np.random.default_rng(0).normal(size=(len(rules), 3))
    weights[[rule.kind == "prior" for rule in rules], 1:] = 0
    weighted_query = WeightedQuery(tuple(rules), weights, np.ones(len(rules)))
    return WeightedRules(kb.relations, kb.reflexive_relations, {query: weighted_query})


@settings(max_examples=100, deadline=None)
@given(kb=knowledge_bases(most_facts=14), candidates=CANDIDATES, query=st.integers(0, 3))
def test_few_questions_in_numpy_score_as_many_in_compiled_loops(kb, candidates, query):
    rules = weigh(kb, query, candidates)
    sources = np.arange(len(kb.entities))
    queries = np.full(len(sources), query)
    for method in ("scores", "reached"):
        together = getattr(Reasoner(kb, rules).scorer, method)(sources, queries)
        for row, source in enumerate(sources):
            weighted.WeightedScorer.loops_are_loaded = False  # as in a process that has just begun
            alone = getattr(Reasoner(kb, rules).scorer, method)(sources[[row]], queries[[row]])
            assert alone.dense()[0] == pytest.approx(together.dense()[row], rel=1e-5, abs=1e-5), source


@settings(max_examples=60, deadline=None)
@given(
    kb=knowledge_bases(most_facts=14),
    bodies=st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple), min_size=1, unique=True),
    source=st.integers(0, 4),
)
def test_weighted_chains_score_their_weights_times_walk_features(kb, bodies, source):
    source = min(source, len(kb.entities) - 1)
    rules = weigh(kb, 0, [Candidate("chain", body) for body in bodies], with_prior=False)
    expected = np.zeros(len(kb.entities))
    for body, weights in zip(bodies, rules.queries[0].weights, strict=True):
        for entity, walks in oracle.walk_features(edges(kb), source, body).items():
            expected[entity] += weights @ [1, *map(oracle.log_scale, walks)]
    if rules.excludes_source(0):
        expected[source] = -np.inf
    found = Reasoner(kb, rules).scores(np.array([source]), np.array([0])).dense()[0]
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-5)


@settings(max_examples=60, deadline=None)
@given(kb=knowledge_bases(most_facts=14), candidates=CANDIDATES, query=st.integers(0, 3))
def test_the_terms_of_weighted_rules_add_up_to_the_score(kb, candidates, query):
    reasoner = Reasoner(kb, weigh(kb, query, candidates))
    scores = reasoner.scores(np.array([0]), np.array([query])).dense()[0]
    for answer, score in enumerate(scores):
        terms = list(reasoner.scorer.terms(0, query, answer))
        assert sum(contribution for *_, contribution in terms) == pytest.approx(
            max(score, 0) if np.isneginf(score) else score, rel=1e-5, abs=1e-5
        )


def test_after_a_few_questions_the_compiled_loops_answer(monkeypatch):
    kb = KnowledgeBase.from_triples(FAMILY)
    calls = []
    real = weighted.gather_in_numpy
    monkeypatch.setattr(weighted, "gather_in_numpy", lambda *given: calls.append(1) or real(*given))
    monkeypatch.setattr(weighted.WeightedScorer, "loops_are_loaded", False)
    reasoner = Reasoner(kb, weigh(kb, 0, [Candidate("chain", (1,))]))
    for _ in range(2 * weighted.FEW_QUESTIONS):
        reasoner.ask(head="anna", relation="father")
    assert len(calls) == weighted.FEW_QUESTIONS
    Reasoner(kb, reasoner.basis).ask(head="anna", relation="father")
    assert len(calls) == weighted.FEW_QUESTIONS, "loaded once, they answer all others"


# What is imported


ANSWER = """
    import sys, warnings
    warnings.simplefilter("ignore")
    from neurallp import load, load_program
    program, kb = load_program(sys.argv[1]), load(sys.argv[2])
    answers = program.ask(head="zoe", relation="uncle", kb=kb)
    assert answers, "no answer"
    assert program.explain("zoe", "uncle", answers[0].entity, kb=kb).terms
    program.why_not("zoe", "uncle", "zoe", kb=kb)
    {then}
    heavy = {{"torch", "sklearn", "pandas", {also}}} & set(sys.modules)
    assert not heavy, heavy
"""


@pytest.fixture(params=["weighted", "given"])
def answering(request, tmp_path):
    """Paths of a folder of weighted rules or a file of given ones, and of facts."""
    kb = KnowledgeBase.from_triples([*BIG_FAMILY, ("tim", "uncle", "will")])
    facts = tmp_path / "facts.tsv"
    facts.write_text("".join("\t".join(fact) + "\n" for fact in kb.named_facts()))
    if request.param == "given":
        write_rules(tmp_path / "rules.tsv", UNCLES)
        return tmp_path / "rules.tsv", facts
    chains = [Candidate("chain", tuple(map(kb.relations.operator_id, rule.body))) for rule in UNCLES]
    rules = tuple(chains)
    query = WeightedQuery(rules, np.ones((len(rules), 3)), np.ones(len(rules)))
    weights = WeightedRules(kb.relations, kb.reflexive_relations, {kb.relations.operator_id("uncle"): query})
    weighted_program(weights, WeightingConfig(), kb).save(tmp_path / "model")
    return tmp_path / "model", facts


@pytest.mark.parametrize(
    ("then", "also"),
    [("", '"numba", "scipy"'), ("assert any(len(batch) for batch in program.predict(kb=kb))", "")],
)
def test_rules_answer_without_torch_and_a_few_questions_without_numba(answering, then, also):
    code = dedent(ANSWER).format(then=then, also=also)
    done = subprocess.run([sys.executable, "-c", code, *map(str, answering)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
