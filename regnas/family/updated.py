"""Write the new models of an update: one file of weights per method and seed, cards, and the manifest last."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from torch import nn

from regnas.errors import ArtifactError
from regnas.family.export.writing import finish_family, retire_family
from regnas.family.manifest import MANIFEST, NOT_STATED, Manifest, Member, metadata_of, read_manifest
from regnas.flips import Predictions, accuracy_interval, flip_table
from regnas.networks import macs_of, parameters_of
from regnas.runtime.files import sha256_of, write_bytes
from regnas.runtime.tensors import tensor_bytes
from regnas.space import Cost


def model_name(method: str, seed: int) -> str:
    """Return the name of a model of an update, which is also the stem of its file."""
    return f"{method}-seed-{seed}"


def write_updated(
    folder: Path,
    networks: Mapping[tuple[str, int], nn.Module],
    network: Mapping[str, Any],
    data: Mapping[str, Any],
    predictions: Mapping[tuple[str, int], Predictions],
) -> None:
    """Write every network with its card, and the manifest last.

    Files that have the same content already stay unchanged, together with their exports in other formats. The manifest
    is removed before the first file changes, so that it never lists a file that does not exist.

    Args:
        folder: ``models`` in the run folder.
        networks: the networks by method and seed, all with the same architecture.
        network: the table of this architecture in the configuration.
        data: the summary of the splits, with the classes that the networks know.
        predictions: the predictions of every network on the report split.
    """
    old = _read_old(folder)
    if not networks:
        retire_family(folder)
        return
    shape = (data["input_shape"][0], data["input_shape"][1], data["input_shape"][2])
    some = next(iter(networks.values()))
    cost = Cost(macs_of(some, shape), parameters_of(some))
    named = {key: predictions[key].changed(model=model_name(*key)) for key in networks}
    members = []
    for key, module in networks.items():
        metadata = metadata_of(model_name(*key), data["preprocessing"], data["classes"], shape)
        path = folder / f"{model_name(*key)}.safetensors"
        content = tensor_bytes(module.state_dict(), metadata)
        if not path.is_file() or sha256_of(path) != hashlib.sha256(content).hexdigest():
            retire_family(folder)
            write_bytes(path, content)
        members.append(_member(path, key, cost, named[key]))
    manifest = Manifest(
        version=version("regnas"),
        input_shape=shape,
        classes=tuple(data["classes"]),
        preprocessing=data["preprocessing"],
        data={"digest": data["digest"], "report": next(iter(named.values())).split},
        members=tuple(members),
        flip_table=flip_table(list(named.values())),
        network=network,
        weights_license=NOT_STATED if old is None else old.weights_license,
    )
    if old is not None and (folder / MANIFEST).exists() and _is_same(old, manifest):
        return
    retire_family(folder)
    finish_family(folder, manifest)


def _member(path: Path, key: tuple[str, int], cost: Cost, predictions: Predictions) -> Member:
    method, seed = key
    return Member(
        name=predictions.model,
        architecture=None,
        budget="",
        macs=cost.macs,
        parameters=cost.parameters,
        top1=predictions.accuracy,
        top1_interval=accuracy_interval(predictions),
        file=path.name,
        sha256=sha256_of(path),
        bytes=path.stat().st_size,
        method=method,
        seed=seed,
    )


def _read_old(folder: Path) -> Manifest | None:
    with suppress(ArtifactError):
        return read_manifest(folder)
    return None


def _is_same(old: Manifest, new: Manifest) -> bool:
    """Whether the old manifest differs only by exports and cards."""
    bare = replace(old, exports=(), exported_flips={}, cards=())
    return bare.to_json() == new.to_json()
