"""What fuzzing damages: each kind of file, how it is damaged, and the code of the command line that reads it."""

from __future__ import annotations

import io
import json
import shutil
import sqlite3
import struct
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reliability import artifacts
from benchmarks.reliability.artifacts import Artifacts
from benchmarks.reliability.grammars import CSV, JSON, TOML, TOML_UPDATE
from benchmarks.reliability.mutations import (
    Random,
    from_fragments,
    json_bytes,
    mutate_bytes,
    mutate_value,
    pick,
    strange,
    toml_bytes,
)

Damage = Callable[[Random], bytes]


@dataclass(frozen=True)
class Target:
    """A kind of file.

    Args:
        name: for the counts.
        path: the file that is replaced.
        good: the undamaged content.
        ways: of damaging it; each returns the content of the file.
        read: what commands do with the file; it may raise a ``RegnasError``.
        command: a command that reads the file, for some of the cases.
        cases: per try; fewer for files that take longer to read.
        repair: makes the digest in a damaged file fit again, so that more than the digest is read.
        before: is called after the file was written, for example to make its sha256 known.
    """

    name: str
    path: Path
    good: bytes
    ways: tuple[Damage, ...]
    read: Callable[[], object]
    command: tuple[object, ...] = ()
    cases: int = 250
    before: Callable[[], object] = lambda: None
    repair: Callable[[bytes], bytes] = bytes


def targets(made: Artifacts, folder: Path) -> Iterator[Target]:
    """Yield all targets, importing what each needs when its turn comes; without a run, those that need none."""
    yield from _predictions(folder)
    yield from _configurations(made, folder)
    yield from _pictures(made, folder)
    yield from _keys(made, folder)
    if made.run.exists():
        yield from _families(made, folder)
        yield from _runs(made, folder)
    yield from _checkpoints(folder)


# Configurations


def _configurations(made: Artifacts, folder: Path) -> Iterable[Target]:
    from regnas.runs.config import load_config
    from regnas.runs.tables import change, load_table
    from regnas.updates.config import load_update

    contents = made.config.read_bytes(), made.update_config.read_bytes()
    for name, content, other, words, load in (
        ("run configuration", *contents, TOML, load_config),
        ("update configuration", *contents[::-1], TOML_UPDATE, load_update),
    ):
        path = folder / f"{name.replace(' ', '_')}.toml"
        table = tomllib.loads(content.decode())
        ways = (*_text_ways(content, other, words), lambda random, table=table: toml_bytes(mutate_value(table, random)))
        yield Target(name, path, content, ways, partial(load, str(path)), ("validate", path))

    path = folder / "assignments.txt"

    def assign() -> None:
        table = load_table(str(made.config))[1]
        change(table, path.read_text(encoding="utf-8", errors="replace").split("\n"))

    lines = [f"{section}.{key}={json.dumps(value)}".encode() for section, key, value in _leaves(made.config)]
    ways = (
        lambda random: mutate_bytes(pick(random, lines), random, pick(random, lines)),
        lambda random: pick(random, lines).partition(b"=")[0] + b"=" + strange(random).encode(),
        partial(from_fragments, TOML),
    )
    yield Target("--set", path, lines[0], ways, assign)


def _leaves(config: Path) -> list[tuple[str, str, Any]]:
    table = tomllib.loads(config.read_text())
    return [(name, key, each) for name, part in table.items() if isinstance(part, dict) for key, each in part.items()]


def _text_ways(content: bytes, other: bytes, words: tuple[str, ...]) -> tuple[Damage, ...]:
    return (lambda random: mutate_bytes(content, random, other), partial(from_fragments, words))


# Predictions


