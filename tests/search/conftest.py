"""The supernet and the data of these tests."""

from tests.search.evaluation.fixtures import evaluator, no_signal_left, plugin, space, splits, supernet

__all__ = ["evaluator", "no_signal_left", "plugin", "space", "splits", "supernet"]
