"""The compiled loops behind evidence.py: walking a trie of bodies, and weighing what it finds."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..knowledge import Ids

Floats = NDArray[np.floating[Any]]
Small = NDArray[np.int32]
Flags = NDArray[np.bool_]


class Runs(NamedTuple):
    """Edges grouped into runs: those of one entity that belong to one operator."""

    offsets: Small  # (entity + 1,) where each entity's runs begin
    operators: Small  # (run,)
    starts: Small  # (run + 1,) where each run's edges begin
    targets: Small  # (edge,)
    fan_in: Small  # (edge,) edges of the same operator that arrive where this one does


class Tree(NamedTuple):
    """Bodies that share their beginnings, each node before those below it."""

    depths: Small  # (node,) 1 for a first step
    operators: Small  # (node,)
    rules: Small  # (node,) the rule whose body ends here, or -1


class Entries(NamedTuple):
    """What rules say of entities, question by question; that a rule fired goes without saying."""

    entities: Small
    rules: Small
    forward: NDArray[np.float32]
    backward: NDArray[np.float32]


class Scratch(NamedTuple):
    """Working space for one thread."""

    entities: Small  # (depth, entity) where the walk stands after each step, packed
    forward: NDArray[np.float64]  # (depth, entity)
    backward: NDArray[np.float64]
    counts: Ids  # (depth,)
    places: Small  # (entity,) where an entity stands in the present frontier, or -1
    hidden: Flags  # (operator,) whether it links source and answer and must not be seen


@njit(nogil=True, cache=True)
def _find_run(runs: Runs, entity: int, operator: int) -> int:
    """Return the run of an entity's edges that belong to one operator, or -1."""
    low, high = runs.offsets[entity], runs.offsets[entity + 1]
    end = high
    while low < high:
        middle = (low + high) >> 1
        if runs.operators[middle] < operator:
            low = middle + 1
        else:
            high = middle
    return low if low < end and runs.operators[low] == operator else -1


@njit(nogil=True, cache=True)
def _hide(runs: Runs, source: int, query: int, answer: int, whole_pair: bool, hidden: Flags) -> None:
    """Mark the operators by which the source must not reach the answer: the query, or all that do."""
    hidden[query] = True
    if whole_pair:
        for run in range(runs.offsets[source], runs.offsets[source + 1]):
            for edge in range(runs.starts[run], runs.starts[run + 1]):
                if runs.targets[edge] == answer:
                    hidden[runs.operators[run]] = True


@njit(nogil=True, cache=True)
def _expand(runs: Runs, scratch: Scratch, depth: int, operator: int, source: int, answer: int) -> int:
    """Take one step from the frontier above; return how many entities are reached.

    Forward mass is divided among the edges that leave, backward mass among those that arrive. Where the
    pair is hidden its edge is not there: not taken, and not counted among either.
    """
    num_relations = len(scratch.hidden) // 2
    inverse = operator - num_relations if operator >= num_relations else operator + num_relations
    there, back = scratch.hidden[operator], scratch.hidden[inverse]
    reached, forward, backward = scratch.entities[depth], scratch.forward[depth], scratch.backward[depth]
    num = 0
    for i in range(scratch.counts[depth - 1]):
        entity = scratch.entities[depth - 1, i]
        run = _find_run(runs, entity, operator)
        if run < 0:
            continue
        skipped = answer if there and entity == source else source if back and entity == answer else -1
        degree = runs.starts[run + 1] - runs.starts[run] - (skipped >= 0)
        if degree == 0:
            continue
        ahead = scratch.forward[depth - 1, i] / degree
        behind = scratch.backward[depth - 1, i]
        for edge in range(runs.starts[run], runs.starts[run + 1]):
            target = runs.targets[edge]
            if target == skipped:
                continue
            fan_in = runs.fan_in[edge] - ((there and target == answer) or (back and target == source))
            place = scratch.places[target]
            if place < 0:
                place = scratch.places[target] = num
                reached[num], forward[num], backward[num] = target, 0.0, 0.0
                num += 1
            forward[place] += ahead
            backward[place] += behind / fan_in
    for i in range(num):
        scratch.places[reached[i]] = -1
    return num


@njit(nogil=True, cache=True)
def _walk(
    runs: Runs,
    tree: Tree,
    scratch: Scratch,
    source: int,
    answer: int,
    barred: bool,
    entries: Entries,
    first: int,
) -> int:
    """Write the entries of one question from `first` on; return where they end, or -1 for lack of room."""
    scratch.counts[0] = 1
    scratch.entities[0, 0], scratch.forward[0, 0], scratch.backward[0, 0] = source, 1.0, 1.0
    end = first
    for node in range(len(tree.depths)):
        depth = tree.depths[node]
        num = _expand(runs, scratch, depth, tree.operators[node], source, answer)
        scratch.counts[depth] = num
        rule = tree.rules[node]
        if rule < 0:
            continue
        if end + num > len(entries.entities):
            return -1
        for i in range(num):
            if barred and scratch.entities[depth, i] == source:
                continue
            entries.entities[end], entries.rules[end] = scratch.entities[depth, i], rule
            entries.forward[end] = saturate(scratch.forward[depth, i])
            entries.backward[end] = saturate(scratch.backward[depth, i])
            end += 1
    return end


@njit(nogil=True, cache=True)
def saturate(probability: float) -> float:
    """Return log(1 + 100 p) / log(101): tells 0.001 from 0.01 as well as 0.1 from 1."""
    return float(np.log1p(100.0 * probability) * 0.2166790653)


@njit(nogil=True, cache=True)
def gather(
    runs: Runs,
    tree: Tree,
    scratch: Scratch,
    sources: Ids,
    query: int,
    answers: Ids,
    whole_pair: bool,
    barred: bool,
    entries: Entries,
    ends: Ids,
) -> int:
    """Write the entries of questions one after the other; return how many questions fit.

    `ends` says where each question's entries end. An answer of -1 hides nothing; any other must be a fact.
    """
    end = 0
    for i in range(len(sources)):
        if answers[i] >= 0:
            _hide(runs, sources[i], query, answers[i], whole_pair, scratch.hidden)
        end = _walk(runs, tree, scratch, sources[i], answers[i], barred, entries, end)
        scratch.hidden[:] = False
        if end < 0:
            return i
        ends[i] = end
    return len(sources)


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
