"""Count the costs of the architectures of a family with the plug-in of its supernet."""

from __future__ import annotations

from regnas.errors import EnvironmentProblem
from regnas.family.manifest import Manifest
from regnas.space import Cost
from regnas.supernet import SUPERNETS, build_plugin, space_of


def architecture_costs(manifest: Manifest) -> dict[str, Cost]:
    """Count the cost of each member without building it, because it may be larger than the memory."""
    name = manifest.supernet.get("name")
    if name not in SUPERNETS:
        raise EnvironmentProblem(f"the supernet {name!r} needs a package that is not installed. Install it.")
    space = space_of(build_plugin(manifest.supernet), manifest.input_shape, len(manifest.classes))
    for architecture in manifest.architectures.values():
        space.check(architecture)
    return {name: space.cost(architecture) for name, architecture in manifest.architectures.items()}
