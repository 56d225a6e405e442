"""Muon, for weights of convolutions too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from regnas.training.optimizers.adamw import AdamW
from regnas.training.optimizers.parameters import TrainedParameter, torch_groups
from regnas.training.optimizers.sgd import StochasticGradientDescent

OTHERS = {"sgd": StochasticGradientDescent, "adamw": AdamW}


@dataclass(frozen=True)
class Muon:
    """Muon (Jordan et al., 2024): momentum whose matrices are made orthogonal; other parameters by sgd or adamw.

    v <- momentum * v + (1 - momentum) * g, and w <- (1 - learning_rate * weight_decay) * w - learning_rate * s * O,
    with O the orthogonal matrix nearest to v (to (1 - momentum) * g + momentum * v with ``nesterov``), approximated by
    Newton-Schulz iterations in bfloat16. The weight of a convolution is the matrix [outputs, inputs * pixels].
    ``scale`` chooses s for a matrix of A rows and B columns: "original" is sqrt(max(1, A / B)); "adamw" is
    0.2 * sqrt(max(A, B)), which gives the steps the size of those of AdamW (Liu et al., 2025).

    The matrices are the weights of full convolutions and hidden linear layers. All other parameters (norms, biases,
    depthwise convolutions, the classifier) are trained by ``others``, at ``others_factor`` times the learning rate.
    """

    nesterov: bool = True
    scale: Literal["original", "adamw"] = "original"
    others: Literal["sgd", "adamw"] = "sgd"
    others_factor: float = 1.0

    def __post_init__(self) -> None:
        if self.others_factor <= 0:
            raise ValueError(f"others_factor must be above 0, got {self.others_factor:g}")

    def check(self, learning_rate: float, momentum: float) -> None:
        """Refuse what the optimizer of the other parameters refuses."""
        try:
            OTHERS[self.others]().check(self.others_factor * learning_rate, momentum)
        except ValueError as error:
            raise ValueError(f"{error} For the others of muon, lower optimizer.others_factor.") from None

    def build(self, parameters: Sequence[TrainedParameter], momentum: float) -> list[torch.optim.Optimizer]:
        """Return Muon for the hidden weights, and the optimizer of the others, if there are any."""
        hidden = [each for each in parameters if each.is_hidden_weight]
        others = [
            replace(each, learning_rate_factor=self.others_factor * each.learning_rate_factor)
            for each in parameters
            if not each.is_hidden_weight
        ]
        scale = "match_rms_adamw" if self.scale == "adamw" else "original"
        built: list[torch.optim.Optimizer] = []
        if hidden:
            built.append(MuonOfMatrices(hidden, momentum=momentum, nesterov=self.nesterov, adjust_lr_fn=scale))
        return built + (OTHERS[self.others]().build(others, momentum) if others else [])


class MuonOfMatrices(torch.optim.Muon):
    """torch's Muon, which accepts matrices only, on views of weights of any number of dimensions."""

    def __init__(self, parameters: Sequence[TrainedParameter], **settings: Any) -> None:
        self._weights: list[tuple[nn.Parameter, nn.Parameter]] = []  # a weight, and its matrix
        super().__init__(torch_groups(parameters, self._view_of), **settings)

    def _view_of(self, weight: nn.Parameter) -> nn.Parameter:
        matrix = nn.Parameter(in_memory_order(weight.detach(), weight).view(len(weight), -1))  # never a copy
        self._weights.append((weight, matrix))
        return matrix

    def step(self, closure: Any = None) -> Any:
        """Take a step with the gradients of the weights."""
        for weight, matrix in self._weights:
            matrix.grad = None if weight.grad is None else in_memory_order(weight.grad, weight).flatten(1)
        super().step(closure)  # type: ignore[no-untyped-call]
        for _, matrix in self._weights:
            matrix.grad = None


def in_memory_order(tensor: Tensor, like: Tensor) -> Tensor:
    """Return a tensor with its dimensions in the order that ``like`` has in memory, so that it can be seen as a matrix.

    The order of the columns of the matrix does not matter to Muon.
    """
    is_last = like.ndim == 4 and like.is_contiguous(memory_format=torch.channels_last)
    return tensor.permute(0, 2, 3, 1) if is_last else tensor
