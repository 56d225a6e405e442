"""MLflow."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regnas.components.paths import anchored_address, path_key
from regnas.errors import explain_missing_packages
from regnas.runtime.lock import exclusive
from regnas.runtime.secrets import without_password
from regnas.training.loggers.logger import Log, LoggedTraining

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.utils.async_logging.run_operations import RunOperations

IDENTITY = "regnas.training"  # a tag
LONGEST_PARAMETER = 500  # characters; the limit of MLflow's older servers
CONTINUED = "loss"  # the value whose history tells how far a log goes


@dataclass(frozen=True)
class MLflow:
    """Log to MLflow, one MLflow run per training.

    ``store`` is the address of a tracking server or of a database, such as ``sqlite:///mlflow.db``. If it is empty, it
    is ``MLFLOW_TRACKING_URI`` or, without this variable, ``mlflow/mlflow.db`` in the run folder.
    """

    store: str = path_key("", anchored_address)
    experiment: str = "regnas"

    def __post_init__(self) -> None:
        if without_password(self.store) != self.store:
            raise ValueError(
                "store must be an address without a password, got one. Set MLFLOW_TRACKING_USERNAME and "
                "MLFLOW_TRACKING_PASSWORD."
            )

    @explain_missing_packages("the logger mlflow")
    def open(self, training: LoggedTraining) -> Log:
        from mlflow import MlflowClient
        from mlflow.entities import Param

        with self._store(training.folder) as address:
            client = MlflowClient(tracking_uri=address)
            known = client.get_experiment_by_name(self.experiment)
            experiment = known.experiment_id if known else client.create_experiment(self.experiment)
        found = client.search_runs([experiment], f"tags.`{IDENTITY}` = '{training.identity}'")
        if found:
            run = found[0].info.run_id
            client.update_run(run, status="RUNNING")
            history = client.get_metric_history(run, CONTINUED)
            return _MlflowRun(client, run, max((entry.step for entry in history), default=0))
        tags = {IDENTITY: training.identity, "regnas.run": training.run}
        run = client.create_run(experiment, run_name=f"{training.run}: {training.name}", tags=tags).info.run_id
        parameters = [Param(name, value) for name, value in _flattened(training.configuration)]
        client.log_batch(run, params=parameters[:100])  # the most that one call may have
        return _MlflowRun(client, run, 0)

    @contextmanager
    def _store(self, run: Path) -> Iterator[str]:
        """Return the address; worker processes make the tables of a new database one after the other."""
        if address := self.store or os.environ.get("MLFLOW_TRACKING_URI", ""):
            yield address
            return
        folder = run.absolute() / "mlflow"
        with exclusive(folder, patient=True):
            yield f"sqlite:///{folder / 'mlflow.db'}"


@dataclass
class _MlflowRun:
    client: MlflowClient
    run: str
    known: int  # MLflow keeps all values of a step, so those that a killed process logged are not logged again
    sent: list[RunOperations | None] = field(default_factory=list)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        if step > self.known:
            from mlflow.entities import Metric

            now = int(1000 * time.time())
            metrics = [Metric(name, value, now, step) for name, value in values.items()]
            self.sent.append(self.client.log_batch(self.run, metrics=metrics, synchronous=False))

    def close(self, finished: bool) -> None:
        for operation in self.sent:
            if operation is not None:
                operation.wait()
        self.client.set_terminated(self.run, "FINISHED" if finished else "KILLED")


def _flattened(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Return the keys and values of nested tables: ``training.epochs``, "12"."""
    for key, value in table.items():
        name = f"{above}{key}"
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{name}.")
        else:
            text = value if isinstance(value, str) else json.dumps(value, default=str)
            yield name, text[:LONGEST_PARAMETER]
