"""Optuna's messages about our own studies, which run.log and the report tell better."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import optuna


@contextmanager
def quiet_optuna() -> Iterator[None]:
    """Let Optuna log warnings and errors only, for the length of the block; the verbosity belongs to the user."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(max(verbosity, optuna.logging.WARNING))
    try:
        yield
    finally:
        optuna.logging.set_verbosity(verbosity)
