"""Write many finished trials into Optuna's tables at once.

Optuna's ``add_trial`` queries the database for every parameter: with the dozens of genes of an architecture, this takes
longer than evaluating a small network. Here the same rows are written with a few statements in one transaction. If the
tables have an unknown layout, ``add_trial`` is used.

Each time, an attribute of the study is replaced by a seal of all trials so far.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, distribution_to_json
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial
from sqlalchemy import Connection, Engine, MetaData, Table, delete, func, insert, select

SCHEMA = 12
TABLES = (
    "version_info",
    "studies",
    "study_user_attributes",
    "trials",
    "trial_values",
    "trial_params",
    "trial_user_attributes",
)


class TrialWriter:
    """Adds trials to one study of a storage; a study has one writer at a time."""

    def __init__(self, storage: RDBStorage, study: optuna.Study) -> None:
        self._study = study
        self._engine = storage.engine
        self._tables = _known_tables(storage.engine)
        self._json: dict[BaseDistribution, str] = {}

    def add(self, trials: Sequence[FrozenTrial], name: str, before: Any, after: Any) -> None:
        """Add all trials or none, and replace the value of the attribute ``name`` of the study by ``after``.

        If the layout is unknown, the attribute is ``before`` until all trials are added.
        """
        if self._tables is None:
            self._study.set_user_attr(name, before)
            self._study.add_trials(trials)
            self._study.set_user_attr(name, after)
            return
        with self._engine.begin() as connection:
            self._insert(connection, self._tables, trials)
            self._replace(connection, self._tables["study_user_attributes"], name, after)

    def _replace(self, connection: Connection, table: Table, name: str, value: Any) -> None:
        own = self._study._study_id
        connection.execute(delete(table).where(table.c.study_id == own, table.c.key == name))
        connection.execute(insert(table), [{"study_id": own, "key": name, "value_json": json.dumps(value)}])

    def _insert(self, connection: Connection, tables: dict[str, Table], trials: Sequence[FrozenTrial]) -> None:
        own = tables["trials"].c.study_id
        known = connection.scalar(select(func.count()).where(own == self._study._study_id)) or 0
        values, parameters, attributes = [], [], []
        now = datetime.now(UTC).replace(tzinfo=None)
        row = {"study_id": self._study._study_id, "state": "COMPLETE", "datetime_start": now, "datetime_complete": now}
        ids = connection.scalars(
            insert(tables["trials"]).returning(tables["trials"].c.trial_id, sort_by_parameter_order=True),
            [row | {"number": number} for number in range(known, known + len(trials))],
        )
        for own_id, trial in zip(ids, trials, strict=True):
            trial_id = {"trial_id": own_id}
            values.append(trial_id | {"objective": 0, "value": trial.value, "value_type": "FINITE"})
            for name, value in trial.params.items():
                distribution = trial.distributions[name]
                parameters.append(
                    trial_id
                    | {
                        "param_name": name,
                        "param_value": distribution.to_internal_repr(value),
                        "distribution_json": self._json_of(distribution),
                    }
                )
            attributes += [
                trial_id | {"key": key, "value_json": json.dumps(value)} for key, value in trial.user_attrs.items()
            ]
        connection.execute(insert(tables["trial_values"]), values)
        connection.execute(insert(tables["trial_params"]), parameters)
        connection.execute(insert(tables["trial_user_attributes"]), attributes)

    def _json_of(self, distribution: BaseDistribution) -> str:
        # The genes of all trials have the same few distributions.
        if distribution not in self._json:
            self._json[distribution] = distribution_to_json(distribution)
        return self._json[distribution]


@lru_cache(1)
def _known_tables(engine: Engine) -> dict[str, Table] | None:
    metadata = MetaData()
    metadata.reflect(engine, only=lambda name, _: name in TABLES)
    if set(metadata.tables) != set(TABLES):
        return None
    with engine.connect() as connection:
        version = connection.scalar(select(metadata.tables["version_info"].c.schema_version))
    return dict(metadata.tables) if version == SCHEMA else None
