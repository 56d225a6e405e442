"""Weights & Biases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from regnas.errors import explain_missing_packages
from regnas.training.loggers.logger import Log, LoggedTraining

if TYPE_CHECKING:
    from wandb import Run


@dataclass(frozen=True)
class WeightsAndBiases:
    """Log to Weights & Biases, one W&B run per training in a group per run.

    ``mode`` "offline" writes files below ``wandb`` in the run folder, which `wandb sync` uploads. The key of your
    account comes from `wandb login` or from the variable ``WANDB_API_KEY``.
    """

    project: str = "regnas"
    entity: str = ""
    mode: Literal["online", "offline"] = "online"

    @explain_missing_packages("the logger wandb")
    def open(self, training: LoggedTraining) -> Log:
        import wandb

        run = wandb.init(
            project=self.project,
            entity=self.entity or None,
            group=training.run,
            name=f"{training.run}: {training.name}",
            id=training.identity,
            resume="allow",
            config=dict(training.configuration),
            dir=training.folder,
            mode=self.mode,
            reinit="create_new",  # a run that the user's own script has open stays open
            settings=wandb.Settings(silent=True, console="off"),
        )
        return _WandbRun(run, known=run.step)


@dataclass(frozen=True)
class _WandbRun:
    run: Run
    known: int  # W&B keeps the values of earlier steps, which it has from a process that was killed

    def log(self, step: int, values: Mapping[str, float]) -> None:
        if step >= self.known:
            self.run.log(dict(values), step=step)

    def close(self, finished: bool) -> None:
        self.run.finish(exit_code=0 if finished else 1)
