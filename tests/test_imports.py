"""What may import what, if the contracts of .importlinter cannot express it."""

from __future__ import annotations

import ast
import configparser
import sys
from pathlib import Path

from regnas.errors import EXTRAS

ROOT = Path(__file__).parents[1]


def imported_by(folder: str) -> dict[str, set[str]]:
    """Return the modules that the files below a folder import, wherever in the file, and the files that do."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path} has a relative import"
                # "from regnas import space" imports regnas.space
                names = [f"regnas.{alias.name}" for alias in node.names] if node.module == "regnas" else [node.module]
            for name in names:
                found.setdefault(name, set()).add(str(path.relative_to(ROOT)))
    return found


def test_supernets_import_what_a_plug_in_of_another_package_may_import_and_nothing_else():
    allowed = {"regnas.networks", "regnas.space", "regnas.supernet"}
    of_regnas = {".".join(name.split(".")[:2]) for name in imported_by("supernets") if name.split(".")[0] == "regnas"}
    assert of_regnas == allowed


def test_benchmarks_and_the_package_do_not_import_tests():
    for folder in ("benchmarks", "regnas", "supernets", "search_configs"):
        assert not {name: files for name, files in imported_by(folder).items() if name.split(".")[0] == "tests"}


def test_every_package_that_is_imported_is_a_dependency_or_comes_with_an_extra():
    core = {"jinja2", "markupsafe", "narwhals", "numpy", "PIL", "pydantic", "pydantic_core", "rich", "typer"}
    own = {"regnas", "supernets", "search_configs"}
    for folder in ("regnas", "supernets"):
        for name, files in imported_by(folder).items():
            top = name.split(".")[0]
            assert top in sys.stdlib_module_names or top in core | own | set(EXTRAS), (name, files)


def test_the_contract_of_the_light_core_forbids_everything_that_training_and_parquet_need():
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    forbidden = contracts["importlinter:contract:light"]["forbidden_modules"].split()
    assert forbidden == sorted(module for module, extra in EXTRAS.items() if extra in ("train", "parquet"))