def _predictions(folder: Path) -> Iterable[Target]:
    from regnas.comparison.comparison import compare_joined
    from regnas.comparison.inputs import join_models
    from regnas.report.comparison import tables

    first, second = artifacts.predictions(0), artifacts.predictions(1)
    (folder / "old.csv").write_bytes(_csv(first))
    (folder / "old.npz").write_bytes(_npz(artifacts.arrays(0)))  # with numbers for classes

    def read(old: Path, path: Path) -> None:
        joined = join_models([str(old), str(path)])
        if path.stat().st_size % 16 == 0:  # the intervals take long
            result = compare_joined(joined)
            tables.terminal(result, 100)
            result.to_json(True)
            result.to_markdown()

    def target(suffix: str, good: bytes, *ways: Damage) -> Target:
        path = folder / f"new.{suffix}"
        old = folder / ("old.npz" if suffix == "npz" else "old.csv")
        command = ("compare", old, path, "--json")
        return Target(f"predictions.{suffix}", path, good, ways, partial(read, old, path), command)

    def cells(random: Random) -> bytes:
        rows = [line.split(b",") for line in _csv(second).splitlines()]
        for _ in range(int(random.integers(1, 4))):
            row = pick(random, rows)
            row[int(random.integers(len(row)))] = strange(random).encode()
        return b"\n".join(b",".join(row) for row in rows)

    lines = artifacts.json_lines(second)
    text = b"\n".join(json.dumps(line).encode() for line in lines)
    yield target("csv", _csv(second), *_text_ways(_csv(second), _csv(first), CSV), cells)
    yield target(
        "jsonl",
        text,
        *_text_ways(text, _csv(first), JSON),
        lambda random: b"\n".join(
            json_bytes(mutate_value(line, random) if random.random() < 0.3 else line, random) for line in lines
        ),
    )
    plain, other = _npz(artifacts.arrays(1)), _npz(artifacts.arrays(0))
    yield target(
        "npz",
        plain,
        lambda random: mutate_bytes(plain, random, other),
        lambda random: _rezipped(plain, random),
        lambda random: _npz(_other_arrays(artifacts.arrays(1), random)),
    )
    table = _parquet(second)
    yield target(
        "parquet",
        table,
        lambda random: mutate_bytes(table, random, _parquet(first)),
        lambda random: _parquet(_other_columns(second, random)),
    )


def _csv(columns: Mapping[str, list[object]]) -> bytes:
    rows = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    return "\n".join(rows).encode() + b"\n"


def _npz(content: Mapping[str, Any]) -> bytes:
    sink = io.BytesIO()
    np.savez(sink, **content)
    return sink.getvalue()


