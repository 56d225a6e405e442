"""Every candidate of a search, on record.

A search is an Optuna study, by default in a SQLite file of the run folder, so that ``optuna-dashboard`` opens it. The
record is all the state that a search has: resuming reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import optuna
from optuna.storages import RDBStorage
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError, OperationalError, SQLAlchemyError

from regnas.errors import ArtifactError, ConfigurationError, EnvironmentProblem
from regnas.search.feasibility import violation_of
from regnas.search.genes import distributions
from regnas.search.optuna_logging import quiet_optuna
from regnas.search.recording import TrialWriter
from regnas.search.rewards import Measures
from regnas.space import Architecture, SearchSpace

# A full disk or a damaged file comes as one or the other, by where optuna meets it.
STORAGE_ERRORS = (SQLAlchemyError, optuna.exceptions.StorageInternalError)


@dataclass(frozen=True)
class Trial:
    """One evaluated candidate; in a joint search the largest member, with all members in ``chain``.

    ``excess`` is how far its highest NFR is above the limit, negative below it; None if flips are not limited.
    """

    architecture: Architecture
    macs: int
    measures: Measures
    reward: float
    chain: tuple[Architecture, ...] = ()
    excess: float | None = None

    @property
    def violation(self) -> float:
        return violation_of(self.excess)


class Study:
    """The trials of one search, in the order in which they were evaluated."""

    def __init__(self, storage: str | RDBStorage, name: str, space: SearchSpace) -> None:
        self._distributions = distributions(space)
        try:
            opened = open_storage(storage) if isinstance(storage, str) else storage
            with quiet_optuna():
                self._study = optuna.create_study(
                    storage=opened, study_name=name, direction="maximize", load_if_exists=True
                )
            self._writer = TrialWriter(opened, self._study)
        except STORAGE_ERRORS as error:
            raise ArtifactError(f"the study {name} cannot be opened: {_first_line(error)}") from None

    def trials(self) -> list[Trial]:
        found = self._study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
        return [_trial(frozen) for frozen in found]

    def record(self, trials: Sequence[Trial]) -> None:
        """Write all of them or none to the database."""
        try:
            self._writer.add([self._frozen(trial) for trial in trials])
        except STORAGE_ERRORS as error:
            raise EnvironmentProblem(
                f"a candidate cannot be recorded: {_first_line(error)}; the earlier ones are kept, so resume"
            ) from None

    def _frozen(self, trial: Trial) -> optuna.trial.FrozenTrial:
        genes = trial.architecture.genes()
        return optuna.create_trial(
            params=genes,
            distributions={gene: self._distributions[gene] for gene in genes},
            value=trial.reward,
            user_attrs={
                "architecture": trial.architecture.to_json(),
                "macs": trial.macs,
                "top1": trial.measures.top1,
                "nfr": dict(trial.measures.nfr),
                **({"chain": [member.to_json() for member in trial.chain]} if trial.chain else {}),
                **({} if trial.excess is None else {"excess_nfr": trial.excess, "feasible": trial.violation == 0}),
            },
        )


def open_storage(url: str) -> RDBStorage:
    """Open the database of a URL, for all studies of a run."""
    try:
        shown = make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        raise ConfigurationError(
            f'search.storage: "{url}" is not the address of a database, such as postgresql://user:password@host/name'
        ) from None
    try:
        with quiet_optuna():
            return RDBStorage(url)
    except ImportError:
        raise EnvironmentProblem(
            f"{shown} needs a driver that is not installed: for PostgreSQL pip install 'regnas[postgresql]'"
        ) from None
    except OperationalError as error:
        if shown.startswith("sqlite"):  # the file exists and is not a database
            raise ArtifactError(f"the study {shown} cannot be opened: {_first_line(error)}") from None
        raise EnvironmentProblem(
            f"the database {shown} does not answer: {_first_line(error)}; check that it runs, then start again"
        ) from None
    except STORAGE_ERRORS as error:
        raise ArtifactError(f"the study {shown} cannot be opened: {_first_line(error)}") from None


@dataclass(frozen=True)
class Studies:
    """The searches of one run, in a database that other runs may share: ``run`` is the prefix of their names."""

    storage: RDBStorage
    space: SearchSpace
    run: str = ""

    def open(self, name: str) -> Study:
        return Study(self.storage, self.run + name, self.space)

    def names(self) -> set[str]:
        """Return the names of the searches on record."""
        known = optuna.get_all_study_names(self.storage)
        return {name.removeprefix(self.run) for name in known if name.startswith(self.run)}


def sqlite_storage(path: Path) -> str:
    return f"sqlite:///{path}"


def _trial(frozen: optuna.trial.FrozenTrial) -> Trial:
    try:
        attributes: Mapping[str, object] = frozen.user_attrs
        measures = Measures(float(attributes["top1"]), dict(attributes["nfr"]))  # type: ignore[arg-type,call-overload]
        architecture = Architecture.from_json(attributes["architecture"])
        chain = tuple(Architecture.from_json(member) for member in attributes.get("chain", ()))  # type: ignore[attr-defined]
        excess = None if attributes.get("excess_nfr") is None else float(attributes["excess_nfr"])  # type: ignore[arg-type]
        return Trial(architecture, int(attributes["macs"]), measures, float(frozen.value), chain, excess)  # type: ignore[call-overload,arg-type]
    except (KeyError, TypeError, ValueError) as error:
        raise ArtifactError(f"trial {frozen.number} of the study was not written by regnas ({error!r})") from None


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
