"""What the folders of runs and updates hold, and latency tables."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

from benchmarks.reliability import artifacts
from benchmarks.reliability.artifacts import Artifacts
from benchmarks.reliability.grammars import JSON
from benchmarks.reliability.inputs.target import Damage, Target, text_ways
from benchmarks.reliability.mutations import Random, json_bytes, mutate_bytes, mutate_value, pick, strange


def run_folders(made: Artifacts, folder: Path) -> Iterable[Target]:
    from regnas.family.polishing import recorded_points
    from regnas.report.family.results import FamilyComparison
    from regnas.report.update.results import UpdateResult
    from regnas.report.update.tables import update_terminal_table
    from regnas.runs import api
    from regnas.runs.config import load_config, parse_config, timed
    from regnas.runs.folder import RunFolder
    from regnas.runs.session import find_run
    from regnas.runtime.files import sealed
    from regnas.search.study import Studies, open_storage, sqlite_storage
    from regnas.space import LatencyTable
    from regnas.supernet import space_of
    from regnas.training.checkpoint import last_checkpoint, newest_path, newest_step
    from regnas.updates import api as update_api
    from regnas.updates.config import load_update
    from regnas.updates.epochs import BY_EPOCH, remembered_by_epoch
    from regnas.updates.sweeps import SWEEPS, remembered_sweeps

    def resealed(content: bytes) -> bytes:
        try:
            return json.dumps(sealed(json.loads(content))).encode()
        except (ValueError, RecursionError, AttributeError, TypeError):
            return content

    def values(path: Path) -> tuple[bytes, tuple[Damage, ...]]:
        text = path.read_bytes()
        other = (made.update / "run.json").read_bytes()

        def change(random: Random) -> bytes:
            return resealed(json_bytes(mutate_value(json.loads(text), random), random))

        return text, (*text_ways(text, other, JSON), change, change)

    run = shutil.copytree(made.run, folder / "run", ignore=shutil.ignore_patterns("*.png", "*.svg", "*.onnx"))
    machine = json.loads((run / "run.json").read_text())

    def read_run() -> None:
        found = api.open_run(run)
        found._repr_html_()
        find_run(run, None, (), parse_config)
        opened = RunFolder.open(run, reads_only=True)
        opened.check_machine({**machine["machine"], "threads": 1, "versions": machine["versions"]}, True)
        opened.conditions()
        opened.check_data(machine["data"])

    yield Target(
        "run.json",
        run / "run.json",
        *values(run / "run.json"),
        read_run,
        ("predict", f"{run}:small", run, "--out", folder / "out.npz", "--overwrite"),
        cases=100,
        repair=resealed,
    )

    update = shutil.copytree(made.update, folder / "update", ignore=shutil.ignore_patterns("*.png", "*.svg"))
    yield Target(
        "run.json of an update",
        update / "run.json",
        *values(update / "run.json"),
        lambda: update_api.open_update(update)._repr_html_(),
        ("verify", update),
    )
    results = folder / "update.json"
    yield Target(
        "update.json",
        results,
        *values(made.update / "report" / "update.json"),
        lambda: update_terminal_table(UpdateResult.read(results, "")),
        cases=100,
    )
    flips = folder / "flips.json"
    yield Target(
        "flips.json", flips, *values(made.run / "report" / "flips.json"), lambda: FamilyComparison.read(flips, "")
    )
    points = folder / "points.json"
    yield Target("points.json", points, *values(next(made.run.rglob("points.json"))), lambda: recorded_points(points))
    opened = RunFolder.open(update, reads_only=True)
    values_of_update = load_update(str(made.update_config)).values
    asked: tuple[tuple[str, bytes, Callable[[], object]], ...] = (
        (BY_EPOCH, b'["none", "all"]', lambda: remembered_by_epoch(opened, values_of_update, [])),
        (SWEEPS, b'["bcwi.alpha=0:1:0.5"]', lambda: remembered_sweeps(opened, [])),
    )
    for name, content, read in asked:
        (update / name).write_bytes(content)
        yield Target(name, update / name, *values(update / name), read)
    supernet = shutil.copytree(made.run / "supernet", folder / "supernet")

    index = supernet / "checkpoints.json"

    def checkpoints() -> None:
        newest_step(supernet)
        newest_path(supernet)
        last_checkpoint(supernet)

    yield Target("checkpoints.json", index, *values(index), checkpoints)

    latency = folder / "latency.json"
    loaded = load_config(str(made.config), {"search.latency_table": str(latency)}).values
    space = space_of(loaded.supernet, (1, 8, 8), artifacts.CLASSES)

    def read_latency() -> None:
        if LatencyTable.load(latency).entries:
            timed(space, loaded.search, loaded.budgets, (1, 8, 8), artifacts.CLASSES)

    yield Target(
        "latency table",
        latency,
        *values(made.latency),
        read_latency,
        ("validate", made.config, "--set", f'search.latency_table="{latency}"'),
    )

    own = folder / "study"
    own.mkdir()
    path = own / "study.db"
    study = (made.run / "study.db").read_bytes()

    def read_study() -> None:
        storage = open_storage(sqlite_storage(path))
        try:
            studies = Studies(storage, space)
            for name in sorted(studies.names()):
                studies.open(name).trials()
        finally:
            storage.engine.dispose()

    yield Target(
        "study.db",
        path,
        study,
        (lambda random: mutate_bytes(study, random, study[::-1]), lambda random: _other_rows(study, random, path)),
        read_study,
        cases=30,
    )


def _other_rows(content: bytes, random: Random, path: Path) -> bytes:
    """Replace values of a database, or drop its tables."""
    path.write_bytes(content)
    with closing(sqlite3.connect(path)) as connection:
        names = [row[0] for row in connection.execute("select name from sqlite_master where type = 'table'")]
        for _ in range(int(random.integers(1, 4))):
            table = pick(random, names)
            columns = [row[1] for row in connection.execute(f'pragma table_info("{table}")')]
            if not columns:  # the table was dropped
                continue
            column = pick(random, columns)
            value = pick(random, (None, 0, -1, 2**62, 1e300, "", "x", b"\xff", strange(random), "NaN", "RUNNING"))
            try:
                if random.random() < 0.05:
                    connection.execute(f'drop table "{table}"')
                elif random.random() < 0.2:
                    connection.execute(f'delete from "{table}" where rowid % 2 = 0')
                else:
                    connection.execute(f'update "{table}" set "{column}" = ?', (value,))
            except sqlite3.Error:
                continue
        connection.commit()
    return path.read_bytes()
