"""Everything regnas raises on purpose: one line for the user and one exit code for the shell.

A message says what is wrong, with which value, where, and what to do. The codes are part of the interface:
2 usage or configuration, 3 bad data or artifact, 4 infeasible request, 5 environment, 6 a gate that failed,
128 + signal interrupted and resumable; 1 is left for bugs in regnas.
"""

from __future__ import annotations

import signal
from pathlib import Path


class RegnasError(Exception):
    """What the user can act on: one line for each problem found."""

    exit_code = 1

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class ConfigurationError(RegnasError):
    """The command line or the configuration is wrong."""

    exit_code = 2


class DataError(RegnasError):
    """The data set cannot be used as it is."""

    exit_code = 3


class ArtifactError(RegnasError):
    """A file that regnas wrote, or was given, is damaged or does not belong here."""

    exit_code = 3


class InfeasibleError(RegnasError):
    """What was asked for does not exist: a budget out of reach, a training that diverges."""

    exit_code = 4


class BudgetInfeasible(InfeasibleError):
    """No architecture of the space meets the budget."""


class FlipLimitInfeasible(InfeasibleError):
    """No candidate of a search has as few flips as was asked for."""


class TrainingDiverged(InfeasibleError):
    """The loss became infinite or not a number."""


class EnvironmentProblem(RegnasError):
    """The machine refuses: disk, memory, permissions, network."""

    exit_code = 5


class Interrupted(RegnasError):
    """A signal arrived where nothing is lost; ``outcome`` says what is on disk, ``run`` which run can be continued."""

    run: Path | None = None

    def __init__(self, signal_number: int, outcome: str = "everything up to here is kept") -> None:
        self.signal_number = signal_number
        self.outcome = outcome
        self.exit_code = 128 + signal_number
        super().__init__(f"interrupted by {signal.Signals(signal_number).name}; {outcome}")

    def __reduce__(self) -> tuple[type[Interrupted], tuple[int, str]]:
        return Interrupted, (self.signal_number, self.outcome)  # crosses from a worker process to its parent
