"""A search with a known optimum: the rewards of candidates come from a formula."""

from __future__ import annotations

from random import Random

import numpy as np

from regnas.search import Measures, Trial
from regnas.space import BudgetSampler, gene_choices

NOISE = 0.3  # of what architectures differ by: a candidate is measured on a finite split


class Problem:
    """Top-1 and NFR as sums of effects of every gene (larger is mostly better, less and less so) and of pairs of genes.

    Both are scaled by what they differ by inside the budget. What a candidate measures is off by a noise that belongs
    to it, as the errors on a fixed split of images do.
    """

    def __init__(self, space, budget, seed):
        self.space, self.seed = space, seed
        random = np.random.default_rng(seed)
        self._effects = [_effects(gene_choices(space), random) for _ in range(2)]
        sampler, chooser = BudgetSampler(space, budget), Random(seed)
        values = np.array([self._sums(sampler.sample(chooser)) for _ in range(200)])
        self._mean, self._spread = values.mean(0), values.std(0)

    def trial(self, architecture):
        noise = np.random.default_rng([self.seed, int(architecture.id, 16)]).normal(0, NOISE, 2)
        quality, agreement = (self._sums(architecture) - self._mean) / self._spread + noise
        measures = Measures(float(0.7 + 0.01 * quality), {"small": float(max(0.0, 0.03 - 0.003 * agreement))})
        return Trial(architecture, self.space.cost(architecture).macs, measures, measures.top1 - measures.mean_nfr)

    def _sums(self, architecture):
        genes = architecture.genes()
        return np.array(
            [
                sum(single[gene][value] for gene, value in genes.items())
                + sum(table[genes[one], genes[other]] for one, other, table in pairs if {one, other} <= genes.keys())
                for single, pairs in self._effects
            ]
        )


def _effects(choices, random):
    single = {}
    for gene, values in choices.items():
        rising = random.lognormal(0, 0.6) * np.sqrt(np.linspace(0, 1, len(values)))
        single[gene] = dict(zip(values, rising + random.normal(0, 0.3, len(values)), strict=True))
    pairs = []
    for _ in choices:
        one, other = random.choice(list(choices), 2, replace=False)
        table = {(mine, yours): random.normal(0, 0.5) for mine in choices[one] for yours in choices[other]}
        pairs.append((one, other, table))
    return single, pairs


def play(algorithm, space, budget, candidates, tell, seed=0):
    """As in a search: whole generations, each from its own random numbers, until no candidate is left."""
    told = []
    while len(told) < candidates:
        asked = algorithm.ask(space, budget, told, Random(f"{seed}/{len(told)}"))
        if not asked:
            break
        told += [tell(architecture) for architecture in asked]
    return told
