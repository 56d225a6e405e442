"""Predictions of candidates on the search split, each evaluated at most once."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import nn

from regnas.data import Splits
from regnas.flips import Predictions
from regnas.search.evaluation.candidates import CandidateRunner, RunnerSource, SupernetWeights
from regnas.search.evaluation.executors import CandidateExecutor, ExecutorChoice, InProcess
from regnas.space import Architecture
from regnas.supernet import Supernet
from regnas.training import spread_images

# Candidates per group, which share common parts. Groups of large networks are small: a group is in memory as a whole,
# and a killed search loses the current group. Groups of small networks are as large as fits into the same memory.
LARGEST_GROUP = 8
LARGEST_GROUP_OF_SMALL = 32
GROUP_BYTES = 2**28
# Up to this many candidates run in this process: starting workers would take longer.
FEW = 4


class CalibrationImages(NamedTuple):
    """Numbers of training images for batch-norm statistics: for candidates, and for networks that are kept."""

    candidates: int
    networks: int


class Evaluator:
    """Predicts with sub-networks, on any executor. The caller that opens an evaluator closes it."""

    def __init__(
        self, runner: CandidateRunner, executor: CandidateExecutor, splits: Splits, calibration_images: int
    ) -> None:
        split = splits.search
        self.forward_seconds = 0.0  # of all workers
        self._train = splits.train
        self._calibration_images = calibration_images  # for networks that are kept, not for candidates
        self._runner = runner
        self._executor = executor
        self._here = InProcess(runner)
        fitting = GROUP_BYTES // max(runner.supernet_bytes, 1)
        self._largest_group = max(LARGEST_GROUP, min(LARGEST_GROUP_OF_SMALL, fitting))
        # The samples of every candidate. A copy: workers take over the tensor of targets, which invalidates a view.
        targets = split.targets.numpy().copy()
        self._truth = Predictions("", split.ids, targets, targets, groups=split.groups, split=split.digest)
        self._known: dict[Architecture, Predictions] = {}

    @classmethod
    def in_process(
        cls, supernet: Supernet, splits: Splits, calibration_images: CalibrationImages, device: torch.device
    ) -> Evaluator:
        """Evaluate in this process, for one supernet that is loaded."""
        calibration = spread_images(splits.train, calibration_images.candidates)
        runner = CandidateRunner(supernet, calibration, splits.search.images[:], splits.preprocessing, device)
        return cls(runner, InProcess(runner), splits, calibration_images.networks)

    @classmethod
    def on_executor(
        cls,
        choice: ExecutorChoice,
        weights: SupernetWeights,
        splits: Splits,
        calibration_images: CalibrationImages,
        device: torch.device,
    ) -> Evaluator:
        """Evaluate on the chosen executor, which is opened here."""
        calibration = spread_images(splits.train, calibration_images.candidates)
        images = splits.search.images[:]
        source = RunnerSource(weights, calibration, images, splits.preprocessing, str(device), torch.get_num_threads())
        runner = source.build()
        return cls(runner, choice.open(runner, source), splits, calibration_images.networks)

    def network(self, architecture: Architecture) -> nn.Module:
        """Build the sub-network on its own with its own batch-norm statistics, in evaluation mode."""
        return self._runner.network(architecture, spread_images(self._train, self._calibration_images))

    def predict(self, architecture: Architecture) -> Predictions:
        """Return the predictions of one candidate."""
        (predictions,) = self.predict_each([architecture])
        return predictions

    def predict_each(self, architectures: Sequence[Architecture]) -> Iterator[Predictions]:
        """Yield the predictions of each candidate, in the given order."""
        for group in self.predict_groups(architectures):
            yield from group.values()

    def predict_groups(self, architectures: Sequence[Architecture]) -> Iterator[dict[Architecture, Predictions]]:
        """Yield groups when they are ready, in the given order; ``in_prefix_order`` is the fastest order."""
        unknown = [architecture for architecture in architectures if architecture not in self._known]
        executor = self._executor if len(unknown) > FEW else self._here
        groups = _group(unknown, executor.workers, self._largest_group)
        waiting = deque(architectures)
        for group, (predicted, seconds) in zip(groups, executor.run(groups), strict=True):
            self.forward_seconds += seconds
            for architecture, answers in zip(group, predicted, strict=True):
                self._known[architecture] = self._truth.answered_by(architecture.id, answers)
            yield self._take_known(waiting)
        if waiting:
            yield self._take_known(waiting)

    def _take_known(self, waiting: deque[Architecture]) -> dict[Architecture, Predictions]:
        """Take architectures from the front as long as their predictions are known."""
        ready = {}
        while waiting and waiting[0] in self._known:
            architecture = waiting.popleft()
            ready[architecture] = self._known[architecture]
        return ready

    def close(self) -> None:
        """Close the executor."""
        self._executor.close()


def _group(architectures: list[Architecture], workers: int, largest: int) -> list[list[Architecture]]:
    # With several workers, two groups each: a slow group does not delay the others for long.
    share = math.ceil(len(architectures) / (2 * workers)) if workers > 1 else len(architectures)
    size = max(1, min(largest, share))
    return [architectures[start : start + size] for start in range(0, len(architectures), size)]
