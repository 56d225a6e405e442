"""regnas: model families that do not regress.

>>> family = regnas.load_family("runs/digits/family")
>>> network = family["small"]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regnas.family.family import Family, load_family
    from regnas.family.updated import load_updated

__all__ = ["Family", "load_family", "load_updated"]


def __getattr__(name: str) -> Any:
    # Imported on first use: reading flip rates must not wait for torch.
    if name in __all__:
        from importlib import import_module

        from regnas.errors import explain_missing_packages

        with explain_missing_packages(f"regnas.{name}"):
            return getattr(
                import_module("regnas.family.updated" if name == "load_updated" else "regnas.family.family"), name
            )
    raise AttributeError(f"module 'regnas' has no attribute '{name}'")
