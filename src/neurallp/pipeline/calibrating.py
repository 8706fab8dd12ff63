"""Calibration on a split: which facts are held out, and how reliable the probabilities are on test."""

from collections.abc import Callable, Mapping

from ..errors import DataError
from ..graph.arrays import Ids
from ..graph.knowledge_base import KnowledgeBase, Split, hold_out, renumber_relations
from ..reasoning.calibration import Calibration
from ..reasoning.calibration_fit import fit_calibration
from ..reasoning.calibration_sample import Sample, draw_sample
from ..reasoning.reasoner import Basis, Reasoner, has_logarithmic_scores
from ..reasoning.reliability import Reliability, measure_reliability

OnDone = Callable[[int], None]


def calibrate(basis: Basis, split: Split, seed: int = 0, on_done: OnDone = lambda num: None) -> Calibration:
    """Return the probabilities that fit the validation part of a split; its test part is not looked at.

    Where there is no validation part, a tenth of train is held out; then it is known that nothing else is.
    """
    parts = split.without_test()
    has_valid = len(parts.valid) > 0
    parts = parts if has_valid else hold_out(parts, seed)
    if not len(parts.valid):
        raise DataError(
            f"There are too few facts to calibrate on: {len(parts.known.facts):,}, and none to validate. "
            "Give a validation part, or more facts of some relation."
        )
    sample, kb = sample_answers(basis, parts.known, parts.valid, on_done)
    return fit_calibration(sample, kb, len(parts.valid), None if has_valid else 1.0)


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
