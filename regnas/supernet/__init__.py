"""What a search space plug-in brings, and how it is found.

A plug-in is a frozen dataclass: its fields are the keys of ``[supernet]`` in a configuration. A package offers one
under the entry point group ``regnas.supernets``; those that come with regnas use the same door.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from torch import Tensor, nn

from regnas.components.builder import Builder
from regnas.components.registry import Registry
from regnas.errors import ArtifactError, ConfigurationError
from regnas.space import Architecture, SearchSpace

InputShape = tuple[int, int, int]


class Supernet(Protocol):
    """The elastic network: an ``nn.Module`` whose sub-network is an argument, never hidden state."""

    def __call__(self, images: Tensor, architecture: Architecture) -> Tensor: ...

    def extract(self, architecture: Architecture) -> nn.Module:
        """The sub-network on its own, with copies of its weights; the same function of the images."""
        ...

    def state_dict(self) -> dict[str, Tensor]: ...


@dataclass(frozen=True)
class Published:
    """A trained supernet that its authors offer: where it is, and the ``[supernet]`` table that it belongs to."""

    name: str  # "ofa_mbv3_d234_e346_k357_w1.0"
    url: str
    supernet: Mapping[str, Any]
    input_shape: InputShape = (3, 224, 224)
    classes: int = 1000


@runtime_checkable
class ImportsCheckpoints(Protocol):
    """What a plug-in has in addition, when supernets that others trained can be loaded into its own."""

    @property
    def published(self) -> tuple[Published, ...]: ...

    def rename_tensors(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The tensors of a foreign checkpoint under the names of the supernet's own ``state_dict``."""
        ...


class SupernetPlugin(Protocol):
    def space(self, input_shape: InputShape, classes: int) -> SearchSpace: ...

    def network(self, architecture: Architecture, input_shape: InputShape, classes: int) -> nn.Module:
        """The plain network of an architecture, with fresh weights."""
        ...

    def supernet(self, input_shape: InputShape, classes: int) -> nn.Module:
        """A module that is also a ``Supernet``, with fresh weights."""
        ...


def space_of(plugin: SupernetPlugin, input_shape: InputShape, classes: int) -> SearchSpace:
    """The plug-in's space for these images, or one line why it has none."""
    try:
        return plugin.space(input_shape, classes)
    except ValueError as error:
        raise ConfigurationError(f"supernet: {error}") from None


# Those that come with regnas are entry points too.
SUPERNETS: Registry[type[SupernetPlugin]] = Registry("supernet", "regnas.supernets", {})


def build_plugin(table: Mapping[str, Any]) -> SupernetPlugin:
    """The plug-in that a manifest describes by the same table as a configuration."""
    builder = Builder({SupernetPlugin: SUPERNETS})
    plugin: SupernetPlugin | None = builder.component(SupernetPlugin, table, "supernet")
    if plugin is None:
        raise ArtifactError(f"the manifest's supernet cannot be built: {'; '.join(builder.problems)}")
    return plugin
