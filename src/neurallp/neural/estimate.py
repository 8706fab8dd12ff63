"""Estimates of the time and memory that training will take, measured on a few batches."""

import os
import sys
from dataclasses import dataclass
from itertools import islice
from time import perf_counter

import numpy as np
import torch

from ..errors import ConfigError
from .training import Training, one_torch_thread

#: Batches and validation questions that are timed.
SAMPLE_BATCHES = 8
SAMPLE_QUESTIONS = 256


@dataclass(frozen=True)
class Estimate:
    """Seconds for an epoch and bytes at the peak, both measured on a few batches."""

    seconds_per_epoch: float
    num_epochs: int
    num_bytes: int

    def __str__(self) -> str:
        each, most = self.seconds_per_epoch, self.seconds_per_epoch * self.num_epochs
        return (
            f"About {each:.3g} s an epoch, {most:,.0f} s for all {self.num_epochs}, "
            f"and {self.num_bytes / 2**20:,.0f} MiB of memory."
        )


def estimate(training: Training) -> Estimate:
    """Return the estimate for a training run; raise if it does not fit in memory."""
    device = next(training.model.parameters()).device
    num_bytes = training_bytes(training)
    require_memory(num_bytes, device)
    with one_torch_thread():
        seconds = _time_batches(training) + _time_validation(training)
    if device.type == "cpu":
        num_bytes = max(num_bytes, _peak_bytes())
    return Estimate(seconds, training.config.num_epochs, num_bytes)


def _peak_bytes() -> int:
    """Return the peak memory of this process, which includes the batches just timed."""
    if sys.platform == "win32":
        return 0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _time_batches(training: Training) -> float:
    """Return the seconds of all batches, extrapolated from a few; the weights do not change."""
    batches = list(islice(training.examples.batches(np.random.default_rng(0)), SAMPLE_BATCHES + 1))
    training.loss_and_gradients(batches[0])  # the first call compiles and allocates
    started = perf_counter()
    for batch in batches[1:] or batches:
        training.loss_and_gradients(batch)
    return (perf_counter() - started) / max(1, len(batches) - 1) * training.examples.num_batches


def _time_validation(training: Training) -> float:
    """Return the seconds of all validation questions, extrapolated from a random sample."""
    validator = training.validator
    if not len(validator.questions):
        return 0.0
    validator.evaluate(training.model, validator.questions[:1])
    rows = np.random.default_rng(0).permutation(len(validator.questions))[:SAMPLE_QUESTIONS]
    started = perf_counter()
    validator.evaluate(training.model, validator.questions[rows])
    return (perf_counter() - started) / len(rows) * len(validator.questions)


def training_bytes(training: Training) -> int:
    """Return the peak bytes of training: weights, gradients and moments, and the memory of the engine."""
    weights = 4 * sum(tensor.numel() * tensor.element_size() for tensor in training.model.parameters())
    config = training.model.config
    num_queries = training.examples.num_questions
    held = training.engine.bytes_needed(
        num_queries, num_steps=config.num_steps, num_controllers=config.num_controllers
    )
    return weights + held


def require_memory(num_bytes: int, device: torch.device) -> None:
    """Raise if the device has less memory than needed."""
    there = _device_bytes(device)
    if num_bytes > there:
        raise ConfigError(
            f"Training would take about {num_bytes / 2**30:.1f} GiB, the device has {there / 2**30:.1f} GiB. "
            "Use --engine cpu, a smaller --batch-size, or fewer --steps or --ranks."
        )


def _device_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[1]
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
