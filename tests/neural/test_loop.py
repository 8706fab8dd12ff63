"""The training loop by itself, on a model of one weight."""

import numpy as np
import pytest
import torch
from torch import nn

from neurallp import ConfigError
from neurallp.config import TrainingConfig
from neurallp.neural.loop import TrainingLoop


class Numbers:
    """Examples that are plain numbers, each a batch of its own."""

    num_batches = 4

    def batches(self, rng):
        return iter(rng.permutation(self.num_batches).tolist())


class Given:
    """A validator with metrics given in advance."""

    selected_by = ("first", "second")

    def __init__(self, metrics, prefers_later=False):
        self.metrics, self.prefers_later = iter(metrics), prefers_later

    def validate(self, model):
        return dict(zip(self.selected_by, next(self.metrics), strict=False))


class Loop(TrainingLoop):
    def loss_and_gradient(self, batch):
        seen.append(batch)
        return torch.tensor(float(batch)), torch.full_like(self.optimizer.flat_parameters, self.slope)


seen: list[int] = []


def loop(metrics, slope=1.0, prefers_later=False, **settings):
    seen.clear()
    made = Loop(nn.Linear(1, 1), Numbers(), Given(metrics, prefers_later), TrainingConfig(**settings))
    made.slope = slope
    return made


def test_the_loss_of_an_epoch_is_the_mean_over_its_batches():
    training = loop([(1, 0)], num_epochs=1)
    (epoch,) = training.epochs()
    assert sorted(seen) == [0, 1, 2, 3]
    assert epoch.loss == np.mean(seen)
    assert epoch.metrics == {"first": 1, "second": 0}


def test_epochs_are_compared_by_the_first_metric_and_then_by_the_second():
    training = loop([(1, 5), (1, 6), (2, 0), (2, 0)], num_epochs=4)
    assert [epoch.is_best for epoch in training.epochs()] == [True, True, True, False]
    assert training.best_epoch.number == 3


def test_of_equal_epochs_the_later_one_is_kept_if_the_validator_prefers_it_but_patience_still_ends():
    training = loop([(1, 1)] * 9, num_epochs=9, patience=2, prefers_later=True)
    assert [epoch.is_best for epoch in training.epochs()] == [True, True, True]
    assert training.best_epoch.number == 3


def test_without_metrics_all_epochs_run_and_the_last_is_the_best():
    training = loop([()] * 5, num_epochs=5, patience=1)
    assert [epoch.is_best for epoch in training.epochs()] == [True] * 5


@pytest.mark.parametrize("slope", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_end_training(slope):
    with pytest.raises(ConfigError, match=r"diverged in epoch 1.*learning_rate below 0\.5"):
        list(loop([(1, 1)], slope, num_epochs=1, learning_rate=0.5).epochs())


def test_a_resumed_loop_shows_the_batches_in_the_order_of_an_uninterrupted_one():
    whole = loop([(1, 1)] * 2, num_epochs=2)
    list(whole.epochs())
    order = seen[4:]
    first = loop([(1, 1)], num_epochs=1)
    list(first.epochs())
    second = loop([(1, 1)], num_epochs=2)
    second.restore(first.state(), first.history)
    list(second.epochs())
    assert seen == order
