"""What is shipped beside the code is true: presets and the README."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from regnas.config import load_config, presets
from regnas.pipeline import check_budgets
from regnas.registry import Registry

ROOT = Path(__file__).parents[1]
SHAPES = {"digits": (1, 16, 16), "cifar10": (3, 32, 32)}


@pytest.mark.parametrize("name", presets())
def test_every_preset_is_valid_and_its_budgets_hold_enough_candidates(name):
    config = load_config(name)
    space = config.values.supernet.space(SHAPES[name], 10)
    counts = check_budgets(config, space)
    assert min(counts.values()) > config.values.search.candidates


def test_the_python_lines_of_the_readme_run(finished_run, tmp_path, monkeypatch, capsys):
    shutil.copytree(finished_run / "family", tmp_path / "runs" / "digits" / "family")
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    assert "('small', " in capsys.readouterr().out


def test_every_command_and_part_that_the_readme_names_exists():
    from regnas.baselines import BASELINES
    from regnas.cli import app
    from regnas.data import DATASETS
    from regnas.losses import LOSSES
    from regnas.search import REWARDS

    readme = (ROOT / "README.md").read_text()
    commands = {command.name or command.callback.__name__ for command in app.registered_commands}
    named = set(re.findall(r"regnas (run|train|search|export|baselines|report|validate|list)\b", readme))
    assert named <= commands
    registries: list[Registry] = [BASELINES, DATASETS, LOSSES, REWARDS]
    for registry in registries:
        for name in registry:
            assert name in readme or name == "cross_entropy"
