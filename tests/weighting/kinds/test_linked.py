"""Rules about links: an answer that another fact links to the source is less likely."""

from dataclasses import replace

import numpy as np
import oracle
import pytest
from rule_features import gather_all, walker_over
from samples import edges

from neurallp import KnowledgeBase, Reasoner
from neurallp.config import WeightingConfig
from neurallp.graph.knowledge_base import name_parts
from neurallp.io.rules.table import read_rules, write_rules
from neurallp.pipeline.learn import weigh_rules
from neurallp.weighting.features import ask
from neurallp.weighting.fitting import Weighting
from neurallp.weighting.graph_index import GraphIndex, MaskedGraph
from neurallp.weighting.kinds import get_kind, rules_as_candidates
from neurallp.weighting.kinds.base import Candidate
from neurallp.weighting.weighted_rules import WeightedQuery, WeightedRules

LINKED = Candidate("linked", ())
KINDS = ("chain", "prior", "linked")
QUICK = WeightingConfig(
    max_length=2,
    num_candidates=20,
    num_pairs=40,
    max_questions=200,
    thinning=False,
    kinds=KINDS,
    masking="fact",
    linked="include",
)


def club_split(is_right):
    """Return facts in which a person likes what the club offers, for pairs that `is_right` allows.

    Every third pair of a person and an item of the club is linked by one of 16 other relations. `is_right`
    gets the number of a pair and whether it is linked.
    """
    members = [(f"p{club}{i}", f"c{club}") for club in range(6) for i in range(8)]
    offers = [(f"c{club}", f"i{club}{i}") for club in range(6) for i in range(8)]
    pairs = [(person, item) for person, club in members for other, item in offers if club == other]
    likes = [(a, "likes", b) for number, (a, b) in enumerate(pairs) if is_right(number, number % 3 == 0)]
    links = [(a, f"link{number % 16}", b) for number, (a, b) in enumerate(pairs) if number % 3 == 0]
    facts = [(a, "in", b) for a, b in members] + [(a, "offers", b) for a, b in offers]
    held_out = likes[::5]
    return name_parts(
        {"train": [*facts, *links, *(each for each in likes if each not in held_out)], "valid": held_out}
    )


@pytest.fixture(scope="module")
def never_right():
    return club_split(lambda number, is_linked: not is_linked)


@pytest.fixture(scope="module")
def no_matter():
    return club_split(lambda number, is_linked: number % 5 < 3)


@pytest.fixture(scope="module")
def program(never_right):
    return weigh_rules(never_right, QUICK)


def weight_of(weighted, query):
    """Return the weight of a query's rule about links; 0 where the query leaves it out."""
    own = weighted.queries[query]
    return own.weights[own.rules.index(LINKED), 0] if LINKED in own.rules else 0.0


def reasoner_with(kb, weight=-1.0, others=()):
    """Return a reasoner whose first relation has a rule about links, and others of weight 1."""
    weights = np.ones((1 + len(others), 3)) * [1, 0, 0]
    weights[0, 0] = weight
    own = WeightedQuery((LINKED, *others), weights, np.ones(len(weights)))
    return Reasoner(kb, WeightedRules(kb.relations, kb.reflexive_relations, {0: own}))


# Features


def test_features_are_the_targets_of_all_edges_of_other_operators():
    rng = np.random.default_rng(0)
    rows = {(f"e{a}", f"r{k}", f"e{b}") for a, k, b in rng.integers(0, [7, 3, 7], (25, 3)).tolist()}
    kb = KnowledgeBase.from_triples(sorted(rows))
    sources = np.arange(len(kb.entities))
    for query in range(6):
        found = gather_all(walker_over(kb), [LINKED], query, sources)
        for source, features in enumerate(found):
            expected = oracle.linked_features(edges(kb), source, query)
            assert {key: tuple(pair) for key, pair in features.items()} == {
                (0, entity): pair for entity, pair in expected.items()
            }
            graph = MaskedGraph(GraphIndex.of(kb), ask(query, sources), source)
            assert set(get_kind("linked").features(graph, LINKED).entities.tolist()) == expected.keys()


def linked_to(kb, source, query="r", **masked):
    """Return the names of the entities linked to a source, by the compiled loops and by numpy."""
    index, number = GraphIndex.of(kb), kb.relations.operator_id(query)
    answers = np.array([kb.entities.id(masked.pop("answer"))]) if "answer" in masked else None
    sources = np.array([kb.entities.id(source)])
    (found,) = gather_all(walker_over(kb), [LINKED], number, sources, answers, **masked)
    graph = MaskedGraph(index, ask(number, sources, answers, masked.get("mask_pair", False)), 0)
    in_numpy = get_kind("linked").features(graph, LINKED).entities.tolist()
    assert sorted(entity for _, entity in found) == in_numpy
    return {kb.entities[entity] for entity in in_numpy}


def test_the_query_alone_is_no_link_but_its_inverse_is_one():
    kb = KnowledgeBase.from_triples([("a", "r", "b"), ("c", "r", "a"), ("a", "s", "d"), ("e", "s", "a")])
    assert linked_to(kb, "a") == {"c", "d", "e"}
    assert linked_to(kb, "a", "~r") == {"b", "d", "e"}


