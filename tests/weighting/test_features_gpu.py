import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_features import (
    assert_equal_features,
    chains,
    gather_all,
    gather_blocks,
    questions_of,
    rules_of_all_kinds,
    walker_over,
)
from samples import knowledge_bases

from neurallp.weighting.features_gpu import MAX_SEGMENT, GpuFeatureWalker, Segments

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU is here")
DEVICES = ["cpu", pytest.param("cuda", marks=needs_gpu)]


@settings(max_examples=120, deadline=None)
@given(
    kb=knowledge_bases(num_entities=4, most_facts=14),
    rules=st.one_of(chains, rules_of_all_kinds),
    query=st.integers(0, 3),
    masking=st.sampled_from([None, "fact", "pair", "both"]),
    exclude_source=st.booleans(),
    max_bytes=st.sampled_from([1, 1 << 20]),
)
def test_blocks_hold_the_features_of_the_cpu_for_every_kind(
    kb, rules, query, masking, exclude_source, max_bytes
):
    sources, answers = questions_of(kb, query)
    asked = rules, query, sources, None if masking is None else answers
    turns = {"pair": [True], "both": [False, True]}.get(masking, [False])
    how = {"mask_pair": np.resize(turns, len(sources)), "exclude_source": exclude_source}
    blocks = gather_blocks(GpuFeatureWalker(walker_over(kb), max_bytes=max_bytes), *asked, **how)
    for found, expected in zip(blocks, gather_all(walker_over(kb), *asked, **how), strict=True):
        assert_equal_features(found, expected)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("longest", [0, 1, MAX_SEGMENT, 5 * MAX_SEGMENT**2])
def test_segments_of_any_length_add_up(device, longest):
    rng = np.random.default_rng(0)
    lengths = np.append(rng.integers(0, longest + 1, 9), [longest, 0])
    rows = torch.as_tensor(rng.integers(0, 9, (lengths.sum(), 2, 3))).float().to(device)
    expected = [part.sum(0) for part in torch.split(rows, lengths.tolist())]
    assert Segments(lengths, rows.device).sum(rows).tolist() == torch.stack(expected).tolist()
