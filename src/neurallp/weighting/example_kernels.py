"""Questions with features, to learn from or to rank; the compiled loops that number their candidates."""

from typing import NamedTuple

import numpy as np

from ..graph.arrays import Flags, Floats, Ids
from ..graph.compilation import kernel, kernel_function
from .features_kernels import Entries, Small, Unsigned


class Examples(NamedTuple):
    """Questions with the features of their candidates.

    Entities are numbered by their place in the list of their question: the answer comes first, then entities
    that are no candidates (known answers before others), then all others with features. So the scores of a
    question are few numbers side by side. `entries.entities` are places.
    """

    entries: Entries
    starts: Ids  # (question,) where each question's segments of entries begin
    ends: Ids  # (question,)
    answers: Ids
    listed: Unsigned  # the entities of all lists
    offsets: Ids  # (question + 1,) where each list begins
    known_ends: Ids  # (question,) the place after the answer and the other known answers
    excluded_ends: Ids  # (question,) the place after all that are no candidates
    answer_excluded: Flags  # (question,) whether the answer is no candidate itself, so that it ranks last


class DenseValues(NamedTuple):
    """The dense feature of each entity, and of each as an answer whose own fact is masked."""

    values: Floats  # (entity,)
    masked: Floats  # (entity,)


class Buffer(NamedTuple):
    """Working memory to score one question under several settings."""

    scores: Floats  # (setting, place)
    odds: Floats  # (setting, entity) exp of the dense term
    sums: Floats  # (setting, 2) over all entities: of the odds, and of dense feature x odds
    places: Small  # (entity,) 1 + the place in a list; 0 between questions

    @classmethod
    def of(cls, num_settings: int, num_entities: int) -> "Buffer":
        """Return an empty buffer."""
        size = num_settings, num_entities
        return cls(
            np.zeros(size), np.zeros(size), np.zeros((num_settings, 2)), np.zeros(num_entities, np.int32)
        )


def list_entities(
    features: tuple[Entries, Ids, Ids],
    ends: tuple[Ids, Ids],
    filters: tuple[Ids, Ids, Ids],
    exclude_source: bool,
    answer_excluded: Flags,
    buffer: Buffer,
) -> Examples:
    """Return examples of features (entries, starts, ends), whose entities are replaced by their places.

    `ends` are sources and answers; `filters` are the entities that are filtered out: offsets, entities, and
    where the known answers among them end.
    """
    entries, starts, stops = features
    num = len(starts)
    num_entries = entries.bounds[stops] - entries.bounds[starts]
    room = np.minimum(num_entries + np.diff(filters[0]) + 2, len(buffer.places)).sum()
    listed, offsets = np.empty(room, np.uint32), np.zeros(num + 1, np.int64)
    sources, answers = ends
    known, excluded = np.zeros((2, num), np.int64)
    found = Examples(entries, starts, stops, answers, listed, offsets, known, excluded, answer_excluded)
    number_entities(found, sources, *filters, exclude_source, buffer.places)
    return found


@kernel_function()
def _append(examples: Examples, places: Small, entity: int, last: int, start: int) -> int:
    """Append an entity that is not yet listed; return where the list ends."""
    if places[entity] == 0:
        examples.listed[last] = entity
        last += 1
        places[entity] = last - start
    return last


@kernel()
def number_entities(
    examples: Examples,
    sources: Ids,
    other_offsets: Ids,
    others: Ids,
    known_ends: Ids,
    exclude_source: bool,
    places: Small,
) -> None:
    """Write the lists of all questions, and replace the entities of entries by their places."""
    entities, bounds, last = examples.entries.entities, examples.entries.bounds, examples.offsets[0]
    for question in range(len(examples.answers)):
        start = last
        last = _append(examples, places, examples.answers[question], last, start)
        for i in range(other_offsets[question], known_ends[question]):
            last = _append(examples, places, others[i], last, start)
        examples.known_ends[question] = last - start
        for i in range(known_ends[question], other_offsets[question + 1]):
            last = _append(examples, places, others[i], last, start)
        if exclude_source:
            last = _append(examples, places, sources[question], last, start)
        examples.excluded_ends[question] = last - start
        for i in range(bounds[examples.starts[question]], bounds[examples.ends[question]]):
            last = _append(examples, places, entities[i], last, start)
            entities[i] = places[entities[i]] - 1
        examples.offsets[question + 1] = last
        for i in range(start, last):
            places[examples.listed[i]] = 0
