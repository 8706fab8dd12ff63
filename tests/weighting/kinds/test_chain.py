import numpy as np
import oracle
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_features import masked_graph, walker_over
from samples import edges, knowledge_bases

from neurallp.graph.questions import KnownAnswers, Questions
from neurallp.graph.vocabulary import Relations
from neurallp.rules.rule import Rule
from neurallp.weighting.features import ask
from neurallp.weighting.kinds import get_kind
from neurallp.weighting.kinds.base import Candidate
from neurallp.weighting.kinds.chain import build_trie, count_conclusions
from neurallp.weighting.masking import Filters

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


# Conclusions, counted without features

bodies = st.lists(
    st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple), min_size=1, max_size=8, unique=True
)


def filters_of(known, questions):
    rows, entities = known.pairs(questions.sources, questions.queries)
    offsets = np.searchsorted(rows, np.arange(len(questions) + 1))
    return Filters(offsets, entities, offsets[1:])


def counted_by_oracle(kb, query, body, exclude_source, mask_pair):
    """Return conclusions, right ones and hits of one body, on every fact of a query."""
    counts = np.zeros(3, np.int64)
    pairs = [(s, a) for s, r, a in edges(kb) if r == query]
    for source, answer in pairs:
        graph = masked_graph(edges(kb), source, query, answer, len(kb.relations), mask_pair)
        found = {path[-1] for path in oracle.enumerate_paths(graph, source, body)}
        found -= {source} if exclude_source else set()
        counts += [len(found), sum((source, entity) in pairs for entity in found), answer in found]
    return counts.tolist()


@settings(max_examples=60, deadline=None)
@given(
    kb=knowledge_bases(num_entities=4, most_facts=12),
    bodies=bodies,
    exclude_source=st.booleans(),
    mask_pair=st.booleans(),
)
def test_conclusions_are_counted_as_by_enumerating_all_paths(kb, bodies, exclude_source, mask_pair):
    query = int(kb.facts[0, 1])
    rows = np.array([(s, r, a) for s, r, a in edges(kb) if r == query])
    questions = Questions(*rows.T)
    batch = ask(query, questions.sources, questions.answers, mask_pair, exclude_source)
    walker = walker_over(kb)
    for _ in range(2):  # nothing is left behind in the working memory
        filters = filters_of(KnownAnswers(kb.facts, len(kb.relations)), questions)
        counts, visited = count_conclusions(walker, bodies, batch, filters)
        expected = [counted_by_oracle(kb, query, body, exclude_source, mask_pair) for body in bodies]
        assert counts.tolist() == expected
        assert visited >= 0
