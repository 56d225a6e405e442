"""The record of all candidates of a search.

A search is an Optuna study, by default in a SQLite file in the run folder, which ``optuna-dashboard`` can open. The
record is the whole state of a search: resuming reads it. Seals show when a database was damaged or changed: each trial
has a digest of what is read from it, and the study has one of all trials.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import RDBStorage

from regnas.errors import ArtifactError, EnvironmentProblem, first_line
from regnas.runtime.files import SEAL, digest_of
from regnas.runtime.secrets import without_password
from regnas.search.database import STORAGE_ERRORS, damage_refused, open_storage
from regnas.search.feasibility import violation_of
from regnas.search.optuna_tools import distributions, quiet_optuna
from regnas.search.recording import TrialWriter
from regnas.search.rewards import Measures
from regnas.space import Architecture, SearchSpace

READ = ("architecture", "macs", "top1", "nfr", "chain", "excess_nfr")  # the attributes that a trial is read from


@dataclass(frozen=True)
class Trial:
    """One evaluated candidate; in a joint search the largest member, with all members in ``chain``.

    ``excess`` is the highest NFR minus the limit; None if flips are not limited.
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


@dataclass
class _Seal:
    """A digest of the trials of a study in their order, which is extended when trials are added."""

    study: str
    trials: int = 0

    def __post_init__(self) -> None:
        self._hash = hashlib.sha256(self.study.encode())

    def extend(self, trials: Sequence[optuna.trial.FrozenTrial]) -> None:
        """Add trials to the seal."""
        for trial in trials:
            self._hash.update(str(trial.user_attrs[SEAL]).encode())
        self.trials += len(trials)

    def to_json(self) -> dict[str, Any]:
        """Return the seal as a JSON object."""
        return {"study": self.study, "trials": self.trials, "sha256": self._hash.hexdigest()}


class Study:
    """The trials of one search, in the order in which they were evaluated."""

    def __init__(self, storage: str | RDBStorage, name: str, space: SearchSpace) -> None:
        self._distributions = distributions(space)
        with damage_refused(f"the study {name} cannot be opened"):
            opened = open_storage(storage) if isinstance(storage, str) else storage
            with quiet_optuna():
                self._study = optuna.create_study(
                    storage=opened, study_name=name, direction="maximize", load_if_exists=True
                )
            self._writer = TrialWriter(opened, self._study)
        self._seal: _Seal | None = None

    @property
    def _name(self) -> str:
        return self._study.study_name

    def trials(self) -> list[Trial]:
        """Return the complete trials; refuse a record that lost some or that another program wrote."""
        with damage_refused(f"the study {self._name} cannot be read"), quiet_optuna():
            found = self._study.get_trials(deepcopy=False)
            sealed = self._study.user_attrs.get(SEAL)
        for number, frozen in enumerate(found):
            if frozen.number != number:
                raise ArtifactError(f"the study {self._name} is damaged: trial {number} is missing")
        complete = [frozen for frozen in found if frozen.state == optuna.trial.TrialState.COMPLETE]
        trials = [_trial(frozen, self._name) for frozen in complete]
        self._seal = self._checked(complete, sealed)
        return trials

    def _checked(self, complete: Sequence[optuna.trial.FrozenTrial], sealed: Any) -> _Seal:
        """Compare the trials with the seal of the study.

        Trials after the sealed ones are possible: Optuna adds them one by one if regnas does not know its tables.
        """
        seal = _Seal(self._name)
        covered = sealed["trials"] if isinstance(sealed, dict) and isinstance(sealed.get("trials"), int) else 0
        seal.extend(complete[:covered])
        if (complete or sealed is not None) and seal.to_json() != sealed:
            raise ArtifactError(f"the study {self._name} is damaged: its trials do not match their own digest")
        seal.extend(complete[covered:])
        return seal

    def record(self, trials: Sequence[Trial]) -> None:
        """Write all trials or none to the database."""
        if self._seal is None:
            self.trials()
        assert self._seal is not None
        frozen = [self._freeze(trial) for trial in trials]
        before = self._seal.to_json()
        self._seal.extend(frozen)
        try:
            self._writer.add(frozen, SEAL, before, self._seal.to_json())
        except STORAGE_ERRORS as error:
            self._seal = None  # it is read again if the search continues
            raise EnvironmentProblem(
                f"a candidate cannot be recorded: {first_line(error)}. Earlier candidates are kept."
            ) from None

    def _freeze(self, trial: Trial) -> optuna.trial.FrozenTrial:
        genes = trial.architecture.genes()
        attributes = {
            "architecture": trial.architecture.to_json(),
            "macs": trial.macs,
            "top1": trial.measures.top1,
            "nfr": dict(trial.measures.nfr),
            **({"chain": [member.to_json() for member in trial.chain]} if trial.chain else {}),
            **({} if trial.excess is None else {"excess_nfr": trial.excess, "feasible": trial.violation == 0}),
        }
        return optuna.create_trial(
            params=genes,
            distributions={gene: self._distributions[gene] for gene in genes},
            value=trial.reward,
            user_attrs={**attributes, SEAL: _digest(attributes, trial.reward, self._name)},
        )


@dataclass(frozen=True)
class Studies:
    """The searches of one run, in a database that other runs may share: ``run`` is the prefix of their names."""

    storage: RDBStorage
    space: SearchSpace
    run: str = ""

    def open(self, name: str) -> Study:
        """Open the study of a search; create it if it does not exist."""
        return Study(self.storage, self.run + name, self.space)

    def names(self) -> set[str]:
        """Return the names of the recorded searches; refuse a search whose name was changed."""
        shown = without_password(self.storage.url)
        with damage_refused(f"the names of the studies in {shown} cannot be read"), quiet_optuna():
            found = optuna.get_all_study_summaries(self.storage, include_best_trial=False)
        names = set()
        for study in found:
            sealed = study.user_attrs.get(SEAL)
            recorded = str(sealed.get("study")) if isinstance(sealed, dict) else study.study_name
            if recorded.startswith(self.run) or study.study_name.startswith(self.run):
                if recorded != study.study_name:
                    raise ArtifactError(
                        f"{shown} is damaged: the study {study.study_name} must have the name {recorded}"
                    )
                names.add(recorded.removeprefix(self.run))
        return names


def sqlite_storage(path: Path) -> str:
    """Return the address of a SQLite file."""
    return f"sqlite:///{path}"


def _digest(attributes: Mapping[str, Any], reward: float, study: str) -> str:
    """Return the digest of the attributes that a trial is read from, of its reward and of the name of the study."""
    return digest_of([{key: value for key, value in attributes.items() if key in READ}, reward, study])


def _trial(frozen: optuna.trial.FrozenTrial, study: str) -> Trial:
    try:
        attributes: Mapping[str, Any] = frozen.user_attrs
        reward = float(frozen.value)  # type: ignore[arg-type]
        if attributes[SEAL] != _digest(attributes, reward, study):
            raise ArtifactError(f"trial {frozen.number} of the study is damaged: it does not match its own digest")
        measures = Measures(float(attributes["top1"]), dict(attributes["nfr"]))
        architecture = Architecture.from_json(attributes["architecture"])
        chain = tuple(Architecture.from_json(member) for member in attributes.get("chain", ()))
        excess = None if attributes.get("excess_nfr") is None else float(attributes["excess_nfr"])
        return Trial(architecture, int(attributes["macs"]), measures, reward, chain, excess)
    except (KeyError, TypeError, ValueError) as error:
        raise ArtifactError(
            f"trial {frozen.number} of the study must be one of regnas, got other content ({error!r})"
        ) from None
