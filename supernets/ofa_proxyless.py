"""The ProxylessNAS space of once-for-all networks (Cai et al., ICLR 2020), with its published supernet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor, nn

from regnas.space import Architecture, SearchSpace
from regnas.supernet import Published
from supernets.channels import multiple_of_eight
from supernets.images import InputShape, require_color
from supernets.layers import initialize
from supernets.mobile.layout import MobileLayout, MobileStage
from supernets.mobile.network import mobile_network
from supernets.mobile.rules import mobile_space
from supernets.ofa_checkpoints import renamed_for
from supernets.ofa_mobilenet_v3 import DEPTHS, EXPANSIONS, KERNELS, URL, check_mobile_settings

NAME = "ofa_proxyless"
CHECKPOINT = "ofa_proxyless_d234_e346_k357_w1.3"

WIDTHS = (24, 40, 80, 96, 192, 320)
STRIDES = (2, 2, 2, 1, 2, 1)


@dataclass(frozen=True)
class OFAProxyless:
    """ProxylessNAS of once-for-all: depth per stage, kernel and expansion per block; published for ImageNet.

    ``width_multiplier`` is 1.3 for the published supernet. ``resolutions`` lists the sizes to which images can be
    resized (empty: no resizing). ``dropout`` acts on the classifier while the supernet trains.
    """

    width_multiplier: float = 1.3
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

        network = networks.OFAProxylessNASNets(
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
        return (Published(CHECKPOINT, URL + CHECKPOINT, {"name": NAME, "width_multiplier": 1.3}),)

    def rename_tensors(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the tensors of a checkpoint of ofa under the names of this supernet."""
        return renamed_for(lambda: self.supernet((3, 224, 224), 1000), tensors)

    def _layout(self, classes: int) -> MobileLayout:
        def scaled(width: int) -> int:
            return multiple_of_eight(width * self.width_multiplier)

        depths = (*(DEPTHS,) * 5, (1, 1))
        return MobileLayout(
            channels=3,
            classes=classes,
            stem_width=scaled(32),
            stem_stride=2,
            stem_activation="relu6",
            first_width=scaled(16),
            first_activation="relu6",
            first_shortcut="none",
            stages=tuple(
                MobileStage(scaled(width), stride, "relu6", False, own_depths)
                for width, stride, own_depths in zip(WIDTHS, STRIDES, depths, strict=True)
            ),
            kernels=KERNELS,
            expansions=EXPANSIONS,
            head_width=scaled(1280),
            mixed_width=None,
            epsilon=1e-3,
        )
