"""The MobileNetV3 space of once-for-all networks (Cai et al., ICLR 2020), with its published supernets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor, nn

from regnas.space import Architecture, SearchSpace
from regnas.supernet import Published
from supernets.channels import multiple_of_eight
from supernets.images import InputShape, check_resolutions, require_color
from supernets.layers import Activation, initialize
from supernets.mobile.layout import MobileLayout, MobileStage
from supernets.mobile.network import mobile_network
from supernets.mobile.rules import mobile_space
from supernets.ofa_checkpoints import renamed_for

NAME = "ofa_mobilenet_v3"
URL = "https://raw.githubusercontent.com/han-cai/files/master/ofa/ofa_nets/"
KERNELS, EXPANSIONS, DEPTHS = (3, 5, 7), (3, 4, 6), (2, 4)

WIDTHS = (24, 40, 80, 112, 160)
STRIDES = (2, 2, 2, 1, 2)
ACTIVATIONS: tuple[Activation, ...] = ("relu", "relu", "hardswish", "hardswish", "hardswish")
SQUEEZING = (False, True, False, True, True)


@dataclass(frozen=True)
class OFAMobileNetV3:
    """MobileNetV3 of once-for-all: depth per stage, kernel and expansion per block; published for ImageNet.

    ``width_multiplier`` is 1.0 or 1.2 for the published supernets. ``resolutions`` lists the sizes to which images can
    be resized (empty: no resizing). ``dropout`` acts on the classifier while the supernet trains.
    """

    width_multiplier: float = 1.0
    resolutions: tuple[int, ...] = ()
    dropout: float = 0.0

    def __post_init__(self) -> None:
        check_mobile_settings(self.width_multiplier, self.resolutions, self.dropout)

    def space(self, input_shape: InputShape, classes: int) -> SearchSpace:
        """Return the search space for these images."""
        require_color(NAME, input_shape)
        return mobile_space(NAME, self._layout(classes), input_shape, self.resolutions)

    def network(self, architecture: Architecture, input_shape: InputShape, classes: int) -> nn.Module:
        """Build the plain network of an architecture, with random weights."""
        return initialize(mobile_network(self._layout(classes), architecture))

    def supernet(self, input_shape: InputShape, classes: int) -> nn.Module:
        """Build the elastic network, with random weights."""
        # Imported here, because importing ofa takes seconds.
        from ofa.imagenet_classification.elastic_nn import networks

        from supernets.mobile.elastic import ElasticMobileNet

        network = networks.OFAMobileNetV3(
            n_classes=classes,
            dropout_rate=self.dropout,
            width_mult=self.width_multiplier,
            ks_list=list(KERNELS),
            expand_ratio_list=list(EXPANSIONS),
            depth_list=list(range(DEPTHS[0], DEPTHS[1] + 1)),
        )
        return ElasticMobileNet(self.space(input_shape, classes), self._layout(classes), initialize(network))

    @property
    def published(self) -> tuple[Published, ...]:
        names = {multiplier: f"ofa_mbv3_d234_e346_k357_w{multiplier}" for multiplier in (1.0, 1.2)}
        return tuple(
            Published(name, URL + name, {"name": NAME, "width_multiplier": multiplier})
            for multiplier, name in names.items()
        )

    def rename_tensors(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the tensors of a checkpoint of ofa under the names of this supernet."""
        return renamed_for(lambda: self.supernet((3, 224, 224), 1000), tensors)

    def _layout(self, classes: int) -> MobileLayout:
        def scaled(width: int) -> int:
            return multiple_of_eight(width * self.width_multiplier)

        stages = zip(WIDTHS, STRIDES, ACTIVATIONS, SQUEEZING, strict=True)
        return MobileLayout(
            channels=3,
            classes=classes,
            stem_width=scaled(16),
            stem_stride=2,
            stem_activation="hardswish",
            first_width=scaled(16),
            first_activation="relu",
            first_shortcut="identity",
            stages=tuple(
                MobileStage(scaled(width), stride, activation, squeezing, DEPTHS)
                for width, stride, activation, squeezing in stages
            ),
            kernels=KERNELS,
            expansions=EXPANSIONS,
            head_width=scaled(960),
            mixed_width=scaled(1280),
        )


def check_mobile_settings(width_multiplier: float, resolutions: tuple[int, ...], dropout: float) -> None:
    """Raise ``ValueError`` for settings that no mobile network can have."""
    if width_multiplier <= 0:
        raise ValueError(f"width_multiplier must be above 0, got {width_multiplier:g}")
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout must be at least 0 and below 1, got {dropout:g}")
    check_resolutions(resolutions)
