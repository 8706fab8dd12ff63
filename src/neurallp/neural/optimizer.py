"""Adam on the flat parameters of a model, and the tensors of a checkpoint."""

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

from ..errors import ModelError


class Optimizer:
    """Adam over all parameters of a model, as one flat tensor of which the parameters become views.

    A step on one tensor takes a third of the time of a step on each. Adam is called as a function: creating
    torch's optimizer object imports more modules than the rest of the program.
    """

    def __init__(self, model: nn.Module, learning_rate: float) -> None:
        self.model = model
        self.learning_rate = learning_rate
        self.weights = list(model.parameters())
        self.flat_parameters = _flatten_parameters(self.weights)
        self.moments = {
            "mean": torch.zeros_like(self.flat_parameters),
            "square": torch.zeros_like(self.flat_parameters),
            "count": torch.zeros((), dtype=torch.float32, device=self.flat_parameters.device),
        }

    def step(self, gradient: Tensor) -> None:
        """Take one step, given the gradient of the flat parameters."""
        mean, square, count = ([each] for each in self.moments.values())
        adam(
            [self.flat_parameters],
            [gradient],
            mean,
            square,
            [],
            count,
            fused=True,
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=self.learning_rate,
            weight_decay=0.0,
            eps=1e-8,
            maximize=False,
        )

    def state(self, best_weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return the weights, the moments and the best weights so far in one dictionary."""
        return copy_of(
            {f"model.{name}": value for name, value in self.model.state_dict().items()}
            | {f"best.{name}": value for name, value in best_weights.items()}
            | {f"moments.{name}": value for name, value in self.moments.items()}
        )

    def restore(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """Continue from what `state` returned; return the best weights in it."""
        moments = _under("moments.", state)
        if {name: each.shape for name, each in moments.items()} != {
            name: each.shape for name, each in self.moments.items()
        }:
            raise ModelError("The checkpoint is of another version of neurallp. Learn without --resume.")
        self.model.load_state_dict(_under("model.", state))
        for name, moment in self.moments.items():
            moment.copy_(moments[name])
        return _under("best.", state)


def _flatten_parameters(weights: list[nn.Parameter]) -> Tensor:
    """Move all parameters into one flat tensor and make them views of it."""
    flat = torch.cat([each.detach().flatten() for each in weights])
    parts = flat.split_with_sizes([each.numel() for each in weights])
    for each, place in zip(weights, parts, strict=True):
        each.data = place.view_as(each)
    return flat


def flatten(gradients: tuple[Tensor, ...]) -> Tensor:
    """Return the gradients of all parameters as one flat tensor."""
    return torch.cat([each.flatten() for each in gradients])


def copy_of(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return copies of tensors."""
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors whose names start with a prefix, without the prefix."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
