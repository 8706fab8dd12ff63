"""The recurrent controller: reads a query, says which operators and memories to use (eqs. 9-11)."""

from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from .attention import Attention
from .lstm import LSTM, Tape, steps_back, take_steps

MemoryKeys = Literal["present", "previous"]


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
        weights = self.operator.weight, self.operator.bias, *self.lstm.weights
        attention: tuple[Tensor, Tensor] = _Attend.apply(
            allowed, keys, self.num_steps, query, self.end, *weights
        )  # type: ignore[no-untyped-call]
        return attention


class _Attend(torch.autograd.Function):
    """Eqs. 9 to 11 in one piece: recording an operation for the way back would cost more than doing it."""

    @staticmethod
    def forward(
        ctx: Any,
        allowed: Tensor | None,
        keys: MemoryKeys,
        num_steps: int,
        query: Tensor,
        end: Tensor,
        weight: Tensor,
        bias: Tensor,
        *lstm: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Return both attentions."""
        tape = take_steps(torch.cat([query, end.unsqueeze(0)]), num_steps, *lstm)
        operator = _attend_operators(tape.states[1:-1], weight, bias, allowed)
        memory = _attend_memories(tape.states[1:].transpose(0, 1), keys)
        ctx.keys = keys
        ctx.save_for_backward(operator, memory, weight, *lstm[:2], *tape)
        return operator.transpose(0, 1), memory

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, to_operator: Tensor, to_memory: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients to the query, END and all weights."""
        operator, memory, weight, *lstm, read, gates, cells, squashed, states = ctx.saved_tensors
        to_logits = _softmax_back(operator, to_operator.transpose(0, 1)).flatten(0, 1)
        to_states = _memories_back(memory, to_memory, states[1:].transpose(0, 1), ctx.keys).transpose(0, 1)
        to_states[:-1] += (to_logits @ weight).view_as(states[1:-1])
        to_weight = to_logits.T @ states[1:-1].flatten(0, 1)
        to_read, *to_lstm = steps_back(Tape(read, gates, cells, squashed, states), to_states, *lstm)
        return None, None, None, to_read[:-1], to_read[-1], to_weight, to_logits.sum(0), *to_lstm


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
    """Attention for queries that are relations: one embedding, `num_ranks` controllers side by side."""

    allowed: Tensor | None

    def __init__(
        self,
        num_operators: int,
        *,
        num_steps: int,
        num_ranks: int,
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
        self.ranks = nn.ModuleList(
            Controller(embedding_size, hidden_size, num_operators, num_steps) for _ in range(num_ranks)
        )
        self.register_buffer("allowed", allowed)

    def forward(self, queries: Tensor) -> Attention:
        """Return the attention of distinct queries, (query,) operator ids."""
        inputs = self.embedding(queries)
        allowed = self.allowed if self.allowed is None else self.allowed[queries]
        ranks = [controller(inputs, allowed, self.memory_keys) for controller in self.ranks]
        operator, memory = zip(*ranks, strict=True)
        return Attention(torch.stack(operator), torch.stack(memory))
