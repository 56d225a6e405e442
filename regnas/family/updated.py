"""The new models of an update study on disk: written beside the report, loaded by whoever ships one of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from regnas.components.builder import Builder
from regnas.data import Preprocessing
from regnas.errors import ArtifactError, ConfigurationError
from regnas.networks import NETWORKS, Network
from regnas.runtime.files import read_json, require_keys, write_json
from regnas.runtime.tensors import load_into, load_tensors, save_tensors

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Updated:
    """A plain network in evaluation mode, what its images go through first, and the names of its classes."""

    network: nn.Module
    preprocess: Preprocessing
    classes: tuple[str, ...]


def write_updated(
    folder: Path,
    networks: Mapping[tuple[str, int], nn.Module],
    network: Mapping[str, Any],
    data: Mapping[str, Any],
) -> None:
    """Each network (by method and seed) on its own, and the manifest last; ``network`` is its table."""
    entries = []
    for (method, seed), module in networks.items():
        file = f"{method}-seed-{seed}.safetensors"
        sha256 = save_tensors(folder / file, module.state_dict())
        entries.append({"method": method, "seed": seed, "file": file, "sha256": sha256})
    write_json(folder / MANIFEST, {"network": dict(network), "data": dict(data), "models": entries})


def load_updated(run: str | Path, method: str, seed: int) -> Updated:
    """The new model that a method of an update study came to; every file is checked against its sha256."""
    folder = Path(run) / "models"
    manifest = read_json(folder / MANIFEST)
    require_keys(manifest, ("network", "data", "models"), folder / MANIFEST)
    found = [entry for entry in manifest["models"] if (entry["method"], entry["seed"]) == (method, seed)]
    if not found:
        known = ", ".join(f"{entry['method']} (seed {entry['seed']})" for entry in manifest["models"])
        raise ConfigurationError(f'{folder} has no network of "{method}" with seed {seed} (there are: {known})')
    data = manifest["data"]
    path = folder / Path(found[0]["file"]).name
    module = _network(manifest["network"]).build(tuple(data["input_shape"]), len(data["classes"]))
    load_into(module, load_tensors(path, found[0]["sha256"]), path)
    return Updated(module.eval(), Preprocessing.from_json(data["preprocessing"]), tuple(data["classes"]))


def _network(table: Mapping[str, Any]) -> Network:
    builder = Builder({Network: NETWORKS})
    network: Network | None = builder.component(Network, table, "network")
    if network is None:
        raise ArtifactError(f"the manifest's network cannot be built: {'; '.join(builder.problems)}")
    # Published weights would be overwritten at once: do not fetch them.
    if getattr(network, "weights", ""):
        return dataclasses.replace(network, weights="")  # type: ignore[type-var]
    return network
