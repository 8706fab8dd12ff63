"""Every engine equals the oracle, and so each other: scores, totals and gradients."""

import numpy as np
import oracle
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from neurallp import ConfigError
from neurallp.controller.attention import Attention
from neurallp.engines import cpu as cpu_module
from neurallp.engines import make_engine
from neurallp.engines.base import QueryBatch
from neurallp.engines.cpu import CpuEngine
from neurallp.engines.cpu_kernels import score_chunk
from neurallp.engines.reference import ReferenceEngine
from neurallp.graph.operators import Operators

few = settings(max_examples=40, deadline=None)
ENGINES = {"reference": ReferenceEngine, "cpu": CpuEngine}
each_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)


class Case:
    """A random graph with multi-edges, self-loops and isolated entities, and walks that hide facts on it."""

    def __init__(self, seed, num_steps=2, num_controllers=1, dtype=torch.float64):
        rng = np.random.default_rng(seed)
        self.num_entities, num_relations, num_facts = (
            rng.integers(4, 12),
            rng.integers(1, 4),
            rng.integers(3, 40),
        )
        linked = self.num_entities - 1
        drawn = [rng.integers(size, size=num_facts) for size in (linked, num_relations, linked)]
        loops = [[0, r, 0] for r in range(num_relations)]
        parallel = [[0, r, 1] for r in range(num_relations)]
        self.facts = np.unique(np.concatenate([np.stack(drawn, 1), loops, parallel]), axis=0)
        self.operators = Operators.of_facts(self.facts, int(self.num_entities), int(num_relations))
        self.attention = random_attention(rng, num_controllers, 3, num_steps, 2 * num_relations, dtype)
        self.batch = self._batch(rng, num_queries=20)
        self.rows = rng.integers(20, size=30)
        self.entities = rng.integers(self.num_entities, size=30)
        self.gradients = [torch.tensor(rng.normal(size=size), dtype=dtype) for size in (30, 20)]

    def _batch(self, rng, num_queries):
        asked = self.facts[rng.integers(len(self.facts), size=num_queries)]
        sources = np.where(
            rng.random(num_queries) < 0.7, asked[:, 0], rng.integers(self.num_entities, size=num_queries)
        )
        return QueryBatch.masked(sources, rng.integers(3, size=num_queries), self.operators.edges_of(asked))

    def results(self, engine, normalize):
        """Return pair scores, totals, gradients to both attentions, and all scores."""
        scores, totals = engine.pair_scores(
            self.attention, self.batch, self.rows, self.entities, normalize=normalize
        )
        weighted = sum(
            (given * each).sum() for given, each in zip(self.gradients, (scores, totals), strict=True)
        )
        everything = engine.scores(self.attention, self.batch, normalize=normalize).dense()
        gradients = torch.autograd.grad(weighted, self.attention.pair)
        return [scores.detach(), totals.detach(), *gradients, torch.tensor(everything)]

    def oracle_scores(self, walk, normalize):
        """Return the dense scores of one walk, every chain enumerated."""
        hidden_from, hidden = self.batch.masked_pairs
        kept = np.delete(np.arange(self.operators.num_edges), hidden[hidden_from == walk])
        edges = [
            (int(self.operators.sources[e]), int(self.operators.operators[e]), int(self.operators.targets[e]))
            for e in kept
        ]
        scores = np.zeros(self.num_entities)
        row = self.batch.rows[walk]
        for a, b in zip(*(each[:, row].tolist() for each in self.attention.pair), strict=True):
            found = oracle.score(edges, a, b, int(self.batch.sources[walk]), normalize)
            scores[list(found)] += list(found.values())
        return scores


def random_attention(rng, num_controllers, num_queries, num_steps, num_operators, dtype):
    operator = rng.random((num_controllers, num_queries, num_steps, num_operators)) + 0.01
    memory = np.tril(rng.random((num_controllers, num_queries, num_steps + 1, num_steps + 1)) + 0.01)
    tensors = (torch.tensor(each / each.sum(-1, keepdims=True), dtype=dtype) for each in (operator, memory))
    return Attention(*(tensor.requires_grad_() for tensor in tensors))


cases = {"seed": st.integers(0, 10**6), "num_controllers": st.integers(1, 2), "normalize": st.booleans()}


@each_engine
@few
@given(**cases, num_steps=st.integers(1, 3))
def test_scores_equal_the_sum_over_all_chains(engine, seed, num_steps, num_controllers, normalize):
    case = Case(seed, num_steps, num_controllers)
    scores = engine(case.operators).scores(case.attention, case.batch, normalize=normalize).dense()
    for walk in range(2):
        np.testing.assert_allclose(scores[walk], case.oracle_scores(walk, normalize), rtol=1e-10)


