"""The genes of a space as Optuna knows them."""

from __future__ import annotations

from optuna.distributions import BaseDistribution, CategoricalDistribution

from regnas.space import SearchSpace, gene_choices


def distributions(space: SearchSpace) -> dict[str, BaseDistribution]:
    return {gene: CategoricalDistribution(values) for gene, values in gene_choices(space).items()}
