"""Optuna's NSGA-II inside a budget (Deb et al., IEEE Transactions on Evolutionary Computation, 2002)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import optuna
from optuna.samplers import NSGAIISampler
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from regnas.runtime.randomness import chooser
from regnas.search.algorithms.asking import Scored, unknown, unknown_near
from regnas.search.optuna_tools import distributions, quiet_optuna
from regnas.space import Architecture, Budget, EvenSampler, Gene, SearchSpace, gene_choices

# Top-1, mean NFR, multiply-adds
OBJECTIVES = (StudyDirection.MAXIMIZE, StudyDirection.MINIMIZE, StudyDirection.MINIMIZE)
STEP = math.log(1.02 / 0.98)  # of MACs, on a logarithmic scale: the window of "300M +- 2 %"


@dataclass(frozen=True)
class NonDominatedSorting:
    """Optuna's NSGA-II for Top-1, NFR and MACs: parents are the candidates that no other beats in all three.

    The first generation is spread evenly over the window of MACs, however wide it is, and the third objective keeps the
    following ones spread: one run over a wide window gives the front of all sizes. MACs count in steps of a budget's
    window. Below that, a smaller network is not preferred, and a search inside one budget weighs only Top-1 against
    NFR. Each child is moved into the budget by as few changes as possible. A candidate that exceeds a limit on flips is
    dominated by all that meet it, and by those that exceed it less.
    """

    population: int = 20

    def __post_init__(self) -> None:
        if self.population < 2:
            raise ValueError(f"population must be at least 2, got {self.population}")

    @property
    def generation_size(self) -> int:
        return self.population

    def ask(self, space: SearchSpace, budget: Budget, told: Sequence[Scored], random: Random) -> list[Architecture]:
        """Return the children of the candidates that NSGA-II selects, moved into the budget."""
        known = {trial.architecture for trial in told}
        generation = len(told) // self.population
        low, high = space.macs_range
        low, high = max(low, budget.min_macs), min(high, budget.max_macs)
        if generation == 0:
            slices = max(1, min(self.population, _steps(low, high) + 1))
            draws = EvenSampler(space, budget, slices).in_turn(random)
            return unknown(lambda misses: next(draws), known, self.population)
        genes, choices = distributions(space), gene_choices(space)
        sampler = _ToldGenerations(self.population, generation, random.getrandbits(32))
        with quiet_optuna():
            study = optuna.create_study(directions=OBJECTIVES, sampler=sampler)
        for trial, values in zip(told, _objectives(told, high), strict=True):
            params = _complete_genes(trial.architecture, choices)
            study.add_trial(optuna.create_trial(params=params, distributions=genes, values=values))
        sampler.select_parents(study)
        return unknown_near(lambda: study.ask(genes).params, space, budget, known, self.population, random)


def _objectives(told: Sequence[Scored], high: int) -> list[list[float]]:
    """Return the objectives of every candidate; infeasible ones are worse than all others, by their violation."""
    values = [[trial.measures.top1, trial.measures.mean_nfr, float(-_steps(trial.macs, high))] for trial in told]
    top1, nfr, size = (list(column) for column in zip(*values, strict=True))
    return [
        [min(top1) - own, max(nfr) + own, max(size) + own] if (own := trial.violation) > 0 else feasible
        for trial, feasible in zip(told, values, strict=True)
    ]


def _steps(macs: int, high: int) -> int:
    """Return the number of budget windows by which a network is smaller than ``high``."""
    return int(math.log(high / macs) / STEP)


class _ToldGenerations(NSGAIISampler):
    """The sampler with the recorded generations; by itself, it would count only its own candidates."""

    def __init__(self, population: int, generation: int, seed: int) -> None:
        super().__init__(population_size=population, seed=seed)
        self._next_generation = generation
        self._parents: list[FrozenTrial] = []

    def select_parents(self, study: optuna.Study) -> None:
        """Select, generation by generation, the best of the earlier parents and their children."""
        for generation in range(1, self._next_generation + 1):
            # By number: the order of equals would otherwise depend on how they were found.
            self._parents = sorted(self.select_parent(study, generation), key=lambda trial: trial.number)

    def get_trial_generation(self, study: optuna.Study, trial: FrozenTrial) -> int:
        return self._next_generation

    def get_population(self, study: optuna.Study, generation: int) -> list[FrozenTrial]:
        trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        size = self.population_size or 1
        return trials[generation * size : (generation + 1) * size]

    def get_parent_population(self, study: optuna.Study, generation: int) -> list[FrozenTrial]:
        return self._parents


def _complete_genes(architecture: Architecture, choices: dict[str, list[Gene]]) -> dict[str, Gene]:
    """Return the genes, with random ones for inactive blocks; the same for the same architecture.

    The sampler crosses only genes that all parents have, and draws the others for every child again.
    """
    genes = architecture.genes()
    random = chooser("inactive genes", architecture.id)
    return {name: genes[name] if name in genes else random.choice(values) for name, values in choices.items()}
