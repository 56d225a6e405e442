"""Plain networks that a configuration can name, their costs, and their classifiers."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch import nn

from regnas.components.registry import Registry
from regnas.networks.checkpoints import read_weights
from regnas.networks.cost import macs_of, parameters_of
from regnas.networks.fusion import fold_batch_norms, folding_is_exact
from regnas.networks.head import captured_features, classifier_of, with_dropout
from regnas.networks.normalized import Normalized
from regnas.networks.residual import residual_norms
from regnas.networks.small_resnet import SmallResNet
from regnas.networks.timm_models import TimmModel
from regnas.networks.torchvision_models import PublishedEvaluation, TorchvisionModel, last_layer
from regnas.runtime.tensors import leading_slice


class Network(Protocol):
    """Builds a classifier: images [N, *input_shape] in, logits [N, classes] out."""

    def build(self, input_shape: tuple[int, int, int], classes: int) -> nn.Module: ...


@runtime_checkable
class HasPublishedWeights(Network, Protocol):
    """A network of which weights are published, with the evaluation that belongs to them."""

    def evaluation(self) -> PublishedEvaluation: ...


NETWORKS: Registry[type[Network]] = Registry(
    "network", "regnas.networks", {"small_resnet": SmallResNet, "torchvision": TorchvisionModel, "timm": TimmModel}
)

__all__ = [
    "NETWORKS",
    "HasPublishedWeights",
    "Network",
    "Normalized",
    "PublishedEvaluation",
    "SmallResNet",
    "TimmModel",
    "TorchvisionModel",
    "captured_features",
    "classifier_of",
    "fold_batch_norms",
    "folding_is_exact",
    "last_layer",
    "leading_slice",
    "macs_of",
    "parameters_of",
    "read_weights",
    "residual_norms",
    "with_dropout",
]
