"""The compiled loops behind weighing: losses, ranks and scores from what rules say."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..knowledge import Ids
from .evidence_kernels import Entries, Small

Floats = NDArray[np.floating[Any]]


class Lessons(NamedTuple):
    """Questions with what rules say of their candidates, and with who is no candidate."""

    entries: Entries
    starts: Ids  # (question,) where each question's entries begin
    ends: Ids  # (question,)
    sources: Ids
    answers: Ids
    other_offsets: Ids  # (question + 1,)
    others: Ids
    known_ends: Ids  # (question,) where the known among them end
    barred: bool  # whether sources are no answers


class Terms(NamedTuple):
    """Weights, or their slopes, under every setting."""

    rules: NDArray[np.float64]  # (rule, 3, setting)
    prior: NDArray[np.float64]  # (setting,)


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
def _add_up(lessons: Lessons, question: int, weights: Floats, sheet: Sheet) -> int:
    """Add up what all rules say of one question's candidates; return how many entities are touched.

    Those that are no candidates are marked: other known answers, and a source that is barred.
    """
    num, entries = 0, lessons.entries
    for i in range(lessons.starts[question], lessons.ends[question]):
        entity, rule = entries.entities[i], entries.rules[i]
        num = _mark(sheet, entity, num, 1)
        for s in range(weights.shape[2]):
            sheet.scores[entity, s] += (
                weights[rule, 0, s]
                + weights[rule, 1, s] * entries.forward[i]
                + weights[rule, 2, s] * entries.backward[i]
            )
    num = _mark(sheet, lessons.answers[question], num, 1)
    for i in range(lessons.other_offsets[question], lessons.other_offsets[question + 1]):
        num = _mark(sheet, lessons.others[i], num, 2)
    if lessons.barred:
        num = _mark(sheet, lessons.sources[question], num, 2)
    return num


@njit(nogil=True, cache=True)
def _question_gradient(
    lessons: Lessons, question: int, weights: Terms, priors: Floats, base: Floats, sheet: Sheet, slopes: Terms
) -> float:
    """Add the gradient of one question's cross-entropy over all candidates; return its loss.

    `base` holds, over all entities, the sum of exp(prior) and of prior x exp(prior). Only those with evidence
    of their own are gone through. The answer's own fact does not count in its frequency.
    """
    num = _add_up(lessons, question, weights.rules, sheet)
    answer, entries = lessons.answers[question], lessons.entries
    own_prior = np.log(max(np.exp(priors[answer]) - 1.0, 1.0))
    loss = 0.0
    for s in range(len(weights.prior)):
        w = weights.prior[s]
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
        slopes.prior[s] += moment / total - own_prior
        for i in range(num):
            sheet.scores[sheet.touched[i], s] /= total
        sheet.scores[answer, s] -= 1.0
    for i in range(lessons.starts[question], lessons.ends[question]):
        entity, rule = entries.entities[i], entries.rules[i]
        for s in range(len(weights.prior)):
            slope = sheet.scores[entity, s]
            slopes.rules[rule, 0, s] += slope
            slopes.rules[rule, 1, s] += slope * entries.forward[i]
            slopes.rules[rule, 2, s] += slope * entries.backward[i]
    for i in range(num):
        sheet.marks[sheet.touched[i]] = 0
    return loss


@njit(nogil=True, cache=True)
def batch_gradient(
    lessons: Lessons, batch: Ids, weights: Terms, priors: Floats, sheet: Sheet, slopes: Terms
) -> float:
    """Set the slopes to those of a batch's mean loss, and return it, summed over settings."""
    slopes.rules[:] = 0.0
    slopes.prior[:] = 0.0
    base = np.zeros((len(weights.prior), 2))
    for entity in range(len(priors)):
        for s in range(len(weights.prior)):
            share = np.exp(weights.prior[s] * priors[entity])
            base[s, 0] += share
            base[s, 1] += priors[entity] * share
    loss = 0.0
    for question in batch:
        loss += _question_gradient(lessons, question, weights, priors, base, sheet, slopes)
    slopes.rules[:] /= len(batch)
    slopes.prior[:] /= len(batch)
    return loss / len(batch)


@njit(nogil=True, cache=True)
def count_right(lessons: Lessons, marks: NDArray[np.int8], counts: Ids) -> None:
    """Add to each rule's (fired, right) how often it says an entity, and how often that is a known answer."""
    for i in range(len(lessons.ends)):
        known = lessons.others[lessons.other_offsets[i] : lessons.known_ends[i]]
        marks[known] = 1
        marks[lessons.answers[i]] = 1
        for j in range(lessons.starts[i], lessons.ends[i]):
            counts[lessons.entries.rules[j], 0] += 1
            counts[lessons.entries.rules[j], 1] += marks[lessons.entries.entities[j]]
        marks[known] = 0
        marks[lessons.answers[i]] = 0


@njit(nogil=True, cache=True)
def add_scores(entries: Entries, start: int, end: int, weights: Floats, row: Floats) -> None:
    """Add to a row what all rules say of its entities."""
    for i in range(start, end):
        rule = entries.rules[i]
        row[entries.entities[i]] += (
            weights[rule, 0] + weights[rule, 1] * entries.forward[i] + weights[rule, 2] * entries.backward[i]
        )


@njit(nogil=True, cache=True)
def rank_settings(lessons: Lessons, weights: Terms, priors: Floats, sheet: Sheet, ranks: Floats) -> None:
    """Write the realistic rank of each answer under each setting, other known answers left out."""
    for question in range(len(lessons.ends)):
        _rank_question(lessons, question, weights, priors, sheet, ranks[question])


@njit(nogil=True, cache=True)
def _rank_question(
    lessons: Lessons, question: int, weights: Terms, priors: Floats, sheet: Sheet, ranks: Floats
) -> None:
    """Write the ranks of one answer; one that is the barred source comes last."""
    num = _add_up(lessons, question, weights.rules, sheet)
    answer = lessons.answers[question]
    for s in range(len(weights.prior)):
        wanted = sheet.scores[answer, s] + weights.prior[s] * priors[answer]
        if lessons.barred and answer == lessons.sources[question]:
            wanted = -np.inf
        better, ties = 0, 0
        for entity in range(len(priors)):
            if entity == answer or sheet.marks[entity] == 2:
                continue
            score = weights.prior[s] * priors[entity] + (
                sheet.scores[entity, s] if sheet.marks[entity] else 0.0
            )
            better += score > wanted
            ties += score == wanted
        ranks[s] = 1 + better + ties / 2.0
    for i in range(num):
        sheet.marks[sheet.touched[i]] = 0
