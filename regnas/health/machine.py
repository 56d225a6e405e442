"""Python, the system, its cores and its memory."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from regnas.health.findings import Finding

SECTION = "machine"
QUOTA = Path("/sys/fs/cgroup/cpu.max")
LITTLE_MEMORY = 2 * 2**30  # bytes
SHARED = Path("/dev/shm")
LITTLE_SHARED = 256 * 2**20  # bytes; Docker gives 64 MiB
VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


def gibibytes(count: float) -> str:
    """Return a number of bytes in GiB."""
    return f"{count / 2**30:,.1f} GiB"


def examine_machine() -> Iterator[Finding]:
    """Describe the machine without any package."""
    yield Finding(SECTION, "regnas", version("regnas"))
    yield Finding(SECTION, "Python", f"{platform.python_version()} ({platform.python_implementation()})")
    library = " ".join(platform.libc_ver()).strip()
    yield Finding(SECTION, "system", ", ".join(filter(None, (platform.system(), platform.machine(), library))))
    yield _cores()
    yield _memory()
    if SHARED.is_dir():
        yield _shared_memory()
    set_variables = [f"{name}={os.environ[name]}" for name in VARIABLES if os.environ.get(name, "").isdigit()]
    if set_variables:
        yield Finding(SECTION, "variables", ", ".join(set_variables))


def _cores() -> Finding:
    there = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else there
    found = f"{there}" if usable == there else f"{there}, of which this process may use {usable}"
    quota = _quota()
    if quota is None or quota >= usable:
        return Finding(SECTION, "cores", found)
    return Finding(
        SECTION, "cores", f"{found}; a quota of {quota:g}", "note", f"Set machine.threads to {max(1, int(quota))}."
    )


def _quota() -> float | None:
    """Return the cores that the control group of a container may use; None without a limit."""
    try:
        wanted, period = QUOTA.read_text().split()
        return int(wanted) / int(period)
    except (OSError, ValueError):
        return None


def _memory() -> Finding:
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        total = page * os.sysconf("SC_PHYS_PAGES")
        free = page * os.sysconf("SC_AVPHYS_PAGES")
    except (OSError, ValueError):  # not on macOS
        return Finding(SECTION, "memory", "unknown", "note")
    found = f"{gibibytes(total)}, of which {gibibytes(free)} are not in use"
    if total >= LITTLE_MEMORY:
        return Finding(SECTION, "memory", found)
    return Finding(SECTION, "memory", found, "note", "Use one worker and small batches.")


def _shared_memory() -> Finding:
    usage = shutil.disk_usage(SHARED)
    found = f"{gibibytes(usage.total)}, free {gibibytes(usage.free)}"
    if usage.total >= LITTLE_SHARED:
        return Finding(SECTION, "shared memory", found)
    return Finding(
        SECTION,
        "shared memory",
        found,
        "note",
        "Several workers need more: give the container 2 GiB, or set machine.workers to 1.",
    )
