"""The recurrent controller: reads a query, says which operators and memories to use (eqs. 9-11)."""

from typing import Literal

import torch
from torch import Tensor, nn

from .attention import Attention
from .lstm import LSTM

MemoryKeys = Literal["present", "previous"]


class Controller(nn.Module):
    """An LSTM that reads the query T times and then END; never sees an entity."""

    future: Tensor  # what is added to logits: minus infinity for slots that do not exist yet

    def __init__(self, input_size: int, hidden_size: int, num_operators: int, num_steps: int) -> None:
        super().__init__()
        self.num_steps = num_steps
        self.end = nn.Parameter(nn.functional.normalize(torch.randn(input_size), dim=0))
        self.lstm = LSTM(input_size, hidden_size)
        self.operator = nn.Linear(hidden_size, num_operators)
        nn.init.normal_(self.operator.weight)
        nn.init.zeros_(self.operator.bias)
        future = torch.full((num_steps + 1, num_steps + 1), float("-inf")).triu(1)
        self.register_buffer("future", future, persistent=False)

    def forward(self, query: Tensor, allowed: Tensor | None, keys: MemoryKeys) -> tuple[Tensor, Tensor]:
        """Return a_t (query, step, operator) and b_t (query, step, slot) for queries (query, input)."""
        hidden = self._read(query)
        return self._attend_operators(hidden, allowed), self._attend_memories(hidden, keys)

    def _read(self, query: Tensor) -> Tensor:
        """Return h_1 … h_{T+1}, (step, query, hidden): the query is read T times, then END (eq. 9)."""
        states: Tensor = self.lstm(query, self.end, self.num_steps)
        return states

    def _attend_operators(self, hidden: Tensor, allowed: Tensor | None) -> Tensor:
        """Return a_t = softmax(W h_t + b), over the allowed operators only (eq. 10)."""
        logits: Tensor = self.operator(hidden[: self.num_steps])
        if allowed is not None:
            logits = logits.masked_fill(~allowed, float("-inf"))
        return logits.softmax(-1).transpose(0, 1)

    def _attend_memories(self, hidden: Tensor, keys: MemoryKeys) -> Tensor:
        """Return b_t = softmax([h_0 … h_{t-1}]^T h_t), 0 for slots that do not exist yet (eq. 11)."""
        past = hidden if keys == "present" else nn.functional.pad(hidden[:-1], (0, 0, 0, 0, 1, 0))
        logits = torch.baddbmm(self.future, hidden.transpose(0, 1), past.permute(1, 2, 0))
        return logits.softmax(-1)


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
