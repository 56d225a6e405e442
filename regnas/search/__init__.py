"""The search: what is evaluated, what it is worth, what comes next, and the record of it."""

from regnas.search.algorithms import ALGORITHMS, Evolution, RandomSearch, SearchAlgorithm
from regnas.search.candidates import SupernetWeights
from regnas.search.evaluator import Evaluator
from regnas.search.executors import ExecutorChoice
from regnas.search.families import FamilySearch, Order
from regnas.search.latency import finished_table, measure_latencies
from regnas.search.rewards import REWARDS, Measures, Reward, TopOne, TopOneAndFlips
from regnas.search.searching import Tier, best, search
from regnas.search.study import Study, Trial, sqlite_storage, study_names

__all__ = [
    "ALGORITHMS",
    "REWARDS",
    "Evaluator",
    "Evolution",
    "ExecutorChoice",
    "FamilySearch",
    "Measures",
    "Order",
    "RandomSearch",
    "Reward",
    "SearchAlgorithm",
    "Study",
    "SupernetWeights",
    "Tier",
    "TopOne",
    "TopOneAndFlips",
    "Trial",
    "best",
    "finished_table",
    "measure_latencies",
    "search",
    "sqlite_storage",
    "study_names",
]
