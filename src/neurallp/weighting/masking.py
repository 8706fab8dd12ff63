"""Edge masking: which facts are removed from the graph while a training question is scored.

Either the question's own fact, or all facts that link its pair. Where no validation pair is linked by a
known fact (FB15K-237), all links of a training pair must be masked too, or learning prefers rules that never
predict anything at validation. Where nearly all are linked (WN18), little would be learned about the few that
are not: three in four questions then mask their pair, and choose their answers only among entities not linked
to the source.
"""

from typing import NamedTuple

import numpy as np

from ..config import Masking
from ..graph.arrays import Flags, Ids
from ..graph.knowledge_base import Split
from ..graph.questions import KnownAnswers, Questions

#: The share of linked pairs from which on those without a link are too few to learn from.
NEARLY_ALL = 0.9

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


class Filters(NamedTuple):
    """Entities that are no candidate answers: of each question first known answers, then linked ones."""

    offsets: Ids  # (question + 1,)
    entities: Ids
    known_ends: Ids  # (question,) where the known answers end


class EdgeMasking:
    """Decides for each question whether its whole pair is masked, and which entities are filtered out."""

    def __init__(self, split: Split, masking: Masking) -> None:
        self.masking = masking = choose_masking(split) if masking == "auto" else masking
        self.turns = TURNS[masking]
        self.choices = sorted(set(self.turns))  # every value of `mask_pair` that occurs
        facts = split.known.facts
        linked = facts[:0] if masking != "both" else facts * np.array([1, 0, 1])
        self.linked = KnownAnswers(linked, 1)

    def mask_pair(self, questions: Questions) -> Flags:
        """Return which of the questions mask all facts that link their pair."""
        return np.resize(np.array(self.turns), len(questions))

    def filters_of(self, known: KnownAnswers, questions: Questions, mask_pair: Flags | None) -> Filters:
        """Return other known answers of questions, and the entities linked to the source of a masked pair."""
        rows, entities = known.pairs(questions.sources, questions.queries)
        masked = np.flatnonzero([] if mask_pair is None else mask_pair)
        directions = np.zeros_like(masked), np.ones_like(masked)
        linked = [self.linked.pairs(questions.sources[masked], direction) for direction in directions]
        all_rows = np.concatenate([rows, *(masked[row] for row, _ in linked)])
        all_entities = np.concatenate([entities, *(entity for _, entity in linked)])
        other = all_entities != questions.answers[all_rows]
        order = np.flatnonzero(other)[np.argsort(all_rows[other], kind="stable")]
        offsets = np.searchsorted(all_rows[order], np.arange(len(questions) + 1))
        num_known = np.bincount(rows[other[: len(rows)]], minlength=len(questions))
        return Filters(offsets, all_entities[order], offsets[:-1] + num_known)
