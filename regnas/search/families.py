"""Search for the members of a family, in one of several orders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from regnas.flips import Predictions
from regnas.runtime.randomness import Key
from regnas.search.algorithms import ALGORITHMS, Evolution, RandomSearch, SearchAlgorithm
from regnas.search.evaluation.evaluator import Evaluator
from regnas.search.joint import search_chains
from regnas.search.rewards import Reward, TopOne
from regnas.search.searching import Tier, best, best_feasible, search
from regnas.search.study import Study, Trial
from regnas.space import Architecture, Budget, SearchSpace

Order = Literal["smallest_first", "joint", "front"]
Members = dict[str, Architecture]
Chains = Evolution | RandomSearch  # the algorithms that can search for all members at once
OLD = "old predictions"  # the name of a reference; no member has it, because names of members contain no spaces


def check_order(order: Order, algorithm: SearchAlgorithm) -> None:
    """Refuse an algorithm that cannot search in this order."""
    if order == "joint" and not isinstance(algorithm, Chains):
        given = ALGORITHMS.name_of(algorithm) or type(algorithm).__name__
        raise ValueError(
            f'algorithm must be evolution or random with order = "joint", got {given}. Use one of these, or order = '
            '"smallest_first" or "front"'
        )


@dataclass(frozen=True)
class FamilySearch:
    """The searches for all members of a family.

    ``old`` are predictions of old models by name. Flips from them count for every member, and ``max_nfr`` limits them
    in the same way as flips from smaller members.
    """

    space: SearchSpace
    budgets: Mapping[str, Budget]  # by member, from the smallest to the largest
    reward: Reward
    order: Order
    algorithm: SearchAlgorithm
    candidates: int  # per budget
    evaluator: Evaluator
    open_study: Callable[[str], Study]
    key: tuple[Key, ...]
    max_nfr: float | None = None
    old: Mapping[str, Predictions] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_order(self.order, self.algorithm)

    def family(self) -> Members:
        """Search for all members, in the configured order."""
        return {"smallest_first": self.smallest_first, "joint": self.jointly, "front": self.from_front}[self.order]()

    def smallest_first(self) -> Members:
        """Search as REG-NAS: the smallest by accuracy; each next one contains the one before and has few flips."""
        members: Members = {}
        for name in self.budgets:
            space = self.space.above(list(members.values())[-1]) if members else self.space
            tier = self._tier(name, space, members)
            members[name] = self._choose(tier, self._search("family", tier))
        return members

    def jointly(self) -> Members:
        """Search for all members at once: chains of nested networks, by one reward over all pairs."""
        assert isinstance(self.algorithm, Chains)  # by check_order
        chain = search_chains(
            self.space,
            self.budgets,
            self.reward,
            self.evaluator,
            self.open_study("family/joint"),
            self.candidates,
            (*self.key, "family", "joint"),
            self.algorithm,
            self.max_nfr,
            self.old,
        )
        return dict(zip(self.budgets, chain, strict=True))

    def from_front(self) -> Members:
        """Search all sizes at once, and choose the member of every budget among the candidates.

        The smallest is searched for by accuracy, because flips need a reference. Then one search covers all networks
        that contain it up to the largest budget, with as many candidates as separate searches for the other members
        would have. Each budget takes the best candidate that contains the member before. A budget without such a
        candidate takes the best of one more generation. A budget in which all candidates have too many flips is
        searched separately.
        """
        names = list(self.budgets)
        tier = self._tier(names[0], self.space, {})
        members = {names[0]: self._choose(tier, self._search("family", tier))}
        if len(names) == 1:
            return members
        smallest = members[names[0]]
        window = _from_to(self.budgets[names[1]], self.budgets[names[-1]])
        whole = replace(self._tier(names[1], self.space.above(smallest), members), name="front", budget=window)
        seen = self._search("family", whole, self.candidates * (len(names) - 1))
        for name in names[1:]:
            members[name] = self._read(name, seen, members)
        return members

    def _read(self, name: str, seen: list[Trial], members: Members) -> Architecture:
        space = self.space.above(list(members.values())[-1])
        tier = self._tier(name, space, members)
        fitting = [
            tier.trial(trial.architecture, self.evaluator.predict(trial.architecture))
            for trial in seen
            if space.holds(trial.architecture) and space.cost(trial.architecture) in tier.budget
        ]
        found = fitting or self._search("family", tier, self.algorithm.generation_size)
        if best(found).violation > 0:
            found = [*fitting, *self._search("family", tier)]
        return self._choose(tier, found)

    def add(self, members: Members, name: str) -> Members:
        """Add a member for the budget of this name, which contains the smaller ones and is contained in the larger."""
        names = list(self.budgets)
        place = names.index(name)
        smaller = {other: members[other] for other in names[:place] if other in members}
        larger = {other: members[other] for other in names[place + 1 :] if other in members}
        space = self.space
        if smaller:
            space = space.above(list(smaller.values())[-1])
        if larger:
            space = space.below(next(iter(larger.values())))
        tier = replace(self._tier(name, space, smaller), reward=self.reward, larger=self._predictions(larger))
        return smaller | {name: self._choose(tier, self._search("family", tier))} | larger

    def accuracy_only(self, smallest: Architecture) -> Members:
        """Search as once-for-all: every member by accuracy alone, without containment and with any number of flips.

        ``smallest`` is the smallest member of the family, which is searched for in the same way. In a joint search, or
        if flips from old predictions count, it is searched for again.
        """
        members: Members = {}
        if self.order != "joint" and not self.old:
            members[next(iter(self.budgets))] = smallest
        for name, budget in list(self.budgets.items())[len(members) :]:
            tier = Tier(name, self.space, budget, TopOne(), smaller=self._predictions(members))
            members[name] = best(self._search("accuracy_only", tier)).architecture
        return members

    def _tier(self, name: str, space: SearchSpace, smaller: Members) -> Tier:
        """Describe the search above these members; by accuracy if nothing can flip."""
        references = {**self.old, **self._predictions(smaller)}
        reward = self.reward if references else TopOne()
        return Tier(name, space, self.budgets[name], reward, smaller=references, max_nfr=self.max_nfr)

    def _choose(self, tier: Tier, trials: list[Trial]) -> Architecture:
        return best_feasible(tier.name, trials, self.max_nfr).architecture

    def _search(self, family: str, tier: Tier, candidates: int | None = None) -> list[Trial]:
        study = self.open_study(f"{family}/{tier.name}")
        key = (*self.key, family, tier.name)
        return search(tier, self.algorithm, self.evaluator, study, candidates or self.candidates, key)

    def _predictions(self, members: Mapping[str, Architecture]) -> dict[str, Predictions]:
        predicted = self.evaluator.predict_each(list(members.values()))
        return dict(zip(members, predicted, strict=True))


def _from_to(first: Budget, last: Budget) -> Budget:
    return Budget(first.min_macs, last.max_macs, last.max_parameters, last.max_latency)
