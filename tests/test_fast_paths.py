"""Every fast path against the plain one, on graphs that are drawn with what code forgets.

Relations without facts, a single entity, self-loops, several relations between one pair, hubs. More of them
are drawn with NEURALLP_TORTURE set (`make torture`).
"""

import os
import tempfile
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_features import assert_equal_features, gather_all, gather_blocks, rules_of_all_kinds, walker_over
from samples import attentions
from weighted_samples import NAMES, RELATIONS, random_rules

from neurallp import KnowledgeBase
from neurallp.controller.attention import Attention
from neurallp.engines import make_engine
from neurallp.engines.base import QueryBatch
from neurallp.graph.operators import Operators
from neurallp.graph.vocabulary import Relations, Vocabulary
from neurallp.reasoning.reasoner import Reasoner
from neurallp.weighting.features_gpu import GpuFeatureWalker
from neurallp.weighting.graph_index import GraphIndex
from neurallp.weighting.kinds import gather_in_numpy

TIMES = 30 if os.environ.get("NEURALLP_TORTURE") else 1
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"  # the GPU's kernels on a CPU
GPU = ["cuda"] if find_spec("triton") and (INTERPRETED or torch.cuda.is_available()) else []


def drawn(num_examples):
    return settings(max_examples=TIMES * num_examples, deadline=None)


@st.composite
def graphs(draw, num_relations=None, least_entities=1):
    """Draw facts between named entities; names need quoting."""
    num_entities = draw(st.sampled_from([n for n in (1, 2, 5, 8) if n >= least_entities]))
    num_relations = num_relations or draw(st.integers(1, 3))
    entity, relation = st.integers(0, num_entities - 1), st.integers(0, num_relations - 1)
    facts = draw(st.lists(st.tuples(entity, relation, entity), max_size=10))
    one, other, k = draw(st.tuples(entity, entity, relation))
    shapes = {
        "loops": [(e, k, e) for e in range(num_entities)],
        "parallel": [(one, r, other) for r in range(num_relations)],
        "hub": [(one, k, e) for e in range(num_entities) if e != one],
        "crowd": [(e, k, other) for e in range(num_entities) if e != other],
    }
    for shape in draw(st.sets(st.sampled_from(sorted(shapes)))):
        facts += shapes[shape]
    ids = np.unique(np.array(facts, dtype=np.int64).reshape(-1, 3), axis=0)
    return KnowledgeBase(Vocabulary(NAMES[:num_entities]), Relations(RELATIONS[:num_relations]), ids)


def of_entities_with_facts(kb):
    """Return the graph without entities that have no facts: a table of facts does not know of them."""
    used = np.unique(kb.facts[:, [0, 2]])
    facts = kb.facts.copy()
    facts[:, [0, 2]] = np.searchsorted(used, facts[:, [0, 2]])
    return KnowledgeBase(Vocabulary([kb.entities[e] for e in used]), kb.relations, facts)


@drawn(60)
@given(kb=graphs(), normalize=st.booleans(), may_return=st.booleans(), data=st.data())
def test_all_engines_score_as_the_reference(kb, normalize, may_return, data):
    operators = Operators.of(kb)
    pair = data.draw(attentions(most_steps=3, num_operators=kb.relations.num_operators))
    attention = Attention(*(torch.tensor(each).unsqueeze(1) for each in pair))
    sources = np.arange(len(kb.entities))
    batch = QueryBatch.unmasked(sources, np.zeros_like(sources), may_return=may_return)
    expected = make_engine("reference", operators).scores(attention, batch, normalize=normalize).dense()
    for name in ("cpu", *GPU):
        engine = make_engine(name, operators, "cpu" if name == "cpu" or INTERPRETED else "cuda")
        found = engine.scores(attention, batch, normalize=normalize).dense()
        np.testing.assert_allclose(found, expected, rtol=1e-5 if GPU else 1e-9, atol=1e-7 if GPU else 1e-12)


