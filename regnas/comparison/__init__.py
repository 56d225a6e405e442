"""Compare models by their predictions: flips, intervals, tables and verdicts. Does not import torch."""

from regnas.comparison.reading import ReadPredictions, read_predictions

__all__ = ["ReadPredictions", "read_predictions"]
