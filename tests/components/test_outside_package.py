"""An outside package adds a part to every table, and each is used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent / "outside_package"

FAMILY = """\
[data]
name = "outside"
[supernet]
name = "outside"
[budgets]
small = "80k +- 5 %"
large = "160k +- 5 %"
[training]
epochs = 1
batch_size = 16
[curriculum]
sub_networks = { name = "outside" }
shrinking = { name = "outside" }
[curriculum.lessons.own]
teacher = { name = "outside" }
loss = { name = "outside", factor = 0.25 }
schedule = { name = "outside" }
[search]
candidates = 4
reward = { name = "outside" }
algorithm = { name = "outside" }
[baselines.outside]
[machine]
device = "cpu"
[[loggers]]
name = "outside"
"""

UPDATE = """\
cache = "cache"
data = { name = "outside" }
[models.old]
network = { name = "outside" }
samples = 0.5
[models.new]
network = { name = "outside" }
[training]
epochs = 1
batch_size = 16
[methods.none]
[methods.outside]
[machine]
device = "cpu"
[[loggers]]
name = "outside"
"""

COMMANDS = [
    ["run", "family.toml", "--out", "family"],
    ["export", "family", "--format", "outside"],
    ["update", "update.toml", "--out", "update"],
    ["compare", "old.tally", "new.tally", "--json"],
    ["list"],
]

PROGRAM = """
import contextlib, json, pathlib, sys
from regnas.cli import exit_code
codes = {}
for command in json.loads(sys.argv[1]):
    with pathlib.Path(f"{command[0]}.txt").open("w") as file, contextlib.redirect_stdout(file):
        codes[command[0]] = exit_code(command)
print(json.dumps(codes))
"""


def install(package: Path, site: Path) -> None:
    """What `pip install --no-deps --target` leaves of a pure Python package, without a build."""
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    name = project["name"].replace("-", "_")
    shutil.copytree(package / name, site / name, ignore=shutil.ignore_patterns("__pycache__"))
    described = site / f"{name}-{project['version']}.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{point} = {value}" for point, value in points.items())]
    (described / "entry_points.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """A folder in which every part of the package was used; what a command printed is in <command>.txt."""
    folder, site = tmp_path_factory.mktemp("used"), tmp_path_factory.mktemp("site")
    install(PACKAGE, site)
    (folder / "family.toml").write_text(FAMILY)
    (folder / "update.toml").write_text(UPDATE)
    (folder / "old.tally").write_text("a 0 0\nb 1 1\nc 1 0\n")
    (folder / "new.tally").write_text("a 0 0\nb 1 0\nc 1 1\n")
    (folder / "program.py").write_text(PROGRAM)
    path = os.pathsep.join([str(site), *filter(None, sys.path)])
    command = [sys.executable, "program.py", json.dumps(COMMANDS)]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=240
    )
    assert json.loads(done.stdout) == dict.fromkeys((name for name, *_ in COMMANDS), 0), done.stderr
    return folder


def test_a_family_is_made_of_parts_of_another_package(used):
    flips = json.loads((used / "family" / "report" / "flips.json").read_text())
    assert flips["members"] == ["small", "large"]
    assert [method["name"] for method in flips["methods"]] == ["family", "outside"]
    manifest = json.loads((used / "family" / "family" / "manifest.json").read_text())
    assert manifest["supernet"]["name"] == "outside"
    assert manifest["classes"] == ["stripe", "dot"]


def test_a_family_is_exported_in_a_format_of_another_package(used):
    manifest = json.loads((used / "family" / "family" / "manifest.json").read_text())
    exported = [each for each in manifest["exports"] if each["format"] == "outside"]
    assert [each["file"] for each in exported] == ["small.pickle", "large.pickle"]
    assert [each["disagreements"] for each in exported] == [0, 0]


def test_a_network_is_updated_by_a_method_of_another_package(used):
    results = json.loads((used / "update" / "report" / "update.json").read_text())
    assert [(method["name"], method["title"]) for method in results["methods"]] == [
        ("none", "No treatment"),
        ("outside", "Half distilled"),
    ]
    assert results["methods"][0]["parameters"] == 8 * 8 * 2 + 2


@pytest.mark.parametrize("run", ["family", "update"])
def test_every_training_is_logged_by_another_package(used, run):
    pages = [page.read_text().splitlines() for page in (used / run / "diary").iterdir()]
    names = sorted(page[0] for page in pages)
    if run == "family":
        assert names[-1] == "family, supernet"
        record = used / run / "supernet" / "metrics.jsonl"
        steps = [json.loads(line) for line in record.read_text().splitlines()]
        assert [f"{line['step']} {line['loss']}" for line in steps] in [page[1:] for page in pages]
    records = {file.stem for file in (used / run / "metrics").iterdir()}
    assert {name.partition(", ")[2].replace(": ", "-").replace(", ", "-").replace(" ", "-") for name in names} == (
        records | ({"supernet"} if run == "family" else set())
    )


def test_prediction_files_of_another_package_are_compared(used):
    pairs = json.loads((used / "compare.txt").read_text())["pairs"]
    assert {(pair["reference"], pair["new"]): pair["negative_flips"] for pair in pairs} == {
        ("old", "new"): 1,
        ("new", "old"): 1,
    }


def test_parts_of_another_package_are_listed(used):
    printed = (used / "list.txt").read_text()
    for kind, summary in {
        "loss": "Knowledge distillation with half of its value.",
        "method": "An update method with the loss of the package.",
        "network": "A linear classifier.",
        "supernet": "The elastic residual network with few channels.",
        "data set": "Two classes of noisy 8 x 8 images.",
    }.items():
        rows = [line for line in printed.splitlines() if line.startswith(kind)]
        assert any("outside" in row and summary[:20] in row for row in rows), kind
