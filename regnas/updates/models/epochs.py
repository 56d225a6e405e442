"""The predictions of a network at the end of every epoch of its training, kept beside it.

A calibrated copy predicts, so the training and its result have the same bits. The predictions are not part of the
identity of a network. A network that was kept without them is trained again to get them.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from regnas.data import Preprocessing, Split
from regnas.errors import ArtifactError
from regnas.runtime.npz import ArraySpec, read_arrays, write_arrays
from regnas.training import Prepared, calibrate, logits_on
from regnas.training.checkpoint import newest_step

EPOCHS = "epochs.npz"
# Of the training split: enough for a rate, and few beside the steps of an epoch.
MOST_WATCHED = 4096


@dataclass(frozen=True)
class WatchedSamples:
    """The samples that are predicted: some of the network's training split, without augmentation, and the report split.

    The samples of the training split are evenly spread over it.
    """

    train: Split
    report: Split

    @classmethod
    def of(cls, train: Split, report: Split) -> WatchedSamples:
        chosen = np.linspace(0, len(train) - 1, min(MOST_WATCHED, len(train))).round().astype(np.int64)
        return cls(train if len(chosen) == len(train) else train.part(train.name, chosen), report)


@dataclass(frozen=True, eq=False)
class AnswersByEpoch:
    """The predicted classes: [epochs, samples] for each set of samples."""

    train: NDArray[np.int32]
    report: NDArray[np.int32]

    @property
    def epochs(self) -> int:
        return len(self.train)

    def with_epoch(self, number: int, answers: Sequence[NDArray[np.int32]]) -> AnswersByEpoch:
        """Return the epochs before ``number`` (from 1), and this one."""
        if self.epochs < number - 1:
            raise ArtifactError(f"predictions by epoch must have {number - 1} epochs, got {self.epochs}")
        known = (self.train[: number - 1], self.report[: number - 1])
        return AnswersByEpoch(*(np.concatenate([old, new[None]]) for old, new in zip(known, answers, strict=True)))

    def save(self, path: Path) -> None:
        write_arrays(path, {"train": self.train, "report": self.report})


def read_answers(path: Path, samples: WatchedSamples) -> AnswersByEpoch:
    """Read the recorded predictions of these samples; without a file for them, return zero epochs."""
    sizes = {entry.name: len(getattr(samples, entry.name)) for entry in fields(samples)}
    if path.exists():
        arrays = read_arrays(path, dict.fromkeys(sizes, ArraySpec("i", 2)), ArtifactError)
        known = AnswersByEpoch(**arrays)
        if {name: array.shape[1] for name, array in arrays.items()} == sizes and len(known.report) == known.epochs:
            return known
    return AnswersByEpoch(**{name: np.zeros((0, size), dtype=np.int32) for name, size in sizes.items()})


@dataclass(frozen=True, eq=False)
class Recorder:
    """Predicts with the network at the end of every epoch, and keeps the predictions in ``path``."""

    path: Path
    samples: WatchedSamples
    calibration: Prepared
    preprocessing: Preprocessing
    device: torch.device

    def begin(self, checkpoints: Path, steps_per_epoch: int) -> None:
        """Delete the checkpoints of a training whose earlier epochs lack predictions: it must start again."""
        if read_answers(self.path, self.samples).epochs < newest_step(checkpoints) // steps_per_epoch:
            shutil.rmtree(checkpoints)

    def __call__(self, epochs_done: int, network: nn.Module) -> None:
        calibrate(network, self.calibration)
        answers = [self._answers(network, split) for split in (self.samples.train, self.samples.report)]
        read_answers(self.path, self.samples).with_epoch(epochs_done, answers).save(self.path)

    def _answers(self, network: nn.Module, split: Split) -> NDArray[np.int32]:
        logits = logits_on(network, split, self.preprocessing, self.device)  # [N, C]
        return logits.argmax(dim=1).numpy().astype(np.int32)  # [N]
