from dataclasses import replace

import numpy as np
import pytest
import torch

from neurallp import ConfigError
from neurallp.config import KINDS, WeightingConfig
from neurallp.datasets.family import family_knowledge_base
from neurallp.graph.knowledge_base import split_triples
from neurallp.pipeline.learn import weigh_rules
from neurallp.weighting.fitting import Weighting
from neurallp.weighting.fitting_gpu import GpuWeighting, GpuWorker
from neurallp.weighting.query_fit import Setting

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU is here")
DEVICES = ["cpu", pytest.param("cuda", marks=needs_gpu)]


@pytest.fixture(scope="module")
def split():
    return split_triples(family_knowledge_base(num_people=40, num_generations=3))


QUICK = WeightingConfig(
    max_length=2, num_candidates=20, num_pairs=40, min_steps=10, max_questions=60, thinning=False
)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "config",
    [
        replace(QUICK, masking="fact", max_rules=8),
        replace(QUICK, masking="pair", kinds=("chain",)),
        replace(QUICK, masking="both"),
        replace(QUICK, linked="exclude"),
        replace(QUICK, signs="any"),
        replace(QUICK, kinds=("prior",)),
        *(replace(QUICK, kinds=("prior", kind)) for kind in KINDS if kind != "prior"),
        replace(QUICK, kinds=tuple(KINDS), masking="both"),
    ],
    ids=lambda config: f"{config.masking} {' '.join(config.kinds)}",
)
def test_weights_learned_in_blocks_are_those_learned_question_by_question(split, config, device):
    expected = Weighting(split, config).run().queries
    found = GpuWeighting(split, config, device=device).run().queries
    assert found.keys() == expected.keys()
    for query, each in expected.items():
        assert found[query].rules == each.rules
        np.testing.assert_allclose(found[query].weights, each.weights, rtol=2e-2, atol=1e-3)
        np.testing.assert_allclose(found[query].confidences, each.confidences)


@pytest.mark.parametrize("device", DEVICES)
def test_dropout_leaves_out_the_same_rules(split, device):
    weighting = GpuWeighting(split, QUICK, device=device)
    with weighting._worker() as worker:
        query = weighting.queries[0]
        [rules] = worker.candidates(query)
        questions = worker.learning_questions(query)
        fits = [
            each._start(query, rules, (Setting(1e-3),), dropout)
            for dropout in (0.4, 0.0)
            for each in (worker, GpuWorker(weighting))
        ]
        for fit in fits:
            fit.learn(questions)
        np.testing.assert_allclose(fits[1].values, fits[0].values, rtol=2e-2, atol=1e-3)
        assert not np.allclose(fits[2].values, fits[0].values, rtol=2e-2, atol=1e-3)


@pytest.mark.parametrize("device", DEVICES)
def test_validation_ranks_are_the_same(split, device):
    loops = [
        [0, relation, 0] for relation in range(len(split.relations))
    ]  # the source is excluded: ranked last
    odd = replace(split, valid=np.concatenate([split.valid, loops]))
    weighting = GpuWeighting(odd, QUICK, device=device)
    with weighting._worker() as worker:
        for query in weighting.queries[:4]:
            found = worker.candidates(query)
            [by_question], [in_blocks] = worker.pilot(query, found), GpuWorker(weighting).pilot(query, found)
            np.testing.assert_array_equal(in_blocks.reciprocal_ranks, by_question.reciprocal_ranks)
            assert len(by_question.reciprocal_ranks) > 0


@pytest.mark.parametrize("device", DEVICES)
def test_a_run_is_repeated_bit_for_bit(split, device):
    first, second = (GpuWeighting(split, QUICK, device=device).run().queries for _ in range(2))
    for query, each in first.items():
        np.testing.assert_array_equal(second[query].weights, each.weights)


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here")
@pytest.mark.parametrize("kinds", [("chain",), ("unary",)])
def test_a_device_that_is_not_there_is_named_whatever_is_weighted(split, kinds):
    with pytest.raises(ConfigError, match="cuda"):
        weigh_rules(split, replace(QUICK, kinds=kinds), device="cuda")


@pytest.mark.parametrize("device", DEVICES)
def test_the_loss_without_each_rule_is_the_same(split, device):
    weighting = GpuWeighting(split, QUICK, device=device)
    with weighting._worker() as worker:
        for query in weighting.queries[:4]:
            [rules] = worker.candidates(query)
            questions = worker.learning_questions(query)
            fits = [each._start(query, rules, (Setting(1e-3),)) for each in (worker, GpuWorker(weighting))]
            fits[0].learn(questions)
            fits[1].values[:] = fits[0].values
            (expected, explained), (found, also_explained) = (fit.removal_losses(questions) for fit in fits)
            np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
            assert also_explained == pytest.approx(explained, rel=1e-3)
