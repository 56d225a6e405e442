"""The common part of all uses of Optuna: the genes as distributions, and its verbosity."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution

from regnas.space import SearchSpace, gene_choices


def distributions(space: SearchSpace) -> dict[str, BaseDistribution]:
    """Return one categorical distribution per gene of the space."""
    return {gene: CategoricalDistribution(values) for gene, values in gene_choices(space).items()}


@contextmanager
def quiet_optuna() -> Iterator[None]:
    """Let Optuna log only warnings and errors inside the block, and restore the user's verbosity."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(max(verbosity, optuna.logging.WARNING))
    try:
        yield
    finally:
        optuna.logging.set_verbosity(verbosity)
