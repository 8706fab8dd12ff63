from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_features import questions_of
from samples import edges, knowledge_bases

from neurallp.config import WeightingConfig
from neurallp.graph.knowledge_base import Split, name_parts
from neurallp.graph.questions import KnownAnswers, Questions
from neurallp.weighting.fitting import Weighting
from neurallp.weighting.kinds.base import Candidate
from neurallp.weighting.masking import EdgeMasking, linked_share

few = settings(max_examples=40, deadline=None)

LINKED, UNLINKED = ("a", "s", "b"), ("a", "r", "c")


@pytest.mark.parametrize(
    ("valid", "turns"),
    [
        ([UNLINKED, ("c", "r", "a")], [True]),
        ([UNLINKED, LINKED], [False]),
        ([UNLINKED, ("b", "s", "a")], [False]),
        ([UNLINKED, *[("a", f"s{i}", "b") for i in range(9)]], [False, True, True, True]),
        ([LINKED, ("b", "r", "c")], [False]),
        ([], [False]),
    ],
    ids=["none is linked", "some are", "the other way", "nearly all are", "all are", "no validation"],
)
def test_the_masking_suits_the_validation_pairs(valid, turns):
    split = name_parts({"train": [("a", "r", "b"), ("b", "s", "c")], "valid": valid})
    assert EdgeMasking(split, "auto").turns == turns


def test_the_masking_can_be_chosen():
    split = name_parts({"train": [("a", "r", "b"), ("b", "s", "c")]})
    assert [EdgeMasking(split, masking).turns for masking in ("fact", "pair", "both")] == [
        [False],
        [True],
        [False, True, True, True],
    ]


def test_entities_linked_to_the_source_of_a_masked_pair_are_no_candidates():
    train = [("a", "r", "b"), ("a", "r", "c"), ("d", "s", "a"), ("e", "s", "b")]
    split = name_parts({"train": train})
    a, b, c, d = map(split.entities.find, "abcd")
    known = KnownAnswers(split.known.facts, len(split.relations))
    questions = Questions(np.array([a, a]), np.array([0, 0]), np.array([b, b]))
    edge_masking = EdgeMasking(split, "both")
    filters = edge_masking.filters_of(known, questions, edge_masking.mask_pair(questions))
    parts = np.split(filters.entities, filters.offsets[1:-1])
    assert [set(part.tolist()) for part in parts] == [{c}, {c, d}]
    assert filters.entities[filters.offsets[:-1]].tolist() == [c, c]
    assert (filters.known_ends - filters.offsets[:-1]).tolist() == [1, 1]


def test_longer_bodies_are_mined_beside_a_link_that_predicts_everything():
    # Every r has its inverse t, which predicts everything, and so does t followed by r and t. The longer path
    # by p and q also leads to wrong entities.
    pairs = [(f"x{i}", f"m{i}", f"y{i}", f"y{(i + 1) % 30}") for i in range(30)]
    facts = [fact for x, m, y, z in pairs for fact in [(x, "r", y), (y, "t", x), (x, "p", m)]]
    facts += [(m, "q", end) for _, m, *ends in pairs for end in ends]
    split = name_parts({"train": facts})
    r, p, q = map(split.relations.operator_id, "rpq")

    def bodies(masking, num_candidates=2):
        config = WeightingConfig(max_length=3, num_candidates=num_candidates, masking=masking)
        return [
            rule.operators for rule in Weighting(split, config).run().queries[r].rules if rule.kind == "chain"
        ]

    assert (p, q) in bodies("both")
    assert len(bodies("both", num_candidates=1)) == 1


def test_a_direct_link_starts_with_a_larger_weight_than_other_rules_reach():
    # Every pair of r is also linked by the inverse of t; the paths by p and q are many and often wrong.
    pairs = [(f"x{i}", f"m{i}", f"y{i}", f"y{(i + 1) % 40}") for i in range(40)]
    facts = [fact for x, m, y, z in pairs for fact in [(x, "r", y), (y, "t", x), (x, "p", m)]]
    facts += [(m, "q", end) for _, m, *ends in pairs for end in ends]
    split = name_parts({"train": facts})
    r, t = map(split.relations.operator_id, "rt")
    few = WeightingConfig(max_length=2, num_candidates=20, masking="both", min_steps=1, max_questions=40)
    weighted = Weighting(split, few).run().queries[r]
    link = weighted.rules.index(Candidate("chain", (split.relations.inverse(t),)))
    assert weighted.weights[link, 0] > 5 > np.delete(weighted.weights[:, 0], link).max()


def unlinked_split(num_valid):
    """Return facts whose pairs are often linked twice, and validation pairs that no fact links."""
    twice = [(f"a{i}", relation, f"b{i}") for i in range(20) for relation in ("r", "s")]
    return name_parts({"train": twice, "valid": [(f"a{i}", "r", f"b{i + 1}") for i in range(num_valid)]})


def test_linked_entities_are_no_candidates_where_it_is_no_accident_that_no_validation_pair_is_linked():
    assert EdgeMasking(unlinked_split(10), "auto", "auto").excludes_linked
    once = name_parts({"train": [(f"a{i}", "r", f"b{i}") for i in range(20)], "valid": [("a1", "r", "b2")]})
    assert not EdgeMasking(once, "auto", "auto").excludes_linked
    assert not EdgeMasking(name_parts({"train": [("a", "r", "b")]}), "auto", "auto").excludes_linked
    linked = name_parts({"train": [("a", "r", "b"), ("a", "t", "b")], "valid": [("a", "s", "b")]})
    assert not EdgeMasking(linked, "auto", "auto").excludes_linked
    assert EdgeMasking(linked, "auto", "exclude").excludes_linked
    assert not EdgeMasking(unlinked_split(10), "auto", "include").excludes_linked


