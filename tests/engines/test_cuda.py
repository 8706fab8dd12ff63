"""The GPU engine equals the reference.

Needs a GPU, or triton's interpreter on the CPU (slow): TRITON_INTERPRET=1, numpy < 2.4, -W ignore.
"""

import os
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from neurallp.controller.attention import Attention
from neurallp.engines.base import QueryBatch
from neurallp.engines.cuda import CudaEngine
from neurallp.engines.reference import ReferenceEngine
from neurallp.errors import ConfigError
from neurallp.graph.operators import Operators
from neurallp.neural.gradients import score_attention

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cpu" if INTERPRETED else "cuda"

needs_gpu = pytest.mark.skipif(
    find_spec("triton") is None or not (INTERPRETED or torch.cuda.is_available()),
    reason="the GPU engine needs triton and a CUDA device (or TRITON_INTERPRET=1)",
)


def random_operators(rng, num_entities=30, num_relations=3, num_facts=80, hub_degree=0):
    """Facts with several relations between one pair, self-loops, and isolated entities at the end."""
    linked = num_entities - 4
    facts = np.stack(
        [
            rng.integers(0, linked, num_facts),
            rng.integers(0, num_relations, num_facts),
            rng.integers(0, linked, num_facts),
        ],
        axis=1,
    )
    loops = [[e, r, e] for e in (0, 5) for r in range(num_relations)]
    parallel = [[1, r, 2] for r in range(num_relations)]
    hub = [[3, r, t % linked] for t in range(hub_degree) for r in range(num_relations)]
    facts = np.unique(
        np.concatenate([facts, loops, parallel, np.array(hub).reshape(-1, 3)]).astype(int), axis=0
    )
    return facts, Operators.of_facts(facts, num_entities, num_relations)


def random_attention(rng, num_controllers, num_queries, num_steps, num_operators, dtype):
    operator = rng.random((num_controllers, num_queries, num_steps, num_operators))
    memory = np.tril(rng.random((num_controllers, num_queries, num_steps + 1, num_steps + 1)))
    return [torch.tensor(each / each.sum(-1, keepdims=True), dtype=dtype) for each in (operator, memory)]


