"""The compiled loops behind evidence.py: walking a tree of bodies."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.arrays import Flags, Floats, Ids
from ..graph.compilation import kernel_function

Small = NDArray[np.int32]
Unsigned = NDArray[np.uint32]  # of indices that loops need not test for being negative
Evidence = NDArray[np.float32]

#: Bits of the mantissa of a double, and the bits of the square root of 1/2.
MANTISSA, ROOT_OF_HALF = np.uint64(52), np.float64(0.5**0.5).view(np.uint64)

#: Entities gone through in the time that it takes to look up one run.
LOOK_UP = 16


class CsrSegments(NamedTuple):
    """Edges grouped into runs: those of one entity that belong to one operator."""

    offsets: Small  # (entity + 1,) where each entity's runs begin
    operators: Small  # (run,)
    starts: Small  # (run + 1,) where each run's edges begin
    targets: Unsigned  # (edge,)
    fan_in: Small  # (edge,) edges of the same operator that arrive where this one does
    of_operator: Small  # (operator + 1,) where each operator's runs begin in the two below
    sources: Unsigned  # (run,) the entities that have an operator, ascending
    own: Small  # (run,) their runs


class Trie(NamedTuple):
    """Bodies that share their beginnings, each node before those below it."""

    depths: Small  # (node,) 1 for a first step
    operators: Small  # (node,)
    rules: Small  # (node,) the rule whose body ends here, or -1


class Entries(NamedTuple):
    """What rules say of entities, question by question, and in stretches of one rule each.

    That a rule fired goes without saying.
    """

    entities: Unsigned  # (entry,)
    forward: Evidence
    backward: Evidence
    rules: Small  # (stretch,)
    bounds: Ids  # (stretch + 1,) where its entries begin, and those of the one before end


class Scratch(NamedTuple):
    """Working space for one thread."""

    entities: Small  # (depth, entity) where the walk stands after each step, packed
    forward: Floats  # (depth, entity)
    backward: Floats
    counts: Ids  # (depth,) how many stand there; 0 in between
    places: Small  # (depth, entity) where an entity stands in the frontier there, or -1
    runs: Small  # (entity,) those that leave a frontier
    origins: Small  # (entity,) and from which place in it
    hidden: Flags  # (operator,) whether it links source and answer and must not be seen
    tallies: Small  # (entity,) how often it was met; 0 in between
    tallied: Small  # (entity,) those that were
    marks: NDArray[np.int8]  # (entity,) 0 in between


@kernel_function()
def find_run(runs: CsrSegments, entity: int, operator: int) -> int:
    """Return the run of an entity's edges that belong to one operator, or -1."""
    low, size = runs.offsets[entity], runs.offsets[entity + 1] - runs.offsets[entity]
    while size > 1:  # no branch depends on what is read: none is guessed wrong
        half = size >> 1
        low += half * (runs.operators[low + half] <= operator)
        size -= half
    return low if size and runs.operators[low] == operator else -1


@kernel_function()
def invert(operator: int, scratch: Scratch) -> int:
    """Return the operator that leads back."""
    num_relations = len(scratch.hidden) // 2
    return operator - num_relations if operator >= num_relations else operator + num_relations


@kernel_function()
def hide(runs: CsrSegments, source: int, query: int, answer: int, mask_pair: bool, hidden: Flags) -> None:
    """Mark the operators by which the source must not reach the answer: the query, or all that do."""
    hidden[query] = True
    if mask_pair:
        for run in range(runs.offsets[source], runs.offsets[source + 1]):
            for edge in range(runs.starts[run], runs.starts[run + 1]):
                if runs.targets[edge] == answer:
                    hidden[runs.operators[run]] = True


@kernel_function()
def leave(scratch: Scratch, depth: int) -> None:
    """Empty the frontier of one depth."""
    for i in range(scratch.counts[depth]):
        scratch.places[depth, scratch.entities[depth, i]] = -1
    scratch.counts[depth] = 0


@kernel_function()
def _find_runs(runs: CsrSegments, scratch: Scratch, depth: int, operator: int) -> int:
    """List the runs of one operator that leave the frontier of a depth, and from where; return how many.

    Either the run of each entity is looked up, or the operator's are gone through.
    """
    entities, places, size = scratch.entities[depth], scratch.places[depth], scratch.counts[depth]
    first, end, num = runs.of_operator[operator], runs.of_operator[operator + 1], 0
    if end - first > LOOK_UP * size:
        for place in range(size):
            run = find_run(runs, entities[place], operator)
            scratch.runs[num], scratch.origins[num] = run, place
            num += run >= 0
    else:
        for i in range(first, end):
            place = places[runs.sources[i]]
            scratch.runs[num], scratch.origins[num] = runs.own[i], place
            num += place >= 0
    return num


