"""A model as a value that says what its network is made from."""

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
    """An immutable, hashable description of a model; two models of the same content are made once."""

    def parts(self) -> tuple[Model, ...]:
        """Return the models that must exist before this one."""
        ...

    def build(self, store: ModelStore) -> nn.Module:
        """Return the network in evaluation mode; ``store`` makes the parts."""
        ...


@runtime_checkable
class Costly(Model, Protocol):
    """A model whose making takes gradients, trained or not."""

    def training_macs(self, store: ModelStore) -> int:
        """Return the multiply-adds of making this model alone, without its parts."""
        ...


@runtime_checkable
class Training(Costly, Protocol):
    """A model that is trained, and therefore kept.

    A training that takes images that were mixed from two has the attribute ``single_labels``: the name of a part that
    needs the labels of single images, or "".
    """

    def recipe(self, store: ModelStore) -> Recipe:
        """Return the recipe of this training."""
        ...


def share_of(model: Model) -> DataFraction:
    """Return the share of the data that a model knows: its own, or that of the newest model it is made of."""
    own: DataFraction | None = getattr(model, "share", None)
    return own if own is not None else share_of(model.parts()[-1])


def all_parts(models: Iterable[Model]) -> dict[Model, tuple[Model, ...]]:
    """Return these models and all models that they are made of, each with its own parts."""
    found: dict[Model, tuple[Model, ...]] = {}
    pending = list(models)
    while pending:
        model = pending.pop()
        if model not in found:
            found[model] = model.parts()
            pending.extend(found[model])
    return found


def trainings_in(models: Iterable[Model]) -> list[Training]:
    """Return the trainings among these models and all models that they are made of."""
    return [model for model in all_parts(models) if isinstance(model, Training)]


def single_labels_of(model: Training) -> str:
    """Return the name of a part of a training that needs the labels of single images, or ""."""
    return str(getattr(model, "single_labels", type(model).__name__))
