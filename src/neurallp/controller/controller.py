"""The recurrent controller: reads a query, says which operators and memories to use (eqs. 9-11)."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from ..config import MemoryKeys
from .attention import Attention
from .lstm import LSTM, Tape, steps_back, take_steps

Attended = tuple[Tensor, Tensor, Tape]  # attention (step, query, operator) and (query, step, slot)
Back = Callable[[Tensor, Tensor], tuple[Tensor, ...]]  # from gradients to both attentions


class Controller(nn.Module):
    """An LSTM that reads the query T times and then END; never sees an entity."""

    def __init__(self, input_size: int, hidden_size: int, num_operators: int, num_steps: int) -> None:
        super().__init__()
        self.num_steps = num_steps
        self.end = nn.Parameter(nn.functional.normalize(torch.randn(input_size), dim=0))
        self.lstm = LSTM(input_size, hidden_size)
        self.operator = nn.Linear(hidden_size, num_operators)
        nn.init.normal_(self.operator.weight)
        nn.init.zeros_(self.operator.bias)

    def forward(self, query: Tensor, allowed: Tensor | None, keys: MemoryKeys) -> tuple[Tensor, Tensor]:
        """Return a_t (query, step, operator) and b_t (query, step, slot) for queries (query, input)."""
        attention: tuple[Tensor, Tensor] = _Attend.apply(allowed, keys, self.num_steps, query, *self.weights)  # type: ignore[no-untyped-call]
        return attention

    def read(self, query: Tensor, allowed: Tensor | None, keys: MemoryKeys) -> tuple[Attended, Back]:
        """Return both attentions, nothing told to autograd, and the way back to the query and all weights."""
        weights = self.weights
        attended = _attend(allowed, keys, self.num_steps, query, *weights)
        return attended, partial(_attend_back, keys, weights, attended)

    @property
    def weights(self) -> tuple[Tensor, ...]:
        """All weights, in the order of `parameters`."""
        return self.end, *self.lstm.weights, self.operator.weight, self.operator.bias


class _Attend(torch.autograd.Function):
    """Eqs. 9 to 11 in one piece: recording an operation for the way back would cost more than doing it."""

    @staticmethod
    def forward(
        ctx: Any, allowed: Tensor | None, keys: MemoryKeys, num_steps: int, query: Tensor, *weights: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return both attentions."""
        operator, memory, tape = _attend(allowed, keys, num_steps, query, *weights)
        ctx.keys = keys
        ctx.save_for_backward(*weights, operator, memory, *tape)
        return operator.transpose(0, 1), memory

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, to_operator: Tensor, to_memory: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients to the query and all weights."""
        weights, (operator, memory, *tape) = ctx.saved_tensors[:7], ctx.saved_tensors[7:]
        attended = operator, memory, Tape(*tape)
        return None, None, None, *_attend_back(ctx.keys, weights, attended, to_operator, to_memory)


def _attend(
    allowed: Tensor | None,
    keys: MemoryKeys,
    num_steps: int,
    query: Tensor,
    end: Tensor,
    *weights: Tensor,
) -> Attended:
    """Return both attentions and what the way back needs; weights in the order of the module's."""
    *lstm, weight, bias = weights
    tape = take_steps(torch.cat([query, end.unsqueeze(0)]), num_steps, *lstm)
    operator = _attend_operators(tape.states[1:-1], weight, bias, allowed)
    return operator, _attend_memories(tape.states[1:].transpose(0, 1), keys), tape


def _attend_back(
    keys: MemoryKeys, weights: Sequence[Tensor], attended: Attended, to_operator: Tensor, to_memory: Tensor
) -> tuple[Tensor, ...]:
    """Return the gradients to the query and to all weights."""
    _, *lstm, _, _, weight, _ = weights
    operator, memory, tape = attended
    states = tape.states
    to_logits = _softmax_back(operator, to_operator.transpose(0, 1)).flatten(0, 1)
    to_states = _memories_back(memory, to_memory, states[1:].transpose(0, 1), keys).transpose(0, 1)
    to_states[:-1] += (to_logits @ weight).view_as(states[1:-1])
    to_weight = to_logits.T @ states[1:-1].flatten(0, 1)
    to_read, *to_lstm = steps_back(tape, to_states, *lstm)
    return to_read[:-1], to_read[-1], *to_lstm, to_weight, to_logits.sum(0)


