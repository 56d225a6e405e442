"""Architectures as values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from regnas.errors import ArtifactError

Gene = int | float


@dataclass(frozen=True, slots=True)
class Block:
    """The elastic dimensions of one block, by name: ``Block.of(width=16, expansion=2)``.

    The values are the sizes of the tensors (channels after rounding, not indices into a list of choices). Comparing two
    blocks gene by gene therefore compares the tensors.
    """

    genes: tuple[tuple[str, Gene], ...]

    @classmethod
    def of(cls, **genes: Gene) -> Block:
        """Return a block with these genes."""
        return cls(tuple(sorted(genes.items())))

    def __getitem__(self, name: str) -> Gene:
        return dict(self.genes)[name]

    def __str__(self) -> str:
        return ",".join(f"{name}={value:g}" for name, value in self.genes)

    def covers(self, other: Block) -> bool:
        """Whether every gene is at least that of ``other``."""
        mine = dict(self.genes)
        return mine.keys() == dict(other.genes).keys() and all(mine[name] >= value for name, value in other.genes)


@dataclass(frozen=True)
class Architecture:
    """A sub-network: the active blocks of each stage.

    The form is canonical: the depth of a stage is the number of its blocks, and inactive blocks have no genes. So two
    architectures are equal if and only if they are the same network. ``resolution`` is the size to which images are
    resized, or None if the space does not have this choice.
    """

    space: str
    stages: tuple[tuple[Block, ...], ...]
    resolution: int | None = None

    @cached_property
    def id(self) -> str:
        """Twelve hexadecimal digits, the same in every process."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()[:12]

    @property
    def depths(self) -> tuple[int, ...]:
        return tuple(len(stage) for stage in self.stages)

    def blocks(self) -> Iterator[tuple[int, int, Block]]:
        """Yield (stage, position, block) in the order of the forward pass."""
        for stage, blocks in enumerate(self.stages):
            for position, block in enumerate(blocks):
                yield stage, position, block

    def genes(self) -> dict[str, Gene]:
        """Return the genes by flat names: ``stage1.depth``, ``stage1.block1.width``, ..."""
        flat: dict[str, Gene] = {} if self.resolution is None else {"resolution": self.resolution}
        flat |= {f"stage{stage + 1}.depth": depth for stage, depth in enumerate(self.depths)}
        for stage, position, block in self.blocks():
            flat |= {f"stage{stage + 1}.block{position + 1}.{name}": value for name, value in block.genes}
        return flat

    def to_json(self) -> dict[str, Any]:
        """Return the architecture as a JSON object."""
        resolution = {} if self.resolution is None else {"resolution": self.resolution}
        stages = [[dict(block.genes) for block in stage] for stage in self.stages]
        return {"space": self.space, **resolution, "stages": stages}

    @classmethod
    def from_json(cls, value: Any) -> Architecture:
        """Read a JSON object that ``to_json`` returned."""
        try:
            stages = tuple(tuple(Block.of(**block) for block in stage) for stage in value["stages"])
            resolution = value.get("resolution")
            if not all(isinstance(gene, int | float) for stage in stages for block in stage for _, gene in block.genes):
                raise TypeError("a gene is not a number")
            return cls(str(value["space"]), stages, None if resolution is None else int(resolution))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ArtifactError(f"not an architecture: {str(value)[:80]!r} ({error})") from None


def contains(large: Architecture, small: Architecture) -> bool:
    """Whether ``large`` has every weight of ``small`` (CAS, the architecture constraint of REG-NAS).

    Every stage must be at least as deep, and every active block of the small one must be covered by its counterpart.
    The resolution has no weights and does not matter.
    """
    return (
        large.space == small.space
        and len(large.stages) == len(small.stages)
        and all(
            len(wide) >= len(narrow) and all(big.covers(little) for big, little in zip(wide, narrow, strict=False))
            for wide, narrow in zip(large.stages, small.stages, strict=True)
        )
    )
