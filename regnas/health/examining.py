"""All examinations in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from regnas.errors import first_line
from regnas.health.devices import examine_devices
from regnas.health.disk import examine_disk
from regnas.health.findings import Diagnosis, Finding
from regnas.health.machine import examine_machine
from regnas.health.packages import examine_packages, is_installed
from regnas.health.self_test import run_self_test
from regnas.runtime.progress import track

TRAINS = "torch"


def examine(self_test: bool = True) -> Diagnosis:
    """Examine the machine.

    Args:
        self_test: whether to train tiny networks, which takes less than a minute.

    Returns:
        The findings. Nothing is raised: what cannot be examined is a finding that failed.
    """
    parts: dict[str, Callable[[], Iterator[Finding]]] = {"machine": examine_machine}
    if is_installed(TRAINS):
        parts["devices"] = examine_devices
    parts |= {"disk": examine_disk, "packages": examine_packages}
    if self_test:
        parts["self-test"] = run_self_test
    found = [finding for name, part in track(parts.items(), "examine", len(parts)) for finding in _examined(name, part)]
    return Diagnosis(tuple(found))


def _examined(name: str, part: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from part()
    except Exception as error:
        yield Finding(name, name, f"{type(error).__name__}: {first_line(error)}", "failed")
