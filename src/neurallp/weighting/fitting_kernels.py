"""The compiled loops of rule weighting: losses, gradients, ranks and scores from features."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..evaluation import realistic_rank
from ..graph.arrays import Flags, Floats, Ids
from ..graph.compilation import kernel, kernel_function
from .features_kernels import Entries, Small

#: Marks of entities in a buffer: listed with a score of its own, or no candidate answer.
LISTED, EXCLUDED = 1, 2

_realistic_rank = kernel_function()(realistic_rank)


class Examples(NamedTuple):
    """Questions with the features of their candidates, and the entities that are no candidates."""

    entries: Entries
    starts: Ids  # (question,) where each question's segments of entries begin
    ends: Ids  # (question,)
    sources: Ids
    answers: Ids
    other_offsets: Ids  # (question + 1,)
    others: Ids  # entities that are filtered out
    known_ends: Ids  # (question,) where the known answers among them end
    exclude_source: bool
    answer_excluded: Flags  # (question,) whether the answer is no candidate itself, so that it ranks last


class DenseValues(NamedTuple):
    """The dense feature of each entity, and of each as an answer whose own fact is masked."""

    values: Floats  # (entity,)
    masked: Floats  # (entity,)


class Parameters(NamedTuple):
    """Weights, or their gradients, under every setting."""

    rules: Floats  # (rule, 3, setting) for indicator, forward and backward
    dense: Floats  # (setting,)


class Buffer(NamedTuple):
    """Working memory to score one question under several settings; marks are 0 between questions."""

    scores: Floats  # (setting, entity)
    odds: Floats  # (setting, entity) exp of the dense term
    sums: Floats  # (setting, 2) over all entities: of the odds, and of dense feature x odds
    listed: Small  # (entity,)
    marks: NDArray[np.int8]  # (entity,)

    @classmethod
    def of(cls, num_settings: int, num_entities: int) -> "Buffer":
        """Return an empty buffer."""
        size = num_settings, num_entities
        listed, marks = np.zeros(num_entities, np.int32), np.zeros(num_entities, np.int8)
        return cls(np.zeros(size), np.zeros(size), np.zeros((num_settings, 2)), listed, marks)


@kernel_function()
def _mark(buffer: Buffer, entity: int, num: int, mark: int) -> int:
    """Mark an entity, listing it with score 0 if it is new; return how many are listed."""
    if buffer.marks[entity] == 0:
        buffer.listed[num] = entity
        for s in range(len(buffer.scores)):
            buffer.scores[s, entity] = 0.0
        num += 1
    buffer.marks[entity] = max(buffer.marks[entity], mark)
    return num


@kernel_function()
def _mark_all(examples: Examples, question: int, buffer: Buffer) -> int:
    """Mark all entities with features, the answer, and all that are no candidates; return their number.

    No candidates are the entities filtered out, and the source where it is excluded.
    """
    num, entries = 0, examples.entries
    for i in range(entries.bounds[examples.starts[question]], entries.bounds[examples.ends[question]]):
        entity = entries.entities[i]
        if buffer.marks[entity] == 0:
            num = _mark(buffer, entity, num, LISTED)
    num = _mark(buffer, examples.answers[question], num, LISTED)
    for i in range(examples.other_offsets[question], examples.other_offsets[question + 1]):
        num = _mark(buffer, examples.others[i], num, EXCLUDED)
    if examples.exclude_source:
        num = _mark(buffer, examples.sources[question], num, EXCLUDED)
    return num


@kernel_function()
def _clear_marks(buffer: Buffer, num: int) -> None:
    for i in range(num):
        buffer.marks[buffer.listed[i]] = 0


@kernel("contract")
def add_scores(entries: Entries, first: int, last: int, weights: Floats, scores: Floats) -> None:
    """Add weights, (rule, 3, setting), times features of some segments to scores, (setting, entity).

    The loop over settings is inside that over segments: a segment is short enough to stay in the cache.
    """
    for segment in range(first, last):
        rule = entries.rules[segment]
        for s in range(len(scores)):
            row = scores[s]
            indicator, forward, backward = weights[rule, 0, s], weights[rule, 1, s], weights[rule, 2, s]
            for i in range(entries.bounds[segment], entries.bounds[segment + 1]):
                row[entries.entities[i]] += (
                    indicator + forward * entries.forward[i] + backward * entries.backward[i]
                )


@kernel_function("contract", "reassoc")
def _add_gradients(entries: Entries, first: int, last: int, scores: Floats, gradients: Floats) -> None:
    """Add gradients of scores times features to the gradients of weights, (rule, 3, setting)."""
    for segment in range(first, last):
        rule = entries.rules[segment]
        for s in range(len(scores)):
            row = scores[s]
            indicator = forward = backward = 0.0
            for i in range(entries.bounds[segment], entries.bounds[segment + 1]):
                gradient = row[entries.entities[i]]
                indicator += gradient
                forward += gradient * entries.forward[i]
                backward += gradient * entries.backward[i]
            gradients[rule, 0, s] += indicator
            gradients[rule, 1, s] += forward
            gradients[rule, 2, s] += backward


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
def _softmax_gradient(
    buffer: Buffer, num: int, s: int, answer: int, dense: DenseValues, weight: float
) -> tuple[float, float]:
    """Replace the scores of one setting by the gradient of the loss: softmax, less 1 for the answer.

    Returns the loss and the gradient of the dense term's weight. Entities that are not listed have the dense
    term alone: their sums are those over all entities, less the listed ones.
    """
    scores, odds, values, own = buffer.scores[s], buffer.odds[s], dense.values, dense.masked[answer]
    scores[answer] += weight * (own - values[answer])
    total, moment, top = buffer.sums[s, 0], buffer.sums[s, 1], 0.0
    for i in range(num):
        entity = buffer.listed[i]
        total -= odds[entity]
        moment -= values[entity] * odds[entity]
        scores[entity] = (
            scores[entity] + weight * values[entity] if buffer.marks[entity] == LISTED else -np.inf
        )
        top = max(top, scores[entity])
    shrink, score = np.exp(-top), scores[answer]
    total, moment = max(total, 0.0) * shrink, max(moment, 0.0) * shrink
    for i in range(num):
        entity = buffer.listed[i]
        odd = np.exp(scores[entity] - top)
        scores[entity] = odd
        total += odd
        moment += odd * (own if entity == answer else values[entity])
    for i in range(num):
        scores[buffer.listed[i]] /= total
    scores[answer] -= 1.0
    return np.log(total) + top - score, moment / total - own


@kernel_function()
def _question_gradient(
    examples: Examples,
    question: int,
    weights: Parameters,
    dense: DenseValues,
    buffer: Buffer,
    gradients: Parameters,
) -> float:
    """Add the gradient of one question's cross-entropy over all candidates; return its loss.

    Only listed entities are visited. The answer's own fact does not count in its dense feature.
    """
    num = _mark_all(examples, question, buffer)
    answer, first, last = examples.answers[question], examples.starts[question], examples.ends[question]
    add_scores(examples.entries, first, last, weights.rules, buffer.scores)
    total = 0.0
    for s in range(len(weights.dense)):
        loss, gradient = _softmax_gradient(buffer, num, s, answer, dense, weights.dense[s])
        gradients.dense[s] += gradient
        total += loss
    _add_gradients(examples.entries, first, last, buffer.scores, gradients.rules)
    _clear_marks(buffer, num)
    return total


@kernel()
def batch_gradient(
    examples: Examples,
    batch: Ids,
    weights: Parameters,
    dense: DenseValues,
    buffer: Buffer,
    gradients: Parameters,
) -> float:
    """Set the gradients to those of a batch's mean loss; return that loss, summed over settings."""
    _scale(gradients, 0.0)
    _set_odds(buffer, weights.dense, dense.values)
    loss = 0.0
    for question in batch:
        loss += _question_gradient(examples, question, weights, dense, buffer, gradients)
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
def count_right(examples: Examples, marks: NDArray[np.int8], counts: Ids) -> None:
    """Add to each rule's (predicted, right) how many entities it predicts, and how many are known answers."""
    entries = examples.entries
    for i in range(len(examples.ends)):
        _mark_right(examples, i, marks, 1)
        for segment in range(examples.starts[i], examples.ends[i]):
            rule, start, end = entries.rules[segment], entries.bounds[segment], entries.bounds[segment + 1]
            counts[rule, 0] += end - start
            for j in range(start, end):
                counts[rule, 1] += marks[entries.entities[j]]
        _mark_right(examples, i, marks, 0)


