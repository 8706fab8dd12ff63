"""A long short-term memory that reads one input several times and then another."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


class LSTM(nn.Module):
    """The recurrent part of the controller (eq. 9).

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

    def forward(self, query: Tensor, end: Tensor, num_steps: int) -> Tensor:
        """Return the states (step, query, hidden) of reading `query` (query, input) T times, then `end`."""
        read = torch.cat([query, end.unsqueeze(0)])
        bias = self.input_bias + self.recurrent_bias
        states: Tensor = _Recurrence.apply(read, self.input, bias, self.recurrent, num_steps)  # type: ignore[no-untyped-call]
        return states


class _Recurrence(torch.autograd.Function):
    """The steps of the LSTM; gates stand in the order forget, write, show, candidate."""

    @staticmethod
    def forward(
        ctx: Any, read: Tensor, weights: Tensor, bias: Tensor, recurrent: Tensor, num_steps: int
    ) -> Tensor:
        """Return the states; the last row of `read` (query + 1, input) is END, read at step T + 1."""
        size = len(recurrent)
        projected = torch.addmm(bias, read, weights)
        query, end = projected[:-1], projected[-1:]
        gates = query.new_empty(num_steps + 1, len(query), 4, size)
        cells = query.new_zeros(num_steps + 2, len(query), size)
        states, squashed = torch.zeros_like(cells), torch.empty_like(cells[1:])
        for t, gate in enumerate(gates):
            _fill_gates(gate.flatten(1), query if t < num_steps else end, states[t], recurrent, first=t == 0)
            forget, write, show, candidate = gate.unbind(1)
            torch.mul(forget, cells[t], out=cells[t + 1]).addcmul_(write, candidate)
            torch.tanh(cells[t + 1], out=squashed[t])
            torch.mul(show, squashed[t], out=states[t + 1])
        ctx.save_for_backward(read, weights, recurrent, gates, cells, squashed, states)
        return states[1:]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, None]:
        """Return the gradients to what is read, to both weights and to the bias."""
        read, weights, recurrent, gates, cells, squashed, states = ctx.saved_tensors
        to_gates = _gates_back(gradient, recurrent, gates, cells, squashed).flatten(2)
        to_projected = torch.cat([to_gates[:-1].sum(0), to_gates[-1].sum(0, keepdim=True)])
        to_recurrent = states[1:-1].flatten(0, 1).T @ to_gates[1:].flatten(0, 1)
        to_read = to_projected @ weights.T
        return to_read, read.T @ to_projected, to_projected.sum(0), to_recurrent, None


def _fill_gates(gate: Tensor, projected: Tensor, state: Tensor, recurrent: Tensor, *, first: bool) -> None:
    """Fill one step's gates, squashed; there is no state before the first step."""
    if first:
        gate.copy_(projected)
    else:
        torch.addmm(projected, state, recurrent, out=gate)
    size = len(recurrent)
    gate[:, : 3 * size].sigmoid_()
    gate[:, 3 * size :].tanh_()


def _gates_back(
    gradient: Tensor, recurrent: Tensor, gates: Tensor, cells: Tensor, squashed: Tensor
) -> Tensor:
    """Return the gradients to all gates before their squashing, (step, query, gate, hidden)."""
    forget, write, show, candidate = gates.unbind(2)
    # Whatever does not wait for the step after is worked out for all steps at once.
    slopes = torch.addcmul(gates, gates, gates, value=-1)
    torch.addcmul(torch.ones_like(candidate), candidate, candidate, value=-1, out=slopes[:, :, 3])
    slopes *= torch.stack([cells[:-1], candidate, squashed, write], dim=2)
    shown = torch.addcmul(show, show * squashed, squashed, value=-1)
    to_gates = torch.empty_like(gates)
    to_state, to_cell = gradient[-1], torch.zeros_like(cells[0])
    for t in reversed(range(len(gates))):
        to_cell = torch.addcmul(to_cell, to_state, shown[t])
        torch.mul(slopes[t], to_cell.unsqueeze(1), out=to_gates[t])
        torch.mul(slopes[t, :, 2], to_state, out=to_gates[t, :, 2])
        if t:
            to_state = torch.addmm(gradient[t - 1], to_gates[t].flatten(1), recurrent.T)
            to_cell = to_cell * forget[t]
    return to_gates
