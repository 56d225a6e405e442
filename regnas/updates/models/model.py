"""A model as a value: what a network is made from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from torch import nn

from regnas.data import DataFraction

if TYPE_CHECKING:
    from regnas.training import Recipe
    from regnas.updates.models.store import ModelStore


@runtime_checkable
class Model(Protocol):
    """Immutable and hashable; two models of the same content are one, and are made once."""

    def parts(self) -> tuple[Model, ...]:
        """The models that have to exist before this one."""
        ...

    def build(self, store: ModelStore) -> nn.Module:
        """The network, in evaluation mode; ``store`` makes the parts."""
        ...


@runtime_checkable
class Costly(Model, Protocol):
    """A model that takes gradients to make, trained or not."""

    def training_macs(self, store: ModelStore) -> int:
        """Multiply-adds of making this model alone, without its parts."""
        ...


@runtime_checkable
class Training(Costly, Protocol):
    """A model that is trained, and therefore kept."""

    def recipe(self, store: ModelStore) -> Recipe: ...


def share_of(model: Model) -> DataFraction:
    """The share of the data that a model knows: its own, or that of the newest model it is made of."""
    own: DataFraction | None = getattr(model, "share", None)
    return own if own is not None else share_of(model.parts()[-1])


def all_parts(models: Iterable[Model]) -> dict[Model, tuple[Model, ...]]:
    """These models and all they are made of, each with its own parts."""
    found: dict[Model, tuple[Model, ...]] = {}
    pending = list(models)
    while pending:
        model = pending.pop()
        if model not in found:
            found[model] = model.parts()
            pending.extend(found[model])
    return found
