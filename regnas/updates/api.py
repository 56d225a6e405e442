"""The public functions ``regnas.update`` and ``regnas.open_update``: they print nothing and raise ``RegnasError``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regnas.errors import ArtifactError
from regnas.runs.folder import RunFolder
from regnas.runs.session import Source, check_kind, find_run, is_run_folder, is_update_run, reuse_of, run_session
from regnas.runs.view import RunView
from regnas.runtime.progress import Listener, listening, planned_stages
from regnas.runtime.signals import postponed_interrupt

if TYPE_CHECKING:
    from regnas.report.update.results import UpdateResult
    from regnas.runs.tables import Changes

STAGES = ("tune", "train", "predict", "report")


@dataclass(frozen=True, repr=False)
class Update(RunView):
    """The run folder of an update: methods of replacing an old model by a new one, compared.

    Attributes:
        path: The run folder.
    """

    @property
    def results(self) -> UpdateResult:
        """Error rates and flips of every method, as in the report."""
        from regnas.report.update.results import UpdateResult

        return self._read(UpdateResult, "update.json", "regnas update")

    @property
    def models(self) -> tuple[str, ...]:
        """The methods whose new models are files in ``models``, which ``load_family`` and ``predict`` take."""
        from regnas.family.manifest import MANIFEST, read_manifest

        folder = self.path / "models"
        members = read_manifest(folder).members if (folder / MANIFEST).exists() else ()
        return tuple(dict.fromkeys(member.method for member in members))

    def _highlights(self) -> str:
        return self.results._repr_html_()


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
    """Compare methods of replacing an old model by a new one.

    The call prints nothing. An interrupt (Ctrl-C) stops at the next point at which nothing is lost and raises
    ``KeyboardInterrupt``. The same call with ``resume=True`` continues.

    Args:
        config: A preset, a configuration file, a run folder (which is continued), or the tables as a dict.
        out: The run folder; by default ``runs/<name>``. Required if ``config`` is a dict.
        set: Changes of the configuration: ``{"training.epochs": 3}`` or ``["training.epochs=3"]``.
        sweeps: Trade-offs to draw: ``["bcwi.alpha=0:1:0.1"]``.
        by_epoch: Methods whose flips are drawn against the epochs, or ``["all"]``.
        tune: Choose every key that is "auto" on the search split again.
        resume: Continue the run in the folder.
        overwrite: Delete the run in the folder and start again.
        allow_inexact: Continue on another machine or with other versions.
        progress: Called with a ``Progress`` whenever work advances.

    Returns:
        The update, with its results and its report.

    Example:
        >>> import regnas
        >>> update = regnas.update("update_digits", out="runs/update")  # doctest: +SKIP
        >>> update.results["focal_distillation_lm"].mean_nfr.mean  # doctest: +SKIP
    """
    from regnas.updates.config import parse_update
    from regnas.updates.epochs import check_asked_by_epoch
    from regnas.updates.study import run_update
    from regnas.updates.sweeps import Sweep

    check_kind(config, update=True)
    parsed = [Sweep.parse(text) for text in sweeps]
    reuse = reuse_of(resume or (is_run_folder(config) and not overwrite), overwrite)
    with postponed_interrupt(), listening(progress):
        loaded, path = find_run(config, out, set, parse_update, reuse)
        for sweep in parsed:  # before anything is written
            sweep.variants(loaded.values.methods)
        check_asked_by_epoch(by_epoch, loaded.values)
        with run_session(loaded, path, reuse, allow_inexact) as folder, planned_stages(STAGES):
            run_update(loaded, folder, sweeps, by_epoch, tune)
    return Update(path)


def open_update(path: str | os.PathLike[str]) -> Update:
    """Open the run folder of an update for reading.

    Args:
        path: The run folder.

    Returns:
        The update. ``ArtifactError`` is raised if the folder is not that of an update.

    Example:
        >>> import regnas
        >>> regnas.open_update("runs/update_digits").results.to_frame()  # doctest: +SKIP
    """
    RunFolder.open(Path(path))
    if not is_update_run(path):
        raise ArtifactError(f"{path} must be the run folder of an update, got a family. Use regnas.open_run.")
    return Update(Path(path))
