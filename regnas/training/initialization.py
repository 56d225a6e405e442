"""Change the random weights that a training starts from, so that it gets further in few epochs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regnas.components.registry import Registry
from regnas.networks import residual_norms
from regnas.networks.cost import evaluating
from regnas.networks.resnet import ResNet
from regnas.training.calibration import PreparedImages, batches_of
from regnas.training.prediction import prediction_batch

IMAGES = 1024  # that are whitened

TrainingImages = Callable[[int], PreparedImages]  # this many training images, always the same


class Initialization(Protocol):
    def check(self, network: nn.Module) -> None:
        """Raise a ``ValueError`` for a network without the parts that are initialized."""
        ...

    def apply(self, network: nn.Module, images: TrainingImages) -> None:
        """Change the weights of a network in place."""
        ...


@dataclass(frozen=True)
class IdentityConvolutions:
    """Start convolutions as the identity: output i is input i; outputs that have no input stay random.

    All convolutions with an odd kernel above 1 and without groups, except the first one (dirac, as in airbench:
    Jordan, 2024).
    """

    def check(self, network: nn.Module) -> None:
        if not _inner_convolutions(network):
            raise ValueError(
                'initialization "identity_convolutions" must find a convolution with an odd kernel above 1 and without '
                f"groups after the first layer, got none in {type(network).__name__}. Remove it."
            )

    @torch.no_grad()
    def apply(self, network: nn.Module, images: TrainingImages) -> None:
        for convolution in _inner_convolutions(network):
            nn.init.dirac_(convolution.weight[: convolution.in_channels])


@dataclass(frozen=True)
class ZeroResidualNorms:
    """Start every residual block as its shortcut: the last norm of the branch has weight 0 (Goyal et al., 2017)."""

    def check(self, network: nn.Module) -> None:
        if not residual_norms(network):
            raise ValueError(
                'initialization "zero_residual_norms" must find residual branches that end with a batch norm, got none '
                f"in {type(network).__name__}. Remove it."
            )

    @torch.no_grad()
    def apply(self, network: nn.Module, images: TrainingImages) -> None:
        for norm in residual_norms(network):
            norm.weight.zero_()


@dataclass(frozen=True)
class WhitenedStem:
    """Start the first layer with filters that whiten patches of training images (as in airbench: Jordan, 2024).

    Filter k is v_k / sqrt(l_k + ``epsilon``), with v_k and l_k the eigenvectors and the largest eigenvalues of the
    covariance of the patches that the layer reads. The first half of the channels has these filters, the second half
    has them negated, because a ReLU follows. Channels that are left over stay random.
    """

    epsilon: float = 5e-4

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise ValueError(f"epsilon must be above 0, got {self.epsilon:g}")

    def check(self, network: nn.Module) -> None:
        found = _residual_network(network)
        if found is None or _stem_of(found).out_channels < 2:
            raise ValueError(
                'initialization "whitened_stem" must find the stem of small_resnet or elastic_resnet with at least two '
                f"channels, got {type(network).__name__}. Remove it."
            )

    @torch.no_grad()
    def apply(self, network: nn.Module, images: TrainingImages) -> None:
        found = _residual_network(network)
        assert found is not None  # by check
        weight = _stem_of(found).weight  # [O, C, K, K]
        filters = whitening_filters(_covariance(found, images(IMAGES)), self.epsilon)  # [D, D]
        half = min(len(filters), len(weight) // 2)
        own = filters[:half].view(half, *weight.shape[1:])  # [half, C, K, K]
        weight[: 2 * half] = torch.cat([own, -own]).to(weight)


INITIALIZATIONS: Registry[type[Initialization]] = Registry(
    "initialization",
    "regnas.initializations",
    {
        "identity_convolutions": IdentityConvolutions,
        "zero_residual_norms": ZeroResidualNorms,
        "whitened_stem": WhitenedStem,
    },
)


def whitening_filters(covariance: Tensor, epsilon: float) -> Tensor:
    """Return v_k / sqrt(l_k + epsilon) of a covariance [D, D] as rows, the largest eigenvalue first.

    The largest component of each eigenvector is positive: its sign is otherwise up to the library.
    """
    values, vectors = torch.linalg.eigh(covariance)  # ascending, in columns
    rows = vectors.T.flip(0)
    largest = rows.gather(1, rows.abs().argmax(dim=1, keepdim=True))  # [D, 1]
    filters: Tensor = rows * largest.sign() / (values.flip(0).clamp(min=0) + epsilon).sqrt()[:, None]
    return filters


def _covariance(network: ResNet, images: PreparedImages) -> Tensor:
    """Return the covariance [D, D] of the patches that the stem reads, without those that reach over the edge.

    In double precision on the CPU, so that all processes get the same weights.
    """
    read: list[Tensor] = []
    stem = _stem_of(network)
    handle = stem.register_forward_pre_hook(lambda _, inputs: read.append(inputs[0]))
    count, total, products = 0, torch.zeros((), dtype=torch.float64), torch.zeros((), dtype=torch.float64)
    try:
        with evaluating(network):
            for batch in batches_of(images, prediction_batch(images[:1].shape)):
                network(batch)
                for image in read.pop().double().cpu():  # one by one: patches take much memory
                    patches = F.unfold(image[None], stem.kernel_size)[0]  # [D, P]
                    count += patches.shape[1]
                    total = total + patches.sum(dim=1)
                    products = products + patches @ patches.T
    finally:
        handle.remove()
    mean = total / count
    return products / count - mean[:, None] * mean


def _residual_network(network: nn.Module) -> ResNet | None:
    return next((module for module in network.modules() if isinstance(module, ResNet)), None)


def _stem_of(network: ResNet) -> nn.Conv2d:
    assert isinstance(network.stem, nn.Conv2d)
    return network.stem


def _inner_convolutions(network: nn.Module) -> list[nn.Conv2d]:
    convolutions = [module for module in network.modules() if isinstance(module, nn.Conv2d)]
    return [each for each in convolutions[1:] if each.groups == 1 and _is_odd(each.kernel_size)]


def _is_odd(kernel: tuple[int, ...]) -> bool:
    return all(size % 2 for size in kernel) and max(kernel) > 1
