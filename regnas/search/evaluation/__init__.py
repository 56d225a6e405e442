"""Evaluate candidates: extract, calibrate and run them, in groups with common parts, in processes or on clusters."""

from regnas.search.evaluation.candidates import CandidateRunner, RunnerSource, SupernetWeights
from regnas.search.evaluation.evaluator import LARGEST_GROUP, CalibrationImages, Evaluator
from regnas.search.evaluation.executors import CandidateExecutor, ExecutorChoice
from regnas.search.evaluation.latency import find_table, measure_latencies
from regnas.search.evaluation.prefixes import in_prefix_order

__all__ = [
    "LARGEST_GROUP",
    "CalibrationImages",
    "CandidateExecutor",
    "CandidateRunner",
    "Evaluator",
    "ExecutorChoice",
    "RunnerSource",
    "SupernetWeights",
    "find_table",
    "in_prefix_order",
    "measure_latencies",
]
