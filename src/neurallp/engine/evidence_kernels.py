"""The compiled loops behind evidence.py: walking a tree of bodies."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..knowledge import Ids

Floats = NDArray[np.floating[Any]]
Small = NDArray[np.int32]
Evidence = NDArray[np.float32]
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
    """What rules say of entities, question by question, and in stretches of one rule each.

    That a rule fired goes without saying.
    """

    entities: Small  # (entry,)
    forward: Evidence
    backward: Evidence
    rules: Small  # (stretch,)
    bounds: Ids  # (stretch + 1,) where its entries begin, and those of the one before end


class Scratch(NamedTuple):
    """Working space for one thread."""

    entities: Small  # (depth, entity) where the walk stands after each step, packed
    forward: NDArray[np.float64]  # (depth, entity)
    backward: NDArray[np.float64]
    counts: Ids  # (depth,)
    places: Small  # (entity,) where an entity stands in the present frontier, or -1
    hidden: Flags  # (operator,) whether it links source and answer and must not be seen
    tallies: Small  # (entity,) how often it was met; 0 in between
    tallied: Small  # (entity,) those that were
    marks: NDArray[np.int8]  # (entity,) 0 in between


@njit(nogil=True, cache=True)
def find_run(runs: Runs, entity: int, operator: int) -> int:
    """Return the run of an entity's edges that belong to one operator, or -1."""
    low, size = runs.offsets[entity], runs.offsets[entity + 1] - runs.offsets[entity]
    while size > 1:  # no branch depends on what is read: none is guessed wrong
        half = size >> 1
        low += half * (runs.operators[low + half] <= operator)
        size -= half
    return low if size and runs.operators[low] == operator else -1


@njit(nogil=True, cache=True)
def invert(operator: int, scratch: Scratch) -> int:
    """Return the operator that leads back."""
    num_relations = len(scratch.hidden) // 2
    return operator - num_relations if operator >= num_relations else operator + num_relations


@njit(nogil=True, cache=True)
def hide(runs: Runs, source: int, query: int, answer: int, whole_pair: bool, hidden: Flags) -> None:
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
    there, back = scratch.hidden[operator], scratch.hidden[invert(operator, scratch)]
    reached, forward, backward = scratch.entities[depth], scratch.forward[depth], scratch.backward[depth]
    num = 0
    for i in range(scratch.counts[depth - 1]):
        entity = scratch.entities[depth - 1, i]
        run = find_run(runs, entity, operator)
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
            fan_in = runs.fan_in[edge]
            if there or back:
                if target == skipped:
                    continue
                fan_in -= (there and target == answer) or (back and target == source)
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
def write_stretch(
    scratch: Scratch, depth: int, num: int, rule: int, left_out: int, entries: Entries, last: int
) -> int:
    """Write the first `num` entities of one depth as what a rule says; but not the one `left_out`.

    `last` is how many stretches there are. Returns how many there are now, or -1 for lack of room.
    """
    first = end = entries.bounds[last]
    if end + num > len(entries.entities):
        return -1
    ahead, behind, there, back = -1.0, -1.0, 0.0, 0.0
    for i in range(num):
        if scratch.entities[depth, i] == left_out:
            continue
        if scratch.forward[depth, i] != ahead:  # the same for many in a row, and logarithms take long
            ahead = scratch.forward[depth, i]
            there = saturate(ahead)
        if scratch.backward[depth, i] != behind:
            behind = scratch.backward[depth, i]
            back = saturate(behind)
        entries.entities[end], entries.forward[end], entries.backward[end] = (
            scratch.entities[depth, i],
            there,
            back,
        )
        end += 1
    if end == first:
        return last
    entries.rules[last], entries.bounds[last + 1] = rule, end
    return last + 1


@njit(nogil=True, cache=True)
def walk(
    runs: Runs,
    tree: Tree,
    scratch: Scratch,
    source: int,
    answer: int,
    left_out: int,
    entries: Entries,
    last: int,
) -> int:
    """Write what the rules of a tree say of one question after the `last` stretch; return as it does."""
    scratch.counts[0] = 1
    scratch.entities[0, 0], scratch.forward[0, 0], scratch.backward[0, 0] = source, 1.0, 1.0
    for node in range(len(tree.depths)):
        depth = tree.depths[node]
        num = _expand(runs, scratch, depth, tree.operators[node], source, answer)
        scratch.counts[depth] = num
        if tree.rules[node] >= 0:
            last = write_stretch(scratch, depth, num, tree.rules[node], left_out, entries, last)
            if last < 0:
                return -1
    return last


@njit(nogil=True, cache=True)
def saturate(probability: float) -> float:
    """Return log(1 + 100 p) / log(101): tells 0.001 from 0.01 as well as 0.1 from 1."""
    return float(np.log1p(100.0 * probability) * 0.2166790653)
