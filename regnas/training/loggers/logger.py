"""What a logger is: it gets the values of each training at intervals, and sends them to a service or a file.

Loggers only observe. Nothing in them can change the result of a training, so they belong to no digest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from regnas.components.registry import Registry


@dataclass(frozen=True)
class LoggedTraining:
    """The training that a logger opens a log for.

    Attributes:
        run: the name of the run.
        name: the name of the training inside the run, such as "supernet".
        identity: a name that no other training has, and that stays the same if the training is continued.
        configuration: the tables of the configuration.
        folder: the folder of the run.
        first: the first step that will be logged, counted from 1. If a process was killed after its last checkpoint,
            it may have logged this step and later ones. The log should then have the values of this process only.
    """

    run: str
    name: str
    identity: str
    configuration: Mapping[str, Any]
    folder: Path
    first: int = 1


class Log(Protocol):
    """The log of one training."""

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Add the values of a step; the steps increase."""
        ...

    def close(self, finished: bool) -> None:
        """Write everything that is not written yet; ``finished`` is False if the training was stopped."""
        ...


class Logger(Protocol):
    """A logger with its settings; a worker process may open several logs one after the other."""

    def open(self, training: LoggedTraining) -> Log:
        """Start or continue the log of a training."""
        ...


LOGGERS: Registry[type[Logger]] = Registry(
    "logger",
    "regnas.loggers",
    {
        "tensorboard": "regnas.training.loggers.tensorboard_files:TensorBoard",
        "wandb": "regnas.training.loggers.weights_and_biases:WeightsAndBiases",
        "mlflow": "regnas.training.loggers.mlflow_runs:MLflow",
    },
)
