"""`regnas polish`: the shared weights of the members, trained further, and kept if the search split decides so."""

from __future__ import annotations

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file

from benchmarks.processes import regnas, start_regnas
from regnas.runtime.files import write_sealed_json

pytestmark = pytest.mark.slow


@pytest.fixture
def run(finished_run, tmp_path):
    """Without its report, because writing it again takes long."""
    return shutil.copytree(finished_run, tmp_path / "run", ignore=shutil.ignore_patterns("report"))


@pytest.fixture(scope="session")
def polished_run(finished_run, tmp_path_factory):
    """Three epochs at a low learning rate; tests must not change it."""
    run = tmp_path_factory.mktemp("polished") / "run"
    shutil.copytree(finished_run, run)
    # Named by its configuration: the report in the folder is written again here too.
    outcome = regnas("polish", finished_run.parent / "tiny.toml", "--out", run, *SETTINGS)
    assert outcome.code == 0, outcome.stderr
    (run.parent / "stdout.txt").write_text(outcome.stdout)
    return run


SETTINGS = ("--set", "epochs=3", "--set", "learning_rate=0.02")


def manifest(run):
    return json.loads((run / "family" / "manifest.json").read_text())


def weights(run):
    return {path.name: load_file(path) for path in sorted((run / "family").glob("*.safetensors"))}


def family(run):
    return {path.name: path.read_bytes() for path in (run / "family").iterdir()}


def ends(run):
    (folder,) = run.glob("polish/*/*")
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.safetensors")}


def test_the_trade_is_recorded_and_the_best_of_the_search_split_is_kept(polished_run, finished_run):
    trade = manifest(polished_run)["polish"]
    assert [point["alpha"] for point in trade["points"]] == [None, 0.0, 0.25, 0.5, 0.75, 1.0]
    assert trade["chosen_by"] == "search split"
    assert trade["chosen"]["reward"] == max(point["reward"] for point in trade["points"][1:])
    decision = trade["decision"]
    assert decision["alpha"] == decision["compared"] == trade["chosen"]["alpha"]
    assert (decision["reason"], decision["held_out"], decision["images"]) == ("interval", False, 60)
    assert decision["comparison"] == trade["chosen"]["comparison"]
    for point in trade["points"]:  # R2 over the family: mean Top-1 minus mean NFR
        top1, nfr = point["top1"].values(), point["nfr"].values()
        assert point["reward"] == pytest.approx(sum(top1) / 3 - sum(nfr) / 3)
        assert list(point["nfr"]) == ["small > medium", "small > large", "medium > large"]
    assert trade["chosen"]["alpha"] is not None, "the tiny run is trained too little for polishing to bring nothing"
    assert "polish" not in manifest(finished_run)


def test_the_larger_members_still_contain_the_smaller(polished_run, command):
    assert command("verify", polished_run).code == 0
    proofs = manifest(polished_run)["containment"]
    assert [(proof["small"], proof["large"]) for proof in proofs] == [("small", "medium"), ("medium", "large")]


def test_the_report_shows_the_family_beside_what_it_was(polished_run, finished_run):
    comparison, before = (
        {method["name"]: method for method in json.loads((run / "report/flips.json").read_text())["methods"]}
        for run in (polished_run, finished_run)
    )
    assert comparison["unpolished"]["models"] == [
        {**model, **{key: own[key] for key in ("top1_difference", "top1_difference_interval")}}
        for model, own in zip(before["family"]["models"], comparison["unpolished"]["models"], strict=True)
    ]
    assert comparison["family"]["training_macs"] > before["family"]["training_macs"]
    decision = manifest(polished_run)["polish"]["decision"]
    assert json.loads((polished_run / "report/flips.json").read_text())["polishing"] == decision
    printed = (polished_run.parent / "stdout.txt").read_text()
    said = "the same images chose the architectures, which favors the unpolished weights"
    for text in (printed, (polished_run / "report/index.html").read_text()):
        assert "against the unpolished weights, in percent: mean Top-1" in text
        assert said in " ".join(text.split())
    assert f"- measured on 60 images of the search split; {said}" in (polished_run / "report/flips.md").read_text()


