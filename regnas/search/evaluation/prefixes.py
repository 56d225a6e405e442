"""Run candidates with the same first blocks together: common parts are extracted, calibrated and run once.

A network is a sequence of parts (stem, one per block, head), and the output of a part depends only on the blocks up to
it. The candidates of a generation therefore form a tree, and a batch of images goes through every branch once. The
batch-norm statistics of a part also depend only on the parts before it, so they are shared. A candidate gets the same
bits as if it ran on its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from regnas.space import Architecture
from regnas.training import parts_of, settle


@dataclass
class PartsTree:
    """A node: ``part`` runs after the parts above it; ``index`` is the number of the candidate that ends here."""

    part: nn.Module
    branches: dict[Hashable, PartsTree] = field(default_factory=dict)
    index: int | None = None

    def nodes(self) -> Iterator[PartsTree]:
        """Yield this node and all nodes below it."""
        yield self
        for branch in self.branches.values():
            yield from branch.nodes()


class Clock:
    """Measures the seconds of forward passes inside ``with clock:``."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> None:
        self.seconds -= time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter()


def in_prefix_order(architectures: Iterable[Architecture]) -> list[Architecture]:
    """Return the architectures sorted by their first blocks; the result does not depend on the given order."""
    return sorted(architectures, key=lambda architecture: (_sortable(architecture), architecture.id))


def parts_trees(architectures: Sequence[Architecture], extract: Callable[[Architecture], nn.Module]) -> list[PartsTree]:
    """Return the candidates as trees, one per different first part."""
    roots: dict[Hashable, PartsTree] = {}
    for index, architecture in enumerate(architectures):
        parts = parts_of(extract(architecture))  # a network without parts shares nothing
        places = _places(architecture, len(parts))
        level = roots
        for place, part in zip(places, parts, strict=True):
            if place not in level:
                level[place] = PartsTree(_channels_last(part))
            node = level[place]
            level = node.branches
        node.index = index
    return list(roots.values())


@torch.no_grad()
def calibrate_trees(trees: Sequence[PartsTree], batches: Sequence[Tensor], clock: Clock) -> None:
    """Give every part the batch-norm statistics of these images, and put it into evaluation mode."""
    for tree in trees:
        for node in tree.nodes():
            node.part.eval()
        with clock:
            _calibrate(tree, batches)


@torch.no_grad()
def run_trees(trees: Sequence[PartsTree], images: Tensor) -> dict[int, Tensor]:
    """Return the logits of every candidate, by its index."""
    logits: dict[int, Tensor] = {}
    for tree in trees:
        _run(tree, images, logits)
    return logits


def _calibrate(tree: PartsTree, batches: Sequence[Tensor]) -> None:
    # Calibration ends with the last part that has statistics.
    if not tree.branches and not _has_statistics(tree.part):
        return
    outputs = settle(tree.part, batches, outputs=bool(tree.branches))
    del batches
    for branch in tree.branches.values():
        _calibrate(branch, outputs)


def _run(tree: PartsTree, x: Tensor, logits: dict[int, Tensor]) -> None:
    y = tree.part(x)
    del x
    if tree.index is not None:
        logits[tree.index] = y
    for branch in tree.branches.values():
        _run(branch, y, logits)


def _has_statistics(part: nn.Module) -> bool:
    return any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in part.modules())


def _channels_last(part: nn.Module) -> nn.Module:
    """Do the same as ``part.to(memory_format=torch.channels_last)``, in a third of the time."""
    for parameter in part.parameters():
        if parameter.ndim == 4:
            parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)
    return part


def _places(architecture: Architecture, parts: int) -> list[Hashable]:
    """Return a key for each part, which identifies it among the successors of the part before it."""
    blocks = list(architecture.blocks())
    if parts != len(blocks) + 2:
        return [architecture, *range(1, parts)]
    return [architecture.resolution, *blocks, "end"]


def _sortable(architecture: Architecture) -> tuple[int, list[tuple[int, int, tuple[tuple[str, float], ...]]]]:
    blocks = [(stage, position, block.genes) for stage, position, block in architecture.blocks()]
    return architecture.resolution or 0, blocks
