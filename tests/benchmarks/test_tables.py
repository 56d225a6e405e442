from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.cifar10 import tables
from benchmarks.cifar10.results import results
from benchmarks.cifar10.rows import read_rows
from regnas.errors import ArtifactError
from tests.benchmarks.recorded import row_of, write_family


def no_constant(name):
    raise AssertionError(f"{name} is not JSON")


def read(path):
    return json.loads(path.read_text(), parse_constant=no_constant)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """All groups once, with what tends to divide by zero: no flips, one seed, a baseline out of reach."""
    folder = tmp_path_factory.mktemp("study")
    random = np.random.default_rng(0)
    three = random.random((3, 200)) < [[0.7], [0.75], [0.8]]
    for seed in (0, 1):
        write_family(folder, "independent", np.roll(three, seed, axis=1), seed=seed, title="Alone | <b>")
        write_family(folder, "regnas", np.roll(three, seed, axis=1), seed=seed)
        for setting in ("0", "0.5"):
            write_family(folder, f"interpolation@{setting}", np.roll(three, seed, axis=1), seed=seed)
    write_family(folder, "elodi", np.ones((3, 200)))
    write_family(folder, "polished@3", three, group="front")
    write_family(folder, "tradeoff@1", three, group="tradeoff")
    write_family(folder, "four-regnas", random.random((4, 200)) < 0.8, group="four", title="Four of them")
    write_family(folder, "sharing-independent-0", three, group="sharing")
    write_family(folder, "sharing-supernet-0", three, group="sharing")
    write_family(folder, "ablated", three, group="ablation", settings={"against": "regnas"}, title="Less of it")
    out = folder / "out"
    out.mkdir()
    (out / "notes.md").write_text("### Tried\n\n*as it is* | <kept>\n")
    tables.publish(folder, out)
    return out


def test_the_numbers_are_strict_json(study):
    found = read(study / "results.json")
    assert found["family"] == ["independent", "elodi", "regnas", "interpolation@0"]
    assert [row["row"] for row in found["rows"] if row["group"] == "family"] == [
        "independent",
        "elodi",
        "regnas",
        "interpolation@0",
        "interpolation@0.5",
    ]
    assert found["seeds"] == [0, 1]
    assert found["rows"][0]["training_of_independent"] == 1.0


def test_pictures_are_beside_the_page(study):
    for name in ("front", "sharing"):
        assert (study / f"{name}.svg").read_text().startswith("<?xml")
        assert (study / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert f"({name}.svg)" in (study / "README.md").read_text()
    drawn = (study / "front.svg").read_text()
    assert 'id="pareto-front"' in drawn
    assert 'id="chosen"' in drawn
    assert "NaN" not in drawn and "nan" not in drawn


def test_the_page_holds_every_part(study):
    page = (study / "README.md").read_text()
    headings = [line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")]
    assert headings == [
        "Bars",
        "Accuracy",
        "Flips",
        "Cost",
        "Settings",
        "Fronts",
        "Weighing accuracy against flips",
        "Four members",
        "Shared weights",
        "Ablations",
        "What was tried",
        "All rows",
    ]
    assert "<!-- notes.md begins -->\n### Tried\n\n*as it is* | <kept>\n<!-- notes.md ends -->" in page
    assert "**Four of them**" in page
    assert "| not reached |" in page


def test_titles_cannot_break_a_table(study):
    page = (study / "README.md").read_text()
    assert "Alone \\| &lt;b>" in page
    assert "<b>" not in page
    width = None
    for line in page.splitlines():
        cells = line.replace("\\|", "").count("|") if line.startswith("| ") else None
        assert width is None or cells is None or cells == width
        width = cells


def test_the_same_rows_give_the_same_bytes(study, tmp_path):
    (tmp_path / "notes.md").write_bytes((study / "notes.md").read_bytes())
    tables.publish(study.parent, tmp_path)
    for path in study.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


def test_one_group_alone_is_enough(tmp_path):
    write_family(tmp_path, "tradeoff@1", row_of(60, 5), group="tradeoff")
    write_family(tmp_path, "tradeoff@2", row_of(60, 4), group="tradeoff")
    out = tmp_path / "out"
    tables.publish(tmp_path, out)
    assert sorted(path.name for path in out.iterdir()) == ["README.md", "results.json"]
    assert "## Accuracy" not in (out / "README.md").read_text()
    assert read(out / "results.json")["best"] is None


def test_families_of_other_members_cannot_share_the_table(tmp_path):
    write_family(tmp_path, "independent", row_of(60, 5))
    write_family(tmp_path, "elodi", np.ones((3, 100)))
    with pytest.raises(ArtifactError, match="elodi has the members small, medium, large, but independent has"):
        results(read_rows(tmp_path), resamples=10)


def test_settings_chosen_by_the_search_split_are_in_the_table(tmp_path):
    write_family(tmp_path, "interpolation@0", row_of(90, 0), search=row_of(60, 20))
    write_family(tmp_path, "interpolation@1", row_of(50, 30), search=row_of(60, 10))
    found = results(read_rows(tmp_path), resamples=10)
    assert found["family"] == ["interpolation@1"]
    [choice] = found["choices"]
    assert choice["chosen"] == "interpolation@1"
    assert [one["search_reward"] for one in choice["settings"]] == pytest.approx([0.35, 0.45])


def test_the_pareto_front_is_of_regnas_alone(tmp_path):
    rows = {"independent": (99, 0), "regnas": (60, 2), "interpolation@0": (70, 5), "interpolation@1": (65, 6)}
    for name, (right, flipped) in rows.items():
        write_family(tmp_path, name, row_of(right, flipped))
    found = results(read_rows(tmp_path), resamples=10)["front"]
    assert [point["row"] for point in found if point["on_front"]] == ["regnas", "interpolation@0"]


@pytest.mark.slow
def test_the_command_says_in_one_line_what_is_wrong(tmp_path):
    script = Path(tables.__file__)
    done = subprocess.run(
        [sys.executable, str(script), "--runs", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "holds no row.json" in done.stderr
