from hypothesis import given
from hypothesis import strategies as st

from neurallp.graph.vocabulary import Relations
from neurallp.rules.rule import Rule
from neurallp.weighting.kinds import get_kind
from neurallp.weighting.kinds.base import Candidate
from neurallp.weighting.kinds.chain import build_trie

bodies_over = st.lists(
    st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple), min_size=1, max_size=5, unique=True
)


@given(bodies=bodies_over)
def test_a_trie_holds_every_body_once_and_every_prefix_once(bodies):
    trie = build_trie({10 + number: body for number, body in enumerate(bodies)})
    path, found, seen = [], {}, []
    for depth, operator, rule in zip(*trie, strict=True):
        path[depth - 1 :] = [int(operator)]
        seen.append(tuple(path))
        if rule >= 0:
            found[int(rule) - 10] = tuple(path)
    assert found == dict(enumerate(bodies))
    assert len(set(seen)) == len(seen) == len({body[:n] for body in bodies for n in range(1, len(body) + 1)})


def test_an_empty_trie_has_no_nodes():
    assert [len(column) for column in build_trie({})] == [0, 0, 0]


def test_a_fact_does_not_imply_itself_and_an_empty_body_implies_nothing():
    accepts = get_kind("chain").accepts
    assert not accepts(1, Candidate("chain", (1,)))
    assert not accepts(1, Candidate("chain", ()))
    assert accepts(1, Candidate("chain", (1, 1)))


def test_the_inverse_of_a_chain_is_its_reversed_body_of_inverses():
    kind, relations = get_kind("chain"), Relations(["father", "brother"])
    candidate = kind.candidate(Rule("uncle", ("father", "~brother"), 0.5), relations)
    assert candidate == Candidate("chain", (0, 3))
    assert kind.invert(candidate, relations) == Candidate("chain", (1, 2))
    assert kind.invert(kind.invert(candidate, relations), relations) == candidate
