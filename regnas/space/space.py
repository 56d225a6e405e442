"""The set of architectures of a supernet, and its subsets.

A space is a list of blocks to choose from at each position of each stage, together with the rules of the network: which
block may follow which, and its cost. A search works in subsets, which are narrower choices at some positions: the
networks that contain a given one (``above``), those that it contains (``below``), the neighbors of a parent
(``around``), the children of two parents (``mixing``). Each subset is a space, so one sampler serves them all and no
draw is rejected for containment.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

from regnas.errors import ArtifactError, InfeasibleError
from regnas.space.architecture import Architecture, Block
from regnas.space.budget import Cost

State = Hashable
Options = tuple[Block, ...]

# Dimensions of an architecture that are not genes of a block.
DEPTH = "depth"
RESOLUTION = "resolution"


class Rules(Protocol):
    """The rules of a network for its blocks; a block depends on the blocks before it only through ``state``."""

    def start(self, resolution: int | None) -> tuple[State, Cost]:
        """Return the state before the first block and the cost of the stem, for images of this size (None: any)."""
        ...

    def step(self, state: State, stage: int, position: int, block: Block) -> tuple[State, Cost] | None:
        """Return the state after the block and the cost of the block, or None if it is not allowed here."""
        ...

    def finish(self, state: State) -> Cost:
        """Return the cost of the head."""
        ...


@dataclass(frozen=True)
class Stage:
    """A stage of at least ``min_depth`` blocks, and at most one per entry of ``options``."""

    min_depth: int
    options: tuple[Options, ...]

    @property
    def max_depth(self) -> int:
        return len(self.options)


@dataclass(frozen=True)
class SearchSpace:
    """A set of architectures: the choices at each position, and the rules of the network."""

    name: str
    stages: tuple[Stage, ...]
    rules: Rules
    resolutions: tuple[int | None, ...] = (None,)

    def cost(self, architecture: Architecture) -> Cost:
        """Return the cost by the rules; nothing is built or traced."""
        state, total = self.rules.start(architecture.resolution)
        for stage, position, block in architecture.blocks():
            after = self.rules.step(state, stage, position, block)
            if after is None:
                raise ArtifactError(f"block {position + 1} of stage {stage + 1} ({block}) is not allowed there")
            state, cost = after
            total = total.plus(cost)
        return total.plus(self.rules.finish(state))

    def check(self, architecture: Architecture) -> None:
        """Refuse an architecture that is not in this space; the error says where it differs."""
        if architecture.space != self.name:
            raise ArtifactError(f'the space of the architecture must be "{self.name}", got "{architecture.space}"')
        if architecture.resolution not in self.resolutions:
            known = ", ".join("that of the data" if each is None else str(each) for each in self.resolutions)
            raise ArtifactError(f"the resolution in {self.name} must be {known}, got {architecture.resolution}")
        if len(architecture.stages) != len(self.stages):
            raise ArtifactError(f"{self.name} must have {len(self.stages)} stages, got {len(architecture.stages)}")
        for index, (blocks, stage) in enumerate(zip(architecture.stages, self.stages, strict=True)):
            if not stage.min_depth <= len(blocks) <= stage.max_depth:
                raise ArtifactError(
                    f"stage {index + 1} of {self.name} must have {stage.min_depth} to {stage.max_depth} blocks, got "
                    f"{len(blocks)}"
                )
            for position, (block, options) in enumerate(zip(blocks, stage.options, strict=False)):
                if block not in options:
                    raise ArtifactError(f"block {position + 1} of stage {index + 1} ({block}) is not a choice there")
        self.cost(architecture)

    def holds(self, architecture: Architecture) -> bool:
        """Whether an architecture is in this space."""
        try:
            self.check(architecture)
        except ArtifactError:
            return False
        return True

    def above(self, floor: Architecture) -> SearchSpace:
        """Return the architectures that contain ``floor``."""
        return self._narrowed(
            lambda stage, position, block: (
                position >= len(floor.stages[stage]) or block.covers(floor.stages[stage][position])
            ),
            depths=[(len(blocks), stage.max_depth) for blocks, stage in zip(floor.stages, self.stages, strict=True)],
        )

    def below(self, ceiling: Architecture) -> SearchSpace:
        """Return the architectures that ``ceiling`` contains."""
        return self._narrowed(
            lambda stage, position, block: ceiling.stages[stage][position].covers(block),
            depths=[(0, len(blocks)) for blocks in ceiling.stages],
        )

    def around(
        self,
        parent: Architecture,
        free_blocks: Iterable[tuple[int, int]],
        free_depths: Iterable[int],
        free_resolution: bool = False,
    ) -> SearchSpace:
        """Return ``parent`` and its variants in which some blocks, and the depths of some stages, are chosen again."""
        blocks, depths = set(free_blocks), set(free_depths)
        return self._narrowed(
            lambda stage, position, block: (
                (stage, position) in blocks
                or position >= len(parent.stages[stage])
                or block == parent.stages[stage][position]
            ),
            depths=[
                (0, stage.max_depth) if index in depths else (len(parent.stages[index]),) * 2
                for index, stage in enumerate(self.stages)
            ],
            resolutions=self.resolutions if free_resolution else (parent.resolution,),
        )

    def mixing(self, mother: Architecture, father: Architecture) -> SearchSpace:
        """Return the architectures in which each block comes from one of the two."""
        return self._narrowed(
            lambda stage, position, block: any(
                block in parent.stages[stage][position : position + 1] for parent in (mother, father)
            ),
            depths=[
                (min(len(one), len(other)), max(len(one), len(other)))
                for one, other in zip(mother.stages, father.stages, strict=True)
            ],
            resolutions=tuple(size for size in self.resolutions if size in (mother.resolution, father.resolution)),
        )

    @property
    def dimensions(self) -> frozenset[str]:
        """The dimensions with a choice: ``depth``, the genes of blocks, ``resolution``."""
        genes = {
            gene for stage in self.stages for options in stage.options for block in options for gene, _ in block.genes
        }
        return frozenset(genes | {DEPTH} | ({RESOLUTION} if len(self.resolutions) > 1 else set()))

    def elastic_in(self, dimensions: AbstractSet[str]) -> SearchSpace:
        """Return the architectures that equal the largest one except in these dimensions."""
        largest = self.largest
        return self._narrowed(
            lambda stage, position, block: (
                position >= len(largest.stages[stage])
                or all(
                    gene in dimensions or (gene, value) in largest.stages[stage][position].genes
                    for gene, value in block.genes
                )
            ),
            depths=[
                (0, stage.max_depth) if DEPTH in dimensions else (len(blocks), len(blocks))
                for blocks, stage in zip(largest.stages, self.stages, strict=True)
            ],
            resolutions=self.resolutions if RESOLUTION in dimensions else (largest.resolution,),
        )

    @cached_property
    def smallest(self) -> Architecture:
        """The architecture with the fewest multiply-adds."""
        return self._extreme(min)

    @cached_property
    def largest(self) -> Architecture:
        return self._extreme(max)

    @property
    def macs_range(self) -> tuple[int, int]:
        return self.cost(self.smallest).macs, self.cost(self.largest).macs

    def _extreme(self, choose: Callable[..., Any]) -> Architecture:
        found = []
        for resolution in self.resolutions:
            state, stem = self.rules.start(resolution)
            rest = self._best_rest(choose, state, 0, 0, {})
            if rest is not None:
                found.append((rest[0] + stem.macs, rest[1], resolution))
        if not found:
            raise InfeasibleError(f"no architecture of {self.name} satisfies the constraints")
        _, stages, resolution = choose(found, key=lambda way: way[0])
        return Architecture(self.name, stages, resolution)

    def _best_rest(
        self,
        choose: Callable[..., Any],
        state: State,
        stage: int,
        position: int,
        known: dict[tuple[State, int, int], tuple[int, tuple[tuple[Block, ...], ...]] | None],
    ) -> tuple[int, tuple[tuple[Block, ...], ...]] | None:
        """Return MACs and blocks of the cheapest or dearest continuation; the first entry is the rest of this stage."""
        if stage == len(self.stages):
            return self.rules.finish(state).macs, ()
        if (state, stage, position) not in known:
            ways = []
            if position >= self.stages[stage].min_depth:
                rest = self._best_rest(choose, state, stage + 1, 0, known)
                if rest is not None:
                    ways.append((rest[0], ((), *rest[1])))
            if position < self.stages[stage].max_depth:
                for block in self.stages[stage].options[position]:
                    after = self.rules.step(state, stage, position, block)
                    rest = after and self._best_rest(choose, after[0], stage, position + 1, known)
                    if after and rest:
                        head, *tail = rest[1]
                        ways.append((rest[0] + after[1].macs, ((block, *head), *tail)))
            known[state, stage, position] = choose(ways, key=lambda way: way[0]) if ways else None
        return known[state, stage, position]

    def _narrowed(
        self,
        keep: Callable[[int, int, Block], bool],
        depths: Iterable[tuple[int, int]],
        resolutions: tuple[int | None, ...] | None = None,
    ) -> SearchSpace:
        stages = tuple(
            Stage(
                max(stage.min_depth, low),
                tuple(
                    tuple(block for block in options if keep(index, position, block))
                    for position, options in enumerate(stage.options[:high])
                ),
            )
            for index, (stage, (low, high)) in enumerate(zip(self.stages, depths, strict=True))
        )
        return replace(self, stages=stages, resolutions=self.resolutions if resolutions is None else resolutions)
