from dataclasses import replace

import numpy as np
import pytest

from neurallp.config import WeightingConfig
from neurallp.graph.knowledge_base import name_parts
from neurallp.graph.questions import KnownAnswers, Questions
from neurallp.weighting.fitting import Weighting
from neurallp.weighting.kinds.base import Candidate
from neurallp.weighting.masking import EdgeMasking

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
