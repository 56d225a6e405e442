"""Algorithms that choose the next generation of architectures to evaluate."""

from regnas.components.registry import Registry
from regnas.search.algorithms.asking import Scored, SearchAlgorithm
from regnas.search.algorithms.evolution import Evolution
from regnas.search.algorithms.nsga2 import NonDominatedSorting
from regnas.search.algorithms.predictor_guided import PredictorGuided
from regnas.search.algorithms.random_search import RandomSearch
from regnas.search.algorithms.tpe import TreeParzen

ALGORITHMS: Registry[type[SearchAlgorithm]] = Registry(
    "algorithm",
    "regnas.algorithms",
    {
        "evolution": Evolution,
        "random": RandomSearch,
        "tpe": TreeParzen,
        "nsga2": NonDominatedSorting,
        "predictor_guided": PredictorGuided,
    },
)

__all__ = [
    "ALGORITHMS",
    "Evolution",
    "NonDominatedSorting",
    "PredictorGuided",
    "RandomSearch",
    "Scored",
    "SearchAlgorithm",
    "TreeParzen",
]
