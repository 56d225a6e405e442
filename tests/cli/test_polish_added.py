"""Members that are added to a polished family, and the images that decide about polishing."""

from __future__ import annotations

import json
import shutil

import pytest

from benchmarks.processes import regnas, start_regnas
from benchmarks.tiny import write_tiny
from regnas.runs.config import parse_config
from regnas.runtime.files import write_sealed_json
from regnas.search import Studies, open_storage, sqlite_storage

pytestmark = pytest.mark.slow

ADDED = "160k=160k +- 20 %"
POLISH = "\n[polish]\nepochs = 3\nlearning_rate = 0.02\nheld_out = 0.4\n"


@pytest.fixture(scope="module")
def polished(tmp_path_factory):
    """A family that was searched to be polished, without its report; tests must not change it."""
    folder = tmp_path_factory.mktemp("to be polished")
    outcome = regnas("export", write_tiny(folder, extra=POLISH), "--out", folder / "run")
    assert outcome.code == 0, outcome.stderr
    return folder / "run"


@pytest.fixture
def run(polished, tmp_path):
    return shutil.copytree(polished, tmp_path / "run")


def manifest(run):
    return json.loads((run / "family" / "manifest.json").read_text())


def decision(run):
    return manifest(run)["polish"]["decision"]


def weights(run):
    return {path.name: path.read_bytes() for path in (run / "family").glob("*.safetensors")}


def predicted(run):
    return {path.name: path.read_bytes() for path in (run / "predictions").glob("*.npz")}


def trained(run):
    return {path.relative_to(run) for part in ("polish", "trainings") for path in (run / part).rglob("*.safetensors")}


def test_the_images_that_decide_have_chosen_no_architecture(polished):
    found = decision(polished)
    assert (found["held_out"], found["images"], found["originals"]) == (True, 24, 24)
    facts = json.loads((polished / "run.json").read_text())
    assert facts["held_out"] == 0.4
    space = parse_config("tiny", facts["configuration"]).values.supernet.space((1, 8, 8), 3)
    studies = Studies(open_storage(sqlite_storage(polished / "study.db")), space)
    correct = [trial.measures.top1 * 36 for trial in studies.open("family/small").trials()]  # of 60, without the 24
    assert correct == pytest.approx([round(each) for each in correct])


def test_a_budget_that_is_added_after_polishing_leaves_the_others_as_they_are(run, polished, command):
    before = weights(polished), predicted(polished), trained(polished)
    outcome = command("search", run, "--add-budget", ADDED)
    assert outcome.code == 0, outcome.stderr
    for kept, now in zip(before[:2], (weights(run), predicted(run)), strict=True):
        assert {name: now[name] for name in kept} == kept
        assert len(now) == len(kept) + 1
    assert trained(run) == before[2]  # nothing was trained
    assert decision(run) == decision(polished)
    assert [line.split()[0] for line in outcome.stdout.splitlines() if "[" in line][:5] == [
        "Member", "small", "medium", "160k", "large",
    ]  # fmt: skip
    assert command("verify", run).code == 0
    alpha = command("polish", run, "--alpha", "0.5")
    assert alpha.code == 0, alpha.stderr
    assert trained(run) == before[2]
    assert [member["name"] for member in manifest(run)["members"]] == ["small", "medium", "160k", "large"]
    assert weights(run) != before[0]
    assert "polishing: alpha 0.5 chosen by hand" in alpha.stdout


def test_a_search_for_an_added_member_that_is_killed_ends_with_the_same_bytes(run, tmp_path, command):
    whole = shutil.copytree(run, tmp_path / "whole")
    assert command("search", whole, "--add-budget", ADDED).code == 0
    killed = start_regnas("search", run, "--add-budget", ADDED)
    killed.wait_for(lambda: "added_budgets" in json.loads((run / "run.json").read_text() or "{}"))
    killed.kill()
    assert command("search", run, "--add-budget", ADDED).code == 0
    assert weights(run) == weights(whole)
    assert predicted(run) == predicted(whole)


def test_a_report_that_lacks_the_new_member_is_named_with_its_command_and_alpha_trains_nothing(run, command):
    assert command("report", run).code == 0
    facts = json.loads((run / "run.json").read_text())
    facts["added_budgets"] = {"160k": "160k +- 20 %"}  # an `--add-budget` that was killed after the search
    write_sealed_json(run / "run.json", facts)
    before = trained(run)
    refused = command("polish", run, "--alpha", "0.25")
    assert refused.code == 2
    assert "the member 160k must be found before the members are polished in another way" in refused.stderr
    assert command("export", run).code == 0
    outcome = command("polish", run, "--alpha", "0.25")
    assert outcome.code == 0, outcome.stderr
    assert trained(run) == before
    assert f"the report lacks 160k. Write it with: regnas report {run}\n" in outcome.stdout


def test_polishing_again_is_for_all_members_and_the_held_out_part_cannot_change(run, command, refusal):
    assert command("search", run, "--add-budget", ADDED).code == 0
    before = weights(run)
    code, (line,) = refusal("polish", run, "--set", "held_out=0.1")
    assert (code, "polish.held_out must be 0.4, with which the members were searched, got 0.1." in line) == (2, True)
    outcome = command("polish", run, "--set", "epochs=1")
    assert outcome.code == 0, outcome.stderr
    assert "160k.safetensors" in weights(run)
    assert weights(run) != before
    assert command("verify", run).code == 0


def test_a_budget_without_a_network_is_refused_and_forgotten(run, refusal, command):
    before = weights(run)
    code, (line,) = refusal("search", run, "--add-budget", "narrow=119k +- 0.01 %")
    assert code == 4
    assert "no architecture takes" in line
    assert command("polish", run, "--alpha", "0.25").code == 0
    assert weights(run).keys() == before.keys()