def random_walks(rng, facts, operators, num_walks, num_queries, num_hidden):
    sources = rng.integers(0, operators.num_entities, num_walks)
    asked = facts[
        rng.integers(0, len(facts), (num_walks, num_hidden)) if num_hidden else np.zeros((num_walks, 0), int)
    ]
    sources[: num_walks // 2] = asked[: num_walks // 2, 0, 0] if num_hidden else sources[: num_walks // 2]
    edges = operators.edges_of(asked.reshape(-1, 3)).reshape(num_walks, -1)
    edges[::5, 2:] = -1  # some walks hide less than others
    return QueryBatch.masked(sources, rng.integers(0, num_queries, num_walks), edges)


def scores_and_gradients(engine, device, attention, walks, rows, entities, normalize):
    a, b = (each.to(device).detach().requires_grad_() for each in attention)
    pairs, sums = engine.pair_scores(Attention(a, b), walks, rows, entities, normalize=normalize)
    weights = torch.linspace(0.5, 2, len(pairs), dtype=pairs.dtype, device=device)
    # Normalised sums are constant in the operators: their gradient is rounding alone, so keep it small.
    loss = (weights * pairs).sum() - (1e-4 if normalize else 0.1) * (sums**2).sum()
    loss.backward()
    return [each.detach().cpu() for each in (pairs, sums, a.grad, b.grad)]


def assert_equal_to_reference(
    seed, *, num_steps, num_controllers, num_hidden, normalize, dtype=torch.float32, may_return=True, **sizes
):
    rng = np.random.default_rng(seed)
    max_bytes = sizes.pop("max_bytes", 1 << 30)
    num_walks = sizes.pop("num_walks", 40)
    facts, operators = random_operators(rng, **sizes)
    attention = random_attention(rng, num_controllers, 7, num_steps, operators.num_operators, dtype)
    walks = replace(random_walks(rng, facts, operators, num_walks, 7, num_hidden), may_return=may_return)
    rows = rng.integers(0, num_walks, 3 * num_walks)
    entities = rng.integers(0, operators.num_entities, 3 * num_walks)
    given = attention, walks, rows, entities, normalize
    engine = CudaEngine(operators, DEVICE, max_bytes)
    got = scores_and_gradients(engine, DEVICE, *given)
    want = scores_and_gradients(
        ReferenceEngine(operators), "cpu", [each.double() for each in attention], *given[1:]
    )
    tolerance = 1e-5 if dtype == torch.float32 else 1e-12
    for ours, theirs in zip(got, want, strict=True):
        assert ours.dtype == dtype
        torch.testing.assert_close(
            ours.double(), theirs, rtol=tolerance, atol=tolerance * max(1e-3, theirs.abs().max().item())
        )
    # What cannot be reached scores exactly 0.
    assert torch.equal(got[0] == 0, want[0] == 0)
    again = scores_and_gradients(engine, DEVICE, *given)
    assert all(torch.equal(one, other) for one, other in zip(got, again, strict=True))


@needs_gpu
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("num_controllers", [1, 2])
@pytest.mark.parametrize("num_steps", [1, 2, 3, 4])
def test_scores_and_gradients_equal_the_reference(num_steps, num_controllers, normalize):
    assert_equal_to_reference(
        num_steps, num_steps=num_steps, num_controllers=num_controllers, num_hidden=1, normalize=normalize
    )


@needs_gpu
@pytest.mark.parametrize("num_hidden", [0, 1, 2, 30])
def test_hidden_edges_are_not_used(num_hidden):
    assert_equal_to_reference(5, num_steps=2, num_controllers=1, num_hidden=num_hidden, normalize=True)


@needs_gpu
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("num_steps", [1, 2, 3])
def test_walks_that_may_not_return_equal_the_reference(num_steps, normalize):
    assert_equal_to_reference(
        13, num_steps=num_steps, num_controllers=2, num_hidden=1, normalize=normalize, may_return=False
    )


@needs_gpu
def test_hubs_are_summed_like_others():
    sizes = {"num_entities": 500, "num_relations": 2, "hub_degree": 400, "num_walks": 150}
    assert_equal_to_reference(6, num_steps=2, num_controllers=1, num_hidden=1, normalize=True, **sizes)


@needs_gpu
def test_walks_done_in_parts_equal_walks_done_at_once():
    assert_equal_to_reference(
        7, num_steps=2, num_controllers=2, num_hidden=1, normalize=True, max_bytes=1, num_walks=300
    )


@needs_gpu
def test_double_precision_stays_double():
    assert_equal_to_reference(
        8, num_steps=3, num_controllers=1, num_hidden=2, normalize=True, dtype=torch.float64
    )


@needs_gpu
@pytest.mark.parametrize("num_walks", [1, 128, 300])
def test_scores_of_all_entities_equal_the_reference(num_walks):
    rng = np.random.default_rng(9)
    facts, operators = random_operators(rng)
    a, b = random_attention(rng, 2, 7, 2, operators.num_operators, torch.float32)
    walks = random_walks(rng, facts, operators, num_walks, 7, 1)
    want = ReferenceEngine(operators).scores(Attention(a, b), walks, normalize=True)
    engine = CudaEngine(operators, DEVICE, max_bytes=1)
    got = engine.scores(Attention(a.to(DEVICE), b.to(DEVICE)), walks, normalize=True)
    np.testing.assert_array_equal(got.offsets, want.offsets)
    np.testing.assert_array_equal(got.entities, want.entities)
    np.testing.assert_allclose(got.values, want.values, rtol=1e-5)


@needs_gpu
@pytest.mark.parametrize("max_bytes", [1, 1 << 30])
def test_gradients_in_inference_mode_equal_those_of_autograd(max_bytes):
    rng = np.random.default_rng(13)
    facts, operators = random_operators(rng)
    pair = [
        each.to(DEVICE) for each in random_attention(rng, 2, 7, 2, operators.num_operators, torch.float32)
    ]
    walks = random_walks(rng, facts, operators, 300, 7, 1)
    rows, entities = rng.integers(300, size=400), rng.integers(operators.num_entities, size=400)
    engine = CudaEngine(operators, DEVICE, max_bytes)
    given = Attention(*(each.clone().requires_grad_() for each in pair))
    ends = engine.pair_scores(given, walks, rows, entities, normalize=True)
    gradients = [torch.rand_like(each) for each in ends]
    wanted = *ends, *torch.autograd.grad(ends, given.pair, gradients)
    with torch.inference_mode():
        attention = Attention(*(each.clone() for each in pair))
        followed = score_attention(engine, attention, walks, rows, entities, normalize=True)
        found = followed.scores, followed.totals, *followed.backward(*(each.clone() for each in gradients))
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours, theirs.detach())


@needs_gpu
def test_memory_grows_with_the_walks_up_to_the_limit():
    _, operators = random_operators(np.random.default_rng(12))
    engine = CudaEngine(operators, DEVICE, max_bytes=1 << 20)
    few, more, many = (engine.bytes_needed(n, num_steps=2, num_controllers=1) for n in (128, 256, 10**6))
    assert 0 < 2 * few == more < many <= 1 << 20


@needs_gpu
def test_no_walks_give_no_scores():
    rng = np.random.default_rng(10)
    _, operators = random_operators(rng)
    a, b = (
        each.to(DEVICE) for each in random_attention(rng, 1, 7, 2, operators.num_operators, torch.float32)
    )
    none = np.zeros(0, dtype=np.int64)
    engine = CudaEngine(operators, DEVICE)
    pairs, sums = engine.pair_scores(
        Attention(a, b), QueryBatch.unmasked(none, none), none, none, normalize=True
    )
    assert len(pairs) == len(sums) == 0
    assert len(engine.scores(Attention(a, b), QueryBatch.unmasked(none, none), normalize=True)) == 0


@needs_gpu
def test_a_graph_without_facts_leaves_every_walk_where_it_starts():
    operators = Operators.of_facts(np.zeros((0, 3), dtype=np.int64), 5, 2)
    a, b = (
        each.to(DEVICE) for each in random_attention(np.random.default_rng(11), 1, 1, 2, 4, torch.float32)
    )
    walks = QueryBatch.unmasked(np.array([3]), np.array([0]))
    scores = CudaEngine(operators, DEVICE).scores(Attention(a, b), walks, normalize=True)
    assert scores.entities.tolist() == [3]


@pytest.mark.skipif(torch.cuda.is_available() or INTERPRETED, reason="a GPU is here")
def test_without_a_gpu_the_engine_says_what_to_do():
    with pytest.raises(ConfigError, match="another engine"):
        CudaEngine(Operators.of_facts(np.zeros((0, 3), dtype=np.int64), 5, 2))
