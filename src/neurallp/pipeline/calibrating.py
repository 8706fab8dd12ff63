"""Calibration on a split: which facts are held out, and how reliable the probabilities are on test."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..errors import DataError
from ..graph.arrays import Ids
from ..graph.knowledge_base import KnowledgeBase, Split, renumber_relations, split_triples
from ..reasoning.calibration import Calibration
from ..reasoning.calibration_fit import fit_calibration
from ..reasoning.calibration_sample import Sample, draw_sample
from ..reasoning.reasoner import Basis, Reasoner, has_logarithmic_scores
from ..reasoning.reliability import Reliability, measure_reliability

OnDone = Callable[[int], None]


class HeldOut(NamedTuple):
    """Facts to walk on, facts held out, and the fraction these are of all unknown ones (None: not known)."""

    kb: KnowledgeBase
    facts: Ids
    fraction: float | None


def hold_out(split: Split, seed: int) -> HeldOut:
    """Return the validation part as held out; where there is none, a tenth of the known facts."""
    if len(split.valid):
        return HeldOut(split.known, split.valid, None)
    parts = split_triples(split.known, seed, share=0.05)
    held_out = np.concatenate([parts.valid, parts.test])
    if not len(held_out):
        raise DataError(
            f"There are too few facts to calibrate on: {len(split.known.facts):,} and none to validate. "
            "Every relation needs at least one fact besides those held out."
        )
    return HeldOut(replace(split.known, facts=parts.train), held_out, 1.0)


def calibrate(basis: Basis, split: Split, seed: int = 0, on_done: OnDone = lambda num: None) -> Calibration:
    """Return the probabilities that fit the held-out facts of a split; its test part is not looked at."""
    held_out = hold_out(split, seed)
    sample, kb = sample_answers(basis, held_out.kb, held_out.facts, on_done)
    return fit_calibration(sample, kb, len(held_out.facts), held_out.fraction)


def measure(
    basis: Basis, calibration: Calibration, split: Split, on_done: OnDone = lambda num: None
) -> Mapping[str, Mapping[str, Reliability]]:
    """Return the reliability of probabilities on the test part, all other parts being known, as in `ask`."""
    if not len(split.test):
        raise DataError("The reliability of probabilities is measured on a test part, and there is none.")
    sample, kb = sample_answers(basis, split.given, split.test, on_done)
    return measure_reliability(sample, calibration, kb.relations)


def sample_answers(
    basis: Basis, kb: KnowledgeBase, held_out: Ids, on_done: OnDone
) -> tuple[Sample, KnowledgeBase]:
    """Return the best new answers with `kb` known, and `kb` with its relations numbered as in the answers."""
    reasoner = Reasoner(kb, basis)
    facts = renumber_relations(held_out, kb.relations, reasoner.relations)
    logarithmic = has_logarithmic_scores(reasoner.basis)
    return draw_sample(reasoner, reasoner.kb, facts, logarithmic=logarithmic, on_done=on_done), reasoner.kb
