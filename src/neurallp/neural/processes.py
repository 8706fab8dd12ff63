"""Training in the processes that torchrun starts: each computes the gradient of its part of every batch.

Gradients are averaged over all questions of the batch before each step, so every process keeps the same
weights as one process would, up to rounding. The first process, the leader, plans, prints and writes files.
Gradients travel through the host's memory (gloo), so the same code serves CPUs and GPUs.
"""

import atexit
import os
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from torch import Tensor

#: How long processes wait for the leader, which may plan before it trains.
PATIENCE = timedelta(days=7)

T = TypeVar("T")


def num_processes() -> int:
    """Return how many processes torchrun started; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", 1))


def is_follower() -> bool:
    """Return whether this process takes part in the training of another, the leader."""
    return num_processes() > 1 and os.environ.get("RANK", "0") != "0"


class Processes:
    """The processes that train one model together; by default this one alone."""

    def __init__(self, rank: int = 0, num: int = 1) -> None:
        self.rank, self.num = rank, num

    @classmethod
    def join(cls) -> "Processes":
        """Return the processes that torchrun started, connected; this one alone without torchrun."""
        if num_processes() == 1:
            return cls()
        import torch
        from torch import distributed

        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)) % torch.cuda.device_count())
        if not distributed.is_initialized():
            distributed.init_process_group("gloo", timeout=PATIENCE)
            atexit.register(distributed.destroy_process_group)
        return cls(distributed.get_rank(), distributed.get_world_size())

    def part(self, num: int) -> slice:
        """Return which of `num` questions this process takes: contiguous parts of about equal size."""
        first, last = (num * rank // self.num for rank in (self.rank, self.rank + 1))
        return slice(first, last)

    def mean(self, values: "Tensor", weight: float) -> "Tensor":
        """Return the weighted mean of the values of all processes; 0 where all weights are."""
        import torch
        from torch import distributed

        total = torch.cat([values * weight, values.new_tensor([weight])]).cpu()
        distributed.all_reduce(total)
        return (total[:-1] / total[-1].clamp(min=1)).to(values.device)

    def of_leader(self, value: T) -> T:
        """Return the leader's value in all processes."""
        if self.num == 1:
            return value
        from torch import distributed

        shared = [value]
        distributed.broadcast_object_list(shared, src=0)
        return shared[0]
