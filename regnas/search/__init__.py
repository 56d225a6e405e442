"""The search: evaluation of candidates, rewards, algorithms, and the study that records them."""

from regnas.search.algorithms import ALGORITHMS, Evolution, RandomSearch, SearchAlgorithm
from regnas.search.database import open_storage
from regnas.search.families import OLD, FamilySearch, Order, check_order
from regnas.search.feasibility import excess_over, violation_of
from regnas.search.rewards import REWARDS, Measures, Reward, TopOne, TopOneAndFlips
from regnas.search.searching import Tier, best, search
from regnas.search.study import Studies, Study, Trial, sqlite_storage

__all__ = [
    "ALGORITHMS",
    "OLD",
    "REWARDS",
    "Evolution",
    "FamilySearch",
    "Measures",
    "Order",
    "RandomSearch",
    "Reward",
    "SearchAlgorithm",
    "Studies",
    "Study",
    "Tier",
    "TopOne",
    "TopOneAndFlips",
    "Trial",
    "best",
    "check_order",
    "excess_over",
    "open_storage",
    "search",
    "sqlite_storage",
    "violation_of",
]
