"""Where a network of a comparison comes from, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import nn

from regnas.space import Architecture
from regnas.supernet import InputShape, SupernetPlugin
from regnas.updates.methods import Chain, ChainStage, Method, Release
from regnas.updates.models import Model


@dataclass(frozen=True)
class SubNetwork:
    """The plain network of an architecture, with weights of its own."""

    plugin: SupernetPlugin
    architecture: Architecture

    def build(self, input_shape: InputShape, classes: int) -> nn.Module:
        return self.plugin.network(self.architecture, input_shape, classes)


@dataclass(frozen=True)
class Inherited:
    """A sub-network with the weights that the supernet has."""

    architecture: Architecture


Family = Mapping[str, SubNetwork]  # by member, from the smallest to the largest
Source = Inherited | Model


def plan_members(method: Method, family: Family) -> dict[str, Model]:
    """A way of updating a model, along the members of a family: each larger one follows the smaller."""
    chain = Chain(tuple(ChainStage(name, Release(network)) for name, network in family.items()))
    return dict(zip(family, method.plan(chain), strict=True))