def test_one_number_moves_the_family_without_training(polished_run, tmp_path, command):
    run = shutil.copytree(polished_run, tmp_path / "run", ignore=shutil.ignore_patterns("report"))
    trained = ends(run)
    families = {}
    for alpha in (0.0, 0.3, 1.0):
        outcome = command("polish", run, "--alpha", alpha)
        assert outcome.code == 0, outcome.stderr
        families[alpha] = weights(run)
        assert manifest(run)["polish"]["chosen"]["alpha"] == alpha
        assert manifest(run)["polish"]["chosen_by"] == "hand"
    assert ends(run) == trained
    for file, plain in families[0.0].items():
        for name, tensor in plain.items():
            if "running" in name or "tracked" in name:
                continue  # statistics belong to the mixed weights, and are measured
            expected = 0.7 * tensor + 0.3 * families[1.0][file][name]
            torch.testing.assert_close(families[0.3][file][name], expected, msg=f"{file} {name}")
    assert command("polish", run).code == 0  # the search split chooses again
    assert family(run) == family(polished_run)


def test_weights_that_polishing_makes_worse_are_not_kept(run, finished_run, command):
    outcome = command("polish", run, "--set", "epochs=1", "--set", "learning_rate=50.0", "--set", "alphas=[1.0]")
    assert outcome.code == 0, outcome.stderr
    trade = manifest(run)["polish"]
    assert trade["chosen"]["alpha"] is None
    assert weights(run).keys() == weights(finished_run).keys()
    for file, tensors in weights(finished_run).items():
        assert all(torch.equal(tensor, weights(run)[file][name]) for name, tensor in tensors.items())


def test_killed_while_it_polishes_it_ends_with_the_same_bytes(run, polished_run, command):
    process = start_regnas("polish", run, *SETTINGS)
    process.wait_for(lambda: list(run.glob("polish/*/*/plain/step-*.safetensors")))
    process.kill()
    exported = command("export", run)
    interrupted = "polishing was interrupted: these are the members from before it. Continue it with: "
    assert f"{interrupted}regnas polish {run}\n" in exported.stdout
    assert "polishing was interrupted" in (run / "run.log").read_text()
    outcome = command("report", run)  # the run records that it is polished, and how
    assert outcome.code == 0, outcome.stderr
    assert family(run) == family(polished_run)
    assert "polishing was interrupted" not in command("export", run).stdout


def test_an_export_says_that_it_has_the_members_of_an_earlier_polishing(polished_run, tmp_path, command):
    run = shutil.copytree(polished_run, tmp_path / "run")
    facts = json.loads((run / "run.json").read_text())
    facts["polish"]["alpha"] = 0.25  # `regnas polish RUN --alpha 0.25`, killed after it began
    write_sealed_json(run / "run.json", facts)
    exported = command("export", run)
    assert f"Continue it with: regnas polish {run} --alpha 0.25\n" in exported.stdout


@pytest.mark.parametrize("content", ["[{}]", "{", "[1]"])
def test_a_damaged_record_of_the_points_is_named(polished_run, tmp_path, refusal, content):
    run = tmp_path / "run"
    shutil.copytree(polished_run, run)
    (record,) = run.glob("polish/*/*/points.json")
    record.write_text(content)
    code, (line,) = refusal("report", run)
    assert code == 3
    assert str(record) in line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--alpha", "1.5"], "alpha must be between 0 (accuracy) and 1 (agreement), got 1.5"),
        (["--set", "epochs=0"], "polish: epochs must be at least 1 and learning_rate above 0"),
        (["--set", "polish.epochs=0"], "polish: epochs must be at least 1 and learning_rate above 0"),
        (["--set", "epoch=3"], "polish.epoch is not a known key"),
        (["--set", "alphas=[2.0]"], "polish: alphas must be one or more numbers between 0 and 1"),
        (["--set", 'lessons.a.teacher.name="nobody"', "--set", 'lessons.a.loss.name="naive"'], "nobody"),
    ],
)
def test_invalid_settings_are_refused_and_not_kept(run, refusal, arguments, message):
    before = (run / "run.json").read_bytes()
    code, lines = refusal("polish", run, *arguments)
    assert code == 2
    assert any(message in line for line in lines), lines
    assert json.loads((run / "run.json").read_bytes()) == json.loads(before)
