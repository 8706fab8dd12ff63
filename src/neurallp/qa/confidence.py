"""How likely the answer to a question in words is right, calibrated on held-out questions.

A model is sure of every question that it is given, also of one it has never learned to understand. So the
held-out questions are asked as they are and damaged: with words left out, in another order, or with their
telling words replaced by unknown ones or mixed with those of another question, which asks for something else.
How often the answers are right then tells what the signs of doubt are worth: a phrase unlike those of the
training questions, training questions like it that ask for other things, attention spread over several rules.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ..graph.arrays import Floats
from .known_phrases import KnownPhrase, KnownPhrases
from .model import Phrase

#: Training phrases that are kept, the most frequent ones.
MAX_PHRASES = 400

#: The word that stands for one that is not in any training question.
UNKNOWN_WORD = "\N{REPLACEMENT CHARACTER}"

#: The share of the words of a damaged question that are left out.
DAMAGE = 0.5

#: The largest log odds of a rule's confidence that count.
MAX_LOG_ODDS = 6.0

#: Of an answer: log odds of its rule, the three of its question's wording, log of its relative score.
NUM_FEATURES = 5

#: What a coefficient's square costs, in log likelihood.
PENALTY = 0.02

Surprisal = Callable[[str], float]


@dataclass(frozen=True)
class StoredCalibration:
    """A calibration of answers as its file holds it; a phrase has words, a position and a body."""

    coefficients: tuple[float, ...]
    intercept: float
    phrases: tuple[tuple[tuple[str, ...], int, tuple[str, ...]], ...]


@dataclass(frozen=True)
class AnswerCalibration:
    """The probability that an answer is right, by logistic regression on five features."""

    phrases: tuple[KnownPhrase, ...]
    coefficients: tuple[float, ...] = (0.0,) * NUM_FEATURES  # at least 0
    intercept: float = 0.0

    @cached_property
    def known(self) -> KnownPhrases:
        """The phrases, to be compared with others."""
        return KnownPhrases(self.phrases)

    def probability(self, features: Sequence[float]) -> float:
        """Return the probability that an answer with these features is right."""
        return float(1 / (1 + np.exp(-(np.dot(features, self.coefficients) + self.intercept))))

    def as_dict(self) -> dict[str, Any]:
        """Return the calibration as one JSON object."""
        return {
            "coefficients": list(self.coefficients),
            "intercept": self.intercept,
            "phrases": [[list(k.phrase.words), k.phrase.position, list(k.body)] for k in self.phrases],
        }

    @classmethod
    def from_stored(cls, stored: StoredCalibration) -> "AnswerCalibration":
        """Return the calibration that `as_dict` gave."""
        if len(stored.coefficients) != NUM_FEATURES:
            raise ValueError(f"{len(stored.coefficients)} coefficients, not {NUM_FEATURES}")
        phrases = (KnownPhrase(Phrase(words, position), body) for words, position, body in stored.phrases)
        return cls(tuple(phrases), stored.coefficients, stored.intercept)

    def fitted(self, features: Floats, right: Floats, weights: Floats) -> "AnswerCalibration":
        """Return the calibration of greatest weighted likelihood; a weak penalty keeps it off 0 and 1."""
        if not len(features):
            return self
        found, intercept = _fit(features, right * weights, weights)
        return AnswerCalibration(self.phrases, tuple(found.tolist()), intercept)


@dataclass(frozen=True)
class Wording:
    """How well the wording of a question is known."""

    known_words: float = 0.0  # the share of its words that are in training questions
    similarity: float = 0.0  # to the most similar known phrase
    agreement: float = 0.0  # of the model and the most similar known phrases on the rule


def answer_features(confidence: float, wording: Wording, relative_score: float) -> list[float]:
    """Return the features of an answer; `relative_score` is its score divided by the best one's."""
    odds = np.log(max(confidence, 1e-12)) - np.log(max(1 - confidence, 1e-12))
    bounded = float(np.clip(odds, -MAX_LOG_ODDS, MAX_LOG_ODDS))
    return [
        bounded,
        wording.known_words,
        wording.similarity,
        wording.agreement,
        float(np.log(max(relative_score, 1e-12))),
    ]


def _fit(features: Floats, right: Floats, weights: Floats) -> tuple[Floats, float]:
    """Return coefficients of at least 0 and the intercept of a logistic regression with a weak penalty."""
    inputs = torch.as_tensor(features, dtype=torch.float64)
    counts, total = torch.as_tensor(right), torch.as_tensor(weights, dtype=torch.float64)
    raw = torch.zeros(NUM_FEATURES, dtype=torch.float64, requires_grad=True)
    intercept = torch.zeros((), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([raw, intercept], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        coefficients = nn.functional.softplus(raw)
        odds = inputs @ coefficients + intercept
        log_likelihood = counts * odds - total * nn.functional.softplus(odds)
        value = -log_likelihood.sum() + PENALTY * (coefficients.square().sum() + intercept.square())
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    return nn.functional.softplus(raw).detach().numpy(), float(intercept.detach())


def damaged(
    phrase: Phrase, other: Phrase, surprisal: Surprisal, rng: np.random.Generator
) -> Iterator[tuple[Phrase, bool]]:
    """Yield damaged forms of a phrase, and whether each still asks for the same.

    With the most telling words of another phrase it asks for more, which no single rule answers.
    """
    words = np.array(phrase.words, dtype=object)
    telling = _most_telling(phrase, surprisal, int(rng.integers(1, 4)))
    kept = rng.random(len(words)) > DAMAGE
    yield _without(phrase, ~kept), True
    yield _without(phrase, telling), True
    shuffled = rng.permutation(len(words))
    yield Phrase(tuple(words[shuffled]), int(rng.integers(len(words) + 1))), True
    yield Phrase(tuple(np.where(telling, UNKNOWN_WORD, words)), phrase.position), False
    added = np.array(other.words, dtype=object)[_most_telling(other, surprisal, 2)]
    if not {*added} <= {*phrase.words}:
        yield Phrase((*phrase.words, *added), phrase.position), False


def _most_telling(phrase: Phrase, surprisal: Surprisal, num: int) -> NDArray[np.bool_]:
    """Return which words of a phrase are the `num` least expected."""
    telling = np.zeros(len(phrase.words), dtype=bool)
    telling[np.argsort([-surprisal(word) for word in phrase.words], kind="stable")[:num]] = True
    return telling


def _without(phrase: Phrase, left_out: NDArray[np.bool_]) -> Phrase:
    words = np.array(phrase.words, dtype=object)[~left_out]
    return Phrase(tuple(words), int((~left_out[: phrase.position]).sum()))
