"""Terms that tie a training to the weights of an older model, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, TypedDict

from torch import Tensor

from regnas.runtime.randomness import Key
from regnas.training import DecayToward, Mixing, QuadraticPenalty
from regnas.updates.models.fisher import Labels, fisher_information, scale_to_mean_one
from regnas.updates.models.model import Model
from regnas.updates.models.store import ModelStore


class Prepared(TypedDict, total=False):
    """The part of the objective that a tie adds."""

    penalty: QuadraticPenalty
    decay: DecayToward
    mixing: Mixing


class Tie(Protocol):
    """A tie to the weights of ``old``; preparing it takes gradients of ``samples`` samples."""

    replaces_weight_decay: ClassVar[bool]

    @property
    def old(self) -> Model: ...

    @property
    def samples(self) -> int: ...

    def prepare(self, store: ModelStore, key: tuple[Key, ...]) -> Prepared:
        """Return the part of the objective; ``key`` is that of its random draws."""
        ...


@dataclass(frozen=True)
class Consolidated:
    """strength / 2 * sum_i F_i (w_i - old_i)^2 (EWC), with the old model's Fisher information F scaled to mean 1."""

    old: Model
    strength: float
    samples: int
    labels: Labels = "predicted"

    replaces_weight_decay: ClassVar[bool] = False

    def prepare(self, store: ModelStore, key: tuple[Key, ...]) -> Prepared:
        importance = scale_to_mean_one(fisher_information(store, self.old, self.samples, self.labels))
        return {"penalty": QuadraticPenalty(weights_of(store, self.old), self.strength, importance)}


@dataclass(frozen=True)
class DecoupledDecay:
    """After every step, the weights decay toward the old ones instead of toward zero (prior weight decay)."""

    old: Model
    strength: float

    replaces_weight_decay: ClassVar[bool] = True
    samples: ClassVar[int] = 0

    def prepare(self, store: ModelStore, key: tuple[Key, ...]) -> Prepared:
        return {"decay": DecayToward(weights_of(store, self.old), self.strength)}


@dataclass(frozen=True)
class MixedWeights:
    """In every step, each weight, bias and scale is the old one with this probability (Mixout)."""

    old: Model
    probability: float

    replaces_weight_decay: ClassVar[bool] = False
    samples: ClassVar[int] = 0

    def prepare(self, store: ModelStore, key: tuple[Key, ...]) -> Prepared:
        return {"mixing": Mixing(weights_of(store, self.old), self.probability, key)}


def weights_of(store: ModelStore, model: Model) -> dict[str, Tensor]:
    """Return the weights of a model by name, without gradient."""
    return {name: weight.detach() for name, weight in store.module(model).named_parameters()}
