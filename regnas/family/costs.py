"""What the architectures of a family cost, by the plug-in of its supernet."""

from __future__ import annotations

from regnas.errors import EnvironmentProblem
from regnas.family.manifest import Manifest
from regnas.space import Cost
from regnas.supernet import SUPERNETS, build_plugin, space_of


def architecture_costs(manifest: Manifest) -> dict[str, Cost]:
    """Counted and not built: what a manifest describes may be larger than any memory."""
    name = manifest.supernet.get("name")
    if name not in SUPERNETS:
        raise EnvironmentProblem(f"the supernet {name!r} comes with a package that is not installed")
    space = space_of(build_plugin(manifest.supernet), manifest.input_shape, len(manifest.classes))
    for architecture in manifest.architectures.values():
        space.check(architecture)
    return {name: space.cost(architecture) for name, architecture in manifest.architectures.items()}
