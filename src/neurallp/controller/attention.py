"""Attention: the output of the controller and the input of the engines, and all that the two share."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, eq=False)
class Attention:
    """Attention of each distinct query, over operators and over memories (eqs. 10 and 11).

    Step t = 1 … T reads the memories u_0 … u_{t-1}; the last row of `memory` is b_{T+1}, which reads
    them all. Slots that do not exist yet hold 0. The scores of parallel controllers are added.
    """

    operator: Tensor  # (controller, query, step T, operator): a_t
    memory: Tensor  # (controller, query, step T + 1, slot T + 1): b_t

    @property
    def pair(self) -> tuple[Tensor, Tensor]:
        """Both tensors, the operators' first."""
        return self.operator, self.memory

    @property
    def num_controllers(self) -> int:
        return self.operator.shape[0]

    @property
    def num_steps(self) -> int:
        return self.operator.shape[2]

    def double(self) -> "Attention":
        """Return the same in double precision, for comparing sums of contributions exactly."""
        return Attention(self.operator.double(), self.memory.double())
