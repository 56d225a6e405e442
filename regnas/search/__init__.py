"""The search: what is evaluated, what it is worth, what comes next, and the record of it."""

from regnas.search.algorithms import ALGORITHMS, Evolution, RandomSearch, SearchAlgorithm
from regnas.search.evaluator import Evaluator
from regnas.search.rewards import REWARDS, Measures, Reward, TopOne, TopOneAndFlips
from regnas.search.searching import FamilySearch, best, search
from regnas.search.study import Study, Trial, sqlite_storage, study_names

__all__ = [
    "ALGORITHMS",
    "REWARDS",
    "Evaluator",
    "Evolution",
    "FamilySearch",
    "Measures",
    "RandomSearch",
    "Reward",
    "SearchAlgorithm",
    "Study",
    "TopOne",
    "TopOneAndFlips",
    "Trial",
    "best",
    "search",
    "sqlite_storage",
    "study_names",
]
