"""An LSTM that reads the same input several times and then another one, with its backward pass."""

from typing import NamedTuple

import torch
from torch import Tensor, nn


class SavedActivations(NamedTuple):
    """The values of the forward pass that the backward pass needs.

    Gates are in the order forget, input, output, candidate.
    """

    inputs: Tensor  # (query + 1, input): the last row is END, the input of step T + 1
    gates: Tensor  # (step, query, gate, hidden), after sigmoid or tanh
    cells: Tensor  # (step + 1, query, hidden); the first is 0
    tanh_cells: Tensor  # (step, query, hidden)
    states: Tensor  # (step + 1, query, hidden); the first is 0


class LSTM(nn.Module):
    """The weights of the recurrent part of the controller (eq. 9).

    The query is the same at every step, so it is projected once, and the backward pass is written by hand:
    torch's own LSTM takes twice as long at these sizes, mostly for autograd's records of small operations.
    Starts with a forget bias of 1, as the authors' program does.
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        bound = hidden_size**-0.5
        self.input = nn.Parameter(torch.empty(input_size, 4 * hidden_size).uniform_(-bound, bound))
        self.recurrent = nn.Parameter(torch.empty(hidden_size, 4 * hidden_size).uniform_(-bound, bound))
        # Two biases whose sum is used, as in torch's LSTM: Adam moves the sum twice as fast, which helps.
        self.input_bias = nn.Parameter(torch.zeros(4 * hidden_size))
        self.recurrent_bias = nn.Parameter(torch.zeros(4 * hidden_size))
        nn.init.ones_(self.input_bias.data[:hidden_size])

    @property
    def weights(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The weights in the order in which `lstm_forward` takes them."""
        return self.input, self.recurrent, self.input_bias, self.recurrent_bias


def lstm_forward(
    inputs: Tensor, num_steps: int, weights: Tensor, recurrent: Tensor, *biases: Tensor
) -> SavedActivations:
    """Return the activations of T steps with each row of `inputs`, and a last step with its last row, END."""
    projected = torch.addmm(biases[0] + biases[1], inputs, weights)
    query, end = projected[:-1], projected[-1:]
    size = len(recurrent)
    gates = query.new_empty(num_steps + 1, len(query), 4, size)
    cells = query.new_zeros(num_steps + 2, len(query), size)
    tanh_cells, states = torch.empty_like(cells[1:]), torch.zeros_like(cells)
    cell, state = cells.unbind(), states.unbind()
    for t, (gate, flat, tanh_cell) in enumerate(
        zip(gates.unbind(), gates.flatten(2).unbind(), tanh_cells.unbind(), strict=True)
    ):
        if t == 0:  # the state before the first step is 0
            flat.copy_(query)
        else:
            torch.addmm(query if t < num_steps else end, state[t], recurrent, out=flat)
        flat[:, : 3 * size].sigmoid_()
        flat[:, 3 * size :].tanh_()
        forget, input_gate, output_gate, candidate = gate.unbind(1)
        torch.mul(forget, cell[t], out=cell[t + 1]).addcmul_(input_gate, candidate)
        torch.tanh(cell[t + 1], out=tanh_cell)
        torch.mul(output_gate, tanh_cell, out=state[t + 1])
    return SavedActivations(inputs, gates, cells, tanh_cells, states)


def lstm_backward(
    saved: SavedActivations, grad_states: Tensor, weights: Tensor, recurrent: Tensor
) -> tuple[Tensor, ...]:
    """Return the gradients of the inputs, both weights and each bias, given those of all states."""
    grad_gates = _gates_backward(saved, grad_states, recurrent).flatten(2)
    grad_projected = torch.cat([grad_gates[:-1].sum(0), grad_gates[-1].sum(0, keepdim=True)])
    grad_recurrent = saved.states[1:-1].flatten(0, 1).T @ grad_gates[1:].flatten(0, 1)
    grad_bias = grad_projected.sum(0)
    return (
        grad_projected @ weights.T,
        saved.inputs.T @ grad_projected,
        grad_recurrent,
        grad_bias,
        grad_bias,
    )


def _gates_backward(saved: SavedActivations, grad_states: Tensor, recurrent: Tensor) -> Tensor:
    """Return the gradients of all gates before sigmoid and tanh, (step, query, gate, hidden)."""
    gates, tanh_cells = saved.gates, saved.tanh_cells
    forget, input_gate, output_gate, candidate = gates.unbind(2)
    # The factors that do not depend on the step after are computed for all steps at once.
    factors = torch.addcmul(gates, gates, gates, value=-1)
    torch.addcmul(torch.ones_like(candidate), candidate, candidate, value=-1, out=factors[:, :, 3])
    factors *= torch.stack([saved.cells[:-1], candidate, tanh_cells, input_gate], dim=2)
    state_to_cell = torch.addcmul(output_gate, output_gate * tanh_cells, tanh_cells, value=-1).unbind()
    grad_gates = torch.empty_like(gates)
    grad_state, grad_cell = grad_states[-1], torch.zeros_like(saved.cells[0])
    for t in reversed(range(len(gates))):
        grad_cell = torch.addcmul(grad_cell, grad_state, state_to_cell[t])
        torch.mul(factors[t], grad_cell.unsqueeze(1), out=grad_gates[t])
        torch.mul(factors[t, :, 2], grad_state, out=grad_gates[t, :, 2])
        if t:
            grad_state = torch.addmm(grad_states[t - 1], grad_gates[t].flatten(1), recurrent.T)
            grad_cell = grad_cell * forget[t]
    return grad_gates
