"""Prediction files of any models in; flips, intervals, tables and verdicts out. Needs no torch."""

from regnas.comparison.reading import ReadPredictions, read_predictions

__all__ = ["ReadPredictions", "read_predictions"]
