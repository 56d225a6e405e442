"""Read the rows of a pack."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regnas.data.image_decoding import Decoder
from regnas.data.packs.rows import Kind, make_row, read_row
from regnas.data.packs.shards import Shard
from regnas.pictures.files import ImageFiles

log = logging.getLogger("regnas")


@dataclass(frozen=True, eq=False)
class Pack:
    """The rows of listed files, in their order."""

    kind: Kind
    shards: tuple[Shard, ...]
    per_shard: int
    reported: set[Path] = field(default_factory=set)  # damaged shards, each of which gets one line

    @property
    def problems(self) -> dict[int, str]:
        """The files that cannot be read: the row, and the name with the reason."""
        return {
            number * self.per_shard + row: problem
            for number, shard in enumerate(self.shards)
            for row, problem in shard.problems.items()
        }

    def length(self, row: int) -> int:
        """Return the number of bytes of a row."""
        number, within = divmod(row, self.per_shard)
        return self.shards[number].length(within)

    def read(self, row: int, buffer: bytearray | memoryview) -> bool:
        """Fill a buffer that has the length of the row; return False if the row is damaged."""
        number, within = divmod(row, self.per_shard)
        if self.shards[number].read(within, buffer):
            return True
        self._report_damage(self.shards[number].path)
        return False

    def _report_damage(self, path: Path) -> None:
        """Remove a shard, so that the next run makes it again; the images are decoded until then."""
        if path in self.reported or not path.exists():
            return
        self.reported.add(path)
        with suppress(OSError):  # the cache may be read-only
            path.unlink()
        log.warning("%s is damaged; its images are decoded again, and the next run packs them", path)


@dataclass(frozen=True, eq=False)
class PackedRows:
    """The rows of some files in a pack."""

    pack: Pack
    rows: NDArray[np.int64]  # [N]

    @property
    def kind(self) -> Kind:
        return self.pack.kind

    @property
    def changes_pixels(self) -> bool:
        """Whether the pixels are not exactly those of the files."""
        return self.kind == "jpeg"

    def part(self, indices: NDArray[np.int64]) -> PackedRows:
        return PackedRows(self.pack, self.rows[indices])

    def fill(self, decoder: Decoder, files: ImageFiles, index: int, pixels: NDArray[np.uint8]) -> str | None:
        """Fill ``pixels`` [C, H, W] from the row or, if it is damaged, from the file, with the same result."""
        row = int(self.rows[index])
        if self.kind == "pixels":
            if self.pack.read(row, pixels.data):
                return None
        elif self.pack.read(row, content := bytearray(self.pack.length(row))):
            read_row(self.kind, content, pixels)
            return None
        made, problem = make_row(self.kind, decoder, files, index)
        if problem is None:
            read_row(self.kind, made, pixels)
        return problem