def test_excluded_linked_entities_are_filtered_out_of_every_question():
    split = unlinked_split(10)
    masking = EdgeMasking(split, "fact", "exclude")
    a, b = split.entities.id("a1"), split.entities.id("b1")
    asked = Questions(np.array([a, a]), np.array([0, 0]), np.array([split.entities.id("b2"), b]))
    filters = masking.filters_of(KnownAnswers(split.known.facts[:0], 2), asked, None)
    parts = np.split(filters.entities, filters.offsets[1:-1])
    assert [set(part.tolist()) for part in parts] == [{b}, set()]
    assert masking.is_linked(asked).tolist() == [False, True]


def test_an_answer_that_is_excluded_ranks_last():
    split = unlinked_split(10)
    linked = np.array([[split.entities.id("a3"), 0, split.entities.id("b3")]])
    config = WeightingConfig(max_length=2, linked="exclude")
    weighting = Weighting(replace(split, facts=split.train, train=split.train[:0], valid=linked), config)
    # The validation answer is a known fact too, so it competes with all entities but the source's links.
    trial = weighting.trial([0])
    assert trial.reciprocal_ranks[0][0] == pytest.approx(1 / (len(split.entities) - 1), rel=0.1)


# Shares of linked pairs, and filters

FACTS = [("a", "r", "b"), ("b", "s", "c"), ("c", "r", "d"), ("d", "s", "e")]


@pytest.mark.parametrize(
    ("valid", "share"),
    [
        ([("a", "s", "c")], 0.0),
        ([("a", "s", "b")], 1.0),
        ([("b", "s", "a")], 1.0),
        ([("a", "s", "b"), ("a", "s", "c"), ("e", "r", "a"), ("d", "r", "c")], 0.5),
        ([("a", "r", "a")], 0.0),
        ([], 0.5),
    ],
)
def test_the_share_of_linked_pairs_counts_either_direction(valid, share):
    assert linked_share(name_parts({"train": FACTS, "valid": valid})) == share


def test_facts_and_train_link_pairs_but_test_does_not():
    parts = {"facts": FACTS[:1], "train": FACTS[1:2], "valid": [("a", "s", "b"), ("b", "r", "c")]}
    assert linked_share(name_parts({**parts, "test": [("a", "r", "c")]})) == 1.0
    only_test = {"train": FACTS[1:], "valid": [("a", "s", "b")], "test": FACTS[:1]}
    assert linked_share(name_parts(only_test)) == 0.0


@pytest.mark.parametrize(("masking", "choices"), [("fact", [0]), ("pair", [1]), ("both", [0, 1])])
def test_every_choice_of_a_masking_occurs_among_its_questions(masking, choices):
    edge_masking = EdgeMasking(name_parts({"train": FACTS}), masking)
    questions = Questions(*(np.zeros(9, dtype=np.int64),) * 3)
    flags = edge_masking.mask_pair(questions)
    assert edge_masking.choices == choices
    assert sorted(set(flags.tolist())) == choices
    assert len(flags) == 9


def test_three_of_four_questions_mask_their_pair_where_both_are_learned():
    edge_masking = EdgeMasking(name_parts({"train": FACTS}), "both")
    questions = Questions(*(np.zeros(10, dtype=np.int64),) * 3)
    assert edge_masking.mask_pair(questions).tolist() == [False, True, True, True] * 2 + [False, True]
    assert edge_masking.mask_pair(questions[:0]).tolist() == []


@pytest.mark.parametrize("masking", ["fact", "pair"])
def test_other_known_answers_are_filtered_and_the_right_one_is_not(masking):
    split = name_parts({"train": [("a", "r", "b"), ("a", "r", "c"), ("a", "s", "d"), ("e", "r", "b")]})
    find = split.entities.find
    questions = Questions(*(np.array([find(x)]) for x in "a"), np.array([0]), np.array([find("b")]))
    known = KnownAnswers(split.known.facts, len(split.relations))
    edge_masking = EdgeMasking(split, masking)
    filters = edge_masking.filters_of(known, questions, edge_masking.mask_pair(questions))
    assert filters.entities.tolist() == [find("c")]  # d is linked, but only `both` leaves linked entities out
    assert filters.known_ends.tolist() == filters.offsets[1:].tolist() == [1]


@few
@given(kb=knowledge_bases(most_facts=12), query=st.integers(0, 3), masking=st.sampled_from(["fact", "both"]))
def test_filters_hold_known_answers_first_and_then_what_is_linked(kb, query, masking):
    split = Split(kb.entities, kb.relations, kb.facts, *(kb.facts[:0],) * 3)
    sources, answers = questions_of(kb, query)
    questions = Questions(sources, np.full(len(sources), query), answers)
    edge_masking = EdgeMasking(split, masking)
    flags = edge_masking.mask_pair(questions)
    filters = edge_masking.filters_of(KnownAnswers(kb.facts, len(kb.relations)), questions, flags)
    for row, (source, answer) in enumerate(zip(sources.tolist(), answers.tolist(), strict=True)):
        start, middle, end = filters.offsets[row], filters.known_ends[row], filters.offsets[row + 1]
        known = {to for at, by, to in edges(kb) if (at, by) == (source, query)} - {answer}
        assert sorted(filters.entities[start:middle].tolist()) == sorted(known)
        linked = {to for at, _, to in edges(kb) if at == source} - {answer}
        is_filtered = masking == "both" and flags[row]
        assert set(filters.entities[middle:end].tolist()) == (linked if is_filtered else set())
