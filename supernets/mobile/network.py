"""The plain mobile network of one architecture."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from regnas.space import Architecture
from supernets.extraction import Make, build
from supernets.images import Resize
from supernets.layers import ConvNorm, InvertedBottleneck, PooledFeatures
from supernets.mobile.layout import MobileLayout


class MobileNet(nn.Module):
    """The plain network: stem, first block, elastic stages, features and classifier."""

    def __init__(
        self,
        resolution: int | None,
        stem: nn.Module,
        first: nn.Module,
        stages: Sequence[Sequence[nn.Module]],
        features: nn.Module,
        classifier: nn.Module,
    ) -> None:
        super().__init__()
        self.resize = Resize(resolution)
        self.stem = stem
        self.first = first
        self.stages = nn.ModuleList(nn.Sequential(*blocks) for blocks in stages)
        self.features = features
        self.classifier = classifier

    def parts(self) -> list[nn.Module]:
        """Return modules whose composition is the network: all before the elastic blocks, every block, the head."""
        blocks = [block for stage in self.stages for block in stage]  # type: ignore[attr-defined]
        before = nn.Sequential(self.resize, self.stem, self.first)
        return [before, *blocks, nn.Sequential(self.features, self.classifier)]

    def forward(self, images: Tensor) -> Tensor:
        x = self.first(self.stem(self.resize(images)))
        for stage in self.stages:
            x = stage(x)
        logits: Tensor = self.classifier(self.features(x))
        return logits


def mobile_network(layout: MobileLayout, architecture: Architecture, make: Make = build) -> MobileNet:
    """Build the network of an architecture from layers of ``make``."""
    epsilon = layout.epsilon
    stages: list[list[nn.Module]] = [[] for _ in layout.stages]
    for stage, position, block in architecture.blocks():
        stages[stage].append(
            make(
                InvertedBottleneck,
                layout.width_before(stage, position),
                int(block["middle"]),
                layout.stages[stage].width,
                int(block["kernel"]),
                layout.stride(stage, position),
                layout.stages[stage].activation,
                layout.stages[stage].squeezing,
                layout.shortcut(stage, position),
                True,
                epsilon,
            )
        )
    stem_width, last_width = layout.stem_width, layout.stages[-1].width
    stem = make(ConvNorm, layout.channels, stem_width, 3, layout.stem_stride, 1, layout.stem_activation, epsilon)
    first = make(
        InvertedBottleneck,
        *(stem_width, stem_width, layout.first_width, 3, 1, layout.first_activation, False),
        *(layout.first_shortcut, False, epsilon),
    )
    features = make(PooledFeatures, last_width, layout.head_width, layout.mixed_width, layout.stem_activation, epsilon)
    classifier = make(nn.Linear, layout.mixed_width or layout.head_width, layout.classes)
    return MobileNet(architecture.resolution, stem, first, stages, features, classifier)
