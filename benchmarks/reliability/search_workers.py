"""What a search depends on stops in the middle of it: workers, a Dask scheduler, the network, the database.

A try starts a search of a supernet that is trained, attacks it a few times, and lets it finish; if it ended with exit
code 5, it continues. It fails if a candidate is lost or counted twice, if the family differs in any byte from that of
an unbroken search, or if a command ends with an undocumented exit code.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np

from benchmarks.reliability import namespaces, postgresql
from benchmarks.reliability.campaign import Attempt, Campaign, Outcome
from benchmarks.reliability.dask_processes import QUICK, SCHEDULER, Cluster
from benchmarks.reliability.scenarios import contents, differences
from benchmarks.reliability.searches import RUN, SECONDS_TO_END, Search, Searches, label, recorded, without_own
from benchmarks.reliability.targets import WORKERS

ATTACKS = 3  # of one try
ENDS_WITH_PROBLEM = 3  # deaths of workers with the same candidates, after which a search gives up
PATIENCE = 20.0  # of a search whose cluster comes back
SHORT_PATIENCE = 1.5  # of one whose cluster does not
SHORT_CUT, LONG_CUT = (0.0, 3.0), (12.0, 15.0)  # seconds; connections are given up after 11
DATABASE = "runs"
CLIENT = "client"
PARTIES = (CLIENT, SCHEDULER, "worker-0", "worker-1")


@dataclass
class Try:
    """A search that is attacked: where it is, and what was done to it."""

    searches: Searches
    folder: Path
    random: np.random.Generator
    attacks: Counter[str] = field(default_factory=Counter)

    def moment(self, running: Search, share: float = 0.6) -> bool:
        """Wait for a random part of an unbroken search; return whether this one still runs."""
        until = time.monotonic() + self.random.uniform(0, share * self.searches.seconds)
        while not running.ended and time.monotonic() < until:
            time.sleep(0.005)
        return not running.ended


def processes(each: Try) -> str:
    """Kill worker processes."""
    search = Search(each.folder, "search", RUN, "--executor", "processes=2")
    killed = 0
    while not search.ended and not search.target.chosen(WORKERS):
        time.sleep(0.005)
    while killed < ATTACKS and each.moment(search, share=0.3):
        workers = search.target.chosen(WORKERS)
        with suppress(ProcessLookupError):
            if workers:
                os.kill(int(each.random.choice(workers)), signal.SIGKILL)
                killed += 1
    each.attacks["worker processes"] += killed
    return search.problem(*((0, 5) if killed >= ENDS_WITH_PROBLEM else (0,)))


@contextmanager
def cluster_of(each: Try, network: namespaces.Network | None = None, workers: int = 2) -> Iterator[Cluster]:
    cluster = Cluster(each.folder.parent / f"{each.folder.name} cluster", network)
    cluster.folder.mkdir()
    try:
        cluster.start_scheduler()
        for number in range(workers):
            cluster.start_worker(f"worker-{number}")
        cluster.wait_for_workers()
        yield cluster
    finally:
        cluster.close()
        shutil.rmtree(cluster.folder)


def on_cluster(each: Try, cluster: Cluster, patience: float = PATIENCE) -> Search:
    variables = {**QUICK, "REGNAS_DASK_PATIENCE": str(patience)}
    inside = cluster.network.inside(CLIENT) if cluster.network else ("-m",)
    executor = ("--executor", f"dask={cluster.address}")
    return Search(each.folder, "search", RUN, *executor, variables=variables, inside=inside)


def dask_workers(each: Try) -> str:
    """Kill one worker or all of them, and let new ones join, sooner or later."""
    names = (f"worker-{number}" for number in count(2))
    with cluster_of(each) as cluster:
        search = on_cluster(each, cluster)
        for _ in range(ATTACKS):
            if not each.moment(search):
                break
            running = cluster.running()
            kills = running if each.random.random() < 0.4 else running[:1]
            for place in kills:
                cluster.kill_worker(place)
            each.attacks["Dask, all workers" if len(running) == len(kills) else "Dask, one worker"] += 1
            if each.random.random() < 0.5:
                time.sleep(each.random.uniform(0, 1))
            for _ in range(int(each.random.integers(1, 3))):
                cluster.start_worker(next(names))
        return search.problem(0)


def dask_scheduler(each: Try) -> str:
    """Kill the scheduler, and start it again on the same address with new workers, which join later."""
    with cluster_of(each) as cluster:
        search = on_cluster(each, cluster)
        for _ in range(ATTACKS):
            if not each.moment(search):
                break
            cluster.kill_scheduler()
            each.attacks["Dask, scheduler restarted"] += 1
            time.sleep(each.random.uniform(0, 1))
            cluster.start_scheduler()
            time.sleep(each.random.uniform(0, 1))
            for place in list(cluster.workers):  # which end with their scheduler
                cluster.kill_worker(place)
                cluster.start_worker(place)
        return search.problem(0)


def dask_gone(each: Try) -> str:
    """Kill the scheduler or all workers for good."""
    with cluster_of(each) as cluster:
        search = on_cluster(each, cluster, SHORT_PATIENCE)
        if not each.moment(search):
            return search.problem(0)
        if each.random.random() < 0.5:
            cluster.kill_scheduler()
        else:
            for place in cluster.running():
                cluster.kill_worker(place)
        each.attacks["Dask, gone for good"] += 1
        return search.problem(0, 5)


def cables(each: Try, network: namespaces.Network) -> str:
    """Take links down and up; workers that end for it are started again."""
    with cluster_of(each, network) as cluster:
        search = on_cluster(each, cluster, 4 * PATIENCE)
        for _ in range(ATTACKS):
            if not each.moment(search):
                break
            party = str(each.random.choice(PARTIES))
            network.cut(party)
            each.attacks[f"network, {party.partition('-')[0]}"] += 1
            try:
                time.sleep(each.random.uniform(*(LONG_CUT if each.random.random() < 0.2 else SHORT_CUT)))
            finally:
                network.mend(party)
            _start_again(cluster)
        until = time.monotonic() + SECONDS_TO_END
        while not search.ended and time.monotonic() < until:
            _start_again(cluster)
            time.sleep(0.1)
        return search.problem(0)


def _start_again(cluster: Cluster) -> None:
    for place in set(cluster.workers) - set(cluster.running()):
        cluster.start_worker(place)


def database(each: Try, server: postgresql.Server) -> str:
    """Stop the database as a crash does, for a while or until the search has ended."""
    variables = {"PGPASSWORD": postgresql.PASSWORD}
    search = Search(each.folder, "search", RUN, "--executor", "inline", variables=variables)
    problem = ""
    for _ in range(ATTACKS):
        if not each.moment(search):
            break
        server.stop()
        each.attacks["database"] += 1
        try:
            if each.random.random() < 0.7:
                problem = problem or search.problem(0, 5)
        finally:
            server.start()
        if search.ended and not problem:
            problem = search.problem(0, 5)
            if search.outcome.code:
                search = Search(each.folder, "search", RUN, "--executor", "inline", variables=variables)
    return problem or search.problem(0, 5)


@contextmanager
def begin(folder: Path, only: Sequence[str] = ()) -> Iterator[Attempt]:
    """Prepare the supernet, and what the kinds of attacks need; kinds that the machine cannot make are left out."""
    with ExitStack() as stack:
        searches = Searches(folder / "trained")
        kinds = {"processes": processes, "workers": dask_workers, "scheduler": dask_scheduler, "gone": dask_gone}
        server = None
        for kind, missing in (("network", namespaces.missing()), ("database", postgresql.missing())):
            if only and kind not in only:
                continue
            if missing:
                print(f"search_workers: no attacks on the {kind}, because {missing}", file=sys.stderr)
            elif kind == "network":
                kinds[kind] = partial(cables, network=stack.enter_context(namespaces.network(*PARTIES)))
            else:
                server = stack.enter_context(postgresql.postgresql())
                kinds[kind] = partial(database, server=server)
        attacks = {kind: attack for kind, attack in kinds.items() if not only or kind in only}

        def attempt(number: int, random: np.random.Generator) -> Outcome:
            kind = list(attacks)[number % len(attacks)]
            on_server = server if kind == "database" else None
            if on_server is not None:
                on_server.create(DATABASE)
            expected = searches.unbroken
            tried = searches.copy(f"try {number}", on_server.address(DATABASE, password="") if on_server else "")
            each = Try(searches, tried, random)
            try:
                problem = attacks[kind](each) or _wrong(each, expected, on_server)
            finally:
                shutil.rmtree(tried)
            return Outcome(kind, problem, each.attacks.total(), dict(each.attacks))

        yield attempt


def _wrong(each: Try, expected: dict[str, object], server: postgresql.Server | None) -> str:
    """Continue the search to its end, and compare what it found."""
    variables = {"PGPASSWORD": postgresql.PASSWORD} if server else {}
    for command in (("search", RUN, "--executor", "inline"), ("export", RUN)):
        if problem := Search(each.folder, *command, variables=variables).problem(0):
            return f"continued: {problem}"
    found = contents(each.folder)
    if server is not None:
        with server.connect(DATABASE) as connection:
            candidates = recorded(connection, label(each.folder))
        if any(postgresql.PASSWORD.encode() in path.read_bytes() for path in each.folder.rglob("*") if path.is_file()):
            return "the run folder has the password"
    else:
        candidates = found[f"{RUN}/study.db"]
    if candidates != each.searches.candidates:
        return f"{len(candidates)} rows of candidates, or other ones, instead of {len(each.searches.candidates)}"
    return differences(without_own(expected), without_own(found))


CAMPAIGN = Campaign(
    name="search_workers",
    goal=200,
    begin=begin,
    describe=(
        "kill -9 of workers and of the scheduler of a search, cuts of its network and stops of its database; fails if "
        "a candidate is lost or counted twice, if the family has other bytes, or if a command ends with another exit "
        "code, prints other lines, hangs or leaves a process"
    ),
)
