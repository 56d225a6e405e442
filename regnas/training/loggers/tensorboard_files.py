"""TensorBoard."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regnas.components.paths import path_key
from regnas.errors import explain_missing_packages
from regnas.runtime.printable import file_name
from regnas.training.loggers.logger import Log, LoggedTraining

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


@dataclass(frozen=True)
class TensorBoard:
    """Write event files for TensorBoard, one folder per training.

    ``folder`` gets ``RUN/TRAINING``; if it is empty, the files are below ``tensorboard`` in the run folder.
    """

    folder: str = path_key("")

    @explain_missing_packages("the logger tensorboard")
    def open(self, training: LoggedTraining) -> Log:
        from torch.utils.tensorboard import SummaryWriter

        above = Path(self.folder).expanduser() / file_name(training.run) if self.folder else training.folder
        above = above if self.folder else above / "tensorboard"
        # TensorBoard ignores the events from this step on that earlier files have.
        writer = SummaryWriter(above / file_name(training.name), purge_step=training.first)
        if training.first == 1:
            table = json.dumps(training.configuration, indent=4, default=str)
            writer.add_text("configuration", f"```\n{table}\n```", 0)
        return _EventFile(writer)


@dataclass(frozen=True)
class _EventFile:
    writer: SummaryWriter

    def log(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self.writer.add_scalar(name, value, step)

    def close(self, finished: bool) -> None:
        self.writer.close()