def test_a_known_answer_that_another_relation_reaches_is_linked():
    kb = KnowledgeBase.from_triples([("a", "r", "b"), ("a", "s", "b"), ("a", "r", "c")])
    assert linked_to(kb, "a") == {"b"}


def test_facts_that_are_masked_are_no_links():
    kb = KnowledgeBase.from_triples(
        [("a", "r", "b"), ("a", "s", "b"), ("b", "s", "a"), ("a", "r", "a"), ("a", "s", "c")]
    )
    assert linked_to(kb, "a", answer="b") == {"a", "b", "c"}
    assert linked_to(kb, "a", answer="b", mask_pair=True) == {"a", "c"}
    assert linked_to(kb, "a", answer="a") == {"b", "c"}  # a masked loop is no edge in either direction


def test_the_source_is_left_out_where_it_is_no_candidate():
    kb = KnowledgeBase.from_triples([("a", "r", "b"), ("a", "s", "a")])
    sources = np.array([kb.entities.id("a")])
    for exclude_source, expected in ((False, {"a"}), (True, set())):
        (found,) = gather_all(walker_over(kb), [LINKED], 0, sources, exclude_source=exclude_source)
        assert {kb.entities[entity] for _, entity in found} == expected


# Weights


def test_where_links_are_never_right_the_weight_is_negative_and_validation_better(never_right, program):
    likes = never_right.relations.id("likes")
    assert weight_of(program.weighted_rules, likes) < -1
    with_, without = (
        Weighting(never_right, replace(QUICK, kinds=kinds)).trial([likes]).mrr for kinds in (KINDS, KINDS[:2])
    )
    assert with_ > without + 0.02


def test_where_links_do_not_matter_queries_leave_it_out_or_give_it_next_to_no_weight(no_matter):
    weighted = weigh_rules(no_matter, QUICK).weighted_rules
    assert weight_of(weighted, no_matter.relations.id("likes")) > -0.3


def test_the_weight_is_at_most_0_and_the_indicator_is_the_only_feature(program):
    for own in program.weighted_rules.queries.values():
        linked = [rule == LINKED for rule in own.rules]
        assert (own.weights[linked, 0] <= 0).all()
        assert (own.weights[linked, 1:] == 0).all()


def test_the_weight_has_no_penalty(never_right):
    likes = never_right.relations.id("likes")
    strict = replace(QUICK, kinds=("linked", "prior"), penalties=(1e3,))
    assert weight_of(weigh_rules(never_right, strict).weighted_rules, likes) < -1


def test_each_query_has_one_such_rule_unless_linked_entities_are_no_candidates(never_right):
    for linked, expected in (("include", [LINKED]), ("exclude", [])):
        weighting = Weighting(never_right, replace(QUICK, linked=linked))
        with weighting._worker() as worker:
            assert get_kind("linked").find(worker, 0, 3) == expected
    weighted = weigh_rules(never_right, replace(QUICK, linked="exclude")).weighted_rules
    assert "linked" not in weighted.num_of_kinds


# Text, answers and proofs


def test_the_rule_reads_as_text_and_is_read_back(never_right, program, tmp_path):
    rules = program.rules("likes", kb=never_right.known, min_share=0)
    assert "not likes(X, Y) <= linked(X, Y)" in map(str, rules)
    write_rules(tmp_path / "rules.tsv", rules)
    assert read_rules(tmp_path / "rules.tsv") == rules
    given = rules_as_candidates(rules, never_right.relations)
    assert LINKED not in given[never_right.relations.id("likes")]  # it is found for every query


def test_an_answer_that_is_only_linked_is_not_listed():
    kb = KnowledgeBase.from_triples([("a", "r", "b"), ("a", "s", "c"), ("d", "s", "a")])
    for weight in (-1.0, 1.0):
        (found,) = reasoner_with(kb, weight).predict(["r"], known=True)
        assert len(found) == 0


def test_a_proof_names_a_fact_that_links_the_pair_in_either_direction():
    kb = KnowledgeBase.from_triples([("a", "r", "b"), ("a", "s", "b"), ("c", "t", "a")])
    reasoner = reasoner_with(kb, -2.0, others=(Candidate("chain", (1,)),))
    proof = reasoner.explain("a", "r", "b")
    assert [str(reason) for reason in proof.against] == ["linked, as s(a, b)"]  # not the fact itself
    assert proof.against[0].path == ("a", "b")
    assert [str(reason) for reason in reasoner.explain("a", "r", "c").against] == ["linked, as t(c, a)"]
    assert "although    -2.00 ██████████ linked, as s(a, b)" in str(proof)
    assert proof.remainder == pytest.approx(0, abs=1e-12)


def test_links_speak_against_an_answer_in_why_not_and_decide_nothing_alone():
    kb = KnowledgeBase.from_triples([("a", "r", "b"), ("c", "t", "a")])
    reasoner = reasoner_with(kb)
    assert "linked, as t(c, a)" in str(reasoner.why_not("a", "r", "c"))
    assert reasoner.verify("a", "r", "c").verdict == "unknown"
