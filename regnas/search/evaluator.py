"""What a candidate predicts: extract, calibrate on a copy, run."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from regnas.data import Preprocessing, Split, Splits
from regnas.flips import Predictions
from regnas.space import Architecture
from regnas.supernet import Supernet
from regnas.training import calibrate

PREDICTION_BATCH = 512


class Evaluator:
    """Predictions of sub-networks on the search split, each architecture evaluated at most once.

    The images are preprocessed once and stay in memory as tensors.
    """

    def __init__(
        self, supernet: Supernet, splits: Splits, calibration_images: int, device: torch.device
    ) -> None:
        self.supernet = supernet
        self.calibration = first_images(splits.train, splits.preprocessing, calibration_images, device)
        self._split = splits.search
        self._images = prepared(splits.search.images, splits.preprocessing, device)
        self._known: dict[Architecture, Predictions] = {}

    def network(self, architecture: Architecture) -> nn.Module:
        """The sub-network on its own with its own batch-norm statistics, in evaluation mode."""
        network = self.supernet.extract(architecture).to(memory_format=torch.channels_last)
        return calibrate(network, self.calibration)

    def predict(self, architecture: Architecture) -> Predictions:
        if architecture not in self._known:
            logits = logits_of(self.network(architecture), self._images)
            self._known[architecture] = predictions_from(architecture.id, logits, self._split, keep_logits=False)
        return self._known[architecture]


def first_images(split: Split, preprocessing: Preprocessing, count: int, device: torch.device) -> Tensor:
    """A fixed set of images, spread evenly over the split so that no class or original is left out."""
    chosen = torch.linspace(0, len(split) - 1, min(count, len(split))).round().long()
    return prepared(split.images[chosen], preprocessing, device)


def prepared(images: Tensor, preprocessing: Preprocessing, device: torch.device) -> Tensor:
    return preprocessing(images.to(device)).contiguous(memory_format=torch.channels_last)


@torch.no_grad()
def logits_of(network: nn.Module, images: Tensor) -> Tensor:
    """[N, C, H, W] -> [N, classes]; the network is left in evaluation mode."""
    network.eval()
    return torch.cat([network(batch) for batch in torch.split(images, PREDICTION_BATCH)])


def predictions_from(model: str, logits: Tensor, split: Split, keep_logits: bool) -> Predictions:
    values = logits.float().cpu().numpy()
    return Predictions(
        model=model,
        ids=split.ids,
        targets=split.targets.numpy(),
        predicted=values.argmax(axis=1).astype(np.int64),
        logits=values if keep_logits else None,
        groups=split.groups,
        split=split.digest,
    )
