"""Make a pack, or the shards of it that are missing."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import PIL

from regnas.data.image_decoding import Decoder
from regnas.data.loading import running_threads
from regnas.data.packs.pack import Pack
from regnas.data.packs.rows import JPEG_OPTIONS, Kind, make_row
from regnas.data.packs.shards import Shard, open_shard, write_shard
from regnas.errors import ArtifactError, EnvironmentProblem
from regnas.pictures.files import ImageFiles
from regnas.runtime.files import digest_of
from regnas.runtime.lock import exclusive
from regnas.runtime.progress import Bar
from regnas.runtime.signals import stop_if_asked

SHARD_BYTES = 2**26  # of pixels at most, unless one image has more: the memory that making a shard needs is twice this
MOST_ROWS = 4096  # of a shard: what a killed process decodes again
SUFFIX = ".safetensors"
REMEDY = 'Free some space, or set "cache" of the data set to another folder.'
DOING = {"checked": "checking images", "pixels": "decoding images", "jpeg": "packing images"}

log = logging.getLogger("regnas")


def make_pack(place: Path, kind: Kind, decoder: Decoder, files: ImageFiles) -> Pack:
    """Return the pack of the files; make the shards that are missing or damaged in the folder ``place``.

    Other shards are removed then: they belong to files that have changed.
    """
    making = _Making(place, kind, decoder, files)
    found = making.found()
    if any(shard is None for shard in found):
        with _explained(place), exclusive(place, patient=True):
            found = making.completed(making.found())  # another process may have made some
    return Pack(kind, tuple(shard for shard in found if shard is not None), making.per_shard)


class _Making:
    def __init__(self, place: Path, kind: Kind, decoder: Decoder, files: ImageFiles) -> None:
        self.place, self.kind, self.decoder, self.files = place, kind, decoder, files
        image = 1 if kind == "checked" else decoder.shape.numel()
        # A power of two: a pack of slightly larger images has shards of the same files.
        self.per_shard: int = min(MOST_ROWS, 2 ** (max(1, SHARD_BYTES // image).bit_length() - 1))
        self.parts = [slice(start, start + self.per_shard) for start in range(0, len(files), self.per_shard)]
        # The folder is in the digest because files of other data sets may have the same names, sizes and times
        # (uncompressed images from an archive without times), and PIL because its resizing determines the pixels.
        options = JPEG_OPTIONS if kind == "jpeg" else {}
        made_by = [str(decoder.folder), kind, options, list(decoder.shape), str(decoder.transform), PIL.__version__]
        prefix = digest_of(made_by)
        self.paths = [place / f"{files.part(part).sha256(prefix)}{SUFFIX}" for part in self.parts]

    def found(self) -> list[Shard | None]:
        return [self._found(number) for number in range(len(self.parts))]

    def completed(self, found: list[Shard | None]) -> list[Shard | None]:
        missing = [number for number, shard in enumerate(found) if shard is None]
        total = sum(self._count(number) for number in missing)
        if self.kind == "pixels":
            _check_room(self.place, total * self.decoder.shape.numel())
        with running_threads(self.decoder.workers) as pool, Bar(DOING[self.kind], total) as bar:
            for number in missing:
                self._make(pool, bar, number)
                found[number] = self._found(number)
                stop_if_asked()
        self._remove_others()
        return found

    def _found(self, number: int) -> Shard | None:
        try:
            shard = open_shard(self.paths[number], self._count(number))
        except ArtifactError as error:
            log.warning("%s; its images are packed again", error)
            return None
        return None if shard is not None and self._can_read_more(shard, number) else shard

    def _can_read_more(self, shard: Shard, number: int) -> bool:
        """Whether an image can be read that could not be read before, though its size and time are the same."""
        files, pixels = self.files.part(self.parts[number]), np.empty(self.decoder.shape, dtype=np.uint8)
        return any(self.decoder.fill(files, row, pixels) is None for row in shard.problems)

    def _make(self, pool: ThreadPoolExecutor, bar: Bar, number: int) -> None:
        files = self.files.part(self.parts[number])
        rows: list[bytes] = []
        problems: dict[int, str] = {}
        for index, (row, problem) in enumerate(
            pool.map(partial(make_row, self.kind, self.decoder, files), range(len(files)))
        ):
            rows.append(row)
            if problem is not None:
                problems[index] = problem
            bar.advance()
        write_shard(self.paths[number], rows, problems)

    def _count(self, number: int) -> int:
        return min(self.per_shard, len(self.files) - number * self.per_shard)

    def _remove_others(self) -> None:
        wanted = set(self.paths)
        for path in self.place.glob(f"*{SUFFIX}"):
            if path not in wanted:
                path.unlink(missing_ok=True)


def _check_room(folder: Path, needed: int) -> None:
    """Refuse to decode for minutes if the disk has no room for the result."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise EnvironmentProblem(
            f"the decoded images need {needed / 1e9:.1f} GB, but {folder} has {free / 1e9:.1f} GB left. {REMEDY}"
        )


@contextmanager
def _explained(place: Path) -> Iterator[None]:
    try:
        yield
    except EnvironmentProblem as error:
        if REMEDY in str(error):
            raise
        raise EnvironmentProblem(f"cannot keep the decoded images in {place} ({error}). {REMEDY}") from error