@kernel_function()
def _mark_right(examples: Examples, question: int, marks: NDArray[np.int8], mark: int) -> None:
    """Mark the known answers of a question."""
    for i in range(examples.other_offsets[question], examples.known_ends[question]):
        marks[examples.others[i]] = mark
    marks[examples.answers[question]] = mark


@kernel()
def rank_settings(
    examples: Examples, weights: Parameters, values: Floats, buffer: Buffer, ranks: Floats
) -> None:
    """Write the realistic rank of each answer under each setting, without the entities filtered out."""
    for question in range(len(examples.ends)):
        _rank_question(examples, question, weights, values, buffer, ranks[question])


@kernel_function()
def _rank_question(
    examples: Examples, question: int, weights: Parameters, values: Floats, buffer: Buffer, ranks: Floats
) -> None:
    """Write the ranks of one answer; an answer that is no candidate ranks last."""
    num = _mark_all(examples, question, buffer)
    answer, first, last = examples.answers[question], examples.starts[question], examples.ends[question]
    add_scores(examples.entries, first, last, weights.rules, buffer.scores)
    for s in range(len(weights.dense)):
        scores = buffer.scores[s]
        wanted = scores[answer] + weights.dense[s] * values[answer]
        if examples.answer_excluded[question]:
            wanted = -np.inf
        better, ties = 0, 0
        for entity in range(len(values)):
            if entity == answer or buffer.marks[entity] == EXCLUDED:
                continue
            score = weights.dense[s] * values[entity] + (scores[entity] if buffer.marks[entity] else 0.0)
            better += score > wanted
            ties += score == wanted
        ranks[s] = _realistic_rank(better, ties + 1)
    _clear_marks(buffer, num)


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
        num = _mark_all(examples, question, buffer)
        answer, first, last = examples.answers[question], examples.starts[question], examples.ends[question]
        dense_loss += _dense_loss(buffer, num, answer, dense, weights.dense[0])
        add_scores(examples.entries, first, last, weights.rules, buffer.scores)
        loss += _softmax_gradient(buffer, num, 0, answer, dense, weights.dense[0])[0]
        buffer.scores[0, answer] += 1.0
        _add_removals(examples.entries, first, last, weights.rules, answer, buffer.scores[0], removal)
        _clear_marks(buffer, num)
    return loss, dense_loss


@kernel_function()
def _dense_loss(buffer: Buffer, num: int, answer: int, dense: DenseValues, weight: float) -> float:
    """Return the loss of one question with the dense term alone, under the first setting."""
    own = np.exp(weight * dense.masked[answer])
    total = buffer.sums[0, 0] - buffer.odds[0, answer] + own
    for i in range(num):
        entity = buffer.listed[i]
        if buffer.marks[entity] == EXCLUDED and entity != answer:
            total -= buffer.odds[0, entity]
    return float(np.log(max(total, own)) - np.log(own))


@kernel_function()
def _add_removals(
    entries: Entries, first: int, last: int, weights: Floats, answer: int, shares: Floats, removal: Floats
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
            if entity == answer:
                own = amount
        removal[rule] += own + np.log(max(1.0 - lost, 1e-12))
