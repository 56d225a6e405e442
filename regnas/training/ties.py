"""Tie the weights of a network to those of an older one during fine-tuning.

Weights are matched by name. If the new network has more rows (added classes), only the leading rows are tied.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call

from regnas.networks import leading_slice
from regnas.runtime.randomness import Key, key_to_int
from regnas.training.objective import Step


@dataclass(frozen=True)
class QuadraticPenalty:
    """strength / 2 * sum_i importance_i * (w_i - center_i)^2.

    With the Fisher information as importance this is elastic weight consolidation (Kirkpatrick et al., 2017).
    """

    center: Mapping[str, Tensor]
    strength: float
    importance: Mapping[str, Tensor]

    def __call__(self, model: nn.Module) -> Tensor:
        total = torch.zeros((), device=next(model.parameters()).device)
        for name, parameter in model.named_parameters():
            if name in self.center:
                center = self.center[name]
                squared = (leading_slice(parameter, center) - center).square()
                total = total + (self.importance[name] * squared).sum()
        return 0.5 * self.strength * total


@dataclass(frozen=True)
class DecayToward:
    """w <- center + (w - center) * exp(-learning rate * strength), after every step of the optimizer.

    This is the decay dw/dt = -strength * (w - center) followed for a time of one learning rate. To first order it is
    the step w <- w - learning rate * strength * (w - center) of decoupled weight decay (Loshchilov and Hutter, 2019),
    which overshoots if learning rate * strength is above 1 and diverges above 2. The exponential approaches the center
    at any strength. It takes no part in the loss, in the clipped gradient or in the momentum.
    """

    center: Mapping[str, Tensor]
    strength: float

    @torch.no_grad()
    def __call__(self, model: nn.Module, learning_rate: float) -> None:
        share = -math.expm1(-learning_rate * self.strength)  # fraction of the way to the center
        for name, parameter in model.named_parameters():
            if name in self.center:
                leading_slice(parameter, self.center[name]).lerp_(self.center[name], share)


@dataclass(frozen=True)
class Mixing:
    """Mixout (Lee, Cho and Kang, ICLR 2020): in every step each parameter is, with a probability, the older one.

    w' = center + keep * (w - center) / (1 - probability), with keep ~ Bernoulli(1 - probability) per number: the
    expectation of w' is w. All parameters are mixed: weights, biases, and the scales and shifts of norms.
    """

    center: Mapping[str, Tensor]
    probability: float
    key: tuple[Key, ...]

    def run(self, model: nn.Module, step: Step) -> Tensor:
        random = torch.Generator().manual_seed(key_to_int(*self.key, "mixing", step.index))
        mixed = {}
        for name, parameter in model.named_parameters():
            if name in self.center:
                center = self.center[name]
                known = leading_slice(parameter, center)
                # In the layout of the parameter; otherwise convolutions would convert the layout at every step.
                keep = torch.empty_like(known, device="cpu").bernoulli_(1 - self.probability, generator=random)
                scaled = (known - center) / (1 - self.probability)
                mixed[name] = torch.addcmul(center, keep.to(parameter.device), scaled)
                if known.shape != parameter.shape:
                    mixed[name] = torch.cat([mixed[name], parameter[len(center) :]])
        logits: Tensor = functional_call(model, mixed, (step.images,))
        return logits
