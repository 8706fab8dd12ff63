"""Rules about shared neighbours: confidences written out for small groups, and their text forms."""

import numpy as np
import pytest
from oracle import log_scale

from neurallp import KnowledgeBase
from neurallp.graph.vocabulary import Relations
from neurallp.weighting.features import FeatureWalker, ask
from neurallp.weighting.graph_index import GraphIndex, MaskedGraph
from neurallp.weighting.kinds import compile_rules, get_kind
from neurallp.weighting.kinds.base import Candidate
from neurallp.weighting.kinds.shared_neighbours_kernels import SMOOTHING

#: Of the four students of chess, two speak French and one German; xan's languages are unknown.
SCHOOL = [
    *((name, "studies", "chess") for name in ("xan", "ada", "bea", "cid")),
    *((name, "studies", "law") for name in ("xan", "dan")),
    ("ada", "speaks", "french"),
    ("bea", "speaks", "french"),
    ("cid", "speaks", "german"),
    ("dan", "speaks", "french"),
]

#: zoe likes two of the four red things, and one of two round ones.
THINGS = [
    *((thing, "is", "red") for thing in ("apple", "brick", "cherry", "dress")),
    *((thing, "is", "round") for thing in ("cherry", "wheel")),
    ("zoe", "likes", "apple"),
    ("zoe", "likes", "cherry"),
]


def features(facts, kind, operator, question, answer=None, *, mask_pair=False):
    """Return {entity: (forward, backward)} of a rule by name; numpy and the compiled loop must agree."""
    index = GraphIndex.of(KnowledgeBase.from_triples(facts))
    entities, k = index.kb.entities, index.kb.relations.operator_id
    source, query = question
    rule = Candidate(kind, (k(operator),))
    answers = None if answer is None else np.array([entities.id(answer)])
    batch = ask(k(query), np.array([entities.id(source)]), answers, mask_pair)
    compiled = FeatureWalker(index, 1).gather(compile_rules(index, k(query), [rule]).plans, batch).rows(0)
    in_numpy = get_kind(kind).features(MaskedGraph(index, batch, 0), rule)
    columns = [each.tolist() for each in (compiled[0], compiled[2], compiled[3])]
    found = {entities[entity]: pair for entity, *pair in zip(*columns, strict=True)}
    again = zip(*(each.tolist() for each in in_numpy), strict=True)
    assert found == {entities[entity]: pytest.approx(pair, rel=1e-5) for entity, *pair in again}
    return found


def confidences(*each):
    """Return the expected features of confidences, one for each neighbour: the largest, and the noisy-or."""
    doubt = np.prod([1 - confidence for confidence in each])
    return pytest.approx([log_scale(max(each)), log_scale(1 - doubt)], rel=1e-5)


# Anchored: the neighbours of the source


def test_others_with_the_neighbour_of_the_source_vote_for_their_answers():
    found = features(SCHOOL, "anchored", "studies", ("xan", "speaks"))
    chess, law = 3 + SMOOTHING, 1 + SMOOTHING  # xan is not counted
    assert found == {"french": confidences(2 / chess, 1 / law), "german": confidences(1 / chess)}


def test_the_source_s_own_answers_are_no_evidence():
    assert features(
        [*SCHOOL, ("xan", "speaks", "dutch")], "anchored", "studies", ("xan", "speaks")
    ).keys() == {
        "french",
        "german",
    }


def test_a_source_without_neighbours_gets_no_votes():
    assert features(SCHOOL, "anchored", "~studies", ("xan", "speaks")) == {}
    assert features(SCHOOL, "anchored", "studies", ("french", "speaks")) == {}


def test_a_masked_neighbour_of_the_source_does_not_count():
    found = features(SCHOOL, "anchored", "studies", ("xan", "studies"), "law")
    # Through chess only: nobody else there studies law.
    assert found == {"chess": confidences(3 / (3 + SMOOTHING))}
    assert features(SCHOOL, "anchored", "studies", ("xan", "studies")).keys() == {"chess", "law"}


def test_an_answer_through_the_inverse_query_is_found_by_shared_neighbours():
    # Who speaks german? Languages share no neighbour by `speaks` backwards but their speakers.
    facts = [*SCHOOL, ("ada", "speaks", "german")]
    found = features(facts, "anchored", "~speaks", ("german", "~speaks"))
    # ada also speaks french, which ada, bea and dan speak; cid speaks nothing else.
    assert found == dict.fromkeys(("ada", "bea", "dan"), confidences(1 / (1 + SMOOTHING)))


# Mirrored: the neighbours of the answer


def test_what_shares_a_neighbour_with_other_answers_is_supported():
    found = features(THINGS, "mirrored", "is", ("zoe", "likes"))
    red, is_round = 3 + SMOOTHING, 1 + SMOOTHING  # without the thing itself
    assert found == {
        "brick": confidences(2 / red),
        "dress": confidences(2 / red),
        "wheel": confidences(1 / is_round),
        "apple": confidences(1 / red),
        "cherry": confidences(1 / red),  # no other round thing is liked
    }


