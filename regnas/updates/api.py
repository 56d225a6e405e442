"""Updates from Python: ``regnas.update``, quiet, raising ``RegnasError``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regnas.errors import ArtifactError
from regnas.runs.folder import RunFolder
from regnas.runs.session import Source, find_run, is_run_folder, reuse_of, run_session
from regnas.runtime.files import read_json
from regnas.runtime.progress import Listener, listening, planned_stages
from regnas.runtime.signals import postponed_interrupt

if TYPE_CHECKING:
    from regnas.runs.tables import Changes

STAGES = ("tune", "train", "predict", "report")


@dataclass(frozen=True)
class Update:
    """The folder of an update: ways of replacing an old model by a new one, compared.

    Attributes:
        path: The run folder.
    """

    path: Path

    @property
    def results(self) -> dict[str, Any]:
        """Error rates and flips of every method, as in the report."""
        path = self._folder.report / "update.json"
        if not path.exists():
            raise ArtifactError(f"{self.path} must have a report, got none. Write it with `regnas update {self.path}`.")
        results: dict[str, Any] = read_json(path)
        return results

    @property
    def report(self) -> Path:
        """The page of the report."""
        return self._folder.page

    @property
    def configuration(self) -> dict[str, Any]:
        """The tables of the configuration, as in TOML."""
        configuration: dict[str, Any] = self._folder.facts["configuration"]
        return configuration

    @property
    def _folder(self) -> RunFolder:
        return RunFolder.open(self.path, reads_only=True)

    def __repr__(self) -> str:
        return f"Update({str(self.path)!r})"

    def _repr_html_(self) -> str:
        """What was compared, with a link to the page."""
        if not self.report.exists():
            return f"<p>Update in <code>{escape(str(self.path))}</code>, without a report so far.</p>"
        results = self.results
        titles = ", ".join(method["title"] for method in results["methods"])
        return (
            f"<p><b>{escape(results['title'])}</b>: {escape(titles)}</p>"
            f'<p><a href="{escape(self.report.absolute().as_uri())}">Report</a></p>'
        )


def update(
    config: Source,
    *,
    out: str | os.PathLike[str] | None = None,
    set: Changes = (),
    sweeps: Sequence[str] = (),
    by_epoch: Sequence[str] = (),
    tune: bool = False,
    resume: bool = False,
    overwrite: bool = False,
    allow_inexact: bool = False,
    progress: Listener | None = None,
) -> Update:
    """Compare ways of replacing an old model by a new one.

    The call prints nothing. An interrupt (Ctrl-C) stops at the next place where nothing is lost and raises
    ``KeyboardInterrupt``; the same call with ``resume=True`` continues.

    Args:
        config: A preset, a configuration file, a run folder (which is continued), or the tables as a dict.
        out: The run folder; by default ``runs/<name>``. Required if ``config`` is a dict.
        set: Changes of the configuration: ``{"training.epochs": 3}`` or ``["training.epochs=3"]``.
        sweeps: Trade-offs to draw: ``["bcwi.alpha=0:1:0.1"]``.
        by_epoch: Methods whose flips are drawn against the epochs, or ``["all"]``.
        tune: Choose every key that is "auto" on the search split again.
        resume: Continue the run in the folder.
        overwrite: Delete the run in the folder and start anew.
        allow_inexact: Continue on another machine or with other versions.
        progress: Called with a ``Progress`` whenever work advances.

    Returns:
        The update, with its results and its report.

    Example:
        >>> import regnas
        >>> update = regnas.update("update_digits", out="runs/update")  # doctest: +SKIP
        >>> [method["mean_nfr"] for method in update.results["methods"]]  # doctest: +SKIP
    """
    from regnas.updates.config import parse_update
    from regnas.updates.epochs import check_asked_by_epoch
    from regnas.updates.study import run_update
    from regnas.updates.sweeps import Sweep

    parsed = [Sweep.parse(text) for text in sweeps]
    reuse = reuse_of(resume or (is_run_folder(config) and not overwrite), overwrite)
    with postponed_interrupt(), listening(progress):
        loaded, path = find_run(config, out, set, parse_update)
        for sweep in parsed:  # before anything is written
            sweep.variants(loaded.values.methods)
        check_asked_by_epoch(by_epoch, loaded.values)
        with run_session(loaded, path, reuse, allow_inexact) as folder, planned_stages(STAGES):
            run_update(loaded, folder, sweeps, by_epoch, tune)
    return Update(path)
