"""The objectives that training minimises, each with its gradient in closed form."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from ..config import Objective as ObjectiveName
from ..graph.arrays import Flags, Ids
from ..graph.questions import KnownAnswers, Questions

# Scores are clamped to this before the logarithm: an answer out of reach scores exactly 0, its loss must stay
# finite and its gradient 0.
SMALLEST_SCORE = 1e-20

Pairs = tuple[Ids, Ids]  # (question, entity)
LossGradients = tuple[Tensor, Tensor, Tensor | None]  # the loss, and its gradients for pair scores and totals


class Objective(Protocol):
    """A loss over the scores of some (question, entity) pairs and each question's total score."""

    def pairs(self, questions: Questions, known: KnownAnswers, excludes_source: Flags) -> Pairs:
        """Return the pairs whose scores the loss needs; the answers of all questions come first."""
        ...

    def loss(self, scores: Tensor, totals: Tensor, rows: Ids) -> LossGradients:
        """Return the loss and its gradients; `rows` are the questions of the pairs."""
        ...

    def num_counted(self, answers: Tensor) -> int:
        """Return the number of questions that the loss is the mean of, from the scores of their answers."""
        ...


class LogScore:
    """The paper's objective: the mean of -log score(y | x) (eq. 4, with its logarithm)."""

    def pairs(self, questions: Questions, known: KnownAnswers, excludes_source: Flags) -> Pairs:
        """Return each question with its answer."""
        return np.arange(len(questions)), questions.answers

    def loss(self, scores: Tensor, totals: Tensor, rows: Ids) -> LossGradients:
        """Return the loss and its gradient for the answers' scores."""
        return *log_score(scores), None

    def num_counted(self, answers: Tensor) -> int:
        """Return the number of all questions."""
        return len(answers)


class NormalizedLikelihood:
    """The mean of -log of the answer's part of all scores; other known answers are left out.

    An excluded source is left out too. Departs from eq. 4, in which wrong answers do not count.
    """

    def pairs(self, questions: Questions, known: KnownAnswers, excludes_source: Flags) -> Pairs:
        """Return each question with its answer, then with its known answers, then with excluded sources."""
        known_rows, known_answers = known.pairs(questions.sources, questions.queries)
        excluded = np.flatnonzero(excludes_source)
        return (
            np.concatenate([np.arange(len(questions)), known_rows, excluded]),
            np.concatenate([questions.answers, known_answers, questions.sources[excluded]]),
        )

    def loss(self, scores: Tensor, totals: Tensor, rows: Ids) -> LossGradients:
        """Return the loss and its gradients; negatives are the total without what is left out."""
        num = len(totals)
        left_out = torch.as_tensor(rows[num:], device=scores.device)
        negatives = totals.index_add(0, left_out, scores[num:], alpha=-1)
        loss, grad_answers, grad_negatives = normalized_likelihood(scores[:num], negatives.clamp(min=0.0))
        grad_negatives = torch.where(negatives > 0, grad_negatives, 0.0)
        return loss, torch.cat([grad_answers, -grad_negatives[left_out]]), grad_negatives

    def num_counted(self, answers: Tensor) -> int:
        """Return the number of questions whose answer is reachable."""
        return int((answers > SMALLEST_SCORE).sum())


OBJECTIVES: Mapping[ObjectiveName, Objective] = MappingProxyType(
    {"log-score": LogScore(), "normalized": NormalizedLikelihood()}
)


def log_score(answers: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean of -log of the answers' scores, and its gradient."""
    clamped = answers.clamp(min=SMALLEST_SCORE)
    gradients = torch.where(answers > SMALLEST_SCORE, -1 / (len(answers) * clamped), 0.0)
    return -clamped.log().mean(), gradients


def normalized_likelihood(answers: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the mean of -log answer / (answer + negatives), and its gradients for both.

    The mean is over the answers that can be reached; it is 0 where none can.
    """
    reachable = answers > SMALLEST_SCORE
    # An unreachable answer without negatives would be 0 / 0.
    right, everything = (torch.where(reachable, each, 1.0) for each in (answers, answers + negatives))
    each = reachable.to(answers.dtype) / reachable.sum().clamp(min=1)
    return (each * (everything / right).log()).sum(), each / everything - each / right, each / everything