@each_engine
def test_chains_of_four_steps_are_summed_too(engine):
    case = Case(7, num_steps=4)
    scores = engine(case.operators).scores(case.attention, case.batch[:1], normalize=True).dense()
    np.testing.assert_allclose(scores[0], case.oracle_scores(0, True), rtol=1e-10)


@few
@given(**cases, num_steps=st.integers(1, 4))
def test_engines_agree_on_scores_totals_and_gradients(seed, num_steps, num_controllers, normalize):
    case = Case(seed, num_steps, num_controllers)
    expected = case.results(ReferenceEngine(case.operators), normalize)
    for found, wanted in zip(case.results(CpuEngine(case.operators), normalize), expected, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-12)


@few
@given(**cases, num_steps=st.integers(1, 4))
def test_single_precision_stays_within_a_hundred_thousandth(seed, num_steps, num_controllers, normalize):
    exact, single = (
        Case(seed, num_steps, num_controllers),
        Case(seed, num_steps, num_controllers, dtype=torch.float32),
    )
    expected = exact.results(ReferenceEngine(exact.operators), normalize)
    for found, wanted in zip(single.results(CpuEngine(single.operators), normalize), expected, strict=True):
        assert found.dtype == torch.float32
        assert float((found - wanted).abs().max()) <= 1e-5 * max(1e-3, float(wanted.abs().max()))


def assert_cpu_equals_reference(case, normalize=True, through=None):
    """Compare results; `through` multiplies the gradients to both attentions first."""
    found, wanted = (case.results(make(case.operators), normalize) for make in (CpuEngine, ReferenceEngine))
    for results in (found, wanted):
        results[2:4] = [a * b for a, b in zip(results[2:4], through or (1.0, 1.0), strict=True)]
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("output", [0, 1])
@few
@given(**cases, num_steps=st.integers(1, 4))
def test_one_answer_for_each_walk_or_its_total_alone_gets_the_same_gradients(
    output, seed, num_steps, num_controllers, normalize
):
    case, rng = Case(seed, num_steps, num_controllers), np.random.default_rng(seed)
    rows, entities = rng.permutation(20), case.entities[:20]
    found, wanted = (
        torch.autograd.grad(
            make(case.operators).pair_scores(case.attention, case.batch, rows, entities, normalize=normalize)[
                output
            ],
            case.attention.pair,
            case.gradients[1],
        )
        for make in (CpuEngine, ReferenceEngine)
    )
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("num_hidden", [2, 5, 30])
def test_any_number_of_facts_can_be_hidden_from_one_walk(num_hidden):
    case, rng = Case(11, num_steps=3), np.random.default_rng(0)
    asked = np.stack([rng.permutation(len(case.facts))[:num_hidden] for _ in range(20)])
    edges = case.operators.edges_of(case.facts[asked].reshape(-1, 3)).reshape(20, -1)
    case.batch = QueryBatch.masked(case.batch.sources, case.batch.rows, edges)
    assert_cpu_equals_reference(case)


@few
@given(**cases, num_steps=st.integers(1, 4))
def test_attention_of_exactly_zero_gets_the_gradients_that_softmax_lets_through(
    seed, num_steps, num_controllers, normalize
):
    case, rng = Case(seed, num_steps, num_controllers), np.random.default_rng(seed)
    kept = [torch.tensor(rng.integers(2, size=each.shape)) for each in case.attention.pair]
    some = [(each * keep).detach() for each, keep in zip(case.attention.pair, kept, strict=True)]
    case.attention = Attention(*(each.clone().requires_grad_() for each in some))
    assert_cpu_equals_reference(case, normalize, through=some)


@pytest.mark.parametrize("num_steps", [1, 2])
def test_a_memory_too_faint_to_be_divided_by_its_sum_gets_the_same_gradients(num_steps):
    case = Case(2, num_steps)
    faint = torch.full_like(case.attention.operator, 1e-22).requires_grad_()
    case.attention = Attention(faint, case.attention.memory)
    assert_cpu_equals_reference(case)


@each_engine
@pytest.mark.parametrize("normalize", [False, True])
def test_gradients_pass_the_finite_difference_check(engine, normalize):
    case = Case(3, num_steps=3, num_controllers=2)
    scorer = engine(case.operators)

    def outputs(operator, memory):
        attention = Attention(operator, memory)
        return scorer.pair_scores(attention, case.batch, case.rows, case.entities, normalize=normalize)

    assert torch.autograd.gradcheck(outputs, case.attention.pair)