def test_an_answer_is_not_supported_by_itself():
    only = [("apple", "is", "red"), ("zoe", "likes", "apple")]
    assert features(only, "mirrored", "is", ("zoe", "likes")) == {}


def test_a_masked_answer_supports_nothing_else():
    found = features(THINGS, "mirrored", "is", ("zoe", "likes"), "cherry")
    red = 3 + SMOOTHING
    assert found == dict.fromkeys(("brick", "cherry", "dress"), confidences(1 / red))


def test_without_known_answers_nothing_is_supported():
    assert features(THINGS, "mirrored", "is", ("apple", "likes")) == {}


def test_the_source_among_the_group_is_neither_counted_nor_supported():
    facts = [*THINGS, ("zoe", "is", "red")]
    assert features(facts, "mirrored", "is", ("zoe", "likes")) == features(
        THINGS, "mirrored", "is", ("zoe", "likes")
    )


# Both


@pytest.mark.parametrize("kind", ["anchored", "mirrored"])
@pytest.mark.parametrize("operator", [0, 1, 2, 3])
@pytest.mark.parametrize("query", [0, 1, 3])
def test_the_text_form_leads_back_to_the_operator(kind, operator, query):
    relations, candidate = Relations(["speaks", "studies"]), Candidate(kind, (operator,))
    rule = get_kind(kind).rule(relations, query, candidate, False)
    assert rule.distinct_ends  # the source is never an answer
    assert rule.target == relations.operator_name(query)
    assert len(rule.body) == 3
    assert get_kind(kind).candidate(rule, relations) == candidate


def test_the_bodies_follow_the_source_or_the_answer():
    relations = Relations(["speaks", "studies"])
    anchored, mirrored = (
        get_kind(kind).rule(relations, 0, Candidate(kind, (1,)), True) for kind in ("anchored", "mirrored")
    )
    assert anchored.body == ("studies", "~studies", "speaks")
    assert mirrored.body == ("speaks", "studies", "~studies")


@pytest.mark.parametrize("facts", [SCHOOL, THINGS])
@pytest.mark.parametrize("kind", ["anchored", "mirrored"])
def test_every_entity_with_a_feature_can_be_reached(kind, facts):
    index = GraphIndex.of(KnowledgeBase.from_triples(facts))
    for query in range(index.num_operators):
        for operator in range(index.num_operators):
            rule = Candidate(kind, (operator,))
            reachable = get_kind(kind).reachable(index, query, rule).tolist()
            for source in range(index.num_entities):
                graph = MaskedGraph(index, ask(query, np.array([source])), 0)
                assert set(get_kind(kind).features(graph, rule).entities.tolist()) <= set(reachable)


@pytest.mark.parametrize(("facts", "kind", "operator", "question"), [
    (SCHOOL, "anchored", "studies", ("xan", "speaks", "french")),
    (THINGS, "mirrored", "is", ("zoe", "likes", "brick")),
])  # fmt: skip
def test_the_paths_of_a_proof_share_the_contribution(facts, kind, operator, question):
    index = GraphIndex.of(KnowledgeBase.from_triples(facts))
    relations, entities = index.kb.relations, index.kb.entities
    candidate = Candidate(kind, (relations.operator_id(operator),))
    rule = get_kind(kind).rule(relations, relations.operator_id(question[1]), candidate, True)
    ends = entities.id(question[0]), entities.id(question[2])
    paths = list(get_kind(kind).paths(index, rule, ends))
    assert sum(share for _, share in paths) == pytest.approx(1)
    assert [share for _, share in paths] == sorted((share for _, share in paths), reverse=True)
    named = {tuple(entities[each] for each in path) for path, _ in paths}
    assert (
        named
        == {
            "anchored": {
                ("xan", "chess", "ada", "french"),
                ("xan", "chess", "bea", "french"),
                ("xan", "law", "dan", "french"),
            },
            "mirrored": {("zoe", "apple", "red", "brick"), ("zoe", "cherry", "red", "brick")},
        }[kind]
    )


def test_an_answer_that_is_known_is_not_proven_by_itself():
    index = GraphIndex.of(KnowledgeBase.from_triples(THINGS))
    relations, entities = index.kb.relations, index.kb.entities
    rule = get_kind("mirrored").rule(
        relations, relations.id("likes"), Candidate("mirrored", (relations.id("is"),)), True
    )
    paths = get_kind("mirrored").paths(index, rule, (entities.id("zoe"), entities.id("cherry")))
    assert [tuple(entities[each] for each in path) for path, _ in paths] == [
        ("zoe", "apple", "red", "cherry")
    ]
