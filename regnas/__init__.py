"""regnas: model families that do not regress.

>>> family = regnas.load_family("runs/digits")  # doctest: +SKIP
>>> family.predict(["photo.png"], "small").names  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regnas.family.family import Family, load_family
    from regnas.family.verifying import verify
    from regnas.prediction.gallery import gallery
    from regnas.prediction.predicting import predict
    from regnas.runs.api import Run, export, open_run, polish, run
    from regnas.runtime.progress import Progress
    from regnas.updates.api import Update, update

__all__ = [
    "Family",
    "Progress",
    "Run",
    "Update",
    "export",
    "gallery",
    "load_family",
    "open_run",
    "polish",
    "predict",
    "run",
    "update",
    "verify",
]

# Imported on first use: reading flip rates must not wait for torch.
_MODULES = {
    "Family": "regnas.family.family",
    "Progress": "regnas.runtime.progress",
    "Run": "regnas.runs.api",
    "Update": "regnas.updates.api",
    "export": "regnas.runs.api",
    "gallery": "regnas.prediction.gallery",
    "load_family": "regnas.family.family",
    "open_run": "regnas.runs.api",
    "polish": "regnas.runs.api",
    "predict": "regnas.prediction.predicting",
    "run": "regnas.runs.api",
    "update": "regnas.updates.api",
    "verify": "regnas.family.verifying",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        from importlib import import_module

        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'regnas' has no attribute '{name}'")
