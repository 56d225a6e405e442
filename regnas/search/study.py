"""The record of all candidates of a search.

A search is an Optuna study, by default in a SQLite file in the run folder, which ``optuna-dashboard`` can open. The
record is the whole state of a search: resuming reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import RDBStorage

from regnas.errors import ArtifactError, EnvironmentProblem, first_line
from regnas.runtime.files import SEAL, digest_of
from regnas.search.database import STORAGE_ERRORS, damage_refused, open_storage
from regnas.search.feasibility import violation_of
from regnas.search.optuna_tools import distributions, quiet_optuna
from regnas.search.recording import TrialWriter
from regnas.search.rewards import Measures
from regnas.space import Architecture, SearchSpace

READ = ("architecture", "macs", "top1", "nfr", "chain", "excess_nfr")  # what a trial is read from


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

    def trials(self) -> list[Trial]:
        """Return the complete trials; refuse a record that lost some, or that something else than regnas wrote."""
        with damage_refused(f"the study {self._study.study_name} cannot be read"), quiet_optuna():
            found = self._study.get_trials(deepcopy=False)
        for number, frozen in enumerate(found):
            if frozen.number != number:
                raise ArtifactError(f"the study {self._study.study_name} is damaged: trial {number} is missing")
        return [_trial(frozen) for frozen in found if frozen.state == optuna.trial.TrialState.COMPLETE]

    def record(self, trials: Sequence[Trial]) -> None:
        """Write all trials or none to the database."""
        try:
            self._writer.add([self._freeze(trial) for trial in trials])
        except STORAGE_ERRORS as error:
            raise EnvironmentProblem(
                f"a candidate cannot be recorded: {first_line(error)}. The earlier ones are kept."
            ) from None

    def _freeze(self, trial: Trial) -> optuna.trial.FrozenTrial:
        genes = trial.architecture.genes()
        return optuna.create_trial(
            params=genes,
            distributions={gene: self._distributions[gene] for gene in genes},
            value=trial.reward,
            user_attrs=_sealed(
                {
                    "architecture": trial.architecture.to_json(),
                    "macs": trial.macs,
                    "top1": trial.measures.top1,
                    "nfr": dict(trial.measures.nfr),
                    **({"chain": [member.to_json() for member in trial.chain]} if trial.chain else {}),
                    **({} if trial.excess is None else {"excess_nfr": trial.excess, "feasible": trial.violation == 0}),
                },
                trial.reward,
            ),
        )


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
        with damage_refused("the names of the studies cannot be read"), quiet_optuna():
            known = optuna.get_all_study_names(self.storage)
        return {name.removeprefix(self.run) for name in known if name.startswith(self.run)}


def sqlite_storage(path: Path) -> str:
    return f"sqlite:///{path}"


def _sealed(attributes: dict[str, Any], reward: float) -> dict[str, Any]:
    """Add the digest of what a trial is read from."""
    return {**attributes, SEAL: _digest(attributes, reward)}


def _digest(attributes: Mapping[str, Any], reward: float) -> str:
    return digest_of([{key: value for key, value in attributes.items() if key in READ}, reward])


def _trial(frozen: optuna.trial.FrozenTrial) -> Trial:
    try:
        attributes: Mapping[str, Any] = frozen.user_attrs
        reward = float(frozen.value)  # type: ignore[arg-type]
        if SEAL in attributes and attributes[SEAL] != _digest(attributes, reward):
            raise ArtifactError(f"trial {frozen.number} of the study is damaged: it is not what its own digest says")
        measures = Measures(float(attributes["top1"]), dict(attributes["nfr"]))
        architecture = Architecture.from_json(attributes["architecture"])
        chain = tuple(Architecture.from_json(member) for member in attributes.get("chain", ()))
        excess = None if attributes.get("excess_nfr") is None else float(attributes["excess_nfr"])
        return Trial(architecture, int(attributes["macs"]), measures, reward, chain, excess)
    except (KeyError, TypeError, ValueError) as error:
        raise ArtifactError(f"trial {frozen.number} of the study was not written by regnas ({error!r})") from None
