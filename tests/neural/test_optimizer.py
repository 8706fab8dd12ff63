from copy import deepcopy

import pytest
import torch
from torch import nn

from neurallp.neural.optimizer import Optimizer, flatten


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_steps_are_those_of_torch_s_adam(dtype):
    torch.manual_seed(0)
    ours = nn.Linear(3, 2, dtype=dtype)
    theirs = deepcopy(ours)
    adam, optimizer = Optimizer(ours, 0.1), torch.optim.Adam(theirs.parameters(), lr=0.1)
    for _ in range(5):
        for each in theirs.parameters():
            each.grad = torch.randn_like(each)
        adam.step(flatten(tuple(each.grad for each in theirs.parameters())))
        optimizer.step()
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(one, other)
