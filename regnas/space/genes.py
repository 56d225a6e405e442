"""The genes of a space by the flat names of ``Architecture.genes``."""

from __future__ import annotations

from regnas.space.architecture import Block, Gene
from regnas.space.space import SearchSpace

RESOLUTION = "resolution"


def depth_gene(stage: int) -> str:
    """Return the name of the depth of a stage."""
    return f"stage{stage + 1}.depth"


def block_genes(stage: int, position: int, block: Block) -> list[tuple[str, Gene]]:
    """Return the names and values of the genes of a block."""
    return [(f"stage{stage + 1}.block{position + 1}.{name}", value) for name, value in block.genes]


def gene_choices(space: SearchSpace) -> dict[str, list[Gene]]:
    """Return all values that each gene can have in the space, in ascending order."""
    found: dict[str, set[Gene]] = {}
    if sizes := {size for size in space.resolutions if size is not None}:
        found[RESOLUTION] = set(sizes)
    for stage_index, stage in enumerate(space.stages):
        found[depth_gene(stage_index)] = set(range(stage.min_depth, stage.max_depth + 1))
        for position, options in enumerate(stage.options):
            for block in options:
                for name, value in block_genes(stage_index, position, block):
                    found.setdefault(name, set()).add(value)
    return {name: sorted(values) for name, values in found.items()}