def _attend_operators(hidden: Tensor, weight: Tensor, bias: Tensor, allowed: Tensor | None) -> Tensor:
    """Return a_t = softmax(W h_t + b), over the allowed operators only (eq. 10); (step, query, operator)."""
    logits = nn.functional.linear(hidden, weight, bias)
    if allowed is not None:
        logits = logits.masked_fill(~allowed, float("-inf"))
    return logits.softmax(-1)


def _attend_memories(hidden: Tensor, keys: MemoryKeys) -> Tensor:
    """Return b_t = softmax([h_0 … h_{t-1}]^T h_t), 0 for slots that do not exist yet (eq. 11)."""
    logits = hidden @ hidden.mT
    if keys == "previous":  # the first key is h_0 = 0, and every other one place further on
        logits = nn.functional.pad(logits[:, :, :-1], (1, 0))
    future = logits.new_full(logits.shape[1:], float("-inf")).triu(1)
    return (logits + future).softmax(-1)


def _memories_back(memory: Tensor, gradient: Tensor, hidden: Tensor, keys: MemoryKeys) -> Tensor:
    """Return the gradient to the states, (query, step, hidden), which are both asked and keys."""
    to_logits = _softmax_back(memory, gradient)
    if keys == "previous":
        to_logits = nn.functional.pad(to_logits[:, :, 1:], (0, 1))
    return (to_logits + to_logits.mT) @ hidden


def _softmax_back(output: Tensor, gradient: Tensor) -> Tensor:
    return output * (gradient - (output * gradient).sum(-1, keepdim=True))


class RelationController(nn.Module):
    """Attention for queries that are relations: one embedding, `num_controllers` controllers side by side."""

    allowed: Tensor | None

    def __init__(
        self,
        num_operators: int,
        *,
        num_steps: int,
        num_controllers: int,
        embedding_size: int,
        hidden_size: int,
        memory_keys: MemoryKeys,
        allowed: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.memory_keys: MemoryKeys = memory_keys
        self.embedding = nn.Embedding(num_operators, embedding_size)
        nn.init.normal_(self.embedding.weight)
        self.embedding.weight.data = nn.functional.normalize(self.embedding.weight.data)
        self.controllers = nn.ModuleList(
            Controller(embedding_size, hidden_size, num_operators, num_steps) for _ in range(num_controllers)
        )
        self.register_buffer("allowed", allowed)

    def forward(self, queries: Tensor) -> Attention:
        """Return the attention of distinct queries, (query,) operator ids; nothing is recorded."""
        return self.read(queries)[0]

    @torch.no_grad()
    def read(self, queries: Tensor) -> tuple[Attention, Back]:
        """Return the attention of distinct queries, and the way back to all weights, in their order."""
        inputs = self.embedding(queries)
        allowed = self.allowed if self.allowed is None else self.allowed[queries]
        ranks = [
            rank.read(inputs, allowed, self.memory_keys)
            for rank in cast(Iterable[Controller], self.controllers)
        ]
        attended, ways_back = zip(*ranks, strict=True)
        operator, memory, _ = zip(*attended, strict=True)
        attention = Attention(torch.stack(operator).transpose(1, 2), torch.stack(memory))
        return attention, partial(self._back, queries, ways_back)

    @torch.no_grad()
    def _back(
        self, queries: Tensor, ways_back: Sequence[Back], to_operator: Tensor, to_memory: Tensor
    ) -> tuple[Tensor, ...]:
        to_embedding, to_ranks = torch.zeros_like(self.embedding.weight), []
        for back, *gradients in zip(ways_back, to_operator, to_memory, strict=True):
            to_inputs, *to_weights = back(*gradients)
            to_embedding.index_add_(0, queries, to_inputs)
            to_ranks += to_weights
        return to_embedding, *to_ranks
