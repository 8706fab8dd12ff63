"""Edge masking: which facts are removed from the graph while a training question is scored.

Either the question's own fact, or all facts that link its pair. Where no validation pair is linked by a
known fact (FB15K-237), all links of a training pair must be masked too, or learning prefers rules that never
predict anything at validation. Where nearly all are linked (WN18), little would be learned about the few that
are not: three in four questions then mask their pair, and choose their answers only among entities not linked
to the source.
"""

from typing import NamedTuple

import numpy as np

from ..config import Linked, Masking
from ..graph.arrays import Flags, Ids
from ..graph.knowledge_base import Split
from ..graph.questions import KnownAnswers, Questions

#: The share of linked pairs from which on those without a link are too few to learn from.
NEARLY_ALL = 0.9

#: The probability that no validation pair is linked, below which it is no accident.
CHANCE = 0.01

#: Whether questions mask their whole pair, in turn. Direct links are learned from a quarter of the questions.
TURNS = {"fact": [False], "pair": [True], "both": [False, True, True, True]}


def linked_share(split: Split) -> float:
    """Return the share of validation pairs that a known fact links, in either direction."""
    unit = np.array([len(split.entities), 1])
    known, asked = (np.sort(facts[:, [0, 2]], axis=1) @ unit for facts in (split.known.facts, split.valid))
    return float(np.isin(asked, known).mean()) if len(asked) else 0.5


def choose_masking(split: Split) -> Masking:
    """Return the masking that suits the validation pairs."""
    share = linked_share(split)
    return "pair" if share == 0 else "both" if NEARLY_ALL <= share < 1 else "fact"


def share_linked_twice(facts: Ids, num_entities: int) -> float:
    """Return the share of facts whose pair another fact links too, in either direction."""
    pairs = np.sort(facts[:, [0, 2]], axis=1) @ np.array([num_entities, 1])
    _, place, count = np.unique(pairs, return_inverse=True, return_counts=True)
    return float((count[place] > 1).mean()) if len(facts) else 0.0


def linked_are_never_right(split: Split) -> bool:
    """Return whether no validation pair is linked by a known fact, and that is no accident.

    So many known pairs are linked twice that among facts held out at random some would be.
    """
    if not len(split.valid) or linked_share(split) > 0:
        return False
    expected = share_linked_twice(split.known.facts, len(split.entities))
    return bool((1 - expected) ** len(split.valid) < CHANCE)


class Filters(NamedTuple):
    """Entities that are no candidate answers: of each question first known answers, then linked ones."""

    offsets: Ids  # (question + 1,)
    entities: Ids
    known_ends: Ids  # (question,) where the known answers end


class EdgeMasking:
    """Decides for each question whether its whole pair is masked, and which entities are filtered out."""

    def __init__(self, split: Split, masking: Masking, linked: Linked = "include") -> None:
        self.masking = masking = choose_masking(split) if masking == "auto" else masking
        self.excludes_linked = linked_are_never_right(split) if linked == "auto" else linked == "exclude"
        self.turns = TURNS[masking]
        self.choices = sorted(set(self.turns))  # every value of `mask_pair` that occurs
        used = masking == "both" or self.excludes_linked
        self.linked = links_of(split.known.facts if used else split.known.facts[:0])

    def mask_pair(self, questions: Questions) -> Flags:
        """Return which of the questions mask all facts that link their pair."""
        return np.resize(np.array(self.turns), len(questions))

    def is_linked(self, questions: Questions) -> Flags:
        """Return which answers are no candidates, as a fact links them to their source."""
        flags = np.zeros(len(questions), dtype=np.bool_)
        if self.excludes_linked:
            rows, entities = linked_pairs(self.linked, questions.sources)
            flags[rows[entities == questions.answers[rows]]] = True
        return flags

    def filters_of(self, known: KnownAnswers, questions: Questions, mask_pair: Flags | None) -> Filters:
        """Return other known answers of questions, and entities linked to the source that are no candidates.

        Linked entities are no candidates in any question where they are excluded, and otherwise where the
        pair is masked.
        """
        rows, entities = known.pairs(questions.sources, questions.queries)
        wanted = np.ones(len(questions), np.bool_) if self.excludes_linked else mask_pair
        masked = np.flatnonzero([] if wanted is None else wanted)
        linked_rows, linked = linked_pairs(self.linked, questions.sources[masked])
        all_rows = np.concatenate([rows, masked[linked_rows]])
        all_entities = np.concatenate([entities, linked])
        other = all_entities != questions.answers[all_rows]
        order = np.flatnonzero(other)[np.argsort(all_rows[other], kind="stable")]
        offsets = np.searchsorted(all_rows[order], np.arange(len(questions) + 1))
        num_known = np.bincount(rows[other[: len(rows)]], minlength=len(questions))
        return Filters(offsets, all_entities[order], offsets[:-1] + num_known)


def links_of(facts: Ids) -> KnownAnswers:
    """Return which entities facts link, whatever the relation."""
    return KnownAnswers(facts * np.array([1, 0, 1]), 1)


def linked_pairs(links: KnownAnswers, sources: Ids) -> tuple[Ids, Ids]:
    """Return the entities linked to each source, in either direction, as pairs of row and entity."""
    both = [links.pairs(sources, np.full(len(sources), direction)) for direction in (0, 1)]
    rows, entities = (np.concatenate(column) for column in zip(*both, strict=True))
    return rows, entities
