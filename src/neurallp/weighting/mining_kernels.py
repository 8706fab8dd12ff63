"""The compiled loop that finds bodies between two entities, meeting in the middle."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.arrays import Ids
from ..graph.compilation import kernel, kernel_function
from .features_kernels import CsrSegments


class Trails(NamedTuple):
    """Partial paths from one end: where each stands, its body as a number, its length and probability."""

    entities: Ids
    codes: Ids
    lengths: Ids
    probabilities: NDArray[np.float64]


class Meetings(NamedTuple):
    """Lists of the trails that stand at an entity, linked from the last to the first; -1 ends them."""

    last: Ids  # (entity,)
    before: Ids  # (trail,)


@kernel_function()
def _spread(
    runs: CsrSegments,
    trails: Trails,
    start: int,
    steps: int,
    ends: tuple[int, int, int, bool],
    back: bool,
    base: int,
    meetings: Meetings,
) -> int:
    """Write all trails of up to `steps` steps from `start`; return how many fit.

    Never along the facts hidden between source and answer. A trail going forward takes its last step only to
    where one from the other end stands; one going back reads its operators the other way round.
    """
    source, query, answer, mask_pair = ends
    half = base // 2  # operators are numbered from 1 in codes, so base is one more than there are
    trails.entities[0], trails.codes[0], trails.lengths[0], trails.probabilities[0] = start, 0, 0, 1.0
    num, i = 1, 0
    while i < num:
        entity, length = trails.entities[i], trails.lengths[i]
        if length < steps:
            unit = base**length
            for run in range(runs.offsets[entity], runs.offsets[entity + 1]):
                k = runs.operators[run]
                inverse = k - half if k >= half else k + half
                degree = runs.starts[run + 1] - runs.starts[run]
                for edge in range(runs.starts[run], runs.starts[run + 1]):
                    target = runs.targets[edge]
                    if entity == source and target == answer and (mask_pair or k == query):
                        continue
                    if entity == answer and target == source and (mask_pair or inverse == query):
                        continue
                    if not back and length == steps - 1 and meetings.last[target] < 0:
                        continue
                    if num == len(trails.entities):
                        return num
                    trails.entities[num], trails.lengths[num] = target, length + 1
                    trails.probabilities[num] = trails.probabilities[i] / degree
                    if back:
                        trails.codes[num] = (inverse + 1) * unit + trails.codes[i]
                    else:
                        trails.codes[num] = trails.codes[i] * base + k + 1
                    num += 1
        i += 1
    return num


@kernel()
def link(
    runs: CsrSegments,
    ends: tuple[int, int, int, bool],
    steps: tuple[int, int],
    base: int,
    there: Trails,
    back: Trails,
    meetings: Meetings,
    codes: Ids,
    probabilities: NDArray[np.float64],
) -> int:
    """Write the body of every path from source to answer, with the probability to walk its first part.

    Up to `steps[0]` steps go forward and `steps[1]` back; each path is written once. Returns how many fit.
    """
    num_back = _spread(runs, back, ends[2], steps[1], ends, True, base, meetings)
    for i in range(num_back):
        entity = back.entities[i]
        meetings.before[i] = meetings.last[entity]
        meetings.last[entity] = i
    num_there = _spread(runs, there, ends[0], steps[0], ends, False, base, meetings)
    num = 0
    for i in range(num_there):
        j = meetings.last[there.entities[i]]
        while j >= 0 and num < len(codes):
            # Told once: what is shorter than the way forward needs no way back.
            if there.lengths[i] == steps[0] or (back.lengths[j] == 0 and there.lengths[i] > 0):
                codes[num] = there.codes[i] * base ** back.lengths[j] + back.codes[j]
                probabilities[num] = there.probabilities[i]
                num += 1
            j = meetings.before[j]
    for i in range(num_back):
        meetings.last[back.entities[i]] = -1
    return num
