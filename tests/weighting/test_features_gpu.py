from dataclasses import replace

import numpy as np
import pytest
import torch
from feature_samples import assert_equal_evidence, bodies_over, gather_all, questions_of, walker_over
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import knowledge_bases

from neurallp import ConfigError
from neurallp.config import WeightingConfig
from neurallp.datasets.family import family_knowledge_base
from neurallp.graph.knowledge_base import split_triples
from neurallp.graph.operators import Operators
from neurallp.pipeline.learn import weigh_rules
from neurallp.weighting.features import build_trie
from neurallp.weighting.features_gpu import MAX_SEGMENT, GpuFeatureWalker, Layout, Segments
from neurallp.weighting.fitting import Weighting
from neurallp.weighting.fitting_gpu import GpuWeighting, GpuWorker

few = settings(max_examples=60, deadline=None)
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU is here")
DEVICES = ["cpu", pytest.param("cuda", marks=needs_gpu)]


def gather_blocks(walker, bodies, query, sources, answers=None, *, mask_pair=False, excluded=False):
    """Return {(rule, entity): (there, back)} for each question, as `gather_all` does."""
    told, tree, layout = [], build_trie(bodies), Layout(walker, bodies)
    keys = list(zip(layout.rules.tolist(), layout.entities.tolist(), strict=True))
    while len(told) < len(sources):
        rest = None if answers is None else answers[len(told) :]
        flags = np.broadcast_to(mask_pair, len(sources))[len(told) :]
        asked = sources[len(told) :], rest
        block = walker.gather(tree, layout, query, *asked, mask_pair=flags, excluded=excluded)
        assert len(block) > 0
        told += [
            {key: tuple(pair) for key, pair in zip(keys, column, strict=True) if pair[0] > 0}
            for column in block.values.permute(2, 0, 1).tolist()
        ]
    return told


@few
@given(
    kb=knowledge_bases(num_entities=4, most_facts=14),
    bodies=bodies_over,
    query=st.integers(0, 3),
    masking=st.sampled_from([None, "fact", "pair", "both"]),
    excluded=st.booleans(),
    max_bytes=st.sampled_from([1, 1 << 20]),
)
def test_blocks_say_what_the_walker_says(kb, bodies, query, masking, excluded, max_bytes):
    sources, answers = questions_of(kb, query)
    asked = (bodies, query, sources, None if masking is None else answers)
    turns = {"pair": [True], "both": [False, True]}.get(masking, [False])
    how = {"mask_pair": np.resize(turns, len(sources)), "excluded": excluded}
    blocks = gather_blocks(GpuFeatureWalker(Operators.of(kb), max_bytes=max_bytes), *asked, **how)
    for found, expected in zip(blocks, gather_all(walker_over(kb), *asked, **how), strict=True):
        assert_equal_evidence(found, expected)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("longest", [0, 1, MAX_SEGMENT, 5 * MAX_SEGMENT**2])
def test_segments_of_any_length_add_up(device, longest):
    rng = np.random.default_rng(0)
    lengths = np.append(rng.integers(0, longest + 1, 9), [longest, 0])
    rows = torch.as_tensor(rng.integers(0, 9, (lengths.sum(), 2, 3))).float().to(device)
    expected = [part.sum(0) for part in torch.split(rows, lengths.tolist())]
    assert Segments(lengths, rows.device).sum(rows).tolist() == torch.stack(expected).tolist()


@pytest.fixture(scope="module")
def split():
    return split_triples(family_knowledge_base(num_people=40, num_generations=3))


QUICK = WeightingConfig(max_length=2, num_candidates=20, num_pairs=40, min_steps=20, max_questions=60)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "config",
    [
        replace(QUICK, masking="fact", max_rules=8),
        replace(QUICK, masking="pair", kinds=("chain",)),
        replace(QUICK, masking="both"),
        replace(QUICK, kinds=("prior",)),
    ],
    ids=["fact", "pair", "both", "prior"],
)
def test_weights_learned_in_blocks_are_those_learned_question_by_question(split, config, device):
    expected = Weighting(split, config).run().queries
    found = GpuWeighting(split, config, device=device).run().queries
    assert found.keys() == expected.keys()
    for query, each in expected.items():
        assert found[query].bodies == each.bodies
        np.testing.assert_allclose(found[query].weights, each.weights, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(found[query].confidences, each.confidences)
        assert found[query].prior == pytest.approx(each.prior, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("device", DEVICES)
def test_validation_ranks_are_the_same(split, device):
    loops = [[0, relation, 0] for relation in range(len(split.relations))]  # the source is barred: last
    odd = replace(split, valid=np.concatenate([split.valid, loops]))
    weighting = GpuWeighting(odd, QUICK, device=device)
    with weighting._bench() as bench:
        for query in weighting.queries[:4]:
            [(bodies, _)] = bench.candidates(query)
            by_question, in_blocks = bench.fit(query, bodies), GpuWorker(weighting).fit(query, bodies)
            np.testing.assert_array_equal(in_blocks.reciprocal_ranks, by_question.reciprocal_ranks)
            assert len(by_question.reciprocal_ranks) > 0


@pytest.mark.parametrize("device", DEVICES)
def test_a_run_is_repeated_bit_for_bit(split, device):
    first, second = (GpuWeighting(split, QUICK, device=device).run().queries for _ in range(2))
    for query, each in first.items():
        np.testing.assert_array_equal(second[query].weights, each.weights)


def test_rules_that_are_no_chains_are_left_to_the_cpu(split):
    config = replace(QUICK, kinds=("chain", "anchored"))
    with pytest.raises(ConfigError, match="on the CPU"):
        GpuWeighting(split, config)
    found = weigh_rules(split, config, device="meta").weighted_rules.queries  # which cannot compute
    assert any(each.clues for each in found.values())


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here")
@pytest.mark.parametrize("kinds", [("chain",), ("unary",)])
def test_a_device_that_is_not_there_is_named_whatever_is_weighted(split, kinds):
    with pytest.raises(ConfigError, match="cuda"):
        weigh_rules(split, replace(QUICK, kinds=kinds), device="cuda")
