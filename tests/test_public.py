"""The public names: what `import regnas` offers, what it costs, and that the examples run."""

from __future__ import annotations

import doctest
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import regnas

ROOT = Path(__file__).parent.parent


def test_every_public_name_is_there_and_shown():
    assert set(regnas._MODULES) | {"__version__"} == set(regnas.__all__)
    assert set(regnas.__all__) <= set(dir(regnas))
    with pytest.raises(AttributeError, match="module 'regnas' has no attribute 'comparisons'"):
        regnas.comparisons  # noqa: B018
    light = [
        name for name, module in regnas._MODULES.items() if module.startswith(("regnas.comparison", "regnas.errors"))
    ]
    assert {"compare", "gate", "Comparison", "Verdict", "RegnasError"} <= set(light)
    for name in light:
        assert getattr(regnas, name).__name__ == name


def test_the_version_is_that_of_the_package():
    assert (
        regnas.__version__ == tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    )


def test_the_package_is_typed():
    assert (Path(regnas.__file__).parent / "py.typed").exists()


def test_comparing_arrays_imports_nothing_heavy():
    code = """
import sys, regnas
pair = regnas.compare({"old": [0, 1], "new": [0, 0]}, target=[0, 1])["old", "new"]
verdict = regnas.gate([0, 1], [0, 0], [0, 1], max_nfr=0.1)
repr(pair), repr(verdict), verdict.to_json(), verdict._repr_html_()
heavy = {"torch", "optuna", "sklearn", "matplotlib", "jinja2", "narwhals", "pandas", "pyarrow", "pydantic"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


EXAMPLES = {
    "regnas": "",
    "regnas.comparison.api": "",
    "regnas.comparison.comparison": "",
    "regnas.comparison.gating": "",
    "regnas.flips.predictions": "",
    "regnas.losses": "torch",
    "regnas.losses.per_sample": "torch",
    "regnas.metrics": "torchmetrics",
}


@pytest.mark.parametrize("module", EXAMPLES)
def test_the_examples_in_docstrings_run(module):
    if needed := EXAMPLES[module]:
        pytest.importorskip(needed)
    found = doctest.testmod(importlib.import_module(module))
    assert found.attempted > 0
    assert found.failed == 0


def test_the_page_about_the_library_runs_from_top_to_bottom():
    pytest.importorskip("torchmetrics")
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    before_updates = page.partition("## Update a model")[0]
    assert run_blocks(before_updates, {}) == 6


def test_what_the_page_about_the_library_says_of_updates_runs(finished_update, tmp_path, monkeypatch):
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "update_digits").symlink_to(finished_update)
    monkeypatch.chdir(tmp_path)
    assert run_blocks(page.partition("## Update a model")[2], {"regnas": regnas}) == 1
    assert (tmp_path / "update.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def run_blocks(page: str, names: dict[str, object]) -> int:
    """Run the Python of a page from top to bottom; return how many blocks there are."""
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
    return len(blocks)
