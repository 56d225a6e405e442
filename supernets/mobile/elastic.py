"""A mobile supernet: the elastic network of ofa, with the architecture set at every call."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import torch
from ofa.imagenet_classification.elastic_nn.modules import DynamicMBConvLayer
from ofa.imagenet_classification.elastic_nn.networks import OFAMobileNetV3
from ofa.imagenet_classification.networks import MobileNetV3
from ofa.utils.layers import ConvLayer, IdentityLayer, LinearLayer, MBConvLayer, ResidualBlock
from torch import Tensor, nn

from regnas.space import Architecture, SearchSpace
from supernets.channels import squeeze
from supernets.extraction import lay_out, named, norm_tensors, with_tensors
from supernets.images import resize
from supernets.mobile.layout import MobileLayout
from supernets.mobile.network import mobile_network

KEPT_SETTINGS = 1024
OFA_ACTIVATIONS = {"relu": "relu", "relu6": "relu6", "hardswish": "h_swish"}

Settings = tuple[list[int], list[float], list[int]]  # kernels and expansions of all blocks, depths of all stages


class ElasticMobileNet(nn.Module):
    """Run ``supernet(images, architecture)``; ``network`` is that of ofa, so checkpoints have its keys."""

    def __init__(self, space: SearchSpace, layout: MobileLayout, network: Any) -> None:
        super().__init__()
        self.network = network
        self._layout = layout
        self._settings = lru_cache(KEPT_SETTINGS)(partial(_checked_settings, space, layout))

    @property
    def residual_norms(self) -> list[nn.BatchNorm2d]:
        first, *blocks = self.network.blocks
        norms = [(first.shortcut, first.conv.point_linear.bn)]
        norms += [(block.shortcut, block.conv.point_linear.bn.bn) for block in blocks]
        return [norm for shortcut, norm in norms if shortcut is not None]

    def forward(self, images: Tensor, architecture: Architecture) -> Tensor:
        kernels, expansions, depths = self._settings(architecture)
        self.network.set_active_subnet(ks=kernels, e=expansions, d=depths)
        logits: Tensor = self.network(resize(images, architecture.resolution))
        return logits

    @torch.no_grad()
    def extract(self, architecture: Architecture) -> nn.Module:
        """Return the sub-network on its own, with copies of its weights."""
        self._settings(architecture)
        template = mobile_network(self._layout, architecture, lay_out)
        return with_tensors(template, named(self.tensors(architecture)), self.training)

    def tensors(self, architecture: Architecture) -> dict[str, Tensor]:
        """Return the weights of a sub-network under plain names; as views, unless a kernel is transformed."""
        network, layout = self.network, self._layout
        found = _conv_norm("stem", network.first_conv.conv.weight, network.first_conv.bn)
        first = network.blocks[0].conv
        found |= _conv_norm("first.depthwise", first.depth_conv.conv.weight, first.depth_conv.bn)
        found |= _conv_norm("first.project", first.point_linear.conv.weight, first.point_linear.bn)
        for stage, position, block in architecture.blocks():
            found |= _block_tensors(
                f"stages.{stage}.{position}",
                network.blocks[network.block_group_info[stage][position]].conv,
                layout.width_before(stage, position),
                int(block["middle"]),
                int(block["kernel"]),
            )
        last = network.feature_mix_layer
        if layout.mixed_width is not None:
            found["features.mix.0.weight"] = last.conv.weight.flatten(1)  # [O, I, 1, 1] -> [O, I]
            last = network.final_expand_layer
        found |= _conv_norm("features.expand", last.conv.weight, last.bn)
        linear = network.classifier.linear
        return found | {"classifier.weight": linear.weight, "classifier.bias": linear.bias}


def _checked_settings(space: SearchSpace, layout: MobileLayout, architecture: Architecture) -> Settings:
    """Check an architecture and return its settings for ofa, which runs any settings without checks."""
    space.check(architecture)
    kernels, expansions = [], []
    for stage, blocks in enumerate(architecture.stages):
        for position in range(layout.stages[stage].depths[1]):
            active = position < len(blocks)
            kernels.append(int(blocks[position]["kernel"]) if active else max(layout.kernels))
            expansions.append(layout.expansion(stage, position, blocks[position]) if active else max(layout.expansions))
    return kernels, expansions, list(architecture.depths)


def _block_tensors(name: str, conv: Any, channels_in: int, middle: int, kernel: int) -> dict[str, Tensor]:
    """Return the tensors of a ``DynamicMBConvLayer`` of ofa."""
    expand, depthwise, project = conv.inverted_bottleneck, conv.depth_conv, conv.point_linear
    width = conv.out_channels
    found = _conv_norm(f"{name}.expand", expand.conv.get_active_filter(middle, channels_in), expand.bn.bn)
    found |= _conv_norm(f"{name}.depthwise", depthwise.conv.get_active_filter(middle, kernel), depthwise.bn.bn)
    if conv.use_se:
        gate, reduced = depthwise.se, squeeze(middle)
        found |= {
            f"{name}.squeeze.reduce.weight": gate.get_active_reduce_weight(reduced, middle),
            f"{name}.squeeze.reduce.bias": gate.get_active_reduce_bias(reduced),
            f"{name}.squeeze.restore.weight": gate.get_active_expand_weight(reduced, middle),
            f"{name}.squeeze.restore.bias": gate.get_active_expand_bias(middle),
        }
    return found | _conv_norm(f"{name}.project", project.conv.get_active_filter(width, middle), project.bn.bn)


def _conv_norm(name: str, weight: Tensor, norm: nn.BatchNorm2d) -> dict[str, Tensor]:
    return {f"{name}.conv.weight": weight, **norm_tensors(f"{name}.norm", norm, len(weight))}


class ComposedMobileNetV3(OFAMobileNetV3):  # type: ignore[misc]
    """The elastic MobileNetV3 of ofa with our layout; the constructor of ofa only knows the one for ImageNet."""

    def __init__(self, layout: MobileLayout, dropout: float) -> None:
        first = MBConvLayer(layout.stem_width, layout.first_width, expand_ratio=1, act_func="relu")
        blocks = [ResidualBlock(first, _identity(layout.first_width) if layout.first_shortcut == "identity" else None)]
        groups: list[list[int]] = []
        for index, stage in enumerate(layout.stages):
            groups.append(list(range(len(blocks), len(blocks) + stage.depths[1])))
            for position in range(stage.depths[1]):
                layer = DynamicMBConvLayer(
                    in_channel_list=[layout.width_before(index, position)],
                    out_channel_list=[stage.width],
                    kernel_size_list=list(layout.kernels),
                    expand_ratio_list=list(layout.expansions),
                    stride=layout.stride(index, position),
                    act_func=OFA_ACTIVATIONS[stage.activation],
                    use_se=stage.squeezing,
                )
                kept = layout.shortcut(index, position) == "identity"
                blocks.append(ResidualBlock(layer, _identity(stage.width) if kept else None))
        head, mixed = layout.head_width, layout.mixed_width
        MobileNetV3.__init__(
            self,
            ConvLayer(layout.channels, layout.stem_width, stride=layout.stem_stride, act_func="h_swish"),
            blocks,
            ConvLayer(layout.stages[-1].width, head, kernel_size=1, act_func="h_swish"),
            ConvLayer(head, mixed, kernel_size=1, use_bn=False, act_func="h_swish"),
            LinearLayer(mixed, layout.classes, dropout_rate=dropout),
        )
        self.block_group_info = groups
        self.runtime_depth = [len(group) for group in groups]


def _identity(channels: int) -> Any:
    return IdentityLayer(channels, channels)
