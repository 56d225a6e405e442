"""The folders that regnas writes to: space, and whether its files are safe there.

regnas flushes a file, renames it over the old one, and locks folders. Network and container file systems do not always
support this.
"""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from regnas.errors import ConfigurationError, first_line
from regnas.health.findings import Finding
from regnas.health.machine import gibibytes
from regnas.runtime.files import cache_folder, write_bytes
from regnas.runtime.lock import exclusive

SECTION = "disk"
LITTLE = 5 * 2**30  # bytes
SLOW = 0.2  # seconds for a file of a few bytes
ELSEWHERE = "Work in a folder on a local disk."


def examine_disk() -> Iterator[Finding]:
    """Examine the current folder and the folder of caches."""
    yield _space("current folder", Path.cwd())
    try:
        with tempfile.TemporaryDirectory(prefix=".regnas-doctor-", dir=Path.cwd()) as folder:
            for name, check in CHECKS.items():
                yield _checked(name, check, Path(folder))
    except OSError as error:
        yield Finding(SECTION, "write", first_line(error), "failed", "Work in a folder that you may write to.")
    cache = cache_folder()
    existing = next(each for each in (cache, *cache.parents) if each.exists())
    if os.access(existing, os.W_OK):
        yield _space("cache folder", existing)
    else:
        yield Finding(
            SECTION, "cache folder", "may not be written", "failed", "Set XDG_CACHE_HOME to a folder that may."
        )


def _space(name: str, folder: Path) -> Finding:
    usage = shutil.disk_usage(folder)
    found = f"{gibibytes(usage.free)} free of {gibibytes(usage.total)}"
    if usage.free >= LITTLE:
        return Finding(SECTION, name, found)
    return Finding(SECTION, name, found, "note", "Checkpoints and cached images may need more.")


def _checked(name: str, check: Callable[[Path], str], folder: Path) -> Finding:
    try:
        found = check(folder)
    except Exception as error:
        return Finding(SECTION, name, f"{type(error).__name__}: {first_line(error)}", "failed", ELSEWHERE)
    return Finding(SECTION, name, found, "note" if "slow" in found else "ok")


def _flush_and_rename(folder: Path) -> str:
    path, started = folder / "file", time.perf_counter()
    for content in (b"old", b"new"):
        write_bytes(path, content)
    seconds = (time.perf_counter() - started) / 2
    if path.read_bytes() != b"new":
        raise OSError("a renamed file did not replace the old one")
    return f"works, {1000 * seconds:.1f} ms per file{', which is slow' if seconds > SLOW else ''}"


def _lock(folder: Path) -> str:
    with exclusive(folder):
        try:
            with exclusive(folder):
                raise OSError("a folder could be locked twice")
        except ConfigurationError:
            return "works"


def _link(folder: Path) -> str:
    (folder / "linked").write_bytes(b"x")
    try:
        (folder / "link").hardlink_to(folder / "linked")
    except OSError as error:
        return f"not supported ({error.strerror}); regnas does without"
    return "works"


def _map(folder: Path) -> str:
    path = folder / "mapped"
    path.write_bytes(bytes(mmap.PAGESIZE))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[:3] = b"new"
        mapped.flush()
    if path.read_bytes()[:3] != b"new":
        raise OSError("a change of a mapped file was lost")
    return "works"


CHECKS = {"fsync and rename": _flush_and_rename, "locks": _lock, "hard links": _link, "mapped files": _map}
