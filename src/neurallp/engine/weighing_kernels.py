"""The compiled loops behind weighing: losses, ranks and scores from what rules say."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..knowledge import Ids
from .evidence_kernels import Entries, Small

Floats = NDArray[np.floating[Any]]


class Sheet(NamedTuple):
    """Space to score one question under several settings at once; marks are 0 between questions."""

    scores: NDArray[np.float64]  # (entity, setting)
    touched: Small  # (entity,)
    marks: NDArray[np.int8]  # (entity,) 1: has a score of its own, 2: no candidate


@njit(nogil=True, cache=True)
def _mark(sheet: Sheet, entity: int, num: int, mark: int) -> int:
    """List an entity among those touched; return how many are."""
    if sheet.marks[entity] == 0:
        sheet.touched[num] = entity
        sheet.scores[entity] = 0.0
        num += 1
    sheet.marks[entity] = max(sheet.marks[entity], mark)
    return num


@njit(nogil=True, cache=True)
def _add_evidence(entries: Entries, start: int, end: int, weights: Floats, sheet: Sheet) -> int:
    """Add up what all rules say; return how many entities are touched."""
    num = 0
    for i in range(start, end):
        entity, rule = entries.entities[i], entries.rules[i]
        num = _mark(sheet, entity, num, 1)
        for s in range(weights.shape[2]):
            sheet.scores[entity, s] += (
                weights[rule, 0, s]
                + weights[rule, 1, s] * entries.forward[i]
                + weights[rule, 2, s] * entries.backward[i]
            )
    return num


@njit(nogil=True, cache=True)
def _question_gradient(
    entries: Entries,
    start: int,
    end: int,
    answer: int,
    others: Ids,
    barred: int,
    weights: Floats,
    prior_weights: Floats,
    priors: Floats,
    base: Floats,
    sheet: Sheet,
    gradient: Floats,
    prior_gradient: Floats,
) -> float:
    """Add the gradient of one question's cross-entropy over all candidates; return its loss.

    `base` holds, over all entities, the sum of exp(prior) and of prior x exp(prior). Only those with evidence
    of their own are gone through. The answer's own fact does not count in its frequency.
    """
    num = _mark(sheet, answer, _add_evidence(entries, start, end, weights, sheet), 1)
    for entity in others:
        num = _mark(sheet, entity, num, 2)
    if barred >= 0:
        num = _mark(sheet, barred, num, 2)
    own_prior = np.log(max(np.exp(priors[answer]) - 1.0, 1.0))
    loss = 0.0
    for s in range(weights.shape[2]):
        w = prior_weights[s]
        total, moment, top = base[s, 0], base[s, 1], 0.0
        for i in range(num):
            entity = sheet.touched[i]
            share = np.exp(w * priors[entity])
            total -= share
            moment -= priors[entity] * share
            if sheet.marks[entity] == 1:
                sheet.scores[entity, s] += w * (own_prior if entity == answer else priors[entity])
                top = max(top, sheet.scores[entity, s])
        shrink = np.exp(-top)
        total, moment = max(total, 0.0) * shrink, max(moment, 0.0) * shrink
        score = sheet.scores[answer, s]
        for i in range(num):
            entity = sheet.touched[i]
            if sheet.marks[entity] == 1:
                share = np.exp(sheet.scores[entity, s] - top)
                sheet.scores[entity, s] = share
                total += share
                moment += share * (own_prior if entity == answer else priors[entity])
            else:
                sheet.scores[entity, s] = 0.0
        loss += np.log(total) + top - score
        prior_gradient[s] += moment / total - own_prior
        for i in range(num):
            sheet.scores[sheet.touched[i], s] /= total
        sheet.scores[answer, s] -= 1.0
    for i in range(start, end):
        entity, rule = entries.entities[i], entries.rules[i]
        for s in range(weights.shape[2]):
            slope = sheet.scores[entity, s]
            gradient[rule, 0, s] += slope
            gradient[rule, 1, s] += slope * entries.forward[i]
            gradient[rule, 2, s] += slope * entries.backward[i]
    for i in range(num):
        sheet.marks[sheet.touched[i]] = 0
    return loss


@njit(nogil=True, cache=True)
def batch_gradient(
    entries: Entries,
    starts: Ids,
    ends: Ids,
    batch: Ids,
    sources: Ids,
    answers: Ids,
    other_offsets: Ids,
    others: Ids,
    barred: bool,
    weights: Floats,
    prior_weights: Floats,
    priors: Floats,
    sheet: Sheet,
    gradient: Floats,
    prior_gradient: Floats,
) -> float:
    """Set both gradients to those of a batch's mean loss, and return it, summed over settings."""
    gradient[:] = 0.0
    prior_gradient[:] = 0.0
    base = np.zeros((len(prior_weights), 2))
    for entity in range(len(priors)):
        for s in range(len(prior_weights)):
            share = np.exp(prior_weights[s] * priors[entity])
            base[s, 0] += share
            base[s, 1] += priors[entity] * share
    loss = 0.0
    for i in batch:
        loss += _question_gradient(
            entries,
            starts[i],
            ends[i],
            answers[i],
            others[other_offsets[i] : other_offsets[i + 1]],
            sources[i] if barred else -1,
            weights,
            prior_weights,
            priors,
            base,
            sheet,
            gradient,
            prior_gradient,
        )
    gradient /= len(batch)
    prior_gradient /= len(batch)
    return loss / len(batch)


