"""Models whose weights are a mean of other models' weights.

Batch-norm statistics belong to a set of weights. Every mixture is therefore calibrated on the images of its newest
part, also at the ends of a line. At alpha = 1, an interpolation has the old weights, but not the statistics that the
old model was shipped with, and predicts almost the same as at alpha = 0.999.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regnas.networks import leading_slice
from regnas.training import calibrate
from regnas.updates.models.fisher import fisher_information, fisher_macs, scale_to_mean_one
from regnas.updates.models.model import Model, share_of
from regnas.updates.models.store import ModelStore

# Keeps the division of Fisher merging defined if neither model depends on a weight: the mean is then the plain one.
SMALLEST_IMPORTANCE = 1e-10


@dataclass(frozen=True)
class Soup:
    """The mean of its members' weights (Wortsman et al., ICML 2022)."""

    members: tuple[Model, ...]

    def parts(self) -> tuple[Model, ...]:
        return self.members

    def build(self, store: ModelStore) -> nn.Module:
        states = [dict(store.module(member).named_parameters()) for member in self.members]
        mixed = {name: torch.stack([state[name] for state in states]).mean(dim=0) for name in states[0]}
        return copy_with_weights(store, self.members[0], mixed)


@dataclass(frozen=True)
class Interpolated:
    """alpha * old weights + (1 - alpha) * new weights (BCWI: Schumann et al., 2023).

    Rows that the old model lacks (added classes) are those of the new model, here and in the forms below.
    """

    old: Model
    new: Model
    alpha: float

    def parts(self) -> tuple[Model, ...]:
        return self.old, self.new

    def build(self, store: ModelStore) -> nn.Module:
        olds = store.module(self.old).named_parameters()
        return mix_weights(store, self.old, self.new, {name: torch.full_like(old, self.alpha) for name, old in olds})


@dataclass(frozen=True)
class FisherInterpolated:
    """(alpha F w_old + (1 - alpha) w_new) / (alpha F + 1 - alpha) for each weight (FisherBCWI: Schumann et al., 2023).

    F is the diagonal Fisher information of the old model on ``samples`` of its training samples, with the labels that
    it predicts, scaled to mean 1 over all weights. A weight on which the old model does not depend at all (F = 0) is
    the new one, also at alpha = 1, which is the limit.
    """

    old: Model
    new: Model
    alpha: float
    samples: int

    def parts(self) -> tuple[Model, ...]:
        return self.old, self.new

    def build(self, store: ModelStore) -> nn.Module:
        importance = scale_to_mean_one(fisher_information(store, self.old, self.samples, "predicted"))
        shares = {
            name: _share(self.alpha * own, torch.full_like(own, 1 - self.alpha)) for name, own in importance.items()
        }
        return mix_weights(store, self.old, self.new, shares)

    def training_macs(self, store: ModelStore) -> int:
        return fisher_macs(store, self.old, self.samples)


@dataclass(frozen=True)
class FisherMerged:
    """(alpha F_old w_old + (1 - alpha) F_new w_new) / (alpha F_old + (1 - alpha) F_new) (Matena and Raffel, 2022).

    Every weight counts by the diagonal Fisher information of its own model, unscaled and with labels drawn from it.
    """

    old: Model
    new: Model
    alpha: float
    samples: int

    def parts(self) -> tuple[Model, ...]:
        return self.old, self.new

    def build(self, store: ModelStore) -> nn.Module:
        olds, news = (fisher_information(store, model, self.samples, "drawn") for model in self.parts())
        shares = {
            name: _share(
                self.alpha * (old + SMALLEST_IMPORTANCE),
                (1 - self.alpha) * (leading_slice(news[name], old) + SMALLEST_IMPORTANCE),
            )
            for name, old in olds.items()
        }
        return mix_weights(store, self.old, self.new, shares)

    def training_macs(self, store: ModelStore) -> int:
        return sum(fisher_macs(store, model, self.samples) for model in self.parts())


def _share(one: Tensor, other: Tensor) -> Tensor:
    """Return one / (one + other), or 0 if both are 0; all have the same shape."""
    total = one + other
    return torch.where(total > 0, one / total, 0.0)


def mix_weights(store: ModelStore, old: Model, new: Model, shares: Mapping[str, Tensor]) -> nn.Module:
    """Build a network with w_new + share * (w_old - w_new) for each weight of the old model; exact at 0 and 1."""
    mixed = {name: weight.clone() for name, weight in store.module(new).named_parameters()}
    for name, weight in store.module(old).named_parameters():
        leading_slice(mixed[name], weight).lerp_(weight, shares[name])
    return copy_with_weights(store, new, mixed)


def copy_with_weights(store: ModelStore, like: Model, weights: Mapping[str, Tensor]) -> nn.Module:
    """Return a copy of a model's network with other weights and the batch-norm statistics that belong to them."""
    network = copy.deepcopy(store.module(like))
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.copy_(weights[name])
    return calibrate(network, store.calibration(share_of(like)))
