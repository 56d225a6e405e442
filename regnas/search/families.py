"""The search for a family: in which order its members are found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from regnas.evaluation.evaluator import Evaluator
from regnas.flips import Predictions
from regnas.runtime.randomness import Key
from regnas.search.algorithms import Evolution, SearchAlgorithm
from regnas.search.joint import search_chains
from regnas.search.rewards import Reward, TopOne
from regnas.search.searching import Tier, best, search
from regnas.search.study import Study, Trial
from regnas.space import Architecture, Budget, SearchSpace

Order = Literal["smallest_first", "joint", "front"]
Members = dict[str, Architecture]


@dataclass(frozen=True)
class FamilySearch:
    """Everything that the searches for the members share."""

    space: SearchSpace
    budgets: Mapping[str, Budget]  # by member, from the smallest to the largest
    reward: Reward
    order: Order
    algorithm: SearchAlgorithm
    candidates: int  # for each budget
    evaluator: Evaluator
    open_study: Callable[[str], Study]
    key: tuple[Key, ...]

    def family(self) -> Members:
        return {"smallest_first": self.smallest_first, "joint": self.jointly, "front": self.from_front}[self.order]()

    def smallest_first(self) -> Members:
        """REG-NAS: the smallest by accuracy; each next one contains the one before and answers to all before it."""
        members: Members = {}
        for name, budget in self.budgets.items():
            space = self.space.above(list(members.values())[-1]) if members else self.space
            tier = Tier(name, space, budget, self.reward if members else TopOne(), smaller=self._predictions(members))
            members[name] = best(self._search("family", tier)).architecture
        return members

    def jointly(self) -> Members:
        """All members at once: chains of networks that contain one another, by one reward over all their pairs."""
        chain = search_chains(
            self.space,
            self.budgets,
            self.reward,
            self.evaluator,
            self.open_study("family/joint"),
            self.candidates,
            (*self.key, "family", "joint"),
            self.algorithm if isinstance(self.algorithm, Evolution) else Evolution(),
        )
        return dict(zip(self.budgets, chain, strict=True))

    def from_front(self) -> Members:
        """One run over all sizes, from which every budget is read.

        The smallest is searched for by accuracy, since flips need somebody to flip from. Then one run covers all
        networks that contain it up to the largest budget, with as many candidates as one search for each of the other
        members would take. Of what it has seen, each budget takes the best that contains the member before; a budget
        in which there is none takes the best of one more generation.
        """
        names = list(self.budgets)
        tier = Tier(names[0], self.space, self.budgets[names[0]], TopOne())
        members = {names[0]: best(self._search("family", tier)).architecture}
        if len(names) == 1:
            return members
        smallest = members[names[0]]
        whole = Tier(
            "front",
            self.space.above(smallest),
            _from_to(self.budgets[names[1]], self.budgets[names[-1]]),
            self.reward,
            smaller=self._predictions(members),
        )
        seen = self._search("family", whole, self.candidates * (len(names) - 1))
        for name in names[1:]:
            members[name] = self._read(name, seen, members)
        return members

    def _read(self, name: str, seen: list[Trial], members: Members) -> Architecture:
        space = self.space.above(list(members.values())[-1])
        tier = Tier(name, space, self.budgets[name], self.reward, smaller=self._predictions(members))
        fitting = [
            tier.trial(trial.architecture, self.evaluator.predict(trial.architecture))
            for trial in seen
            if space.holds(trial.architecture) and space.cost(trial.architecture) in tier.budget
        ]
        return best(fitting or self._search("family", tier, self.algorithm.generation_size)).architecture

    def add(self, members: Members, name: str) -> Members:
        """One member more, for the budget of this name: it contains the smaller ones and the larger ones contain it."""
        names = list(self.budgets)
        place = names.index(name)
        smaller = {other: members[other] for other in names[:place] if other in members}
        larger = {other: members[other] for other in names[place + 1 :] if other in members}
        space = self.space
        if smaller:
            space = space.above(list(smaller.values())[-1])
        if larger:
            space = space.below(next(iter(larger.values())))
        tier = Tier(
            name,
            space,
            self.budgets[name],
            self.reward,
            smaller=self._predictions(smaller),
            larger=self._predictions(larger),
        )
        found = best(self._search("family", tier)).architecture
        return smaller | {name: found} | larger

    def accuracy_only(self, smallest: Architecture) -> Members:
        """Once-for-all: every member by accuracy alone, whatever it contains.

        ``smallest`` is the family's own, which is searched for in the same way, except where all are found jointly.
        """
        members: Members = {}
        if self.order != "joint":
            members[next(iter(self.budgets))] = smallest
        for name, budget in list(self.budgets.items())[len(members) :]:
            tier = Tier(name, self.space, budget, TopOne(), smaller=self._predictions(members))
            members[name] = best(self._search("accuracy_only", tier)).architecture
        return members

    def _search(self, family: str, tier: Tier, candidates: int | None = None) -> list[Trial]:
        study = self.open_study(f"{family}/{tier.name}")
        key = (*self.key, family, tier.name)
        return search(tier, self.algorithm, self.evaluator, study, candidates or self.candidates, key)

    def _predictions(self, members: Mapping[str, Architecture]) -> dict[str, Predictions]:
        predicted = self.evaluator.predict_each(list(members.values()))
        return dict(zip(members, predicted, strict=True))


def _from_to(first: Budget, last: Budget) -> Budget:
    return Budget(first.min_macs, last.max_macs, last.max_parameters, last.max_latency)
