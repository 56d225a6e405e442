"""The installed packages, by the extra that installs them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, packages_distributions, requires, version
from importlib.util import find_spec

from regnas.errors import EXTRAS
from regnas.health.findings import Finding

SECTION = "packages"


def examine_packages() -> Iterator[Finding]:
    """Return one finding for the core, and one per extra."""
    yield Finding(SECTION, "core", ", ".join(f"{name} {_version(name)}" for name in _core()))
    distributions = {module: found[0] for module, found in packages_distributions().items()}
    for extra in dict.fromkeys(EXTRAS.values()):
        modules = [module for module, each in EXTRAS.items() if each == extra]
        missing = [module for module in modules if not is_installed(module)]
        shown = {
            module: "missing" if module in missing else _version(distributions.get(module, module))
            for module in modules
        }
        found = ", ".join(f"{module} {each}" for module, each in shown.items())
        remedy = f"To install: pip install 'regnas[{extra}]'" if missing else ""
        yield Finding(SECTION, extra, found, "note" if missing else "ok", remedy)


def is_installed(module: str) -> bool:
    """Whether a module can be found; it is not imported."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _core() -> list[str]:
    """Return the packages that `pip install regnas` installs."""
    wanted = [requirement for requirement in requires("regnas") or () if "extra ==" not in requirement]
    return [name[0] for requirement in wanted if (name := re.match(r"[\w.-]+", requirement))]


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "without a version"
