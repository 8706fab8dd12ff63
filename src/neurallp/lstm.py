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
        """Return the states (query, step, hidden) of reading `query` (query, input) T times, then `end`."""
        projected = torch.addmm(
            self.input_bias + self.recurrent_bias, torch.cat([query, end.unsqueeze(0)]), self.input
        )
        states: Tensor = _Recurrence.apply(projected, self.recurrent, num_steps)  # type: ignore[no-untyped-call]
        return states


class _Recurrence(torch.autograd.Function):
    """The steps of the LSTM; gates stand in the order forget, input, output, candidate."""

    @staticmethod
    def forward(ctx: Any, projected: Tensor, recurrent: Tensor, num_steps: int) -> Tensor:
        """Return the states; the last row of `projected` (query + 1, gates) is END, read at step T + 1."""
        query, end = projected[:-1], projected[-1:]
        size = len(recurrent)
        gates = query.new_empty(num_steps + 1, *query.shape)
        cells = query.new_zeros(num_steps + 2, len(query), size)
        states = torch.zeros_like(cells)
        for t, gate in enumerate(gates):
            torch.addmm(query if t < num_steps else end, states[t], recurrent, out=gate)
            gate[:, : 3 * size].sigmoid_()
            gate[:, 3 * size :].tanh_()
            forget, write, show, candidate = gate.chunk(4, dim=1)
            torch.addcmul(forget * cells[t], write, candidate, out=cells[t + 1])
            torch.mul(show, cells[t + 1].tanh(), out=states[t + 1])
        ctx.save_for_backward(gates, cells, states, recurrent)
        return states[1:].transpose(0, 1).contiguous()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        """Return the gradients to the projected inputs and to the recurrent weights."""
        gates, cells, states, recurrent = ctx.saved_tensors
        to_gates = torch.empty_like(gates)
        to_cell, to_state = torch.zeros_like(cells[0]), torch.zeros_like(cells[0])
        for t in reversed(range(len(gates))):
            to_state = to_state + gradient[:, t]
            to_cell = _step_back(gates[t], cells[t], cells[t + 1], to_state, to_cell, to_gates[t])
            to_state = to_gates[t] @ recurrent.T
        to_query = torch.cat([to_gates[:-1].sum(0), to_gates[-1].sum(0, keepdim=True)])
        to_recurrent = states[:-1].flatten(0, 1).T @ to_gates.flatten(0, 1)
        return to_query, to_recurrent, None


def _step_back(
    gate: Tensor, before: Tensor, cell: Tensor, to_state: Tensor, to_cell: Tensor, to_gate: Tensor
) -> Tensor:
    """Fill the gradient to one step's gates, before their squashing; return that to the cell before."""
    forget, write, show, candidate = gate.chunk(4, dim=1)
    squashed = cell.tanh()
    to_cell = torch.addcmul(to_cell, to_state * show, 1 - squashed * squashed)
    parts = (to_cell * before, to_cell * candidate, to_state * squashed, to_cell * write)
    torch.cat(parts, dim=1, out=to_gate)
    size = cell.shape[1]
    sigmoids = gate[:, : 3 * size]
    to_gate[:, : 3 * size] *= sigmoids * (1 - sigmoids)
    to_gate[:, 3 * size :] *= 1 - candidate * candidate
    return to_cell * forget
