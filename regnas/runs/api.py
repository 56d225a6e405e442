"""Families from Python: one call per command; the calls print nothing and raise ``RegnasError``.

>>> import regnas
>>> run = regnas.run("digits", out="runs/digits")  # doctest: +SKIP
>>> run.family["small"], run.flips.summary  # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from regnas.errors import ArtifactError, ConfigurationError
from regnas.runs.folder import Reuse, RunFolder
from regnas.runs.session import Source, check_kind, find_run, is_update_run, reuse_of, run_session
from regnas.runs.view import RunView
from regnas.runtime.progress import Listener, listening
from regnas.runtime.signals import postponed_interrupt

if TYPE_CHECKING:
    from regnas.family.decision import Decision
    from regnas.family.family import Family
    from regnas.report.family.results import FamilyComparison
    from regnas.runs.job import PolishRequest
    from regnas.runs.pipeline import RunStage
    from regnas.runs.tables import Changes


@dataclass(frozen=True, repr=False)
class Run(RunView):
    """A run folder: the family that was built in it, and its comparison with the baselines.

    Attributes:
        path: The run folder.
    """

    @cached_property
    def family(self) -> Family:
        """The exported family, read once; a call that changes it returns a new ``Run``."""
        from regnas.family.family import load_family

        return load_family(self._folder.family)

    @property
    def flips(self) -> FamilyComparison:
        """The comparison of the report: accuracies and flips of the family and of its baselines."""
        from regnas.report.family.results import FamilyComparison

        return self._read(FamilyComparison, "flips.json", "regnas report")

    @property
    def polishing(self) -> Decision | None:
        """The decision between polished and unpolished weights; None if polishing was not requested."""
        from regnas.family.decision import Decision
        from regnas.family.manifest import read_manifest

        recorded = (read_manifest(self._folder.family).polish or {}).get("decision")
        return None if recorded is None else Decision.from_dict(recorded, str(self._folder.family))

    @property
    def report_is_current(self) -> bool:
        """Whether there is a report, and it has all members of the family."""
        return self.report.exists() and list(self.flips.members) == list(self.family)

    def _highlights(self) -> str:
        flips = self.flips
        verdicts = [method.verdict for method in flips.methods if method.verdict]
        return (
            f"<p><b>{escape(flips.title)}</b>: {escape(flips.summary)}</p>"
            f"<ul>{''.join(f'<li>{escape(verdict)}</li>' for verdict in verdicts)}</ul>"
        )


def run(
    config: Source,
    *,
    out: str | os.PathLike[str] | None = None,
    set: Changes = (),
    resume: bool = False,
    overwrite: bool = False,
    executor: str | None = None,
    tune: bool = False,
    allow_inexact: bool = False,
    add_budgets: Sequence[str] = (),
    until: RunStage = "report",
    progress: Listener | None = None,
) -> Run:
    """Build a family of models, from a data set to a report.

    The call prints nothing. An interrupt (Ctrl-C) stops at the next point at which nothing is lost and raises
    ``KeyboardInterrupt``. The same call with ``resume=True`` continues the run.

    Args:
        config: A preset, a configuration file, a run folder, or the tables of a configuration as a dict.
        out: The run folder; by default ``runs/<name>``. Required if ``config`` is a dict.
        set: Changes of the configuration: ``{"training.epochs": 3}`` or ``["training.epochs=3"]``.
        resume: Continue the run in the folder.
        overwrite: Delete the run in the folder and start again.
        executor: Where candidates run: ``"inline"``, ``"processes=4"`` or ``"dask=tcp://host:8786"``.
        tune: Choose every key that is "auto" on the search split again.
        allow_inexact: Continue on another machine or with other versions.
        add_budgets: Budgets of further members: ``["450M", "tablet=500M +- 1 %"]``. The other members keep their
            weights. After polishing, the new ones are sub-networks of the polished weights. An existing report is
            written again.
        until: The last stage: "train", "search", "export", "baselines" or "report".
        progress: Called with a ``Progress`` whenever work advances.

    Returns:
        The run, with its family, its flips and its report as far as ``until`` goes.

    Example:
        >>> import regnas
        >>> run = regnas.run("digits", out="runs/digits", set={"training.epochs": 3})  # doctest: +SKIP
    """
    from regnas.runtime.processes import current_processes

    with current_processes().speaking_once():
        reuse = reuse_of(resume, overwrite)
    return _run(config, out, set, reuse, executor, tune, allow_inexact, add_budgets, None, until, progress)


def polish(
    config: Source,
    *,
    out: str | os.PathLike[str] | None = None,
    set: Changes = (),
    alpha: float | None = None,
    allow_inexact: bool = False,
    progress: Listener | None = None,
) -> Run:
    """Train the shared weights further for the members alone; keep them unless they are significantly worse.

    The family is exported again, and an existing report is written again.

    Args:
        config: The run folder; or the same ``config`` and ``out`` as for ``run``.
        out: The run folder; by default ``runs/<name>``.
        set: Changes of ``[polish]``: ``{"epochs": 4}`` or ``["epochs=4"]``.
        alpha: The point on the line from 0 (accuracy) to 1 (agreement); by default the search split chooses. Nothing is
            trained if the members were polished before, and a report that lacks a member then stays unchanged.
        allow_inexact: Continue on another machine or with other versions.
        progress: Called with a ``Progress`` whenever work advances.

    Returns:
        The run with the polished family.

    Example:
        >>> import regnas
        >>> run = regnas.polish("runs/digits", set={"epochs": 4})  # doctest: +SKIP
    """
    from regnas.runs.job import PolishRequest
    from regnas.runs.tables import parse_changes

    changes = {key.removeprefix("polish."): value for key, value in parse_changes(set).items()}
    request = PolishRequest(changes, alpha)
    return _run(config, out, (), "resume", None, False, allow_inexact, (), request, "export", progress)


def export(
    config: Source,
    *,
    out: str | os.PathLike[str] | None = None,
    set: Changes = (),
    formats: Sequence[str] = (),
    weights_license: str = "",
    sign: str | os.PathLike[str] | None = None,
    allow_inexact: bool = False,
    progress: Listener | None = None,
) -> Family:
    """Write the networks of a run as files; build the family first if it does not exist.

    Args:
        config: The run folder of a family or of an update; or the same ``config`` and ``out`` as for ``run``.
        out: The run folder; by default ``runs/<name>``.
        set: Changes of the configuration.
        formats: "onnx", "onnx-int8", "torch-export"; safetensors are always written.
        weights_license: The license of the weights, for the model cards.
        sign: A file with the Ed25519 private key that signs the manifest, as ssh-keygen or openssl wrote it. A
            passphrase comes from the environment variable ``REGNAS_KEY_PASSPHRASE``.
        allow_inexact: Continue on another machine or with other versions.
        progress: Called with a ``Progress`` whenever work advances.

    Returns:
        The family; its manifest lists every file with the flips of its predictions.

    Example:
        >>> import regnas
        >>> family = regnas.export("runs/digits", formats=["onnx"])  # doctest: +SKIP
    """
    from regnas.family.export import require_packages
    from regnas.family.manifest import read_private_key
    from regnas.family.verifying import sign as sign_manifest
    from regnas.runs.config import parse_config
    from regnas.runs.pipeline import export_files

    require_packages(formats)
    key = None if sign is None else read_private_key(Path(sign).expanduser())
    if is_update_run(config):
        from regnas.updates.exporting import export_models

        with postponed_interrupt(), listening(progress):
            return export_models(Path(str(config)), formats, weights_license=weights_license, key=key)
    with postponed_interrupt(), listening(progress):
        loaded, path = find_run(config, out, set, parse_config)
        with run_session(loaded, path, "resume", allow_inexact) as folder:
            if weights_license:
                folder.keep("weights_license", weights_license)
            family = export_files(loaded, folder, formats)
            if key is not None:
                sign_manifest(family.folder, key)
            return family


def open_run(path: str | os.PathLike[str]) -> Run:
    """Open the run folder of a family for reading.

    Args:
        path: The run folder.

    Returns:
        The run. ``ArtifactError`` is raised if the folder is not that of a run that builds a family.

    Example:
        >>> import regnas
        >>> regnas.open_run("runs/digits").flips.summary  # doctest: +SKIP
    """
    RunFolder.open(Path(path))
    if is_update_run(path):
        raise ArtifactError(f"{path} must be the run folder of a family, got an update. Use regnas.open_update.")
    return Run(Path(path))


def _run(
    config: Source,
    out: str | os.PathLike[str] | None,
    changes: Changes,
    reuse: Reuse,
    executor: str | None,
    tune: bool,
    allow_inexact: bool,
    add_budgets: Sequence[str],
    polishing: PolishRequest | None,
    until: RunStage,
    progress: Listener | None,
) -> Run:
    from regnas.runs.config import parse_config
    from regnas.runs.pipeline import STAGES, run_stages
    from regnas.runtime.processes import current_processes, joined
    from regnas.search.evaluation import ExecutorChoice

    if until not in STAGES:
        raise ConfigurationError(f'until must be one of {", ".join(STAGES)}, got "{until}"')
    processes = current_processes()
    with postponed_interrupt(), listening(progress), joined(processes):
        with processes.together():
            check_kind(config, update=False)
            choice = ExecutorChoice.parse(executor) if executor else None
            loaded, path = find_run(config, out, changes, parse_config, reuse)
        with run_session(loaded, path, reuse, allow_inexact, processes) as folder:
            if add_budgets or polishing:  # another family: files and reports of the old one are written again
                moved = polishing is not None and polishing.alpha is not None  # by hand, which trains nothing
                reports = Run(path).report_is_current if moved else folder.page.exists()
                until = "report" if reports else max(until, "export", key=STAGES.index)
            run_stages(loaded, folder, until, choice, add_budgets, polishing, processes, tune)
    return Run(path)
