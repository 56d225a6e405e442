"""Architectures as values: what they are, what contains what, what they cost, and how to draw them (no torch)."""

from regnas.space.architecture import Architecture, Block, contains
from regnas.space.budget import Budget, Cost, format_macs
from regnas.space.sampler import BudgetSampler, EvenSampler
from regnas.space.space import Rules, SearchSpace, Stage, State

__all__ = [
    "Architecture",
    "Block",
    "Budget",
    "BudgetSampler",
    "Cost",
    "EvenSampler",
    "Rules",
    "SearchSpace",
    "Stage",
    "State",
    "contains",
    "format_macs",
]
