"""Manifests, weights and ONNX files of families."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Iterable
from pathlib import Path

from benchmarks.reliability.artifacts import Artifacts
from benchmarks.reliability.grammars import JSON
from benchmarks.reliability.inputs.target import Damage, Target, text_ways
from benchmarks.reliability.mutations import (
    Random,
    from_fragments,
    json_bytes,
    mutate_bytes,
    mutate_value,
    pick,
    strange,
)


def families(made: Artifacts, folder: Path) -> Iterable[Target]:
    from regnas.family.family import load_family
    from regnas.family.manifest.folders import MANIFEST
    from regnas.family.onnx_models import read_onnx
    from regnas.runtime.files import digest_of, json_text, sha256_of
    from regnas.runtime.safetensors_headers import map_tensors, read_header
    from regnas.runtime.tensors import load_tensors

    both = made.run / "family" / MANIFEST, made.update / "models" / MANIFEST
    contents = [path.read_bytes() for path in both]

    def redigested(content: bytes) -> bytes:
        try:
            value = json.loads(content)
            value["digest"] = digest_of({key: each for key, each in value.items() if key != "digest"})
            return json_text(value).encode()
        except (ValueError, RecursionError, TypeError, AttributeError):
            return content

    for place, kind in enumerate(("manifest", "manifest of an update")):
        own = shutil.copytree(both[place].parent, folder / kind.replace(" ", "_"))
        text, other = contents[place], contents[1 - place]

        def read(own: Path = own) -> None:
            family = load_family(own)
            family[next(iter(family))]

        def values(random: Random, text: bytes = text) -> bytes:
            return redigested(json_bytes(mutate_value(json.loads(text), random), random))

        ways = (*text_ways(text, other, JSON), values, values, values)
        yield Target(kind, own / MANIFEST, text, ways, read, ("verify", own), repair=redigested)

    family = shutil.copytree(made.run / "family", folder / "weights")
    weights = family / "small.safetensors"
    good, other = weights.read_bytes(), (family / "large.safetensors").read_bytes()

    def adopt() -> None:
        """Make the manifest list the damaged file, as the manifest of somebody else would."""
        manifest = json.loads(contents[0])
        for entry in (*manifest["members"], *manifest["exports"]):
            if entry["file"] == weights.name:
                entry |= {"sha256": sha256_of(weights), "bytes": weights.stat().st_size}
        (family / MANIFEST).write_bytes(redigested(json.dumps(manifest).encode()))

    def read_weights() -> None:
        read_header(weights)
        map_tensors(weights)
        load_tensors(weights, sha256_of(weights))

    ways = (*_safetensors_ways(good, other),)
    yield Target("weights", weights, good, ways, read_weights, ("verify", family), before=adopt)

    own = folder / "onnx"
    own.mkdir()
    path = own / "small.onnx"
    good_onnx, other_onnx = ((made.run / "family" / f"{name}.onnx").read_bytes() for name in ("small", "large"))

    def predict() -> None:
        import torch

        exported = read_onnx(path)
        exported.network(torch.zeros(2, *exported.input_shape))

    yield Target(
        "onnx",
        path,
        good_onnx,
        (lambda random: mutate_bytes(good_onnx, random, other_onnx), lambda random: _other_onnx(good_onnx, random)),
        predict,
        ("predict", path, made.data, "--out", own / "out.npz", "--overwrite"),
        cases=60,
    )


def _safetensors_ways(good: bytes, other: bytes) -> tuple[Damage, ...]:
    length = int.from_bytes(good[:8], "little")
    header, body = json.loads(good[8 : 8 + length]), good[8 + length :]

    def packed(text: bytes) -> bytes:
        return struct.pack("<Q", len(text)) + text + body

    return (
        lambda random: mutate_bytes(good, random, other),
        lambda random: packed(mutate_bytes(json_bytes(header), random)),
        lambda random: packed(json_bytes(mutate_value(header, random), random)),
        lambda random: packed(from_fragments(JSON, random)),
    )


def _other_onnx(content: bytes, random: Random) -> bytes:
    import onnx

    model = onnx.load_model_from_string(content)
    for _ in range(int(random.integers(1, 4))):
        match int(random.integers(6)):
            case 0 | 1:
                entry = pick(random, model.metadata_props)
                entry.value = strange(random).encode("utf-8", "replace").decode()
            case 2:
                dimension = pick(random, [*model.graph.input, *model.graph.output]).type.tensor_type.shape.dim[0]
                dimension.dim_value = int(pick(random, (0, 1, 2**31, -1)))
            case 3:
                tensor = pick(random, model.graph.initializer)
                if tensor.dims:
                    tensor.dims[0] = int(pick(random, (0, 1, 2**40, -1)))
            case 4:
                node = pick(random, model.graph.node)
                node.op_type = pick(random, ("Add", "Loop", "Expand", "Nothing", "Reshape"))
            case _:
                node = pick(random, model.graph.node)
                for attribute in node.attribute:
                    attribute.ints[:] = [int(pick(random, (0, 1, -1, 2**31, 2**62)))] * len(attribute.ints)
    return bytes(model.SerializeToString())
