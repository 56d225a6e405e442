"""Compute flip rates, tables and intervals from predictions. Needs numpy only.

"Reference" is the old model, or the smaller one of a family; "new" is the one that replaces it. Every rate is a
fraction between 0 and 1.
"""

from regnas.flips.alignment import align, count_clusters, shared_groups
from regnas.flips.bootstrap import bootstrap_means, hierarchical_means, interval
from regnas.flips.choosing import one_standard_error_choice
from regnas.flips.closed_forms import LEVEL
from regnas.flips.diagnostics import Diagnostics, diagnose
from regnas.flips.intervals import (
    accuracy_difference_interval,
    accuracy_interval,
    mean_nfr,
    mean_nfr_difference_interval,
    mean_nfr_interval,
    mean_nfr_values,
    nfr_interval,
)
from regnas.flips.means import mean_interval
from regnas.flips.pairs import PairStatistics, mcnemar_exact, pair_statistics, pairs_of
from regnas.flips.predictions import Predictions, load_predictions
from regnas.flips.rates import (
    ClassFlips,
    backward_error_compatibility,
    backward_trust_compatibility,
    negative_flip_rate,
    per_class_negative_flip_rate,
    positive_flip_rate,
    relative_change,
    relative_negative_flip_rate,
)
from regnas.flips.severity import probabilities_of, severities, softmax
from regnas.flips.significance import holm, sign_test
from regnas.flips.table import FlipPair, FlipTable, flip_table, flip_table_from_correctness

__all__ = [
    "LEVEL",
    "ClassFlips",
    "Diagnostics",
    "FlipPair",
    "FlipTable",
    "PairStatistics",
    "Predictions",
    "accuracy_difference_interval",
    "accuracy_interval",
    "align",
    "backward_error_compatibility",
    "backward_trust_compatibility",
    "bootstrap_means",
    "count_clusters",
    "diagnose",
    "flip_table",
    "flip_table_from_correctness",
    "hierarchical_means",
    "holm",
    "interval",
    "load_predictions",
    "mcnemar_exact",
    "mean_interval",
    "mean_nfr",
    "mean_nfr_difference_interval",
    "mean_nfr_interval",
    "mean_nfr_values",
    "negative_flip_rate",
    "nfr_interval",
    "one_standard_error_choice",
    "pair_statistics",
    "pairs_of",
    "per_class_negative_flip_rate",
    "positive_flip_rate",
    "probabilities_of",
    "relative_change",
    "relative_negative_flip_rate",
    "severities",
    "shared_groups",
    "sign_test",
    "softmax",
]
