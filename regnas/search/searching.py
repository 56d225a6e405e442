"""The search for one member, and for a family of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from regnas.errors import BudgetInfeasible
from regnas.flips import Predictions, negative_flip_rate
from regnas.runtime.progress import Bar
from regnas.runtime.randomness import Key, chooser
from regnas.runtime.signals import stop_if_asked
from regnas.search.algorithms import SearchAlgorithm
from regnas.search.evaluator import Evaluator
from regnas.search.rewards import Measures, Reward, TopOne
from regnas.search.study import Study, Trial
from regnas.space import Architecture, Budget, BudgetSampler, SearchSpace


@dataclass(frozen=True)
class FamilySearch:
    """Everything that the searches for the members share."""

    space: SearchSpace
    budgets: Mapping[str, Budget]  # by member, from the smallest to the largest
    algorithm: SearchAlgorithm
    candidates: int
    evaluator: Evaluator
    open_study: Callable[[str], Study]
    key: tuple[Key, ...]

    def contained(self, reward: Reward) -> dict[str, Architecture]:
        """REG-NAS: the smallest by accuracy; each next one contains the one before and answers to all before it."""
        members: dict[str, Architecture] = {}
        for name, budget in self.budgets.items():
            space = self.space
            if members:
                space = space.above(list(members.values())[-1])
            rule = reward if members else TopOne()
            members[name] = self._member("family", name, space, budget, rule, members)
        return members

    def accuracy_only(self, smallest: Architecture) -> dict[str, Architecture]:
        """Once-for-all: every larger member by accuracy alone, whatever it contains.

        The smallest is given: both ways of searching look for it in the same way.
        """
        members = {next(iter(self.budgets)): smallest}
        for name, budget in list(self.budgets.items())[1:]:
            members[name] = self._member("accuracy_only", name, self.space, budget, TopOne(), members)
        return members

    def _member(
        self,
        family: str,
        name: str,
        space: SearchSpace,
        budget: Budget,
        reward: Reward,
        smaller: Mapping[str, Architecture],
    ) -> Architecture:
        references = {other: self.evaluator.predict(architecture) for other, architecture in smaller.items()}
        study = self.open_study(f"{family}/{name}")
        key = (*self.key, family, name)
        trials = search(space, budget, self.algorithm, reward, references, self.evaluator, study, self.candidates, key)
        return best(trials).architecture


def search(
    space: SearchSpace,
    budget: Budget,
    algorithm: SearchAlgorithm,
    reward: Reward,
    references: Mapping[str, Predictions],
    evaluator: Evaluator,
    study: Study,
    candidates: int,
    key: tuple[Key, ...],
) -> list[Trial]:
    """Evaluate ``candidates`` architectures, or all there are when the budget holds fewer; what is on record counts."""
    BudgetSampler(space, budget).require_any(f"search for {key[-1]}")
    trials = study.trials()
    description = f"search {' '.join(str(part) for part in key[-2:])}"
    with Bar(description, candidates, len(trials)) as bar:
        while len(trials) < candidates:
            # The generation under way is asked for again from what was known at its start, so that a search which
            # was interrupted in the middle of it goes on with the same candidates.
            begun = len(trials) - len(trials) % algorithm.generation_size
            generation = algorithm.ask(space, budget, trials[:begun], chooser(*key, begun))
            remaining = generation[len(trials) - begun :][: candidates - len(trials)]
            if not remaining:
                break
            for architecture in remaining:
                trial = evaluate(architecture, space, reward, references, evaluator)
                study.record(trial)
                trials.append(trial)
                bar.advance(f"best {best(trials).reward:.4f}")
                stop_if_asked()
    return trials


def evaluate(
    architecture: Architecture,
    space: SearchSpace,
    reward: Reward,
    references: Mapping[str, Predictions],
    evaluator: Evaluator,
) -> Trial:
    predictions = evaluator.predict(architecture)
    flips = {name: negative_flip_rate(reference, predictions) for name, reference in references.items()}
    measures = Measures(predictions.accuracy, flips)
    return Trial(architecture, space.cost(architecture).macs, measures, reward(measures))


def best(trials: Sequence[Trial]) -> Trial:
    """The highest reward; among equals the cheaper network, then the smaller id, so that the choice is unique."""
    if not trials:
        raise BudgetInfeasible("no candidate was evaluated")
    return min(trials, key=lambda trial: (-trial.reward, trial.macs, trial.architecture.id))