def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    monkeypatch.setattr(cpu_module, "CHUNK", 3)
    monkeypatch.setattr(cpu_module, "MIN_PARALLEL_SECONDS", 0.0)
    case = Case(5, num_steps=3, dtype=torch.float32)
    one, two, three = (case.results(CpuEngine(case.operators, n), True) for n in (1, 2, 3))
    assert all(torch.equal(a, b) and torch.equal(a, c) for a, b, c in zip(one, two, three, strict=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_training_and_ranking_are_served_by_one_compiled_kernel(dtype):
    case = Case(3, dtype=dtype)
    engine = CpuEngine(case.operators)
    case.results(engine, normalize=True)
    ends = engine.pair_scores(case.attention, case.batch, case.rows, case.entities, normalize=True)
    torch.autograd.grad(sum(each.sum() for each in ends), case.attention.pair)  # ones that share one place
    # Another type of any argument would be compiled for again, in front of a waiting user.
    assert len(score_chunk.dispatcher.signatures) == 1


def test_gradients_in_parts_equal_gradients_at_once(monkeypatch):
    case = Case(5, num_steps=2)
    at_once = case.results(CpuEngine(case.operators), True)
    monkeypatch.setattr(cpu_module, "MAX_GRADIENT_BYTES", 1)
    monkeypatch.setattr(cpu_module, "CHUNK", 3)
    in_parts = case.results(CpuEngine(case.operators), True)
    assert all(torch.equal(a, b) for a, b in zip(at_once, in_parts, strict=True))


@each_engine
@pytest.mark.parametrize("normalize", [False, True])
def test_what_only_a_hidden_fact_leads_to_scores_exactly_zero(engine, normalize):
    facts = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 2], [3, 0, 3]])
    operators = Operators.of_facts(facts, 5, 2)
    attention = random_attention(np.random.default_rng(0), 1, 1, 3, 4, torch.float32)
    hidden = operators.edges_of(facts[:2]).reshape(1, -1)
    walks = QueryBatch.masked(np.array([0]), np.array([0]), hidden)
    scorer = engine(operators)
    scores, _ = scorer.pair_scores(attention, walks, np.zeros(4, int), np.arange(1, 5), normalize=normalize)
    assert scores.tolist() == [0.0] * 4
    assert scorer.scores(attention, walks, normalize=normalize).entities.tolist() == [0]
    scores.sum().backward()
    assert all(torch.isfinite(each.grad).all() for each in attention.pair)


@each_engine
def test_hiding_leaves_no_trace_for_the_next_walk(engine):
    case = Case(11)
    scorer = engine(case.operators)
    free = QueryBatch.unmasked(case.batch.sources, case.batch.rows)
    before = scorer.scores(case.attention, free, normalize=True).dense()
    case.results(scorer, True)
    assert np.array_equal(before, scorer.scores(case.attention, free, normalize=True).dense())


@each_engine
def test_renaming_entities_permutes_scores(engine):
    case = Case(13, num_steps=3)
    places = np.random.default_rng(0).permutation(case.num_entities)
    renamed = case.facts.copy()
    renamed[:, [0, 2]] = places[case.facts[:, [0, 2]]]
    operators = Operators.of_facts(renamed, int(case.num_entities), case.operators.num_relations)
    walks, moved = (
        QueryBatch.unmasked(each, case.batch.rows)
        for each in (case.batch.sources, places[case.batch.sources])
    )
    scores = engine(case.operators).scores(case.attention, walks, normalize=True).dense()
    permuted = engine(operators).scores(case.attention, moved, normalize=True).dense()
    np.testing.assert_allclose(permuted[:, places], scores, rtol=1e-12)


@each_engine
def test_a_longer_training_batch_needs_more_memory(engine):
    scorer = engine(Case(1).operators)
    sizes = [scorer.bytes_needed(n, num_steps=2, num_controllers=1) for n in (64, 1024)]
    assert 0 < sizes[0] < sizes[1]


def test_the_engine_is_chosen_by_name():
    operators = Case(1).operators
    assert isinstance(make_engine("auto", operators), CpuEngine)
    assert isinstance(make_engine("reference", operators), ReferenceEngine)
    with pytest.raises(ConfigError, match="must be one of auto, cuda, cpu, reference"):
        make_engine("abacus", operators)
    with pytest.raises(ConfigError, match="cannot run on 'cuda'"):
        make_engine("cpu", operators, "cuda")
