"""Layers of plain networks, made of torch modules; each convolution precedes the batch norm that it may absorb."""

from __future__ import annotations

from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from supernets.channels import squeeze

Activation = Literal["relu", "relu6", "hardswish", "silu"]
ShortcutKind = Literal["none", "identity", "projected"]

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "relu": nn.ReLU,
    "relu6": nn.ReLU6,
    "hardswish": nn.Hardswish,
    "silu": nn.SiLU,
}


def activation_layer(name: Activation) -> nn.Module:
    """Return an activation that works in place."""
    # The layer before is a convolution or a batch norm, and nothing else reads its output.
    return ACTIVATIONS[name](inplace=True)


class ConvNorm(nn.Sequential):
    """Convolution, batch norm and an optional activation; the size is divided by the stride and rounded up."""

    def __init__(
        self,
        channels_in: int,
        channels_out: int,
        kernel: int,
        stride: int = 1,
        groups: int = 1,
        activation: Activation | None = None,
        epsilon: float = 1e-5,
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels_out, kernel, stride, kernel // 2, groups=groups, bias=False)
        self.norm = nn.BatchNorm2d(channels_out, eps=epsilon)
        if activation is not None:
            self.activation = activation_layer(activation)


class SqueezeExcitation(nn.Module):
    """x * hardsigmoid(W2 relu(W1 mean(x) + b1) + b2), channel by channel (Hu et al., 2018; Howard et al., 2019)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.reduce = nn.Conv2d(channels, squeeze(channels), 1)
        self.restore = nn.Conv2d(squeeze(channels), channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        gate = x.mean(dim=(2, 3), keepdim=True)  # [N, C, H, W] -> [N, C, 1, 1]
        return x * F.hardsigmoid(self.restore(F.relu(self.reduce(gate))))


class Shortcut(nn.Module):
    """Average pooling if the block has a stride (odd sizes are padded), and a 1x1 convolution if ``projected``."""

    def __init__(self, channels_in: int, channels_out: int, stride: int, projected: bool) -> None:
        super().__init__()
        self.stride = stride
        self.conv = nn.Conv2d(channels_in, channels_out, 1, bias=False) if projected else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        if self.stride > 1:
            x = F.avg_pool2d(x, self.stride, padding=(x.shape[-2] % 2, x.shape[-1] % 2))
        projected: Tensor = self.conv(x)
        return projected


class InvertedBottleneck(nn.Module):
    """Expand by 1x1, filter each channel, squeeze and excite, project by 1x1, add the shortcut (MobileNetV2 and V3).

    Without expansion (``middle`` equal to ``channels_in`` and ``expanding`` false) the first convolution is absent.
    """

    def __init__(
        self,
        channels_in: int,
        middle: int,
        channels_out: int,
        kernel: int,
        stride: int,
        activation: Activation,
        squeezing: bool,
        shortcut: ShortcutKind,
        expanding: bool = True,
        epsilon: float = 1e-5,
    ) -> None:
        super().__init__()
        self.expand = (
            ConvNorm(channels_in, middle, 1, activation=activation, epsilon=epsilon) if expanding else nn.Identity()
        )
        self.depthwise = ConvNorm(middle, middle, kernel, stride, middle, activation, epsilon)
        self.squeeze = SqueezeExcitation(middle) if squeezing else nn.Identity()
        self.project = ConvNorm(middle, channels_out, 1, epsilon=epsilon)
        self.shortcut = (
            None if shortcut == "none" else Shortcut(channels_in, channels_out, stride, shortcut == "projected")
        )

    @property
    def residual_norms(self) -> tuple[nn.BatchNorm2d, ...]:
        return () if self.shortcut is None else (self.project.norm,)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.project(self.squeeze(self.depthwise(self.expand(x))))
        return y if self.shortcut is None else y + self.shortcut(x)


class PooledFeatures(nn.Module):
    """A 1x1 convolution, the average and, if ``mixed_width`` is set, one more layer: [N, C, H, W] -> [N, D]."""

    def __init__(
        self, channels: int, width: int, mixed_width: int | None, activation: Activation, epsilon: float = 1e-5
    ) -> None:
        super().__init__()
        self.expand = ConvNorm(channels, width, 1, activation=activation, epsilon=epsilon)
        self.mix = (
            nn.Identity()
            if mixed_width is None
            else nn.Sequential(nn.Linear(width, mixed_width, bias=False), activation_layer(activation))
        )

    def forward(self, x: Tensor) -> Tensor:
        features: Tensor = self.mix(self.expand(x).mean(dim=(2, 3)))
        return features


def initialize(network: nn.Module) -> nn.Module:
    """Initialize weights by He's normal distribution with fan-out, as once-for-all does, and biases by zero."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        if isinstance(module, nn.Conv2d | nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)
    return network
