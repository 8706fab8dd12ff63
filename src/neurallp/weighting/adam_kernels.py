"""The compiled loop that fits weights: a step of Adam within bounds for each batch of questions.

One call makes many steps, so that threads seldom hold Python's lock.
"""

from math import sqrt
from typing import NamedTuple

from ..graph.arrays import Flags, Floats, Ids
from ..graph.compilation import kernel, kernel_function
from .example_kernels import Buffer, DenseValues, Examples
from .fitting_kernels import Dropout, Parameters, batch_gradient

#: The share of the past in the running means of gradients and of their squares.
FIRST_DECAY, SECOND_DECAY = 0.9, 0.999

#: Added to the root of a running mean of squares, so that it can be divided by.
EPSILON = 1e-8

#: The share of the learning rate that is left for the last step.
LAST_RATE = 0.1


class AdamState(NamedTuple):
    """What steps read and write: all are (weight, setting), and `values` and `gradients` are the weights'."""

    values: Floats
    gradients: Floats
    first: Floats
    second: Floats
    lower: Floats
    upper: Floats
    penalties: Floats


class Schedule(NamedTuple):
    """The learning rate, the steps taken before, the steps in all, over which it falls, and the dropout."""

    rate: float
    num_steps: int
    total: int
    dropout: float


@kernel_function()
def _step(state: AdamState, rate: float, num_steps: int) -> None:
    """Take one step with the gradients as they are; `num_steps` counts it."""
    first_share, second_share = 1 - FIRST_DECAY**num_steps, 1 - SECOND_DECAY**num_steps
    for i in range(len(state.values)):
        for s in range(state.values.shape[1]):
            gradient = state.gradients[i, s] + state.penalties[i, s] * state.values[i, s]
            state.first[i, s] += (1 - FIRST_DECAY) * (gradient - state.first[i, s])
            state.second[i, s] += (1 - SECOND_DECAY) * (gradient * gradient - state.second[i, s])
            scale = sqrt(state.second[i, s] / second_share) + EPSILON
            value = state.values[i, s] - rate * state.first[i, s] / first_share / scale
            state.values[i, s] = min(max(value, state.lower[i, s]), state.upper[i, s])


@kernel()
def fit_batches(
    examples: Examples,
    order: Ids,
    batch_size: int,
    parameters: tuple[Parameters, Parameters],
    state: AdamState,
    schedule: Schedule,
    fitted: Flags,
    dense: DenseValues,
    buffer: Buffer,
) -> None:
    """Take a step for each batch of questions in an order.

    `parameters` are the values and the gradients of `state`, by rule; rules that are not `fitted` get none.
    """
    num_steps = schedule.num_steps
    for start in range(0, len(order), batch_size):
        batch = order[start : start + batch_size]
        dropout = Dropout(schedule.dropout, num_steps)
        batch_gradient(examples, batch, parameters[0], fitted, dense, dropout, buffer, parameters[1])
        num_steps += 1
        share = max(LAST_RATE, 1 - (1 - LAST_RATE) * num_steps / schedule.total)
        _step(state, schedule.rate * share, num_steps)
