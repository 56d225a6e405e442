"""Architectures as values: containment, costs, and sampling inside a budget. Does not import torch."""

from regnas.space.architecture import Architecture, Block, Gene, contains
from regnas.space.budget import Budget, Cost, format_macs
from regnas.space.covering import covering
from regnas.space.genes import gene_choices
from regnas.space.latency import (
    Additivity,
    Conditions,
    LatencyTable,
    TimedRules,
    latency_range,
    part_keys,
    with_latencies,
)
from regnas.space.projection import Projection
from regnas.space.sampler import BudgetSampler, EvenSampler
from regnas.space.space import Rules, SearchSpace, Stage, State

__all__ = [
    "Additivity",
    "Architecture",
    "Block",
    "Budget",
    "BudgetSampler",
    "Conditions",
    "Cost",
    "EvenSampler",
    "Gene",
    "LatencyTable",
    "Projection",
    "Rules",
    "SearchSpace",
    "Stage",
    "State",
    "TimedRules",
    "contains",
    "covering",
    "format_macs",
    "gene_choices",
    "latency_range",
    "part_keys",
    "with_latencies",
]