@kernel_function()
def _expand(runs: CsrSegments, scratch: Scratch, depth: int, operator: int, source: int, answer: int) -> None:
    """Take one step from the frontier above.

    Forward mass is divided among the edges that leave, backward mass among those that arrive. Where the
    pair is hidden its edge is not there: not taken, and not counted among either.
    """
    leave(scratch, depth)
    there, back = scratch.hidden[operator], scratch.hidden[invert(operator, scratch)]
    reached, forward, backward = scratch.entities[depth], scratch.forward[depth], scratch.backward[depth]
    places, num = scratch.places[depth], 0
    for i in range(_find_runs(runs, scratch, depth - 1, operator)):
        run, origin = scratch.runs[i], scratch.origins[i]
        entity = scratch.entities[depth - 1, origin]
        skipped = answer if there and entity == source else source if back and entity == answer else -1
        start, end = runs.starts[run], runs.starts[run + 1]
        degree = end - start - (skipped >= 0)
        if degree == 0:
            continue
        ahead, behind = scratch.forward[depth - 1, origin] / degree, scratch.backward[depth - 1, origin]
        for edge in range(start, end):
            target, fan_in = runs.targets[edge], runs.fan_in[edge]
            if there or back:
                if target == skipped:
                    continue
                fan_in -= (there and target == answer) or (back and target == source)
            place = places[target]
            if place < 0:
                place = places[target] = num
                reached[num], forward[num], backward[num] = target, 0.0, 0.0
                num += 1
            forward[place] += ahead
            backward[place] += behind / fan_in
    scratch.counts[depth] = num


@kernel_function()
def write_stretch(scratch: Scratch, depth: int, rule: int, left_out: int, entries: Entries, last: int) -> int:
    """Write the frontier of one depth as what a rule says; but not the entity `left_out`.

    `last` is how many stretches there are. Returns how many there are now, or -1 for lack of room.
    """
    num, start = scratch.counts[depth], entries.bounds[last]
    if start + num > len(entries.entities):
        return -1
    for i in range(num):
        entries.entities[start + i] = scratch.entities[depth, i]
    log_scale(scratch.forward[depth, :num], entries.forward[start : start + num])
    log_scale(scratch.backward[depth, :num], entries.backward[start : start + num])
    place = scratch.places[depth, left_out] if left_out >= 0 else -1
    if place >= 0:  # the last takes its place
        num -= 1
        for column in (entries.forward, entries.backward):
            column[start + place] = column[start + num]
        entries.entities[start + place] = entries.entities[start + num]
    if num == 0:
        return last
    entries.rules[last], entries.bounds[last + 1] = rule, start + num
    return last + 1


@kernel_function()
def walk(
    runs: CsrSegments,
    tree: Trie,
    scratch: Scratch,
    source: int,
    answer: int,
    left_out: int,
    entries: Entries,
    last: int,
) -> int:
    """Write what the rules of a tree say of one question after the `last` stretch; return as it does."""
    scratch.counts[0], scratch.places[0, source] = 1, 0
    scratch.entities[0, 0], scratch.forward[0, 0], scratch.backward[0, 0] = source, 1.0, 1.0
    for node in range(len(tree.depths)):
        depth, rule = tree.depths[node], tree.rules[node]
        _expand(runs, scratch, depth, tree.operators[node], source, answer)
        if rule >= 0 and last >= 0:
            last = write_stretch(scratch, depth, rule, left_out, entries, last)
    for depth in range(len(scratch.counts)):
        leave(scratch, depth)
    return last


@kernel_function("contract")
def log_scale(probabilities: Floats, out: Evidence) -> None:
    """Write log(1 + 100 p) / log(101) for each p: tells 0.001 from 0.01 as well as 0.1 from 1.

    Exact to single precision, and in a form that is compiled to work on four at once, which no library's
    logarithm is: x = 2^n m with m between the square roots of 1/2 and 2, and a series for log m.
    """
    for i in range(len(probabilities)):
        bits = np.float64(1.0 + 100.0 * probabilities[i]).view(np.uint64)
        n = (bits - ROOT_OF_HALF) >> MANTISSA
        m = np.uint64(bits - (n << MANTISSA)).view(np.float64)
        t = (m - 1.0) / (m + 1.0)
        u = t * t
        series = 1.0 + u * (1 / 3 + u * (1 / 5 + u * (1 / 7 + u * (1 / 9 + u * (1 / 11)))))
        out[i] = (np.float64(np.int32(n)) * 0.6931471805599453 + 2.0 * t * series) * 0.2166790653
