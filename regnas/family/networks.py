"""Build the networks that a manifest describes, and count their costs without building them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regnas.components.builder import Builder
from regnas.errors import ArtifactError, ConfigurationError, first_line
from regnas.family.costs import architecture_costs
from regnas.family.manifest import Manifest, Member
from regnas.networks import NETWORKS, Network, macs_of, parameters_of
from regnas.space import Cost
from regnas.supernet import build_plugin

_BYTES = 4  # per weight: float32


def member_costs(manifest: Manifest) -> Mapping[str, Cost]:
    """Count MACs and parameters by member without allocating, because a manifest may describe very large networks."""
    if not manifest.is_update:
        return architecture_costs(manifest)
    cost = network_cost(manifest)
    return {member.name: cost for member in manifest.members}


def network_cost(manifest: Manifest) -> Cost:
    """Count the network of an update on torch's meta device, which allocates nothing."""
    try:
        with torch.device("meta"):
            network = _build_network(manifest)
        return Cost(macs_of(network, manifest.input_shape), parameters_of(network))
    except (RuntimeError, TypeError) as error:  # torch refuses sizes that it cannot count
        raise ArtifactError(f"the manifest's network cannot be built: {first_line(error)}") from None


def build_member(manifest: Manifest, member: Member, path: Path) -> nn.Module:
    """Build the network of a member with random weights; ``path`` is the file of its weights.

    A network with more parameters than the file can hold is refused before it is built.
    """
    cost = _count(manifest, member)
    if cost.parameters * _BYTES > path.stat().st_size:
        raise ArtifactError(f"{path} belongs to another network: {cost.parameters:,} parameters do not fit into it")
    if member.architecture is None:
        return _build_network(manifest)
    return build_plugin(manifest.supernet).network(member.architecture, manifest.input_shape, len(manifest.classes))


def _count(manifest: Manifest, member: Member) -> Cost:
    if member.architecture is None:
        return network_cost(manifest)
    return architecture_costs(dataclasses.replace(manifest, members=(member,)))[member.name]


def _build_network(manifest: Manifest) -> nn.Module:
    try:
        return _network(manifest.network).build(manifest.input_shape, len(manifest.classes))
    except ValueError as error:
        raise ArtifactError(f"the manifest's network cannot be built: {error}") from None


def _network(table: Mapping[str, Any]) -> Network:
    builder = Builder({Network: NETWORKS})
    try:
        network: Network | None = builder.component(Network, table, "network")
    except ConfigurationError as error:
        raise ArtifactError(f"the manifest's network cannot be built: {error}") from None
    if network is None:
        raise ArtifactError(f"the manifest's network cannot be built: {'; '.join(builder.problems)}")
    # The weights of the member replace published ones: do not download those.
    if getattr(network, "weights", ""):
        return dataclasses.replace(network, weights="")  # type: ignore[type-var]
    return network
