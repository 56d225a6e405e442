"""regnas: model families that do not regress.

>>> family = regnas.load_family("runs/digits/family")
>>> network = family["small"]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regnas.family.family import Family, load_family
    from regnas.family.updated import load_updated
    from regnas.runs.api import Run, export, open_run, polish, run
    from regnas.runtime.progress import Progress
    from regnas.updates.api import Update, update

__all__ = [
    "Family",
    "Progress",
    "Run",
    "Update",
    "export",
    "load_family",
    "load_updated",
    "open_run",
    "polish",
    "run",
    "update",
]

# Imported on first use: reading flip rates must not wait for torch.
_MODULES = {
    "Family": "regnas.family.family",
    "Progress": "regnas.runtime.progress",
    "Run": "regnas.runs.api",
    "Update": "regnas.updates.api",
    "export": "regnas.runs.api",
    "load_family": "regnas.family.family",
    "load_updated": "regnas.family.updated",
    "open_run": "regnas.runs.api",
    "polish": "regnas.runs.api",
    "run": "regnas.runs.api",
    "update": "regnas.updates.api",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        from importlib import import_module

        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'regnas' has no attribute '{name}'")
