"""The compiled loops behind weighting: losses, ranks and scores from what rules say."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.arrays import Floats, Ids
from ..graph.compilation import kernel, kernel_function
from .features_kernels import Entries, Small


class Lessons(NamedTuple):
    """Questions with what rules say of their candidates, and with who is no candidate."""

    entries: Entries
    starts: Ids  # (question,) where each question's stretches of entries begin
    ends: Ids  # (question,)
    sources: Ids
    answers: Ids
    other_offsets: Ids  # (question + 1,)
    others: Ids
    known_ends: Ids  # (question,) where the known among them end
    excluded: bool  # whether sources are no answers


class Parameters(NamedTuple):
    """Weights, or their slopes, under every setting."""

    rules: Floats  # (rule, 3, setting)
    prior: Floats  # (setting,)


class Buffer(NamedTuple):
    """Space to score one question under several settings at once; marks are 0 between questions."""

    scores: Floats  # (setting, entity)
    odds: Floats  # (setting, entity) exp of what the prior says
    sums: Floats  # (setting, 2) those of odds, and of prior x odds, over all entities
    touched: Small  # (entity,)
    marks: NDArray[np.int8]  # (entity,) 1: has a score of its own, 2: no candidate

    @classmethod
    def of(cls, num_settings: int, num_entities: int) -> "Buffer":
        """Return an empty sheet."""
        size = num_settings, num_entities
        touched, marks = np.zeros(num_entities, np.int32), np.zeros(num_entities, np.int8)
        return cls(np.zeros(size), np.zeros(size), np.zeros((num_settings, 2)), touched, marks)


@kernel_function()
def _mark(sheet: Buffer, entity: int, num: int, mark: int) -> int:
    """List an entity among those touched; return how many are."""
    if sheet.marks[entity] == 0:
        sheet.touched[num] = entity
        for s in range(len(sheet.scores)):
            sheet.scores[s, entity] = 0.0
        num += 1
    sheet.marks[entity] = max(sheet.marks[entity], mark)
    return num


@kernel_function()
def _mark_all(lessons: Lessons, question: int, sheet: Buffer) -> int:
    """Mark all entities that a question's rules tell of, and those that are no candidates.

    These are other known answers, and a source that is barred. Returns how many entities are touched.
    """
    num, entries = 0, lessons.entries
    for i in range(entries.bounds[lessons.starts[question]], entries.bounds[lessons.ends[question]]):
        entity = entries.entities[i]
        if sheet.marks[entity] == 0:
            num = _mark(sheet, entity, num, 1)
    num = _mark(sheet, lessons.answers[question], num, 1)
    for i in range(lessons.other_offsets[question], lessons.other_offsets[question + 1]):
        num = _mark(sheet, lessons.others[i], num, 2)
    if lessons.excluded:
        num = _mark(sheet, lessons.sources[question], num, 2)
    return num


@kernel_function()
def _clear_marks(sheet: Buffer, num: int) -> None:
    for i in range(num):
        sheet.marks[sheet.touched[i]] = 0


@kernel("contract")
def add_scores(entries: Entries, first: int, last: int, weights: Floats, scores: Floats) -> None:
    """Add to scores, (setting, entity), what all rules say in some stretches; weights are (rule, 3, setting).

    A stretch is short enough to stay at hand for all settings.
    """
    for stretch in range(first, last):
        rule = entries.rules[stretch]
        for s in range(len(scores)):
            row = scores[s]
            fired, there, back = weights[rule, 0, s], weights[rule, 1, s], weights[rule, 2, s]
            for i in range(entries.bounds[stretch], entries.bounds[stretch + 1]):
                row[entries.entities[i]] += fired + there * entries.forward[i] + back * entries.backward[i]


@kernel_function("contract", "reassoc")
def _add_slopes(entries: Entries, first: int, last: int, scores: Floats, gradients: Floats) -> None:
    """Add to the slopes of weights, (rule, 3, setting), those of scores times what rules say."""
    for stretch in range(first, last):
        rule = entries.rules[stretch]
        for s in range(len(scores)):
            row = scores[s]
            fired = there = back = 0.0
            for i in range(entries.bounds[stretch], entries.bounds[stretch + 1]):
                slope = row[entries.entities[i]]
                fired += slope
                there += slope * entries.forward[i]
                back += slope * entries.backward[i]
            gradients[rule, 0, s] += fired
            gradients[rule, 1, s] += there
            gradients[rule, 2, s] += back


@kernel_function()
def _set_odds(sheet: Buffer, prior: Floats, priors: Floats) -> None:
    """Set the odds and their sums."""
    sums = sheet.sums
    for s in range(len(prior)):
        sums[s, 0] = sums[s, 1] = 0.0
        for entity in range(len(priors)):
            odds = np.exp(prior[s] * priors[entity]) if priors[entity] else 1.0
            sheet.odds[s, entity] = odds
            sums[s, 0] += odds
            sums[s, 1] += priors[entity] * odds


@kernel_function()
def _soften(
    sheet: Buffer, num: int, s: int, answer: int, priors: Floats, own_prior: float, weight: float
) -> tuple[float, float]:
    """Turn scores into the slopes of the loss: each one's share, less 1 for the answer.

    Returns the loss, and the slope of the prior's weight. Untouched entities have nothing but their prior:
    of the sums over all, those of the touched are taken away.
    """
    scores, odds = sheet.scores[s], sheet.odds[s]
    scores[answer] += weight * (own_prior - priors[answer])
    total, moment, top = sheet.sums[s, 0], sheet.sums[s, 1], 0.0
    for i in range(num):
        entity = sheet.touched[i]
        total -= odds[entity]
        moment -= priors[entity] * odds[entity]
        scores[entity] = scores[entity] + weight * priors[entity] if sheet.marks[entity] == 1 else -np.inf
        top = max(top, scores[entity])
    shrink, score = np.exp(-top), scores[answer]
    total, moment = max(total, 0.0) * shrink, max(moment, 0.0) * shrink
    for i in range(num):
        entity = sheet.touched[i]
        share = np.exp(scores[entity] - top)
        scores[entity] = share
        total += share
        moment += share * (own_prior if entity == answer else priors[entity])
    for i in range(num):
        scores[sheet.touched[i]] /= total
    scores[answer] -= 1.0
    return np.log(total) + top - score, moment / total - own_prior


@kernel_function()
def _question_gradient(
    lessons: Lessons, question: int, weights: Parameters, priors: Floats, sheet: Buffer, gradients: Parameters
) -> float:
    """Add the gradient of one question's cross-entropy over all candidates; return its loss.

    Only entities with evidence of their own are gone through. The answer's own fact does not count in its
    frequency.
    """
    num = _mark_all(lessons, question, sheet)
    answer, first, last = lessons.answers[question], lessons.starts[question], lessons.ends[question]
    own_prior = np.log(max(np.exp(priors[answer]) - 1.0, 1.0))
    add_scores(lessons.entries, first, last, weights.rules, sheet.scores)
    total = 0.0
    for s in range(len(weights.prior)):
        weight = weights.prior[s]
        loss, slope = _soften(sheet, num, s, answer, priors, own_prior, weight)
        gradients.prior[s] += slope
        total += loss
    _add_slopes(lessons.entries, first, last, sheet.scores, gradients.rules)
    _clear_marks(sheet, num)
    return total


@kernel()
def batch_gradient(
    lessons: Lessons, batch: Ids, weights: Parameters, priors: Floats, sheet: Buffer, gradients: Parameters
) -> float:
    """Set the slopes to those of a batch's mean loss, and return it, summed over settings."""
    _scale(gradients, 0.0)
    _set_odds(sheet, weights.prior, priors)
    loss = 0.0
    for question in batch:
        loss += _question_gradient(lessons, question, weights, priors, sheet, gradients)
    _scale(gradients, 1.0 / len(batch))
    return loss / len(batch)


