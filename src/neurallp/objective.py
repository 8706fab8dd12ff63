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
    """Return the mean of -log of the answer's share of all scores that are not known to be right."""
    reachable = answers > SMALLEST_SCORE
    return -(answers / (answers + rivals)).clamp(min=SMALLEST_SCORE).log()[reachable].mean()
