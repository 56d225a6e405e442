"""What a candidate predicts: extract, calibrate on a copy, run."""

from __future__ import annotations

import torch
from torch import nn

from regnas.data import Splits
from regnas.flips import Predictions
from regnas.space import Architecture
from regnas.supernet import Supernet
from regnas.training import calibrate, first_images, logits_of, predictions_from, prepared


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
