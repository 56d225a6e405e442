"""regnas: models that do not regress.

>>> import regnas
>>> comparison = regnas.compare({"old": [0, 1, 1, 0], "new": [0, 1, 0, 1]}, target=[0, 1, 1, 1])
>>> comparison["old", "new"].nfr
0.25
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regnas import flips, losses, metrics
    from regnas.comparison.api import compare, gate
    from regnas.comparison.comparison import Comparison, Pair
    from regnas.comparison.gating import Verdict
    from regnas.errors import RegnasError
    from regnas.family.family import Family, load_family
    from regnas.family.verifying import verify
    from regnas.flips.predictions import Predictions
    from regnas.prediction.gallery import gallery
    from regnas.prediction.predicting import predict
    from regnas.runs.api import Run, export, open_run, polish, run
    from regnas.runtime.progress import Progress
    from regnas.updates.api import Update, open_update, update

    __version__: str

__all__ = [
    "Comparison",
    "Family",
    "Pair",
    "Predictions",
    "Progress",
    "RegnasError",
    "Run",
    "Update",
    "Verdict",
    "__version__",
    "compare",
    "export",
    "flips",
    "gallery",
    "gate",
    "load_family",
    "losses",
    "metrics",
    "open_run",
    "open_update",
    "polish",
    "predict",
    "run",
    "update",
    "verify",
]

# The module of each public name. They are imported on first use: comparing predictions must not wait for torch.
_MODULES = {
    "Comparison": "regnas.comparison.comparison",
    "Family": "regnas.family.family",
    "Pair": "regnas.comparison.comparison",
    "Predictions": "regnas.flips.predictions",
    "Progress": "regnas.runtime.progress",
    "RegnasError": "regnas.errors",
    "Run": "regnas.runs.api",
    "Update": "regnas.updates.api",
    "Verdict": "regnas.comparison.gating",
    "compare": "regnas.comparison.api",
    "export": "regnas.runs.api",
    "flips": "regnas",
    "gallery": "regnas.prediction.gallery",
    "gate": "regnas.comparison.api",
    "load_family": "regnas.family.family",
    "losses": "regnas",
    "metrics": "regnas",
    "open_run": "regnas.runs.api",
    "open_update": "regnas.updates.api",
    "polish": "regnas.runs.api",
    "predict": "regnas.prediction.predicting",
    "run": "regnas.runs.api",
    "update": "regnas.updates.api",
    "verify": "regnas.family.verifying",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("regnas")
    if name not in _MODULES:
        raise AttributeError(f"module 'regnas' has no attribute '{name}'")
    from importlib import import_module

    from regnas.errors import explain_missing_packages

    module = _MODULES[name]
    with explain_missing_packages(f"regnas.{name}"):
        return import_module(f"regnas.{name}") if module == "regnas" else getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
