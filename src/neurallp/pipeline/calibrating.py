"""Calibration on a split: which facts are held out, and how reliable the probabilities are on test."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from ..errors import DataError
from ..graph.arrays import Ids, distinct
from ..graph.knowledge_base import KnowledgeBase, Split, hold_out, renumber_relations
from ..reasoning.calibration import Calibration
from ..reasoning.calibration_fit import fit_calibration
from ..reasoning.calibration_sample import MAX_HIDDEN, MAX_QUESTIONS, Sample, draw_sample, find_hidden
from ..reasoning.reasoner import Basis, Reasoner, has_logarithmic_scores
from ..reasoning.reliability import Reliability, measure_reliability

OnDone = Callable[[int], None]

#: Groups in which held-out facts are hidden.
NUM_FOLDS = 8


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
    new = distinct(np.concatenate([parts.known.facts, parts.valid]))[len(parts.known.facts) :]
    unlabelled, kb = sample_answers(basis, parts.given, new[:0], on_done)
    right = sample_hidden(basis, parts.given, new, seed, on_done)
    return fit_calibration(Sample.joined([*right, unlabelled]), kb, len(new), complete=not has_valid)


def sample_hidden(
    basis: Basis, kb: KnowledgeBase, held_out: Ids, seed: int, on_done: OnDone
) -> Iterator[Sample]:
    """Yield the facts of `kb` in `held_out` as answers, each while it is hidden with a few of the others.

    So an answer has the score that it would have if it alone were not known, as when a user asks for it.
    """
    chosen = np.random.default_rng(seed).permutation(held_out)[:MAX_HIDDEN]
    for number in range(NUM_FOLDS):
        hidden = chosen[number::NUM_FOLDS]
        is_hidden = np.isin(_keys(kb.facts, kb), _keys(hidden, kb))
        reasoner = Reasoner(KnowledgeBase(kb.entities, kb.relations, kb.facts[~is_hidden]), basis)
        facts = renumber_relations(hidden, kb.relations, reasoner.relations)
        logarithmic = has_logarithmic_scores(reasoner.basis)
        weight = len(held_out) / max(len(chosen), 1)
        yield from find_hidden(reasoner, reasoner.kb, facts, logarithmic=logarithmic, weight=weight)
        on_done(0)


def _keys(facts: Ids, kb: KnowledgeBase) -> Ids:
    """Return a number for each fact."""
    heads, relations, tails = facts.T
    keys: Ids = (heads * len(kb.relations) + relations) * len(kb.entities) + tails
    return keys


def measure(
    basis: Basis,
    calibration: Calibration,
    split: Split,
    on_done: OnDone = lambda num: None,
    max_questions: int = MAX_QUESTIONS,
) -> Mapping[str, Mapping[str, Reliability]]:
    """Return the reliability of probabilities on the test part, all other parts being known, as in `ask`."""
    if not len(split.test):
        raise DataError("The reliability of probabilities is measured on a test part, and there is none.")
    sample, kb = sample_answers(basis, split.given, split.test, on_done, max_questions)
    return measure_reliability(sample, calibration, kb.relations)


def sample_answers(
    basis: Basis, kb: KnowledgeBase, held_out: Ids, on_done: OnDone, max_questions: int = MAX_QUESTIONS
) -> tuple[Sample, KnowledgeBase]:
    """Return the best new answers with `kb` known, and `kb` with its relations numbered as in the answers."""
    reasoner = Reasoner(kb, basis)
    facts = renumber_relations(held_out, kb.relations, reasoner.relations)
    logarithmic = has_logarithmic_scores(reasoner.basis)
    sample = draw_sample(
        reasoner,
        reasoner.kb,
        facts,
        logarithmic=logarithmic,
        max_questions=max_questions,
        on_done=on_done,
    )
    return sample, reasoner.kb
