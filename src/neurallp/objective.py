"""What training minimises: the paper's log score, and rivals."""

from typing import Literal

from torch import Tensor

Objective = Literal["log-score", "share"]

# Clamp before log: an unreachable answer scores exactly 0 and must neither blow up nor teach.
SMALLEST_SCORE = 1e-20


def log_score(answers: Tensor) -> Tensor:
    """Return the mean of -log score(y | x), the paper's objective (eq. 4, with its logarithm)."""
    return -answers.clamp(min=SMALLEST_SCORE).log().mean()


def share(answers: Tensor, rivals: Tensor) -> Tensor:
    """Return the mean of -log of the answer's share of all scores that are not known to be right.

    The mean is over answers that can be reached; 0 where none can.
    """
    # Select before dividing: without rivals an unreachable answer is 0 / 0, whose gradient is not a number.
    reachable = answers > SMALLEST_SCORE
    right, wrong = answers[reachable], rivals[reachable]
    return -(right / (right + wrong)).log().sum() / max(1, len(right))
