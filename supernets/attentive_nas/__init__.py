"""The space of AttentiveNAS (Wang et al., CVPR 2021): MobileNetV3-like blocks with a choice of widths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor, nn

from regnas.space import Architecture, SearchSpace
from regnas.supernet import Published
from supernets.attentive_nas.checkpoint import own_tensors
from supernets.attentive_nas.elastic import AttentiveSupernet
from supernets.attentive_nas.network import attentive_network
from supernets.attentive_nas.rules import AttentiveRules, attentive_stages
from supernets.images import InputShape, check_resolutions, usable_resolutions
from supernets.layers import initialize

NAME = "attentive_nas"
URL = "https://drive.usercontent.google.com/download?id=1cCla-OQNIAn-rjsY2b832DuP59ZKr8uh&export=download&confirm=t"


@dataclass(frozen=True)
class AttentiveNAS:
    """AttentiveNAS: width, depth, kernel and expansion per stage; its authors' checkpoint can be imported.

    ``resolutions`` lists the sizes to which images can be resized (empty: no resizing). The paper uses 192, 224, 256
    and 288.
    """

    resolutions: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_resolutions(self.resolutions)

    def space(self, input_shape: InputShape, classes: int) -> SearchSpace:
        """Return the search space for these images."""
        rules = AttentiveRules(*input_shape, classes)
        return SearchSpace(NAME, attentive_stages(), rules, usable_resolutions(self.resolutions, input_shape))

    def network(self, architecture: Architecture, input_shape: InputShape, classes: int) -> nn.Module:
        """Build the plain network of an architecture, with random weights."""
        return initialize(attentive_network(architecture, input_shape[0], classes))

    def supernet(self, input_shape: InputShape, classes: int) -> nn.Module:
        """Build the elastic network, with random weights."""
        return initialize(AttentiveSupernet(self.space(input_shape, classes), input_shape[0], classes))

    @property
    def published(self) -> tuple[Published, ...]:
        return (Published("attentive_nas_pretrained", URL, {"name": NAME}),)

    def rename_tensors(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the tensors of the authors' checkpoint under the names of this supernet."""
        return own_tensors(tensors)
