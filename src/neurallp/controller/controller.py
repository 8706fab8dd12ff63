"""The recurrent controller: maps a query to attention over operators and over memories (eqs. 9-11)."""

from collections.abc import Iterable, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from ..config import MemoryKeys
from .attention import Attention
from .lstm import LSTM, SavedActivations, lstm_backward, lstm_forward

# Attention over operators (step, query, operator) and memories (query, step, slot), and what backward needs.
Attended = tuple[Tensor, Tensor, SavedActivations]


class Controller(nn.Module):
    """An LSTM that reads the query T times and then END; it never sees an entity."""

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

    @property
    def weights(self) -> tuple[Tensor, ...]:
        """All weights, in the order of `parameters`."""
        return self.end, *self.lstm.weights, self.operator.weight, self.operator.bias


class _Attend(torch.autograd.Function):
    """Eqs. 9 to 11 as one operation of autograd: recording each small operation would double the time."""

    @staticmethod
    def forward(
        ctx: Any, allowed: Tensor | None, keys: MemoryKeys, num_steps: int, query: Tensor, *weights: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return both attention tensors."""
        operator, memory, saved = attend_forward(allowed, keys, num_steps, query, *weights)
        ctx.keys = keys
        ctx.save_for_backward(*weights, operator, memory, *saved)
        return operator.transpose(0, 1), memory

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_operator: Tensor, grad_memory: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the query and of all weights."""
        weights, (operator, memory, *saved) = ctx.saved_tensors[:7], ctx.saved_tensors[7:]
        attended = operator, memory, SavedActivations(*saved)
        return None, None, None, *attend_backward(ctx.keys, weights, attended, grad_operator, grad_memory)


def attend_forward(
    allowed: Tensor | None,
    keys: MemoryKeys,
    num_steps: int,
    query: Tensor,
    end: Tensor,
    *weights: Tensor,
) -> Attended:
    """Return both attention tensors and the saved activations; `weights` as in `Controller.weights`."""
    *lstm, weight, bias = weights
    saved = lstm_forward(torch.cat([query, end.unsqueeze(0)]), num_steps, *lstm)
    operator = _attend_operators(saved.states[1:-1], weight, bias, allowed)
    return operator, _attend_memories(saved.states[1:].transpose(0, 1), keys), saved


def attend_backward(
    keys: MemoryKeys,
    weights: Sequence[Tensor],
    attended: Attended,
    grad_operator: Tensor,
    grad_memory: Tensor,
) -> tuple[Tensor, ...]:
    """Return the gradients of the query and of all weights; `grad_operator` is (query, step, operator)."""
    _, *lstm, _, _, weight, _ = weights
    operator, memory, saved = attended
    states = saved.states
    grad_logits = _softmax_backward(operator, grad_operator.transpose(0, 1)).flatten(0, 1)
    grad_states = _memories_backward(memory, grad_memory, states[1:].transpose(0, 1), keys).transpose(0, 1)
    grad_states[:-1] += (grad_logits @ weight).view_as(states[1:-1])
    grad_weight = grad_logits.T @ states[1:-1].flatten(0, 1)
    grad_inputs, *grad_lstm = lstm_backward(saved, grad_states, *lstm)
    return grad_inputs[:-1], grad_inputs[-1], *grad_lstm, grad_weight, grad_logits.sum(0)


def _attend_operators(hidden: Tensor, weight: Tensor, bias: Tensor, allowed: Tensor | None) -> Tensor:
    """Return a_t = softmax(W h_t + b), over the allowed operators only (eq. 10); (step, query, operator)."""
    logits = nn.functional.linear(hidden, weight, bias)
    if allowed is not None:
        logits = logits.masked_fill(~allowed, float("-inf"))
    return logits.softmax(-1)


def _attend_memories(hidden: Tensor, keys: MemoryKeys) -> Tensor:
    """Return b_t = softmax([h_0 … h_{t-1}]^T h_t), 0 for slots that do not exist yet (eq. 11)."""
    logits = hidden @ hidden.mT
    if keys == "previous":  # the first key is h_0 = 0, and every other key moves one slot further
        logits = nn.functional.pad(logits[:, :, :-1], (1, 0))
    future = logits.new_full(logits.shape[1:], float("-inf")).triu(1)
    return (logits + future).softmax(-1)


def _memories_backward(memory: Tensor, gradient: Tensor, hidden: Tensor, keys: MemoryKeys) -> Tensor:
    """Return the gradient of the states, (query, step, hidden); each state is both a query and a key."""
    grad_logits = _softmax_backward(memory, gradient)
    if keys == "previous":
        grad_logits = nn.functional.pad(grad_logits[:, :, 1:], (0, 1))
    return (grad_logits + grad_logits.mT) @ hidden


def _softmax_backward(output: Tensor, gradient: Tensor) -> Tensor:
    return output * (gradient - (output * gradient).sum(-1, keepdim=True))


class RelationController(nn.Module):
    """Attention for queries that are relations: one embedding, read by parallel controllers."""

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
        """Return the attention of distinct queries, (query,) operator ids."""
        inputs, allowed = self.inputs(queries)
        controllers = cast(Iterable[Controller], self.controllers)
        attended = [each(inputs, allowed, self.memory_keys) for each in controllers]
        operator, memory = zip(*attended, strict=True)
        return Attention(torch.stack(operator), torch.stack(memory))

    def inputs(self, queries: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the embedding of each query, and the operators that it may use; None: all."""
        return self.embedding(queries), None if self.allowed is None else self.allowed[queries]
