import numpy as np
import oracle
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_features import masked_graph, walker_over
from samples import edges, knowledge_bases

from neurallp.graph.questions import KnownAnswers, Questions
from neurallp.weighting.counting import count_conclusions
from neurallp.weighting.features import ask
from neurallp.weighting.masking import Filters

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
