"""Image files."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from benchmarks.reliability.artifacts import Artifacts
from benchmarks.reliability.inputs.target import Damage, Target
from benchmarks.reliability.mutations import Random, mutate_bytes, pick


def pictures(made: Artifacts, folder: Path) -> Iterable[Target]:
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
