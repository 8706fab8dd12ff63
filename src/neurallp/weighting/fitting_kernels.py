"""The compiled loops of rule weighting: losses, gradients, ranks and scores from features."""

from typing import Any, NamedTuple

import numpy as np

from ..evaluation import realistic_rank
from ..graph.arrays import Flags, Floats, Ids
from ..graph.compilation import kernel, kernel_function
from .example_kernels import Buffer, DenseValues, Examples
from .features_kernels import Entries, Unsigned

_realistic_rank = kernel_function()(realistic_rank)

#: The multipliers of the hash function splitmix64.
GOLDEN, FIRST_MIX, SECOND_MIX = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def is_left_out(salt: Any, rule: Any, rate: float) -> Any:
    """Return whether dropout leaves a rule out: with probability `rate`, fixed by the salt and the rule.

    Kernels pass numbers, fits on a GPU arrays.
    """
    bits = np.uint64(salt) * np.uint64(GOLDEN) + np.uint64(rule)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(FIRST_MIX)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(SECOND_MIX)
    return ((bits ^ (bits >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53 < rate


_is_left_out = kernel_function()(is_left_out)


class Parameters(NamedTuple):
    """Weights, or their gradients, under every setting."""

    rules: Floats  # (rule, 3, setting) for indicator, forward and backward
    dense: Floats  # (setting,)


class Dropout(NamedTuple):
    """Which rules a training question is scored without: each with probability `rate`, drawn at each step."""

    rate: float
    step: int


@kernel_function("contract")
def _add_segment(entries: Entries, segment: int, weights: Floats, scale: float, scores: Floats) -> None:
    """Add scaled weights, (rule, 3, setting), times the features of a segment to scores, (setting, entity).

    The loop over settings is the outer one: a segment is short enough to stay in the cache.
    """
    rule = entries.rules[segment]
    for s in range(len(scores)):
        row = scores[s]
        indicator, forward, backward = weights[rule, 0, s], weights[rule, 1, s], weights[rule, 2, s]
        if indicator == 0.0 and forward == 0.0 and backward == 0.0:
            continue
        indicator, forward, backward = scale * indicator, scale * forward, scale * backward
        for i in range(entries.bounds[segment], entries.bounds[segment + 1]):
            row[entries.entities[i]] += (
                indicator + forward * entries.forward[i] + backward * entries.backward[i]
            )


@kernel("contract")
def add_scores(entries: Entries, first: int, last: int, weights: Floats, scores: Floats) -> None:
    """Add weights, (rule, 3, setting), times features of some segments to scores, (setting, entity)."""
    for segment in range(first, last):
        _add_segment(entries, segment, weights, 1.0, scores)


@kernel_function("contract")
def _add_scores_in_part(
    entries: Entries, first: int, last: int, weights: Floats, rate: float, salt: int, scores: Floats
) -> None:
    """Add the same without the rules that dropout leaves out; the others count for them."""
    for segment in range(first, last):
        if not _is_left_out(salt, entries.rules[segment], rate):
            _add_segment(entries, segment, weights, 1.0 / (1.0 - rate), scores)


@kernel_function("contract", "reassoc")
def _add_gradients(
    entries: Entries,
    first: int,
    last: int,
    fitted: Flags,
    rate: float,
    salt: int,
    scores: Floats,
    gradients: Floats,
) -> None:
    """Add gradients of scores times features to the gradients of weights, (rule, 3, setting)."""
    scale = 1.0 / (1.0 - rate)
    for segment in range(first, last):
        rule = entries.rules[segment]
        if not fitted[rule] or (rate > 0.0 and _is_left_out(salt, rule, rate)):
            continue
        for s in range(len(scores)):
            row = scores[s]
            indicator = forward = backward = 0.0
            for i in range(entries.bounds[segment], entries.bounds[segment + 1]):
                gradient = row[entries.entities[i]]
                indicator += gradient
                forward += gradient * entries.forward[i]
                backward += gradient * entries.backward[i]
            gradients[rule, 0, s] += scale * indicator
            gradients[rule, 1, s] += scale * forward
            gradients[rule, 2, s] += scale * backward


@kernel_function()
def _set_odds(buffer: Buffer, weights: Floats, values: Floats) -> None:
    """Set the odds of the dense term and their sums."""
    sums = buffer.sums
    for s in range(len(weights)):
        sums[s, 0] = sums[s, 1] = 0.0
        for entity in range(len(values)):
            odds = np.exp(weights[s] * values[entity]) if values[entity] else 1.0
            buffer.odds[s, entity] = odds
            sums[s, 0] += odds
            sums[s, 1] += values[entity] * odds


@kernel_function()
def _clear(scores: Floats, num: int) -> None:
    """Set the scores of the first `num` places to 0."""
    for s in range(len(scores)):
        for i in range(num):
            scores[s, i] = 0.0


@kernel_function()
def _softmax_gradient(
    listed: Unsigned, excluded_end: int, s: int, buffer: Buffer, dense: DenseValues, weight: float
) -> tuple[float, float]:
    """Replace the scores of one setting by the gradient of the loss: softmax, less 1 for the answer.

    Returns the loss and the gradient of the dense term's weight. Entities that are not listed have the dense
    term alone: their sums are those over all entities, less the listed ones. The answer's own fact does not
    count in its dense feature.
    """
    scores, odds, values, own = buffer.scores[s], buffer.odds[s], dense.values, dense.masked[listed[0]]
    total, moment = buffer.sums[s, 0], buffer.sums[s, 1]
    for entity in listed:
        total -= odds[entity]
        moment -= values[entity] * odds[entity]
    score = scores[0] + weight * own
    top = max(0.0, score)
    for i in range(excluded_end, len(listed)):
        scores[i] += weight * values[listed[i]]
        top = max(top, scores[i])
    shrink, right = np.exp(-top), np.exp(score - top)
    total, moment = max(total, 0.0) * shrink + right, max(moment, 0.0) * shrink + right * own
    for i in range(excluded_end, len(listed)):
        scores[i] = np.exp(scores[i] - top)
        total += scores[i]
        moment += scores[i] * values[listed[i]]
    scores[0] = right / total - 1.0
    for i in range(1, excluded_end):
        scores[i] = 0.0
    for i in range(excluded_end, len(listed)):
        scores[i] /= total
    return np.log(total) + top - score, moment / total - own


@kernel_function()
def _question_gradient(
    examples: Examples,
    question: int,
    weights: Parameters,
    fitted: Flags,
    dense: DenseValues,
    dropout: Dropout,
    buffer: Buffer,
    gradients: Parameters,
) -> float:
    """Add the gradient of one question's cross-entropy over all candidates; return its loss."""
    entries, rate = examples.entries, dropout.rate
    salt = dropout.step * len(examples.answers) + question
    listed = examples.listed[examples.offsets[question] : examples.offsets[question + 1]]
    first, last = examples.starts[question], examples.ends[question]
    _clear(buffer.scores, len(listed))
    if rate > 0.0:
        _add_scores_in_part(entries, first, last, weights.rules, rate, salt, buffer.scores)
    else:
        add_scores(entries, first, last, weights.rules, buffer.scores)
    total = 0.0
    for s in range(len(weights.dense)):
        loss, gradient = _softmax_gradient(
            listed, examples.excluded_ends[question], s, buffer, dense, weights.dense[s]
        )
        gradients.dense[s] += gradient
        total += loss
    _add_gradients(entries, first, last, fitted, rate, salt, buffer.scores, gradients.rules)
    return total


@kernel()
def batch_gradient(
    examples: Examples,
    batch: Ids,
    weights: Parameters,
    fitted: Flags,
    dense: DenseValues,
    dropout: Dropout,
    buffer: Buffer,
    gradients: Parameters,
) -> float:
    """Set the gradients to those of a batch's mean loss; return that loss, summed over settings.

    Rules that are not `fitted`, (rule,), get none.
    """
    _scale(gradients, 0.0)
    _set_odds(buffer, weights.dense, dense.values)
    loss = 0.0
    for question in batch:
        loss += _question_gradient(examples, question, weights, fitted, dense, dropout, buffer, gradients)
    _scale(gradients, 1.0 / len(batch))
    return loss / len(batch)


@kernel_function()
def _scale(gradients: Parameters, by: float) -> None:
    """Multiply all gradients by a number; by 0 gives 0 even for NaN."""
    for s in range(len(gradients.dense)):
        gradients.dense[s] = gradients.dense[s] * by if by else 0.0
        for rule in range(len(gradients.rules)):
            for feature in range(3):
                gradients.rules[rule, feature, s] = gradients.rules[rule, feature, s] * by if by else 0.0


@kernel()
def count_right(examples: Examples, counts: Ids) -> None:
    """Add to each rule's (predicted, right) how many entities it predicts, and how many are known answers."""
    entries = examples.entries
    for i in range(len(examples.ends)):
        known_end = examples.known_ends[i]
        for segment in range(examples.starts[i], examples.ends[i]):
            rule, start, end = entries.rules[segment], entries.bounds[segment], entries.bounds[segment + 1]
            counts[rule, 0] += end - start
            for j in range(start, end):
                counts[rule, 1] += entries.entities[j] < known_end


@kernel()
def rank_settings(
    examples: Examples, weights: Parameters, values: Floats, buffer: Buffer, ranks: Floats
) -> None:
    """Write the realistic rank of each answer under each setting, without the entities filtered out."""
    for question in range(len(examples.ends)):
        listed = examples.listed[examples.offsets[question] : examples.offsets[question + 1]]
        _clear(buffer.scores, len(listed))
        first, last = examples.starts[question], examples.ends[question]
        add_scores(examples.entries, first, last, weights.rules, buffer.scores)
        for s in range(len(weights.dense)):
            wanted = buffer.scores[s, 0] + weights.dense[s] * values[listed[0]]
            if examples.answer_excluded[question]:
                wanted = -np.inf
            place = examples.excluded_ends[question]
            ranks[question, s] = _rank(listed, place, wanted, weights.dense[s], values, buffer.scores[s])


@kernel_function()
def _rank(
    listed: Unsigned, excluded_end: int, wanted: float, weight: float, values: Floats, scores: Floats
) -> float:
    """Return the rank of a score: entities that are not listed have the dense term alone."""
    better, ties = 0, 0
    for value in values:
        better += weight * value > wanted
        ties += weight * value == wanted
    for entity in listed:
        better -= weight * values[entity] > wanted
        ties -= weight * values[entity] == wanted
    for i in range(excluded_end, len(listed)):
        score = weight * values[listed[i]] + scores[i]
        better += score > wanted
        ties += score == wanted
    return float(_realistic_rank(better, ties + 1))


@kernel()
def add_removal_losses(
    examples: Examples, weights: Parameters, dense: DenseValues, buffer: Buffer, removal: Floats
) -> tuple[float, float]:
    """Add to `removal`, (rule,), by how much the loss of the first setting rises without each rule.

    The rise is exact. Without a rule the answer's score falls by the rule's contribution c, and the sum over
    candidates by share x (1 - exp(-c)) of each. Returns the loss with all rules, and that of the dense term
    alone, both summed over questions.
    """
    _set_odds(buffer, weights.dense, dense.values)
    loss = dense_loss = 0.0
    for question in range(len(examples.ends)):
        listed = examples.listed[examples.offsets[question] : examples.offsets[question + 1]]
        first, last, place = (
            examples.starts[question],
            examples.ends[question],
            examples.excluded_ends[question],
        )
        dense_loss += _dense_loss(listed, place, buffer, dense, weights.dense[0])
        _clear(buffer.scores, len(listed))
        add_scores(examples.entries, first, last, weights.rules, buffer.scores)
        loss += _softmax_gradient(listed, place, 0, buffer, dense, weights.dense[0])[0]
        buffer.scores[0, 0] += 1.0
        _add_removals(examples.entries, first, last, weights.rules, buffer.scores[0], removal)
    return loss, dense_loss


@kernel_function()
def _dense_loss(
    listed: Unsigned, excluded_end: int, buffer: Buffer, dense: DenseValues, weight: float
) -> float:
    """Return the loss of one question with the dense term alone, under the first setting."""
    own = np.exp(weight * dense.masked[listed[0]])
    total = buffer.sums[0, 0] + own
    for i in range(excluded_end):  # the answer too: its own fact does not count
        total -= buffer.odds[0, listed[i]]
    return float(np.log(max(total, own)) - np.log(own))


@kernel_function()
def _add_removals(
    entries: Entries, first: int, last: int, weights: Floats, shares: Floats, removal: Floats
) -> None:
    """Add the rise in one question's loss without each rule."""
    for segment in range(first, last):
        rule = entries.rules[segment]
        indicator, forward, backward = weights[rule, 0, 0], weights[rule, 1, 0], weights[rule, 2, 0]
        if indicator == 0.0 and forward == 0.0 and backward == 0.0:
            continue
        lost = own = 0.0
        for i in range(entries.bounds[segment], entries.bounds[segment + 1]):
            entity = entries.entities[i]
            amount = indicator + forward * entries.forward[i] + backward * entries.backward[i]
            lost += shares[entity] * (1.0 - np.exp(-amount))
            if entity == 0:  # the answer
                own = amount
        removal[rule] += own + np.log(max(1.0 - lost, 1e-12))
