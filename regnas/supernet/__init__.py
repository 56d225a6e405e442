"""The interface of search-space plug-ins, and their table.

A plug-in is a frozen dataclass whose fields are the keys of ``[supernet]`` in a configuration. A package provides one
in the entry point group ``regnas.supernets``, as those that come with regnas do.
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
    """An elastic network: an ``nn.Module`` whose sub-network is an argument, never hidden state."""

    def __call__(self, images: Tensor, architecture: Architecture) -> Tensor: ...

    def extract(self, architecture: Architecture) -> nn.Module:
        """Return the sub-network as a module of its own, with copies of its weights and the same predictions."""
        ...

    def state_dict(self) -> dict[str, Tensor]: ...


@dataclass(frozen=True)
class Published:
    """A trained supernet that its authors publish: its address, and its ``[supernet]`` table."""

    name: str  # "ofa_mbv3_d234_e346_k357_w1.0"
    url: str
    supernet: Mapping[str, Any]
    input_shape: InputShape = (3, 224, 224)
    classes: int = 1000


@runtime_checkable
class ImportsCheckpoints(Protocol):
    """The further methods of a plug-in that can import supernets of other projects."""

    @property
    def published(self) -> tuple[Published, ...]: ...

    def rename_tensors(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the tensors of a foreign checkpoint under the names of this supernet's ``state_dict``."""
        ...


class SupernetPlugin(Protocol):
    """A search space with its elastic network."""

    def space(self, input_shape: InputShape, classes: int) -> SearchSpace:
        """Return the search space for these images."""
        ...

    def network(self, architecture: Architecture, input_shape: InputShape, classes: int) -> nn.Module:
        """Build the plain network of an architecture, with random weights."""
        ...

    def supernet(self, input_shape: InputShape, classes: int) -> nn.Module:
        """Build a module that is also a ``Supernet``, with random weights."""
        ...


def space_of(plugin: SupernetPlugin, input_shape: InputShape, classes: int) -> SearchSpace:
    """Return the plug-in's space for these images; turn its ``ValueError`` into a ConfigurationError."""
    try:
        return plugin.space(input_shape, classes)
    except ValueError as error:
        raise ConfigurationError(f"supernet: {error}") from None


# The plug-ins that come with regnas are entry points, like all others.
SUPERNETS: Registry[type[SupernetPlugin]] = Registry("supernet", "regnas.supernets", {})


def build_plugin(table: Mapping[str, Any]) -> SupernetPlugin:
    """Build the plug-in from the table in a manifest, which is that of the configuration."""
    builder = Builder({SupernetPlugin: SUPERNETS})
    plugin: SupernetPlugin | None = builder.component(SupernetPlugin, table, "supernet")
    if plugin is None:
        raise ArtifactError(f"the supernet of the manifest cannot be built: {'; '.join(builder.problems)}")
    return plugin