@njit(nogil=True, cache=True)
def count_right(
    entries: Entries,
    starts: Ids,
    ends: Ids,
    answers: Ids,
    other_offsets: Ids,
    others: Ids,
    marks: NDArray[np.int8],
    counts: Ids,
) -> None:
    """Add to each rule's (fired, right) how often it says an entity, and how often that is a known answer."""
    for i in range(len(ends)):
        known = others[other_offsets[i] : other_offsets[i + 1]]
        marks[known] = 1
        marks[answers[i]] = 1
        for j in range(starts[i], ends[i]):
            counts[entries.rules[j], 0] += 1
            counts[entries.rules[j], 1] += marks[entries.entities[j]]
        marks[known] = 0
        marks[answers[i]] = 0


@njit(nogil=True, cache=True)
def add_scores(entries: Entries, start: int, end: int, weights: Floats, row: Floats) -> None:
    """Add to a row what all rules say of its entities."""
    for i in range(start, end):
        rule = entries.rules[i]
        row[entries.entities[i]] += (
            weights[rule, 0] + weights[rule, 1] * entries.forward[i] + weights[rule, 2] * entries.backward[i]
        )


@njit(nogil=True, cache=True)
def rank_settings(
    entries: Entries,
    start: int,
    end: int,
    answer: int,
    others: Ids,
    barred: int,
    weights: Floats,
    prior_weights: Floats,
    priors: Floats,
    sheet: Sheet,
    ranks: Floats,
) -> None:
    """Write the realistic rank of an answer under each setting, other known answers left out.

    An answer that is the barred source comes last.
    """
    num = _add_evidence(entries, start, end, weights, sheet)
    for entity in others:
        num = _mark(sheet, entity, num, 2)
    if barred >= 0:
        num = _mark(sheet, barred, num, 2)
    num = _mark(sheet, answer, num, 1)
    for s in range(weights.shape[2]):
        wanted = sheet.scores[answer, s] + prior_weights[s] * priors[answer]
        if answer == barred:
            wanted = -np.inf
        better, ties = 0, 0
        for entity in range(len(priors)):
            if entity == answer or sheet.marks[entity] == 2:
                continue
            score = prior_weights[s] * priors[entity] + (
                sheet.scores[entity, s] if sheet.marks[entity] else 0.0
            )
            better += score > wanted
            ties += score == wanted
        ranks[s] = 1 + better + ties / 2.0
    for i in range(num):
        sheet.marks[sheet.touched[i]] = 0