def _rezipped(content: bytes, random: Random) -> bytes:
    """Damage what a zip holds, and pack it again with checksums that fit."""
    sink = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(sink, "w") as target:
        victim = pick(random, source.namelist())
        for name in source.namelist():
            held = source.read(name)
            if name == victim:
                if random.random() < 0.5 and held.startswith(b"\x93NUMPY"):  # its header
                    held = mutate_bytes(held[:128], random) + held[128:]
                else:
                    held = mutate_bytes(held, random)
            method = pick(random, (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
            target.writestr(name, held, method)
    return sink.getvalue()


def _other_arrays(content: dict[str, Any], random: Random) -> dict[str, Any]:
    held = dict(content)
    for _ in range(int(random.integers(1, 3))):
        name = pick(random, list(held))
        array = held[name]
        changes: tuple[Callable[[], Any], ...] = (
            lambda array=array: array[:-1],
            lambda array=array: array[None],
            lambda array=array: array.reshape(-1, 1),
            lambda array=array: array.astype(object),
            lambda array=array: np.char.encode(array.astype("U"), "utf-8"),
            lambda array=array: np.zeros(0, array.dtype),
            lambda array=array: np.zeros(
                array.shape, pick(random, ("f2", "f8", "i1", "u8", "?", "c16", "M8[s]", "V3", ">i4"))
            ),
            lambda array=array: np.full(array.shape, pick(random, (np.nan, np.inf, -1, 2**62, -(2**63), 1e300))),
            lambda array=array: np.full(array.shape, pick(random, ("", "\x1b[2J", "\x00", "a" * 5000, "é"))),
            lambda array=array: np.array(5),
            lambda array=array: np.zeros((len(array) if array.ndim else 1, 2000)),
        )
        held[name] = pick(random, changes)()
        if random.random() < 0.2:
            held[pick(random, ("group", "probabilities", "x", "model", "\x1b[2J"))] = held.pop(name)
    return held


def _parquet(columns: Mapping[str, Any]) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    sink = io.BytesIO()
    parquet.write_table(pa.table(dict(columns)), sink)
    return sink.getvalue()


def _other_columns(columns: Mapping[str, list[object]], random: Random) -> dict[str, Any]:
    import pyarrow as pa

    held: dict[str, Any] = dict(columns)
    count = len(held["id"])
    name = pick(random, list(held))
    held[name] = pick(
        random,
        (
            [None] * count,
            [*held[name][:-1], None],
            [[1.0, 2.0]] * count,
            [{"a": 1}] * count,
            [b"\xff"] * count,
            [float("nan")] * count,
            [2**63 - 1] * count,
            pa.array([2**64 - 1] * count, pa.uint64()),
            pa.array([0] * count, pa.timestamp("ns")),
            pa.array(["1.5"] * count).cast(pa.decimal128(9, 2)),
            pa.array(["a"] * count).dictionary_encode(),
            [True] * count,
            ["\x1b[2J" * 2000] * count,
            [[[1]]] * count,
            pa.array([[1.0, 2.0, 3.0]] * count, pa.list_(pa.float32())),
            pa.nulls(count),
        ),
    )
    if random.random() < 0.3:
        held[pick(random, ("logits", "probabilities", "group", "logits_0", "logits_99999999", "\x1b[2J"))] = held.pop(
            name
        )
    return held


# Families


def _families(made: Artifacts, folder: Path) -> Iterable[Target]:
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

        ways = (*_text_ways(text, other, JSON), values, values, values)
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


# Run folders


def _runs(made: Artifacts, folder: Path) -> Iterable[Target]:
    from regnas.family.polishing import recorded_points
    from regnas.report.family.results import FamilyComparison
    from regnas.report.update.results import UpdateResult
    from regnas.report.update.tables import update_terminal_table
    from regnas.runs import api
    from regnas.runs.config import load_config, parse_config, timed
    from regnas.runs.folder import RunFolder
    from regnas.runs.session import find_run
    from regnas.runtime.files import sealed
    from regnas.search.study import Studies, open_storage, sqlite_storage
    from regnas.space import LatencyTable
    from regnas.supernet import space_of
    from regnas.training.checkpoint import last_checkpoint, newest_path, newest_step
    from regnas.updates import api as update_api
    from regnas.updates.config import load_update
    from regnas.updates.epochs import BY_EPOCH, remembered_by_epoch
    from regnas.updates.sweeps import SWEEPS, remembered_sweeps

    def resealed(content: bytes) -> bytes:
        try:
            return json.dumps(sealed(json.loads(content))).encode()
        except (ValueError, RecursionError, AttributeError, TypeError):
            return content

    def values(path: Path) -> tuple[bytes, tuple[Damage, ...]]:
        text = path.read_bytes()
        other = (made.update / "run.json").read_bytes()

        def change(random: Random) -> bytes:
            return resealed(json_bytes(mutate_value(json.loads(text), random), random))

        return text, (*_text_ways(text, other, JSON), change, change)

    run = shutil.copytree(made.run, folder / "run", ignore=shutil.ignore_patterns("*.png", "*.svg", "*.onnx"))
    machine = json.loads((run / "run.json").read_text())

    def read_run() -> None:
        found = api.open_run(run)
        found._repr_html_()
        find_run(run, None, (), parse_config)
        opened = RunFolder.open(run, reads_only=True)
        opened.check_machine({**machine["machine"], "threads": 1, "versions": machine["versions"]}, True)
        opened.conditions()
        opened.check_data(machine["data"])

    yield Target(
        "run.json",
        run / "run.json",
        *values(run / "run.json"),
        read_run,
        ("predict", f"{run}:small", run, "--out", folder / "out.npz", "--overwrite"),
        cases=100,
        repair=resealed,
    )

    update = shutil.copytree(made.update, folder / "update", ignore=shutil.ignore_patterns("*.png", "*.svg"))
    yield Target(
        "run.json of an update",
        update / "run.json",
        *values(update / "run.json"),
        lambda: update_api.open_update(update)._repr_html_(),
        ("verify", update),
    )
    results = folder / "update.json"
    yield Target(
        "update.json",
        results,
        *values(made.update / "report" / "update.json"),
        lambda: update_terminal_table(UpdateResult.read(results, "")),
        cases=100,
    )
    flips = folder / "flips.json"
    yield Target(
        "flips.json", flips, *values(made.run / "report" / "flips.json"), lambda: FamilyComparison.read(flips, "")
    )
    points = folder / "points.json"
    yield Target("points.json", points, *values(next(made.run.rglob("points.json"))), lambda: recorded_points(points))
    opened = RunFolder.open(update, reads_only=True)
    values_of_update = load_update(str(made.update_config)).values
    asked: tuple[tuple[str, bytes, Callable[[], object]], ...] = (
        (BY_EPOCH, b'["none", "all"]', lambda: remembered_by_epoch(opened, values_of_update, [])),
        (SWEEPS, b'["bcwi.alpha=0:1:0.5"]', lambda: remembered_sweeps(opened, [])),
    )
    for name, content, read in asked:
        (update / name).write_bytes(content)
        yield Target(name, update / name, *values(update / name), read)
    supernet = shutil.copytree(made.run / "supernet", folder / "supernet")

    index = supernet / "checkpoints.json"

    def checkpoints() -> None:
        newest_step(supernet)
        newest_path(supernet)
        last_checkpoint(supernet)

    yield Target("checkpoints.json", index, *values(index), checkpoints)

    latency = folder / "latency.json"
    loaded = load_config(str(made.config), {"search.latency_table": str(latency)}).values
    space = space_of(loaded.supernet, (1, 8, 8), artifacts.CLASSES)

    def read_latency() -> None:
        if LatencyTable.load(latency).entries:
            timed(space, loaded.search, loaded.budgets, (1, 8, 8), artifacts.CLASSES)

    yield Target(
        "latency table",
        latency,
        *values(made.latency),
        read_latency,
        ("validate", made.config, "--set", f'search.latency_table="{latency}"'),
    )

    own = folder / "study"
    own.mkdir()
    path = own / "study.db"
    study = (made.run / "study.db").read_bytes()

    def read_study() -> None:
        storage = open_storage(sqlite_storage(path))
        try:
            studies = Studies(storage, space)
            for name in sorted(studies.names()):
                studies.open(name).trials()
        finally:
            storage.engine.dispose()

    yield Target(
        "study.db",
        path,
        study,
        (lambda random: mutate_bytes(study, random, study[::-1]), lambda random: _other_rows(study, random, path)),
        read_study,
        cases=30,
    )


def _other_rows(content: bytes, random: Random, path: Path) -> bytes:
    """Replace values of a database, or drop its tables."""
    path.write_bytes(content)
    with closing(sqlite3.connect(path)) as connection:
        names = [row[0] for row in connection.execute("select name from sqlite_master where type = 'table'")]
        for _ in range(int(random.integers(1, 4))):
            table = pick(random, names)
            columns = [row[1] for row in connection.execute(f'pragma table_info("{table}")')]
            if not columns:  # the table was dropped
                continue
            column = pick(random, columns)
            value = pick(random, (None, 0, -1, 2**62, 1e300, "", "x", b"\xff", strange(random), "NaN", "RUNNING"))
            try:
                if random.random() < 0.05:
                    connection.execute(f'drop table "{table}"')
                elif random.random() < 0.2:
                    connection.execute(f'delete from "{table}" where rowid % 2 = 0')
                else:
                    connection.execute(f'update "{table}" set "{column}" = ?', (value,))
            except sqlite3.Error:
                continue
        connection.commit()
    return path.read_bytes()


# Pictures, keys, checkpoints


def _pictures(made: Artifacts, folder: Path) -> Iterable[Target]:
    from regnas.pictures.decoding import open_listed

    contents = {path.suffix: path.read_bytes() for path in sorted(made.photos.iterdir())}
    others = list(contents.values())
    for suffix, content in contents.items():
        path = folder / f"image{suffix}"
        ways: tuple[Damage, ...] = (
            lambda random, content=content: mutate_bytes(content, random, pick(random, others)),
            lambda random, content=content: mutate_bytes(content[:64], random) + content[64:],
        )
        if suffix == ".png":
            ways += (lambda random, content=content: _larger_png(content, random),)
        yield Target(f"image{suffix}", path, content, ways, partial(open_listed, folder, path.name))


def _larger_png(content: bytes, random: Random) -> bytes:
    """Return a PNG that declares another size, with a checksum that fits."""
    header = b"IHDR" + struct.pack(">II", *(2 ** random.integers(0, 31, 2))) + content[24:29]
    return content[:12] + header + struct.pack(">I", zlib.crc32(header)) + content[33:]


def _keys(made: Artifacts, folder: Path) -> Iterable[Target]:
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key

    from regnas.family.manifest.signing import check_signature, read_private_key, read_public_key

    public, private = made.key.with_suffix(".pub").read_bytes(), made.key.read_bytes()
    path = folder / "key.pub"
    words = (
        "ssh-ed25519 ",
        "-----BEGIN PUBLIC KEY-----\n",
        "-----END PUBLIC KEY-----\n",
        "AAAAC3NzaC1",
        "=",
        "\n",
        "A" * 64,
    )
    yield Target("public key", path, public, _text_ways(public, private, words), partial(read_public_key, path))
    own = folder / "key"
    words = tuple(
        word.replace("PUBLIC", "PRIVATE").replace("ssh-ed25519", "-----BEGIN OPENSSH PRIVATE KEY-----\n")
        for word in words
    )
    yield Target("private key", own, private, _text_ways(private, public, words), partial(read_private_key, own))
    if not (made.run / "family" / "manifest.json.sig").exists():
        return
    signed = folder / "signed"
    signed.mkdir()
    shutil.copy(made.run / "family" / "manifest.json", signed)
    good = (made.run / "family" / "manifest.json.sig").read_bytes()
    key = load_ssh_public_key(public)
    ways = (lambda random: mutate_bytes(good, random, public),)
    yield Target("signature", signed / "manifest.json.sig", good, ways, partial(check_signature, signed, key))  # type: ignore[arg-type]


def _checkpoints(folder: Path) -> Iterable[Target]:
    import torch

    from regnas.supernet.imports.reading import in_single_precision, read_tensors

    sink = io.BytesIO()
    torch.save({"state_dict": {f"layer{number}.weight": torch.ones(3, number) for number in range(1, 4)}}, sink)
    good = sink.getvalue()
    legacy = io.BytesIO()
    torch.save({"weight": torch.ones(4)}, legacy, _use_new_zipfile_serialization=False)
    old = legacy.getvalue()
    path = folder / "checkpoint.pth"

    def read() -> None:
        in_single_precision(read_tensors(path), path)

    yield Target(
        "torch checkpoint",
        path,
        good,
        (
            lambda random: mutate_bytes(good, random, old),
            lambda random: mutate_bytes(old, random, good),
            lambda random: _rezipped(good, random),
        ),
        read,
        ("import-ofa", path, "--to", folder / "imported"),
    )
