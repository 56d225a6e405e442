"""Every error that regnas raises on purpose: one line for the user and one exit code for the shell.

A message says what is wrong, which value it has, where it is, and what to do. It names arguments as Python callers
write them, in backticks: `out`, `resume=True`. The command line replaces them by the options of the command.
The exit codes are part of the interface: 2 usage or configuration, 3 bad data or artifact, 4 infeasible request,
5 environment, 6 a gate that did not pass, 128 + signal for interrupted and resumable. 1 is reserved for bugs in regnas.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regnas.runtime.secrets import hide_passwords

# The extra of pyproject.toml that installs each module that `pip install regnas` does not install.
EXTRAS = {
    "matplotlib": "train",
    "ofa": "train",
    "optuna": "train",
    "safetensors": "train",
    "scipy": "train",
    "sklearn": "train",
    "sqlalchemy": "train",
    "torch": "train",
    "torchvision": "train",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "onnxscript": "onnx",
    "dask": "dask",
    "distributed": "dask",
    "psycopg": "postgresql",
    "optuna_dashboard": "dashboard",
    "torchmetrics": "metrics",
    "timm": "timm",
    "tensorboard": "tensorboard",
    "wandb": "wandb",
    "mlflow": "mlflow",
    "pyarrow": "parquet",
    "cryptography": "sign",
}


LONGEST_PROBLEM = 2000  # characters
MOST_PROBLEMS = 100


class RegnasError(Exception):
    """A problem that the user can solve: one line per problem, in which the passwords of addresses are hidden.

    A damaged file can have names of any length and any number of problems. Therefore the middle of a very long line and
    the last of very many lines are left out.

    ``run`` is the run folder that can be continued after the problem is solved, if there is one.
    """

    exit_code = 1
    run: Path | None = None

    def __init__(self, *problems: str) -> None:
        left_out = len(problems) - MOST_PROBLEMS
        more = (f"{left_out:,} more problems",) if left_out > 0 else ()
        self.problems = (*(_shortened(hide_passwords(problem)) for problem in problems[:MOST_PROBLEMS]), *more)
        super().__init__("\n".join(self.problems))


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_PROBLEM else f"{text[: LONGEST_PROBLEM // 2]} … {text[-LONGEST_PROBLEM // 2 :]}"


class ConfigurationError(RegnasError):
    """The command line or the configuration is wrong."""

    exit_code = 2


class UnknownName(ConfigurationError, KeyError):
    """A result or a table does not have this name."""

    __str__ = Exception.__str__  # a KeyError would show its message in quotes


class DataError(RegnasError):
    """The data set cannot be used as it is."""

    exit_code = 3


class ArtifactError(RegnasError):
    """A file is damaged, or does not belong to the folder or run in which it is used."""

    exit_code = 3


class InfeasibleError(RegnasError):
    """The request has no solution: no network meets the budget, or a training diverges."""

    exit_code = 4


class BudgetInfeasible(InfeasibleError):
    """No architecture of the space meets the budget."""


class FlipLimitInfeasible(InfeasibleError):
    """No candidate of a search has as few flips as the limit requires."""


class TrainingDiverged(InfeasibleError):
    """The loss became infinite or not a number."""


class EnvironmentProblem(RegnasError):
    """The machine does not provide what is needed: packages, disk, memory, permissions or network."""

    exit_code = 5


class MissingPackage(EnvironmentProblem, ImportError):
    """An optional package is not installed; the message names the extra that installs it."""


class Interrupted(RegnasError):
    """A signal stopped the work at a point at which nothing is lost; ``outcome`` says what is on disk."""

    def __init__(self, signal_number: int, outcome: str = "everything up to here is kept") -> None:
        self.signal_number = signal_number
        self.outcome = outcome
        self.exit_code = 128 + signal_number
        super().__init__(f"interrupted by {signal.Signals(signal_number).name}; {outcome}")

    def __reduce__(self) -> tuple[type[Interrupted], tuple[int, str]]:
        return Interrupted, (self.signal_number, self.outcome)  # crosses from a worker process to its parent


def first_line(error: BaseException) -> str:
    """Return the first line of the message of an error, or the name of its class if it has no message.

    Example:
        >>> first_line(ValueError("bad header\\nat byte 8")), first_line(KeyError())
        ('bad header', 'KeyError')
    """
    return (str(error).splitlines() or [type(error).__name__])[0]


@contextmanager
def explain_missing_packages(caller: str) -> Iterator[None]:
    """Turn a failed import of an optional package into a MissingPackage that names the extra.

    Works as a context manager and as a decorator. Other failed imports pass unchanged: they are bugs.

    Args:
        caller: the name of the command or function that needs the package: "train", "regnas.load_family".

    Example:
        >>> @explain_missing_packages("regnas.train")
        ... def train():
        ...     import torchmetrics
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        raise MissingPackage(
            f"{caller} needs {package}, which is not installed. "
            f"Install it with: pip install 'regnas[{EXTRAS[package]}]'"
        ) from error
