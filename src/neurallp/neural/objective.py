"""What training minimises: the paper's log score, and rivals; each with its gradients written out."""

import torch
from torch import Tensor

# Clamp before log: an unreachable answer scores exactly 0 and must neither blow up nor teach.
SMALLEST_SCORE = 1e-20


def log_score(answers: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean of -log score(y | x), the paper's objective (eq. 4, with its logarithm).

    And its gradient to the answers' scores.
    """
    clamped = answers.clamp(min=SMALLEST_SCORE)
    gradients = torch.where(answers > SMALLEST_SCORE, -1 / (len(answers) * clamped), 0.0)
    return -clamped.log().mean(), gradients


def share(answers: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the mean of -log of the answer's share of all scores that are not known to be right.

    And its gradients to answers and rivals. The mean is over answers that can be reached; 0 where none can.
    """
    reachable = answers > SMALLEST_SCORE
    # An unreachable answer without rivals would be 0 / 0.
    right, everything = (torch.where(reachable, each, 1.0) for each in (answers, answers + negatives))
    each = reachable.to(answers.dtype) / reachable.sum().clamp(min=1)
    return (each * (everything / right).log()).sum(), each / everything - each / right, each / everything
