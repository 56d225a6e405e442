"""An evaluator without networks: what an architecture answers follows from its name, so that flips are known."""

from __future__ import annotations

import numpy as np

from regnas.flips import Predictions

SAMPLES = 60


class StubEvaluator:
    """Every architecture is correct on the first half of the samples, and on a fixed random half of the others."""

    def __init__(self):
        self.evaluated = 0

    def correct(self, architecture):
        by_chance = np.random.default_rng(int(architecture.id, 16)).random(SAMPLES) < 0.5
        return by_chance | (np.arange(SAMPLES) < SAMPLES // 2)

    def predict(self, architecture):
        return predictions(self.correct(architecture), architecture.id)

    def predict_each(self, architectures):
        return (self.predict(architecture) for architecture in architectures)

    def predict_groups(self, architectures):
        for start in range(0, len(architectures), 4):
            self.evaluated += len(architectures[start : start + 4])
            yield {own: self.predict(own) for own in architectures[start : start + 4]}


def predictions(correct, model="model"):
    """The target is always class 0."""
    answers = np.where(correct, 0, 1).astype(np.int64)
    return Predictions(model, np.arange(len(correct)), np.zeros(len(correct), np.int64), answers)


def nfr(old, new):
    """By hand, from what is correct."""
    return np.mean(old & ~new)
