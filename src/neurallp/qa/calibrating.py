"""Calibration of answers to questions in words: held-out questions are asked, whole and damaged."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from ..neural.training import one_torch_thread
from .answering import QuestionReasoner
from .confidence import MAX_PHRASES, AnswerCalibration, damaged
from .examples import QuestionExamples
from .known_phrases import KnownPhrase

#: Held-out questions on which the probabilities are calibrated, and the best answers to each that count.
MAX_CALIBRATED_ANSWERS = 10
NUM_CALIBRATED = 200


def calibrate_answers(
    reasoner: QuestionReasoner, train: QuestionExamples, valid: QuestionExamples, seed: int
) -> AnswerCalibration:
    """Return the calibration of a reasoner's answers, fitted on held-out questions, whole and damaged.

    Whole questions weigh as much as all damaged ones.
    """
    with one_torch_thread():
        return _calibrate(reasoner, train, valid, seed)


def _calibrate(
    reasoner: QuestionReasoner, train: QuestionExamples, valid: QuestionExamples, seed: int
) -> AnswerCalibration:
    rng, surprisal = np.random.default_rng(seed), reasoner.model.vocabulary.surprisal
    reasoner.calibration = unfitted = AnswerCalibration(tuple(_known_phrases(reasoner, train)))
    features, right, weights = [], [], []
    for row in rng.permutation(len(valid))[:NUM_CALIBRATED].tolist():
        whole, answers = valid.phrases[row], valid.answers_of(row)
        other = valid.phrases[int(rng.integers(len(valid)))]
        forms = list(damaged(whole, other, surprisal, rng))
        for phrase, same in ((whole, True), *forms):
            scored = reasoner.score(int(valid.sources[row]), phrase)
            num = min(len(scored.entities), MAX_CALIBRATED_ANSWERS)
            share = 1.0 if phrase is whole else 1 / len(forms)
            features += [scored.features(place) for place in range(num)]
            right += [same and entity in answers for entity in scored.entities[:num]]
            weights += [share / num for _ in range(num)]
    return unfitted.fitted(np.array(features), np.array(right, dtype=float), np.array(weights))


def _known_phrases(reasoner: QuestionReasoner, train: QuestionExamples) -> Iterator[KnownPhrase]:
    """Yield the most frequent training phrases with the body of the rule that each asks for."""
    first = {phrase: row for row, phrase in reversed(list(enumerate(train.phrases)))}
    for phrase, _ in Counter(train.phrases).most_common(MAX_PHRASES):
        if rules := reasoner.rules(int(train.sources[first[phrase]]), phrase):
            yield KnownPhrase(phrase, rules[0].body)
