"""Types and compiled functions that the features of every kind of rule are computed with."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.arrays import Flags, Floats, Ids
from ..graph.compilation import kernel_function
from ..graph.kernels import inverse_in_kernel
from ..graph.segments import CsrSegments as CsrSegments
from ..graph.segments import Small as Small
from ..graph.segments import Unsigned as Unsigned

FeatureValues = NDArray[np.float32] | NDArray[np.float64]

#: Bits of the mantissa of a double, and the bits of the square root of 1/2.
MANTISSA, ROOT_OF_HALF = np.uint64(52), np.float64(0.5**0.5).view(np.uint64)


class QuestionBatch(NamedTuple):
    """Questions of one query, and what is masked while each is scored."""

    query: int
    sources: Ids
    answers: Ids  # the answer whose fact is masked; -1: nothing is masked. Any other must be a known fact.
    mask_pair: Flags  # whether all facts between source and answer are masked, not only the one asked
    exclude_source: bool  # whether the source itself gets no features

    @property
    def size(self) -> int:
        """How many questions there are."""
        return len(self.sources)

    def rows(self, start: int, stop: int | None = None) -> "QuestionBatch":
        """Return some of the questions, from `start` up to `stop`."""
        own = slice(start, stop)
        return self._replace(
            sources=self.sources[own], answers=self.answers[own], mask_pair=self.mask_pair[own]
        )


class Entries(NamedTuple):
    """Features of entities, question by question, in segments of one rule each.

    An entry means that the rule predicts the entity (its indicator is 1). Its forward feature is above 0.
    """

    entities: Unsigned  # (entry,)
    forward: FeatureValues
    backward: FeatureValues
    rules: Small  # (segment,)
    bounds: Ids  # (segment + 1,) where each segment's entries begin


class Scratch(NamedTuple):
    """Working memory of one thread."""

    entities: Small  # (depth, entity) the frontier after each step, packed
    forward: Floats  # (depth, entity)
    backward: Floats
    counts: Ids  # (depth,) size of each frontier; 0 between questions
    places: Small  # (depth, entity) an entity's place in the frontier, or -1
    segments: Small  # (entity,) segments that leave a frontier
    origins: Small  # (entity,) and the place in the frontier that each leaves from
    masked: Flags  # (operator,) whether its edge from source to answer is masked
    tallies: Small  # (entity,) how often it was met; 0 between questions
    tallied: Small  # (entity,) the entities with a tally
    marks: NDArray[np.int8]  # (entity,) 0 between questions


def scratch_for(num_entities: int, num_operators: int, max_length: int) -> Scratch:
    """Return working memory for bodies of up to `max_length` operators."""
    size = (max_length + 1, num_entities)
    return Scratch(
        np.empty(size, np.int32),
        np.empty(size),
        np.empty(size),
        np.zeros(max_length + 1, np.int64),
        np.full(size, -1, np.int32),
        np.empty(num_entities + 1, np.int32),
        np.empty(num_entities + 1, np.int32),
        np.zeros(num_operators, np.bool_),
        np.zeros(num_entities, np.int32),
        np.empty(num_entities, np.int32),
        np.zeros(num_entities, np.int8),
    )


def entries_for(num: int, precision: type = np.float32) -> Entries:
    """Return empty arrays for `num` entries in as many segments; pages never written take no memory."""
    forward: FeatureValues = np.empty(num, precision)
    backward: FeatureValues = np.empty(num, precision)
    bounds = np.zeros(num + 1, np.int64)
    return Entries(np.empty(num, np.uint32), forward, backward, np.empty(num, np.int32), bounds)


@kernel_function()
def find_segment(edges: CsrSegments, entity: int, operator: int) -> int:
    """Return the segment of an entity's edges of one operator, or -1."""
    low, size = edges.offsets[entity], edges.offsets[entity + 1] - edges.offsets[entity]
    while size > 1:  # free of branches that depend on the data: none is mispredicted
        half = size >> 1
        low += half * (edges.operators[low + half] <= operator)
        size -= half
    return low if size and edges.operators[low] == operator else -1


