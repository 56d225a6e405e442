"""The ResNet-50 space of once-for-all networks (Cai et al., ICLR 2020), with its published supernet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor, nn

from regnas.space import Architecture, SearchSpace
from regnas.supernet import Published
from supernets.images import InputShape, check_resolutions, require_color, usable_resolutions
from supernets.layers import initialize
from supernets.ofa_checkpoints import renamed_for
from supernets.ofa_resnet50.network import resnet
from supernets.ofa_resnet50.rules import ResNetRules, resnet_stages

NAME = "ofa_resnet50"
URL = "https://huggingface.co/han-cai/ofa/resolve/main/ofa_supernet_resnet50"

NARROWEST = 0.1  # below, rounding to multiples of 8 would make the stem as wide as the first stage


@dataclass(frozen=True)
class OFAResNet50:
    """ResNet-50 of once-for-all: width and depth per stage, expansion per block; published for ImageNet.

    ``widths`` are the possible widths of a stage as multiples of those of ResNet-50. ``expansions`` are the channels
    inside a block as multiples of its width. ``depths`` is the minimum and the maximum number of blocks beyond the 2,
    2, 4 and 2 that every network has. ``resolutions`` lists the sizes to which images can be resized (empty: no
    resizing). The defaults are those of the published supernet.
    """

    widths: tuple[float, ...] = (0.65, 0.8, 1.0)
    expansions: tuple[float, ...] = (0.2, 0.25, 0.35)
    depths: tuple[int, int] = (0, 2)
    resolutions: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.widths or min(self.widths) < NARROWEST:
            raise ValueError(f"widths must be at least {NARROWEST} times those of ResNet-50, got {list(self.widths)}")
        if not self.expansions or min(self.expansions) <= 0:
            raise ValueError(f"expansions must be positive, got {list(self.expansions)}")
        if not 0 <= self.depths[0] <= self.depths[1]:
            raise ValueError(f"depths must be [min, max] with 0 <= min <= max, got {list(self.depths)}")
        check_resolutions(self.resolutions)

    def space(self, input_shape: InputShape, classes: int) -> SearchSpace:
        """Return the search space for these images."""
        require_color(NAME, input_shape)
        stages = resnet_stages(self.widths, self.expansions, self.depths)
        rules = ResNetRules(classes, input_shape[1], input_shape[2])
        return SearchSpace(NAME, stages, rules, usable_resolutions(self.resolutions, input_shape))

    def network(self, architecture: Architecture, input_shape: InputShape, classes: int) -> nn.Module:
        """Build the plain network of an architecture, with random weights."""
        return initialize(resnet(architecture, classes))

    def supernet(self, input_shape: InputShape, classes: int) -> nn.Module:
        """Build the elastic network, with random weights."""
        # Imported here, because importing ofa takes seconds.
        from ofa.imagenet_classification.elastic_nn.networks import OFAResNets

        from supernets.ofa_resnet50.elastic import ElasticResNet50

        network = OFAResNets(
            n_classes=classes,
            depth_list=list(range(self.depths[0], self.depths[1] + 1)),
            expand_ratio_list=list(self.expansions),
            width_mult_list=list(self.widths),
        )
        return ElasticResNet50(self.space(input_shape, classes), self.expansions, initialize(network))

    @property
    def published(self) -> tuple[Published, ...]:
        return (Published("ofa_resnet50", URL, {"name": NAME}),)

    def rename_tensors(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the tensors of a checkpoint of ofa under the names of this supernet."""
        return renamed_for(lambda: self.supernet((3, 224, 224), 1000), tensors)
