"""Find, lock and log a run in progress."""

from __future__ import annotations

import copy
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from regnas.components.paths import Anchors
from regnas.errors import ConfigurationError, EnvironmentProblem, Interrupted
from regnas.runs.folder import RUN, Reuse, RunFolder, decisive
from regnas.runtime.environment import environment_problem, environment_problems
from regnas.runtime.printable import escaped
from regnas.runtime.secrets import hide_passwords

if TYPE_CHECKING:
    from regnas.runs.config import Config, LoadedConfig
    from regnas.runs.tables import Changes
    from regnas.runtime.processes import Processes
    from regnas.updates.config import UpdateConfig

Source = str | os.PathLike[str] | Mapping[str, Any]  # a preset, a file, a run folder, or the tables themselves
Loaded = TypeVar("Loaded", bound="LoadedConfig[Any]")


def reuse_of(resume: bool, overwrite: bool) -> Reuse:
    """Return what happens to an existing run; refuse both options together."""
    if resume and overwrite:
        raise ConfigurationError("only one of `resume` and `overwrite` must be set, got both. Choose one.")
    return "overwrite" if overwrite else "resume" if resume else "refuse"


def is_run_folder(source: Source) -> bool:
    """Whether a source is a run folder."""
    return not isinstance(source, Mapping) and (Path(source) / RUN).exists()


def is_update_run(source: Source) -> bool:
    """Whether a source is the run folder of an update."""
    from regnas.runs.tables import is_update

    return is_run_folder(source) and is_update(RunFolder.open(Path(str(source))).facts["configuration"])


def check_kind(source: Source, *, update: bool) -> None:
    """Refuse the run folder of the other kind, with the commands that take it."""
    if not is_run_folder(source) or is_update_run(source) == update:
        return
    if update:
        raise ConfigurationError(
            f"{source} must be the run folder of an update, got a family. `regnas report {source}` continues it."
        )
    raise ConfigurationError(
        f"{source} must be the run folder of a family, got an update. `regnas update {source}` continues it; predict, "
        "export and verify take its models."
    )


def find_run(
    source: Source,
    out: str | os.PathLike[str] | None,
    changes: Changes,
    parse: Callable[[str, dict[str, Any], Anchors | None], Loaded],
    reuse: Reuse = "resume",
) -> tuple[Loaded, Path]:
    """Find the configuration and the folder of a run.

    Args:
        source: A preset, a configuration file, a run folder, or the tables of a configuration.
        out: The run folder; by default ``runs/<name>``.
        changes: Changes of the configuration.
        parse: Builds the configuration from its name, its table, and the folders of relative paths.
        reuse: With "resume", relative paths belong to the folders that the run recorded.

    Returns:
        The configuration and the run folder, which need not exist.
    """
    from regnas.runs.tables import change, load_table

    if isinstance(source, Mapping):
        if out is None:
            raise ConfigurationError("`out` must name the run folder if the configuration is a dict, got None")
        table = _plain(source)
        change(table, changes)
        return _as_before(parse(Path(out).name, table, Anchors.here()), Path(out), parse, reuse), Path(out)
    if is_run_folder(source):
        path = Path(source)
        if changes:
            raise ConfigurationError(f"`set` must be empty for a run folder, got changes for {path}. Start a new run.")
        if out is not None and Path(out).resolve() != path.resolve():
            raise ConfigurationError(f"{path} is a run folder. Leave out `out` ({out}), or name a configuration.")
        run = RunFolder.open(path)
        return parse(run.facts["name"], run.facts["configuration"], run.anchors), path
    name, table, anchors = load_table(os.fspath(source), changes)
    path = Path(out) if out is not None else Path("runs") / name
    return _as_before(parse(name, table, anchors), path, parse, reuse), path


def _as_before(
    loaded: Loaded, path: Path, parse: Callable[[str, dict[str, Any], Anchors | None], Loaded], reuse: Reuse
) -> Loaded:
    """Take the folders of relative paths from the run that is continued, if it has the same configuration."""
    if reuse != "resume" or not (path / RUN).exists():
        return loaded
    run = RunFolder.open(path)
    if decisive(run.facts["configuration"]) != decisive(loaded.table) or run.anchors in (None, loaded.anchors):
        return loaded
    return parse(loaded.name, loaded.table, run.anchors)


@contextmanager
def run_session(
    config: LoadedConfig[Config] | LoadedConfig[UpdateConfig],
    path: Path,
    reuse: Reuse,
    allow_inexact: bool,
    processes: Processes | None = None,
) -> Iterator[RunFolder]:
    """Lock and check the run folder, and log to it, inside the block.

    If there are several processes, the main process does this, and the others only read.
    """
    from regnas.runtime.lock import exclusive
    from regnas.runtime.machine import describe_machine
    from regnas.runtime.processes import SINGLE

    processes = processes or SINGLE
    machine = config.values.machine
    with ExitStack() as stack:
        stack.enter_context(_threads(machine.threads))
        with processes.together():
            conditions = {**describe_machine(processes.device(machine.device)), "processes": processes.count}
            if processes.is_main:
                stack.enter_context(exclusive(path))
                folder = RunFolder.create(path, config.name, config.table, conditions, reuse, config.anchors)
                folder.check_machine(conditions, allow_inexact)
                stack.enter_context(continuable(path))
                stack.enter_context(_log_to(folder.log))
        with processes.together():
            if not processes.is_main:
                folder = RunFolder.open(path, reads_only=True)
        yield folder


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Let torch use ``count`` threads inside the block; 0 keeps their number."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _LogFile(logging.FileHandler):
    """A log file with one line per event. If a line cannot be written, the run stops."""

    def __init__(self, path: Path) -> None:
        try:
            super().__init__(path, encoding="utf-8")
        except OSError as error:
            raise environment_problem(error, path) from error
        self._path = path

    def format(self, record: logging.LogRecord) -> str:
        moment = logging.Formatter().formatTime(record)
        return f"{moment} {escaped(hide_passwords(record.getMessage()))}"

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (a method of logging)
        error = sys.exception()
        if isinstance(error, OSError):
            raise environment_problem(error, self._path) from error
        super().handleError(record)


@contextmanager
def _log_to(path: Path) -> Iterator[None]:
    logger = logging.getLogger("regnas")
    handler = _LogFile(path)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    except BaseException as error:
        with suppress(EnvironmentProblem):  # if the log cannot be written, the first error counts
            logger.error("stopped: %s", str(error) or type(error).__name__)
        raise
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)
        with suppress(OSError):  # a line that could not be written was reported already
            handler.close()


@contextmanager
def continuable(path: Path) -> Iterator[None]:
    """Turn failures of the machine into EnvironmentProblem, and record in an error which run can be continued."""
    try:
        with environment_problems():
            yield
    except (Interrupted, EnvironmentProblem) as error:
        error.run = path
        raise


def _plain(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy with the values that TOML and JSON share; paths become texts."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(copy.deepcopy(dict(tables)), default=os.fspath))
    except TypeError as error:
        raise ConfigurationError(f"a configuration must hold texts, numbers, lists and tables: {error}") from None
    return plain