@kernel_function()
def invert(operator: int, scratch: Scratch) -> int:
    """Return the inverse operator."""
    num_relations = len(scratch.masked) // 2
    return inverse_in_kernel(operator, num_relations)


@kernel_function()
def mask_facts(edges: CsrSegments, scratch: Scratch, batch: QuestionBatch, question: int) -> None:
    """Mark the operators whose edge from source to answer is masked: the query, or all that link the pair."""
    source, answer, masked = batch.sources[question], batch.answers[question], scratch.masked
    if answer < 0:
        return
    masked[batch.query] = True
    if batch.mask_pair[question]:
        for segment in range(edges.offsets[source], edges.offsets[source + 1]):
            for edge in range(edges.starts[segment], edges.starts[segment + 1]):
                if edges.targets[edge] == answer:
                    masked[edges.operators[segment]] = True


@kernel_function()
def masks_edge(scratch: Scratch, operator: int, source: int, answer: int) -> bool:
    """Return whether an operator's edge from the source to the answer is masked."""
    return scratch.masked[operator] or (source == answer and scratch.masked[invert(operator, scratch)])


@kernel_function()
def unmask_facts(scratch: Scratch) -> None:
    """Clear the marks that `mask_facts` set."""
    for operator in range(len(scratch.masked)):
        scratch.masked[operator] = False


@kernel_function()
def clear_frontier(scratch: Scratch, depth: int) -> None:
    """Empty the frontier of one depth."""
    for i in range(scratch.counts[depth]):
        scratch.places[depth, scratch.entities[depth, i]] = -1
    scratch.counts[depth] = 0


@kernel_function()
def write_segment(scratch: Scratch, depth: int, rule: int, excluded: int, entries: Entries, last: int) -> int:
    """Write the frontier of one depth as the features of a rule, without the entity `excluded`.

    `last` is the number of segments so far. Returns their number now, or -1 where there is no room.
    """
    num, start = scratch.counts[depth], entries.bounds[last]
    if start + num > len(entries.entities):
        return -1
    for i in range(num):
        entries.entities[start + i] = scratch.entities[depth, i]
    log_scale(scratch.forward[depth, :num], entries.forward[start : start + num])
    log_scale(scratch.backward[depth, :num], entries.backward[start : start + num])
    place = scratch.places[depth, excluded] if excluded >= 0 else -1
    if place >= 0:  # the last entry takes its place
        num -= 1
        for column in (entries.forward, entries.backward):
            column[start + place] = column[start + num]
        entries.entities[start + place] = entries.entities[start + num]
    if num == 0:
        return last
    entries.rules[last], entries.bounds[last + 1] = rule, start + num
    return last + 1


@kernel_function("contract")
def log_scale(probabilities: Floats, out: FeatureValues) -> None:
    """Write log(1 + 100 p) / log(101) for each p, which separates 0.001 from 0.01 as well as 0.1 from 1.

    Exact to 15 digits, and in a form that compiles to vector instructions, which a library's logarithm does
    not: x = 2^n m with m between the square roots of 1/2 and 2, and a series for log m.
    """
    for i in range(len(probabilities)):
        bits = np.float64(1.0 + 100.0 * probabilities[i]).view(np.uint64)
        n = (bits - ROOT_OF_HALF) >> MANTISSA
        m = np.uint64(bits - (n << MANTISSA)).view(np.float64)
        t = (m - 1.0) / (m + 1.0)
        u = t * t
        tail = 1 / 11 + u * (1 / 13 + u * (1 / 15 + u * (1 / 17 + u * (1 / 19 + u * (1 / 21)))))
        series = 1.0 + u * (1 / 3 + u * (1 / 5 + u * (1 / 7 + u * (1 / 9 + u * tail))))
        out[i] = (np.float64(np.int32(n)) * 0.6931471805599453 + 2.0 * t * series) * 0.21667906533553166
