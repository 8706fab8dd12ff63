"""What a question may not see while its rules are weighted: its own fact, or all that links its pair.

Where no pair to be validated is linked by a known fact (FB15K-237), all that links a training pair must be
hidden too, or the rules that learning likes best never fire when it counts. Where nearly all are linked
(WN18), little would be learned about the few that are not: three in four questions then hide their pairs, and
seek their answers only among entities that are not linked to the source.
"""

from typing import NamedTuple

import numpy as np

from ..config import Masking
from ..graph.arrays import Flags, Ids
from ..graph.knowledge_base import Split
from ..graph.questions import KnownAnswers, Questions

#: The share of linked pairs from which on those without a link are too few to learn from.
NEARLY_ALL = 0.9


def share_linked(split: Split) -> float:
    """Return which share of the pairs to be validated is linked by a known fact, whichever way."""
    unit = np.array([len(split.entities), 1])
    known, asked = (np.sort(facts[:, [0, 2]], axis=1) @ unit for facts in (split.known.facts, split.valid))
    return float(np.isin(asked, known).mean()) if len(asked) else 0.5


def choose_masking(split: Split) -> Masking:
    """Return what suits the pairs to be validated."""
    share = share_linked(split)
    return "pair" if share == 0 else "both" if NEARLY_ALL <= share < 1 else "fact"


#: Whether questions hide their whole pair, one after another. A direct link is learned from few: most can
#: go without.
TURNS = {"fact": [False], "pair": [True], "both": [False, True, True, True]}


class Filters(NamedTuple):
    """Who is no candidate, question by question: other known answers, then those set aside."""

    offsets: Ids  # (question + 1,)
    entities: Ids
    known_ends: Ids  # (question,) where the known answers end


class EdgeMasking:
    """Says of each question whether it hides its whole pair, and who is then no candidate answer."""

    def __init__(self, split: Split, masking: Masking) -> None:
        self.masking = masking = choose_masking(split) if masking == "auto" else masking
        self.turns = TURNS[masking]
        self.ways = sorted(set(self.turns))  # whether a whole pair is hidden, in every way there is
        facts = split.known.facts
        linked = facts[:0] if masking != "both" else facts * np.array([1, 0, 1])
        self.linked = KnownAnswers(linked, 1)

    def mask_pair(self, questions: Questions) -> Flags:
        """Return which of the questions hide all that links their pair: they take turns."""
        return np.resize(np.array(self.turns), len(questions))

    def filters_of(self, known: KnownAnswers, questions: Questions, mask_pair: Flags | None) -> Filters:
        """Return the other known answers of questions, and those linked to the source of a hidden pair."""
        rows, entities = known.pairs(questions.sources, questions.queries)
        hidden = np.flatnonzero([] if mask_pair is None else mask_pair)
        ways = np.zeros_like(hidden), np.ones_like(hidden)
        near = [self.linked.pairs(questions.sources[hidden], way) for way in ways]
        all_rows = np.concatenate([rows, *(hidden[row] for row, _ in near)])
        all_entities = np.concatenate([entities, *(entity for _, entity in near)])
        other = all_entities != questions.answers[all_rows]
        order = np.flatnonzero(other)[np.argsort(all_rows[other], kind="stable")]
        offsets = np.searchsorted(all_rows[order], np.arange(len(questions) + 1))
        num_known = np.bincount(rows[other[: len(rows)]], minlength=len(questions))
        return Filters(offsets, all_entities[order], offsets[:-1] + num_known)
