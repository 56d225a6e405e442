"""What ties the weights of a network to those of an older one while it is trained further.

Weights are matched by name; where the new network has more rows (classes that were added), the older one speaks for the
leading ones and the rest is free.
"""

from __future__ import annotations

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
    """strength / 2 * sum_i importance_i * (w_i - centre_i)^2.

    With the Fisher information as importance this is elastic weight consolidation (Kirkpatrick et al., 2017), with 1
    it is weight decay to the older weights.
    """

    centre: Mapping[str, Tensor]
    strength: float
    importance: Mapping[str, Tensor] | None = None

    def __call__(self, model: nn.Module) -> Tensor:
        total = torch.zeros((), device=next(model.parameters()).device)
        for name, parameter in model.named_parameters():
            if name in self.centre:
                centre = self.centre[name]
                squared = (leading_slice(parameter, centre) - centre).square()
                if self.importance is not None:
                    squared = self.importance[name] * squared
                total = total + squared.sum()
        return 0.5 * self.strength * total


@dataclass(frozen=True)
class Mixing:
    """Mixout (Lee, Cho and Kang, ICLR 2020): in every step each weight is, with a probability, the older one.

    w' = centre + keep * (w - centre) / (1 - probability), with keep ~ Bernoulli(1 - probability), so that w' is w on
    average. Weights of convolutions and linear layers are mixed; scales and biases are not.
    """

    centre: Mapping[str, Tensor]
    probability: float
    key: tuple[Key, ...]

    def run(self, model: nn.Module, step: Step) -> Tensor:
        random = torch.Generator().manual_seed(key_to_int(*self.key, "mixing", step.index))
        mixed = {}
        for name, parameter in model.named_parameters():
            if name in self.centre and parameter.ndim >= 2:
                centre = self.centre[name]
                if centre.shape != parameter.shape:
                    centre = torch.cat([centre, parameter.detach()[len(centre) :]])
                # In the layout of the parameter: convolutions would have to turn another one round at every step.
                keep = torch.empty_like(parameter, device="cpu").bernoulli_(1 - self.probability, generator=random)
                scaled = (parameter - centre) / (1 - self.probability)
                mixed[name] = torch.addcmul(centre, keep.to(parameter.device), scaled)
        logits: Tensor = functional_call(model, mixed, (step.images,))
        return logits
