"""The plain network of one architecture of AttentiveNAS."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from regnas.space import Architecture
from supernets.attentive_nas.rules import LAST_EXPANSION, STAGES
from supernets.extraction import Make, build
from supernets.images import Resize
from supernets.layers import ConvNorm, InvertedBottleneck, PooledFeatures

ACTIVATION = "silu"


class AttentiveNet(nn.Module):
    """The only block of the first stage is the stem; that of the last stage computes the features."""

    def __init__(self, resolution: int | None, stages: Sequence[Sequence[nn.Module]], classifier: nn.Module) -> None:
        super().__init__()
        self.resize = Resize(resolution)
        self.stages = nn.ModuleList(nn.Sequential(*blocks) for blocks in stages)
        self.classifier = classifier

    def parts(self) -> list[nn.Module]:
        """Return modules whose composition is the network: resizing, every block, and the classifier."""
        blocks = [block for stage in self.stages for block in stage]  # type: ignore[attr-defined]
        return [self.resize, *blocks, self.classifier]

    def forward(self, images: Tensor) -> Tensor:
        x = self.resize(images)
        for stage in self.stages:
            x = stage(x)
        logits: Tensor = self.classifier(x)
        return logits


def attentive_network(architecture: Architecture, channels: int, classes: int, make: Make = build) -> AttentiveNet:
    """Build the network of an architecture from layers of ``make``."""
    stages: list[list[nn.Module]] = [[] for _ in architecture.stages]
    for stage, position, block in architecture.blocks():
        width = int(block["width"])
        if stage == 0:
            layer = make(ConvNorm, channels, width, 3, 2, 1, ACTIVATION)
        elif stage > len(STAGES):
            layer = make(PooledFeatures, channels, LAST_EXPANSION * channels, width, ACTIVATION)
        else:
            of_stage = STAGES[stage - 1]
            layer = make(
                InvertedBottleneck,
                channels,
                int(block["middle"]),
                width,
                int(block["kernel"]),
                of_stage.stride if position == 0 else 1,
                ACTIVATION,
                of_stage.squeezing,
                "projected" if position == 0 and block["projected"] else "identity",
                of_stage.expanding,
            )
        stages[stage].append(layer)
        channels = width
    return AttentiveNet(architecture.resolution, stages, make(nn.Linear, channels, classes))
