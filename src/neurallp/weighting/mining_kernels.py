"""The compiled loop that finds bodies between two entities, by a search from both ends."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.arrays import Ids
from ..graph.compilation import kernel, kernel_function
from ..graph.kernels import inverse_in_kernel
from .features_kernels import CsrSegments


class Trails(NamedTuple):
    """Partial paths from one end: last entity, body as a number, length and probability of each."""

    entities: Ids
    codes: Ids
    lengths: Ids
    probabilities: NDArray[np.float64]


class Meetings(NamedTuple):
    """Linked lists of the backward trails that end at each entity, from last to first; -1 ends a list."""

    last: Ids  # (entity,)
    before: Ids  # (trail,)


@kernel_function()
def _spread(
    edges: CsrSegments,
    trails: Trails,
    start: int,
    steps: int,
    ends: tuple[int, int, int, bool],
    backward: bool,
    base: int,
    meetings: Meetings,
) -> int:
    """Write all trails of up to `steps` steps from `start`; return how many fit.

    Masked facts between source and answer are not walked. A forward trail takes its last step only to an
    entity where a backward trail ends; a backward trail collects inverse operators.
    """
    source, query, answer, mask_pair = ends
    half = base // 2  # operators are numbered from 1 in codes, so base is their number + 1
    trails.entities[0], trails.codes[0], trails.lengths[0], trails.probabilities[0] = start, 0, 0, 1.0
    num, i = 1, 0
    while i < num:
        entity, length = trails.entities[i], trails.lengths[i]
        if length < steps:
            unit = base**length
            for segment in range(edges.offsets[entity], edges.offsets[entity + 1]):
                k = edges.operators[segment]
                inverse = inverse_in_kernel(k, half)
                degree = edges.starts[segment + 1] - edges.starts[segment]
                for edge in range(edges.starts[segment], edges.starts[segment + 1]):
                    target = edges.targets[edge]
                    if entity == source and target == answer and (mask_pair or k == query):
                        continue
                    if entity == answer and target == source and (mask_pair or inverse == query):
                        continue
                    if not backward and length == steps - 1 and meetings.last[target] < 0:
                        continue
                    if num == len(trails.entities):
                        return num
                    trails.entities[num], trails.lengths[num] = target, length + 1
                    trails.probabilities[num] = trails.probabilities[i] / degree
                    if backward:
                        trails.codes[num] = (inverse + 1) * unit + trails.codes[i]
                    else:
                        trails.codes[num] = trails.codes[i] * base + k + 1
                    num += 1
        i += 1
    return num


@kernel()
def link(
    edges: CsrSegments,
    ends: tuple[int, int, int, bool],
    steps: tuple[int, int],
    base: int,
    forward: Trails,
    backward: Trails,
    meetings: Meetings,
    codes: Ids,
    probabilities: NDArray[np.float64],
) -> tuple[int, int]:
    """Write the body of every path from source to answer, with the probability of walking its first part.

    Up to `steps[0]` steps go forward and `steps[1]` backward. Returns how many bodies fit, and the number of
    paths followed for them: trails of both directions and bodies.
    """
    num_backward = _spread(edges, backward, ends[2], steps[1], ends, True, base, meetings)
    for i in range(num_backward):
        entity = backward.entities[i]
        meetings.before[i] = meetings.last[entity]
        meetings.last[entity] = i
    num_forward = _spread(edges, forward, ends[0], steps[0], ends, False, base, meetings)
    num = 0
    for i in range(num_forward):
        j = meetings.last[forward.entities[i]]
        while j >= 0 and num < len(codes):
            # Emit each path once: paths shorter than the forward depth are found by the forward search alone.
            if forward.lengths[i] == steps[0] or (backward.lengths[j] == 0 and forward.lengths[i] > 0):
                codes[num] = forward.codes[i] * base ** backward.lengths[j] + backward.codes[j]
                probabilities[num] = forward.probabilities[i]
                num += 1
            j = meetings.before[j]
    for i in range(num_backward):
        meetings.last[backward.entities[i]] = -1
    return num, num_forward + num_backward + num
