"""A long short-term memory that reads one input several times and then another, forward and backward."""

from typing import NamedTuple

import torch
from torch import Tensor, nn


class Tape(NamedTuple):
    """What the steps leave for the way back; gates stand in the order forget, write, show, candidate."""

    read: Tensor  # (query + 1, input): the last row is END, read at step T + 1
    gates: Tensor  # (step, query, gate, hidden), squashed
    cells: Tensor  # (step + 1, query, hidden); the first is 0
    squashed: Tensor  # (step, query, hidden): tanh of the cells
    states: Tensor  # (step + 1, query, hidden); the first is 0


class LSTM(nn.Module):
    """The weights of the recurrent part of the controller (eq. 9).

    The query is the same at every step, so it is projected once, and the gradient is written out: torch's
    own LSTM takes twice as long at these sizes, most of it for keeping the books of many small operations.
    Starts with a forget bias of 1, as the authors' program does.
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        bound = hidden_size**-0.5
        self.input = nn.Parameter(torch.empty(input_size, 4 * hidden_size).uniform_(-bound, bound))
        self.recurrent = nn.Parameter(torch.empty(hidden_size, 4 * hidden_size).uniform_(-bound, bound))
        # Two biases that only ever add, as torch has them: Adam moves their sum twice as fast, which helps.
        self.input_bias = nn.Parameter(torch.zeros(4 * hidden_size))
        self.recurrent_bias = nn.Parameter(torch.zeros(4 * hidden_size))
        nn.init.ones_(self.input_bias.data[:hidden_size])

    @property
    def weights(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """What `take_steps` is given."""
        return self.input, self.recurrent, self.input_bias, self.recurrent_bias


def take_steps(read: Tensor, num_steps: int, weights: Tensor, recurrent: Tensor, *biases: Tensor) -> Tape:
    """Return the tape of reading each row of `read` T times, and then its last row, which is END."""
    projected = torch.addmm(biases[0] + biases[1], read, weights)
    query, end = projected[:-1], projected[-1:]
    size = len(recurrent)
    gates = query.new_empty(num_steps + 1, len(query), 4, size)
    cells = query.new_zeros(num_steps + 2, len(query), size)
    squashed, states = torch.empty_like(cells[1:]), torch.zeros_like(cells)
    cell, state = cells.unbind(), states.unbind()
    for t, (gate, flat, tanh) in enumerate(
        zip(gates.unbind(), gates.flatten(2).unbind(), squashed.unbind(), strict=True)
    ):
        if t == 0:  # there is no state before the first step
            flat.copy_(query)
        else:
            torch.addmm(query if t < num_steps else end, state[t], recurrent, out=flat)
        flat[:, : 3 * size].sigmoid_()
        flat[:, 3 * size :].tanh_()
        forget, write, show, candidate = gate.unbind(1)
        torch.mul(forget, cell[t], out=cell[t + 1]).addcmul_(write, candidate)
        torch.tanh(cell[t + 1], out=tanh)
        torch.mul(show, tanh, out=state[t + 1])
    return Tape(read, gates, cells, squashed, states)


def steps_back(tape: Tape, gradient: Tensor, weights: Tensor, recurrent: Tensor) -> tuple[Tensor, ...]:
    """Return the gradients to what is read, both weights and either bias, given those to all states."""
    to_gates = _gates_back(tape, gradient, recurrent).flatten(2)
    to_projected = torch.cat([to_gates[:-1].sum(0), to_gates[-1].sum(0, keepdim=True)])
    to_recurrent = tape.states[1:-1].flatten(0, 1).T @ to_gates[1:].flatten(0, 1)
    to_bias = to_projected.sum(0)
    return to_projected @ weights.T, tape.read.T @ to_projected, to_recurrent, to_bias, to_bias


def _gates_back(tape: Tape, gradient: Tensor, recurrent: Tensor) -> Tensor:
    """Return the gradients to all gates before their squashing, (step, query, gate, hidden)."""
    gates, squashed = tape.gates, tape.squashed
    forget, write, show, candidate = gates.unbind(2)
    # Whatever does not wait for the step after is worked out for all steps at once.
    gradients = torch.addcmul(gates, gates, gates, value=-1)
    torch.addcmul(torch.ones_like(candidate), candidate, candidate, value=-1, out=gradients[:, :, 3])
    gradients *= torch.stack([tape.cells[:-1], candidate, squashed, write], dim=2)
    shown = torch.addcmul(show, show * squashed, squashed, value=-1).unbind()
    to_gates = torch.empty_like(gates)
    to_state, to_cell = gradient[-1], torch.zeros_like(tape.cells[0])
    for t in reversed(range(len(gates))):
        to_cell = torch.addcmul(to_cell, to_state, shown[t])
        torch.mul(gradients[t], to_cell.unsqueeze(1), out=to_gates[t])
        torch.mul(gradients[t, :, 2], to_state, out=to_gates[t, :, 2])
        if t:
            to_state = torch.addmm(gradient[t - 1], to_gates[t].flatten(1), recurrent.T)
            to_cell = to_cell * forget[t]
    return to_gates
