"""The one place that bypasses autograd: training asks here for scores and a function for their gradients.

Everything else uses autograd (`NeuralLP.pair_scores`). The numbers are the same, because the bypass calls the
forward and backward functions that the `torch.autograd.Function`s of controller and engine are made of. With
autograd a training step takes 11 to 23 % more processor time (`benchmarks/gradients.py`: UMLS, Family, WN18).
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import cast

import torch
from torch import Tensor

from ..controller.attention import Attention
from ..controller.controller import Controller, RelationController, attend_backward, attend_forward
from ..engines.base import Engine, QueryBatch, ScoresWithBackward
from ..graph.arrays import Ids
from .model import NeuralLP

#: Maps the gradients of both attention tensors to the gradients of all parameters, in their order.
AttentionBackward = Callable[[Tensor, Tensor], tuple[Tensor, ...]]


def score_with_backward(
    model: NeuralLP, engine: Engine, batch: QueryBatch, rows: Ids, entities: Ids
) -> ScoresWithBackward:
    """Return the scores of (query, entity) pairs, each query's total, and a function for the gradients.

    `batch.rows` are the operators asked for. The function maps the gradients of scores and totals to the
    gradients of the model's parameters, in their order.
    """
    queries, batch = model.distinct_queries(batch)
    attention, attention_backward = attend_with_backward(model.controller, queries)
    scored = score_attention(engine, attention, batch, rows, entities, normalize=model.config.normalize)
    return replace(scored, backward=lambda *gradients: attention_backward(*scored.backward(*gradients)))


@torch.no_grad()
def attend_with_backward(
    relation_controller: RelationController, queries: Tensor
) -> tuple[Attention, AttentionBackward]:
    """Return the attention of distinct queries, and a function for the gradients of the parameters."""
    inputs, allowed = relation_controller.inputs(queries)
    keys, controllers = relation_controller.memory_keys, list(_controllers(relation_controller))
    attended = [attend_forward(allowed, keys, each.num_steps, inputs, *each.weights) for each in controllers]
    operator, memory, _ = zip(*attended, strict=True)
    attention = Attention(torch.stack(operator).transpose(1, 2), torch.stack(memory))

    @torch.no_grad()
    def backward(grad_operator: Tensor, grad_memory: Tensor) -> tuple[Tensor, ...]:
        grad_embedding = torch.zeros_like(relation_controller.embedding.weight)
        grad_controllers: list[Tensor] = []
        for each, saved, *gradients in zip(controllers, attended, grad_operator, grad_memory, strict=True):
            grad_inputs, *grad_weights = attend_backward(keys, each.weights, saved, *gradients)
            grad_embedding.index_add_(0, queries, grad_inputs)
            grad_controllers += grad_weights
        return grad_embedding, *grad_controllers

    return attention, backward


def _controllers(relation_controller: RelationController) -> Iterable[Controller]:
    return cast(Iterable[Controller], relation_controller.controllers)


def score_attention(
    engine: Engine, attention: Attention, batch: QueryBatch, rows: Ids, entities: Ids, *, normalize: bool
) -> ScoresWithBackward:
    """Return the scores of pairs, each query's total, and a function for the gradients of both attentions.

    An engine that computes its gradients itself has a method for this; for the others autograd does it.
    """
    explicit = getattr(engine, "score_with_backward", None)
    if explicit is not None:
        scored: ScoresWithBackward = explicit(attention, batch, rows, entities, normalize=normalize)
        return scored
    with torch.inference_mode(False), torch.enable_grad():
        given = Attention(*(each.detach().clone().requires_grad_() for each in attention.pair))
        scores, totals = engine.pair_scores(given, batch, rows, entities, normalize=normalize)

    def backward(grad_scores: Tensor, grad_totals: Tensor | None) -> tuple[Tensor, ...]:
        grad_rest = torch.zeros_like(totals) if grad_totals is None else grad_totals
        with torch.inference_mode(False):
            return torch.autograd.grad((scores, totals), given.pair, (grad_scores.clone(), grad_rest.clone()))

    return ScoresWithBackward(scores.detach(), totals.detach(), backward)