@drawn(60)
@given(kb=graphs(num_relations=2), rules=rules_of_all_kinds, query=st.integers(0, 3))
def test_features_are_the_same_in_numpy_in_compiled_loops_and_in_blocks_of_the_gpu(kb, rules, query):
    sources, index = np.arange(len(kb.entities)), GraphIndex.of(kb)
    compiled = gather_all(walker_over(kb), rules, query, sources)
    for source, expected in enumerate(compiled):
        columns = (each.tolist() for each in gather_in_numpy(index, query, rules, source).rows(0))
        found = {(rule, entity): pair for entity, rule, *pair in zip(*columns, strict=True)}
        assert_equal_features(found, expected)
    for found, expected in zip(
        gather_blocks(GpuFeatureWalker(walker_over(kb)), rules, query, sources), compiled, strict=True
    ):
        assert_equal_features(found, expected)


def reasoner_scores(kb, weighted):
    """Return {(query, source, entity): score} of all candidates with a score other than 0."""
    reasoner, every, found = Reasoner(kb, weighted), np.arange(len(kb.entities)), {}
    for query in range(kb.relations.num_operators):
        rows = reasoner.scores(every, np.full(len(every), query)).dense()
        for source, entity in zip(*np.nonzero(np.isfinite(rows) & (rows != 0)), strict=True):
            key = kb.relations.operator_name(query), kb.entities[source], kb.entities[entity]
            found[key] = float(rows[source, entity])
    return found


@drawn(10)
@given(kb=graphs(), seed=st.integers(0, 99), excludes_linked=st.booleans())
def test_duckdb_scores_as_the_reasoner(kb, seed, excludes_linked):
    duckdb = pytest.importorskip("duckdb")
    from neurallp.io.rules.scored_sql import render

    kb = of_entities_with_facts(kb)
    weighted = random_rules(kb, seed, excludes_linked)
    expected, found = reasoner_scores(kb, weighted), {}
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("CREATE TABLE facts(head VARCHAR, relation VARCHAR, tail VARCHAR)")
        for fact in kb.named_facts():
            connection.execute("INSERT INTO facts VALUES (?, ?, ?)", fact)
        connection.execute(render(weighted))
        for name in map(kb.relations.operator_name, range(kb.relations.num_operators)):
            rows = connection.execute("SELECT source, entity, score FROM scores(?)", [name]).fetchall()
            found |= {(name, source, entity): score for source, entity, score in rows if abs(score) > 1e-12}
    assert found == pytest.approx(
        {key: each for key, each in expected.items() if abs(each) > 1e-12}, abs=1e-9
    )


@drawn(4)
@given(kb=graphs(least_entities=2).map(of_entities_with_facts).filter(lambda kb: len(kb.entities) > 1))
def test_apply_derives_what_the_reasoner_predicts(kb):
    parquet = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("duckdb")
    from neurallp.io.triples import write_triples
    from neurallp.io.triples.packed import open_packed, pack
    from neurallp.scale.apply import Application, Options
    from neurallp.scale.engines import open_engine
    from neurallp.scale.queries import Wanted

    weighted, query = random_rules(kb, len(kb.facts)), len(kb.facts) % kb.relations.num_operators
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_triples(folder / "facts.csv", kb.named_facts())
        pack(folder / "facts.csv", folder / "packed", relations=kb.relations)
        packed = open_packed(folder / "packed")
        application = Application(weighted, packed, None, folder / "out", Options((query,), Wanted(5)))
        application.run(partial(open_engine, "duckdb", memory="200MB"))
        rows = parquet.read_table(application.path_of(query)).to_pylist()
    (found,) = Reasoner(packed, weighted).predict([kb.relations.operator_name(query)], 5)
    ends = [[packed.entities[e] for e in each] for each in found.ends]
    assert [(row["head"], row["tail"]) for row in rows] == list(zip(*ends, strict=True))
    assert [row["score"] for row in rows] == pytest.approx(found.scores.tolist(), abs=1e-9)
