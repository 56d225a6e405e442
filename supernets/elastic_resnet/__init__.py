"""A residual network for small images with elastic depth, widths and expansions."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from regnas.space import Architecture, Block, SearchSpace, Stage
from supernets.elastic_resnet.network import resnet_of
from supernets.elastic_resnet.rules import ElasticResNetRules
from supernets.extraction import Make
from supernets.sliced import SlicedSupernet

NAME = "elastic_resnet"
MOST_BLOCKS = 1000  # per stage: every possible block is an object


@dataclass(frozen=True)
class ElasticResNet:
    """Residual network for small images: depth per stage, width and expansion per block.

    ``widths`` lists, per stage, the possible widths of its blocks. ``depths`` is the minimum and the maximum number of
    blocks per stage. ``expansions`` are widths inside a block as multiples of its output. ``patch`` is the side of the
    squares of pixels that the stem merges (2 quarters the cost).
    """

    widths: tuple[tuple[int, ...], ...] = ((8, 12, 16), (16, 24, 32), (32, 48, 64))
    depths: tuple[int, int] = (1, 3)
    expansions: tuple[float, ...] = (0.5, 1.0, 1.5)
    stem_width: int = 8
    patch: int = 1

    def __post_init__(self) -> None:
        if not self.widths or not all(self.widths) or not self.expansions:
            raise ValueError("every stage must have at least one width, and expansions at least one value")
        if min(self.stem_width, self.patch, *(width for stage in self.widths for width in stage)) < 1:
            raise ValueError("widths and patch must be positive")
        if min(self.expansions) <= 0:
            raise ValueError("expansions must be positive")
        if not 1 <= self.depths[0] <= self.depths[1] <= MOST_BLOCKS:
            raise ValueError(
                f"depths must be [min, max] with 1 <= min <= max <= {MOST_BLOCKS}, got {list(self.depths)}"
            )
        if min(self.widths[0]) < self.stem_width:
            raise ValueError(f"the first stage must be at least as wide as the stem ({self.stem_width})")
        for narrow, wide in zip(self.widths, self.widths[1:], strict=False):
            if max(wide) < max(narrow):
                raise ValueError(f"a stage must be at least as wide as the one before it, got {wide} after {narrow}")

    def space(self, input_shape: tuple[int, int, int], classes: int) -> SearchSpace:
        """Return the search space for these images."""
        channels, height, width = input_shape
        if height % self.patch or width % self.patch:
            raise ValueError(f"patch must divide height and width, got {self.patch} for images of {height} x {width}")
        fewest, most = self.depths
        stages = tuple(
            Stage(fewest, (tuple(Block.of(width=w, expansion=e) for w in widths for e in self.expansions),) * most)
            for widths in self.widths
        )
        rules = ElasticResNetRules(channels, height, width, classes, self.patch, self.stem_width)
        return SearchSpace(NAME, stages, rules)

    def network(self, architecture: Architecture, input_shape: tuple[int, int, int], classes: int) -> nn.Module:
        """Build the plain network of an architecture, with random weights."""
        return resnet_of(architecture, input_shape[0], classes, self.patch, self.stem_width)

    def supernet(self, input_shape: tuple[int, int, int], classes: int) -> SlicedSupernet:
        """Build the elastic network, with random weights."""

        def build_plain(architecture: Architecture, make: Make) -> nn.Module:
            return resnet_of(architecture, input_shape[0], classes, self.patch, self.stem_width, make)

        return SlicedSupernet(build_plain, self.space(input_shape, classes).largest)
