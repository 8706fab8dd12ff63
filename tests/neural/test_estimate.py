import numpy as np
import pytest
import torch

from neurallp import ConfigError
from neurallp.config import configure
from neurallp.datasets.family import family_knowledge_base
from neurallp.neural.estimate import Estimate, estimate, require_memory
from neurallp.pipeline.learn import prepare


@pytest.fixture(scope="module")
def training():
    return prepare(family_knowledge_base(60, 3), *configure(num_epochs=3))


def test_an_estimate_tells_time_and_memory(training):
    found = estimate(training)
    assert found.seconds_per_epoch > 0
    assert found.num_epochs == 3
    assert found.num_bytes > 50 * 2**20  # Python with torch holds as much before it begins


def test_estimating_leaves_the_model_as_it_was(training):
    before = [tensor.clone() for tensor in training.model.parameters()]
    estimate(training)
    assert all(torch.equal(a, b) for a, b in zip(before, training.model.parameters(), strict=True))


def test_the_estimated_seconds_are_within_a_small_factor_of_an_epoch(training):
    expected = estimate(training).seconds_per_epoch
    (taken,) = [epoch.seconds for epoch, _ in zip(training.epochs(), range(1), strict=False)]
    # A factor of two is the promise; shared cores can double either side.
    assert expected / 6 < taken < 6 * expected


def test_more_than_there_is_is_refused_with_what_to_change():
    with pytest.raises(ConfigError, match=r"GiB.*smaller --batch-size"):
        require_memory(np.iinfo(np.int64).max, torch.device("cpu"))


def test_an_estimate_reads_as_a_sentence():
    assert (
        str(Estimate(1.25, 20, 2**30)) == "About 1.25 s an epoch, 25 s for all 20, and 1,024 MiB of memory."
    )
