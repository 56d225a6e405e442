"""An elastic MobileNetV3 for small images, of the same building blocks as the published supernets."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from regnas.space import Architecture, SearchSpace
from supernets.images import InputShape, check_resolutions
from supernets.layers import initialize
from supernets.mobile.layout import MobileLayout, MobileStage
from supernets.mobile.network import mobile_network
from supernets.mobile.rules import mobile_space
from supernets.ofa_mobilenet_v3 import ACTIVATIONS, SQUEEZING

NAME = "ofa_mobilenet_v3_small"


@dataclass(frozen=True)
class OFAMobileNetV3Small:
    """MobileNetV3 for images of 16 to 64 pixels, to be trained: depth per stage, kernel and expansion per block.

    ``widths`` and ``strides`` have one value per stage, for at most five stages. ``stem_stride`` is the stride of the
    first convolution (1 for images of 16 pixels, 2 for 32). ``depths`` is the minimum and the maximum number of blocks
    per stage. ``resolutions`` lists the sizes to which images can be resized (empty: no resizing). ``dropout`` acts on
    the classifier while the supernet trains.
    """

    widths: tuple[int, ...] = (16, 24, 32, 48, 64)
    strides: tuple[int, ...] = (1, 2, 2, 1, 2)
    kernels: tuple[int, ...] = (3, 5)
    expansions: tuple[float, ...] = (3, 4, 6)
    depths: tuple[int, int] = (1, 4)
    stem_width: int = 16
    stem_stride: int = 2
    resolutions: tuple[int, ...] = ()
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= len(self.widths) <= len(ACTIVATIONS):
            raise ValueError(f"widths must have 1 to {len(ACTIVATIONS)} values, one per stage, got {len(self.widths)}")
        if len(self.strides) != len(self.widths):
            raise ValueError(f"strides must have one value per width, got {len(self.strides)} for {len(self.widths)}")
        if any(width < 8 or width % 8 for width in (*self.widths, self.stem_width)):
            raise ValueError(f"widths must be multiples of 8, got {[*self.widths]} after a stem of {self.stem_width}")
        if any(stride not in (1, 2) for stride in (*self.strides, self.stem_stride)):
            raise ValueError("strides must be 1 or 2")
        if not self.kernels or any(kernel < 1 or kernel % 2 == 0 for kernel in self.kernels):
            raise ValueError(f"kernels must be odd, got {list(self.kernels)}")
        if not self.expansions or min(self.expansions) <= 1:
            raise ValueError(f"expansions must be above 1, got {list(self.expansions)}")
        if not 1 <= self.depths[0] <= self.depths[1]:
            raise ValueError(f"depths must be [min, max] with 1 <= min <= max, got {list(self.depths)}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {self.dropout:g}")
        check_resolutions(self.resolutions)

    def space(self, input_shape: InputShape, classes: int) -> SearchSpace:
        """Return the search space for these images."""
        return mobile_space(NAME, self._layout(input_shape, classes), input_shape, self.resolutions)

    def network(self, architecture: Architecture, input_shape: InputShape, classes: int) -> nn.Module:
        """Build the plain network of an architecture, with random weights."""
        return initialize(mobile_network(self._layout(input_shape, classes), architecture))

    def supernet(self, input_shape: InputShape, classes: int) -> nn.Module:
        """Build the elastic network, with random weights."""
        from supernets.mobile.elastic import ComposedMobileNetV3, ElasticMobileNet  # imports ofa, which takes seconds

        layout = self._layout(input_shape, classes)
        network = initialize(ComposedMobileNetV3(layout, self.dropout))
        return ElasticMobileNet(self.space(input_shape, classes), layout, network)

    def _layout(self, input_shape: InputShape, classes: int) -> MobileLayout:
        stages = zip(self.widths, self.strides, ACTIVATIONS, SQUEEZING, strict=False)
        return MobileLayout(
            channels=input_shape[0],
            classes=classes,
            stem_width=self.stem_width,
            stem_stride=self.stem_stride,
            stem_activation="hardswish",
            first_width=self.stem_width,
            first_activation="relu",
            first_shortcut="identity",
            stages=tuple(
                MobileStage(width, stride, activation, squeezing, self.depths)
                for width, stride, activation, squeezing in stages
            ),
            kernels=tuple(sorted(set(self.kernels))),
            expansions=tuple(sorted(set(self.expansions))),
            head_width=6 * self.widths[-1],
            mixed_width=8 * self.widths[-1],
        )
