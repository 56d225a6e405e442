"""What works after `pip install regnas`, without any extra, and what the rest says."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regnas.errors import EXTRAS, EnvironmentProblem, MissingPackage, explain_missing_packages
from tests.comparison.helpers import FORMATS, write

ROOT = Path(__file__).parents[2]

# Runs commands in a process in which the optional packages cannot be imported.
SCRIPT = """
import contextlib, io, json, sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

BLOCKED = json.loads(sys.argv[1])
sys.meta_path.insert(0, Block())
from regnas.cli import exit_code

outcomes = []
for command in json.loads(sys.argv[2]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = exit_code(command)
    outcomes.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(outcomes))
"""


def without_extras(*commands):
    given = [json.dumps(sorted(EXTRAS)), json.dumps([list(map(str, command)) for command in commands])]
    done = subprocess.run([sys.executable, "-c", SCRIPT, *given], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def predictions(tmp_path):
    """Eight samples of two classes; the new model breaks the first and repairs the last."""
    targets = [0, 0, 0, 0, 1, 1, 1, 1]
    answers = {"old": [0, 0, 0, 0, 1, 1, 1, 0], "new": [1, 0, 0, 0, 1, 1, 1, 1]}
    for model, predicted in answers.items():
        rows = [f"{sample},{targets[sample]},{predicted[sample]}\n" for sample in range(8)]
        (tmp_path / f"{model}.csv").write_text("id,target,predicted\n" + "".join(rows))
    return tmp_path / "old.csv", tmp_path / "new.csv"


def test_compare_and_gate_need_no_extra(predictions, tmp_path):
    page = tmp_path / "flips.html"
    compared, passed, failed = without_extras(
        ["compare", *predictions, "--json", "--html", page],
        ["gate", *predictions, "--max-nfr", "0.9"],
        ["gate", *predictions, "--max-nfr", "0.001"],
    )
    assert compared[0] == 0, compared
    assert json.loads(compared[1])["samples"] == 8
    assert "12.50" in page.read_text()  # one of eight
    assert (passed[0], failed[0]) == (0, 6)


def test_doctor_needs_no_extra_and_names_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [(code, printed, _)] = without_extras(["doctor", "--json"])
    assert code == 0, printed
    found = {finding["name"]: finding for finding in json.loads(printed)["findings"]}
    assert found["compare"]["status"] == "ok"
    assert found["train"]["remedy"] == "To install: pip install 'regnas[train]'"
    assert found["train twice"]["found"] == "left out, because torch is not installed"


def test_every_format_but_parquet_needs_no_extra(tmp_path):
    columns = {"id": [1, 2], "target": [0, 0], "predicted": [0, 1]}
    files = [write(tmp_path / f"{place}.{suffix}", **columns) for place, suffix in enumerate(FORMATS)]
    read = [each for each in files if each.suffix != ".parquet"]
    compared, refused = without_extras(["compare", *read, "--json"], ["compare", *files])
    assert compared[0] == 0, compared
    assert json.loads(compared[1])["samples"] == 2
    assert refused == [
        5,
        "",
        'regnas: the reader of prediction files "parquet" needs pyarrow, which is not installed. Install it with: '
        "pip install 'regnas[parquet]'\n",
    ]


def test_the_gallery_of_a_folder_needs_no_extra(tmp_path):
    names = [f"{label}/{number}.png" for label in ("cat", "dog") for number in range(3)]
    for name in names:
        (tmp_path / "photos" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((8, 8, 3), 99, dtype=np.uint8)).save(tmp_path / "photos" / name)
    for model, answers in {"old": "cat cat cat dog dog dog", "new": "dog cat cat dog dog dog"}.items():
        rows = [f"{name},{name[:3]},{answer}\n" for name, answer in zip(names, answers.split(), strict=True)]
        (tmp_path / f"{model}.csv").write_text("id,target,predicted\n" + "".join(rows))
    page = tmp_path / "broken.html"
    files = [tmp_path / "old.csv", tmp_path / "new.csv"]
    ((code, _, err),) = without_extras(["gallery", *files, "--data", tmp_path / "photos", "--out", page])
    assert code == 0, err
    assert "cat/0.png" in page.read_text()


@pytest.mark.slow
def test_verify_needs_no_extra_and_says_what_it_leaves_out(finished_run):
    ((code, out, err),) = without_extras(["verify", finished_run])
    assert (code, err) == (0, "")
    assert "passed: all" in out
    assert "MACs and parameters were not checked: counting them needs torch, which is not installed." in out


def test_every_other_command_names_the_extra_and_exits_with_5(tmp_path):
    commands = [
        ["run", "digits"],
        ["train", "digits"],
        ["search", "digits"],
        ["polish", "digits"],
        ["baselines", "digits"],
        ["report", "digits"],
        ["export", "digits"],
        ["update", "update_digits"],
        ["validate", "digits"],
        ["predict", "resnet18", tmp_path, "--out", tmp_path / "x.npz"],
        ["import-ofa", "x"],
        ["latency-table", "digits"],
    ]
    for command, (code, out, err) in zip(commands, without_extras(*commands), strict=True):
        assert (code, out) == (5, ""), command
        (line,) = err.splitlines()
        assert line.startswith(f"regnas: {command[0]} needs "), line
        assert line.endswith("which is not installed. Install it with: pip install 'regnas[train]'"), line


def test_python_gets_the_same_line_as_an_error_of_regnas_and_of_importing():
    @explain_missing_packages("regnas.score")
    def score():
        raise ModuleNotFoundError("No module named 'onnxruntime.capi'", name="onnxruntime.capi")

    with pytest.raises(MissingPackage) as caught:
        score()
    assert isinstance(caught.value, EnvironmentProblem) and isinstance(caught.value, ImportError)
    assert str(caught.value) == (
        "regnas.score needs onnxruntime, which is not installed. Install it with: pip install 'regnas[onnx]'"
    )


def test_a_module_that_no_extra_brings_is_not_explained_away():
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), explain_missing_packages("regnas.score"):
        import no_such_module  # noqa: F401


def test_every_optional_package_is_in_the_extra_that_is_named():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    offered = {
        (requirement.partition(">")[0].partition("[")[0], extra)
        for extra, requirements in project["optional-dependencies"].items()
        if extra not in ("all", "dev")
        for requirement in requirements
    }
    distributions = {name: found[0].lower().removesuffix("-skinny") for name, found in packages_distributions().items()}
    named = {(distributions.get(module, module.replace("_", "-")), extra) for module, extra in EXTRAS.items()}
    assert named == offered
    core = {requirement.partition(">")[0] for requirement in project["dependencies"]}
    assert not core & {distribution for distribution, _ in offered}


def test_importing_regnas_to_compare_loads_no_optional_package():
    code = "import sys, regnas.comparison.comparison; print(sorted(set(sys.modules) & set(sys.argv[1:])))"
    done = subprocess.run([sys.executable, "-c", code, *EXTRAS], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