@kernel_function()
def _scale(gradients: Parameters, by: float) -> None:
    """Multiply all slopes by a number; by 0 gives 0, whatever they were."""
    for s in range(len(gradients.prior)):
        gradients.prior[s] = gradients.prior[s] * by if by else 0.0
        for rule in range(len(gradients.rules)):
            for kind in range(3):
                gradients.rules[rule, kind, s] = gradients.rules[rule, kind, s] * by if by else 0.0


@kernel()
def count_right(lessons: Lessons, marks: NDArray[np.int8], counts: Ids) -> None:
    """Add to each rule's (fired, right) how often it says an entity, and how often that is a known answer."""
    entries = lessons.entries
    for i in range(len(lessons.ends)):
        _mark_right(lessons, i, marks, 1)
        for stretch in range(lessons.starts[i], lessons.ends[i]):
            rule, start, end = entries.rules[stretch], entries.bounds[stretch], entries.bounds[stretch + 1]
            counts[rule, 0] += end - start
            for j in range(start, end):
                counts[rule, 1] += marks[entries.entities[j]]
        _mark_right(lessons, i, marks, 0)


@kernel_function()
def _mark_right(lessons: Lessons, question: int, marks: NDArray[np.int8], mark: int) -> None:
    """Mark the known answers of a question."""
    for i in range(lessons.other_offsets[question], lessons.known_ends[question]):
        marks[lessons.others[i]] = mark
    marks[lessons.answers[question]] = mark


@kernel()
def rank_settings(
    lessons: Lessons, weights: Parameters, priors: Floats, sheet: Buffer, ranks: Floats
) -> None:
    """Write the realistic rank of each answer under each setting, other known answers left out."""
    for question in range(len(lessons.ends)):
        _rank_question(lessons, question, weights, priors, sheet, ranks[question])


@kernel_function()
def _rank_question(
    lessons: Lessons, question: int, weights: Parameters, priors: Floats, sheet: Buffer, ranks: Floats
) -> None:
    """Write the ranks of one answer; one that is the barred source comes last."""
    num = _mark_all(lessons, question, sheet)
    answer, first, last = lessons.answers[question], lessons.starts[question], lessons.ends[question]
    add_scores(lessons.entries, first, last, weights.rules, sheet.scores)
    for s in range(len(weights.prior)):
        scores = sheet.scores[s]
        wanted = scores[answer] + weights.prior[s] * priors[answer]
        if lessons.excluded and answer == lessons.sources[question]:
            wanted = -np.inf
        better, ties = 0, 0
        for entity in range(len(priors)):
            if entity == answer or sheet.marks[entity] == 2:
                continue
            score = weights.prior[s] * priors[entity] + (scores[entity] if sheet.marks[entity] else 0.0)
            better += score > wanted
            ties += score == wanted
        ranks[s] = 1 + better + ties / 2.0
    _clear_marks(sheet, num)
