"""Optuna's tree-structured Parzen estimator inside a budget (Bergstra et al., NeurIPS 2011)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import optuna

from regnas.search.algorithms.asking import Scored, unknown_near
from regnas.search.algorithms.random_search import RandomSearch
from regnas.search.feasibility import comparable_rewards
from regnas.search.optuna_tools import distributions, quiet_optuna
from regnas.space import Architecture, Budget, SearchSpace


@dataclass(frozen=True)
class TreeParzen:
    """Optuna's TPE: draws genes that are frequent among good candidates and rare among bad ones.

    Each suggestion is moved into the budget by as few changes as possible. The first ``startup`` candidates are random.
    """

    generation: int = 20
    startup: int = 20

    def __post_init__(self) -> None:
        for name in ("generation", "startup"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")

    @property
    def generation_size(self) -> int:
        return self.generation

    def ask(self, space: SearchSpace, budget: Budget, told: Sequence[Scored], random: Random) -> list[Architecture]:
        """Return the suggestions of TPE, moved into the budget; random candidates at the start."""
        by_chance = min(max(self.startup - len(told), 0), self.generation)
        drawn = RandomSearch(by_chance).ask(space, budget, told, random) if by_chance else []
        if len(drawn) == self.generation:
            return drawn
        genes = distributions(space)
        # As Optuna does by default: genes that all candidates have are suggested jointly, genes of blocks that may be
        # inactive one by one. Earlier suggestions of this generation count as bad, so suggestions differ.
        sampler = optuna.samplers.TPESampler(n_startup_trials=1, seed=random.getrandbits(32))
        with quiet_optuna():
            study = optuna.create_study(direction="maximize", sampler=sampler)
        for trial, value in zip(told, comparable_rewards(told), strict=True):  # TPE uses only their order
            params = trial.architecture.genes()
            own = {gene: genes[gene] for gene in params}
            study.add_trial(optuna.create_trial(params=params, distributions=own, value=value))
        known = {trial.architecture for trial in told} | set(drawn)
        count = self.generation - len(drawn)
        return drawn + unknown_near(lambda: study.ask(genes).params, space, budget, known, count, random)
