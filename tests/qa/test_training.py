import numpy as np
import pytest
import torch

from neurallp.config import configure_questions
from neurallp.neural.optimizer import flatten
from neurallp.pipeline.questions import prepare_questions
from neurallp.qa.training import MAX_GRADIENT_NORM, QuestionBatches

SMALL = {"embedding_size": 16, "hidden_size": 16, "batch_size": 32}


@pytest.fixture
def training(cinema):
    """A run of training on a few questions, before its first epoch."""
    return run(cinema)


def run(cinema, **settings):
    return prepare_questions(cinema.kb, cinema.train[:100], *configure_questions(**SMALL | settings))


def first_batch(training):
    return next(training.examples.batches(np.random.default_rng(0)))


def mean_log_share(training, batch):
    """Return the loss computed from the scores of all entities, as a tensor of its graph."""
    model, num = training.model, len(training.engine.operators.offsets) - 1
    rows, entities = np.divmod(np.arange(len(batch) * num), num)
    scores, _ = model.pair_scores(training.engine, batch.sources, batch.phrases, rows, entities)
    shares = scores.reshape(len(batch), num)
    shares = shares / shares.sum(1, keepdim=True)
    right = [shares[row, batch.answers_of(row)].sum() for row in range(len(batch))]
    return -torch.stack([each for each in right if each > 1e-20]).log().mean()


def test_loss_and_gradient_are_those_of_the_right_answers_share_of_all_scores(training):
    training.model.eval()  # without word dropout both see the same words
    batch = first_batch(training)
    loss, gradient = training.loss_and_gradient(batch)
    want = mean_log_share(training, batch)
    wanted = flatten(torch.autograd.grad(want, training.optimizer.weights, materialize_grads=True))
    assert loss.item() == pytest.approx(want.item(), rel=1e-5)
    torch.testing.assert_close(gradient, wanted, rtol=1e-3, atol=1e-6)


def test_a_gradient_of_norm_above_5_is_scaled_down_to_it_and_a_smaller_one_kept(training, monkeypatch):
    def norm(factor):
        scored = type(training.model).pair_scores

        def scaled(model, *arguments):
            pairs, totals = scored(model, *arguments)
            return Scale.apply(pairs, factor), Scale.apply(totals, factor)

        with monkeypatch.context() as patch:
            patch.setattr(type(training.model), "pair_scores", scaled)
            return training.loss_and_gradient(first_batch(training))[1].norm().item()

    training.model.eval()
    assert norm(1e6) == pytest.approx(MAX_GRADIENT_NORM)
    assert norm(1e-3) == pytest.approx(norm(1e-6) * 1e3, rel=1e-4)


class Scale(torch.autograd.Function):
    """The identity, whose gradient is multiplied by a factor."""

    @staticmethod
    def forward(context, values, factor):
        context.factor = factor
        return values.clone()

    @staticmethod
    def backward(context, gradient):
        return context.factor * gradient, None


def test_an_epoch_has_every_example_once_in_batches(training):
    examples = training.examples.examples
    batches = list(training.examples.batches(np.random.default_rng(3)))
    assert len(batches) == training.examples.num_batches
    assert [len(batch) for batch in batches[:-1]] == [32] * (len(batches) - 1)
    seen = sorted((source, phrase.words) for batch in batches for source, phrase in pairs(batch))
    assert seen == sorted((source, phrase.words) for source, phrase in pairs(examples))


def pairs(examples):
    return zip(examples.sources.tolist(), examples.phrases, strict=True)


def test_the_order_of_batches_and_word_dropout_follow_the_generator(training):
    def draw(seed):
        batches = QuestionBatches(training.examples.examples, 8).batches(np.random.default_rng(seed))
        return next(batches).sources.tolist(), torch.rand(3).tolist()

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)


def test_validation_measures_hits_accuracy_and_the_best_threshold(training):
    (epoch,) = [epoch for epoch, _ in zip(training.epochs(), range(1), strict=False)]
    assert epoch.metrics.keys() == {"hits@1", "accuracy", "threshold"}
    assert 0 <= epoch.metrics["accuracy"] <= 1


def test_of_equal_epochs_the_last_is_the_best_but_patience_counts_from_the_first(cinema, monkeypatch):
    training = run(cinema, num_epochs=9, patience=2)
    same = {"hits@1": 0.5, "accuracy": 0.5, "threshold": 1.0}
    monkeypatch.setattr(training.validator, "validate", lambda model: dict(same))
    assert [epoch.is_best for epoch in training.epochs()] == [True, True, True]
    assert training.best_epoch.number == 3


def test_accuracy_decides_between_epochs_of_equal_hits(cinema, monkeypatch):
    training = run(cinema, num_epochs=3)
    found = iter([(0.5, 0.4), (0.5, 0.5), (0.4, 0.9)])
    names = ("hits@1", "accuracy")
    monkeypatch.setattr(
        training.validator, "validate", lambda model: dict(zip(names, next(found), strict=True))
    )
    assert [epoch.is_best for epoch in training.epochs()] == [True, True, False]
