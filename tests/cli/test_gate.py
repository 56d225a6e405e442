"""`regnas gate`: exit codes that a build server acts on, and what it writes for people."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from tests.comparison.helpers import write


@pytest.fixture
def pair(tmp_path):
    """The new model loses 10 of 1,000 samples, all of class 1, and gains none."""

    def make(lost=10, samples=1000, **columns):
        common = {"id": list(range(samples)), "target": [n % 2 for n in range(samples)], **columns}
        old = write(tmp_path / "old.parquet", **common, predicted=common["target"])
        answers = [1 - target if target == 1 and n < 2 * lost else target for n, target in enumerate(common["target"])]
        return old, write(tmp_path / "new.npz", **common, predicted=answers)

    return make


def test_pass_fail_and_unresolved_have_their_codes(command, pair):
    files = pair()
    assert command("gate", *files, "--max-nfr", "0.02").code == 0
    assert command("gate", *files, "--max-nfr", "0.003").code == 6
    assert command("gate", *files, "--max-nfr", "0.012").code == 6
    assert command("gate", *files, "--max-nfr", "0.012", "--allow-unresolved").code == 0
    assert command("gate", *files, "--max-nfr", "0.003", "--allow-unresolved").code == 6


def test_a_few_samples_without_a_flip_do_not_pass(command, pair):
    outcome = command("gate", *pair(lost=0, samples=20), "--max-nfr", "0.02")
    assert outcome.code == 6
    assert "Unresolved: old → new on 20 samples" in outcome.stdout
    assert "about 163" in outcome.stdout


def test_a_rate_at_the_limit_is_reported_as_never_decided(command, pair, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert "cannot be resolved at this rate" in command("gate", *pair(), "--max-nfr", "0.01").stdout


def test_json(command, pair):
    outcome = command(
        "gate", *pair(), "--max-nfr", "0.02", "--max-class-nfr", "0.015", "--min-accuracy-gain", "0", "--json"
    )
    assert outcome.code == 6
    value = json.loads(outcome.stdout)
    assert (value["verdict"], value["reference"], value["new"], value["samples"]) == ("fail", "old", "new", 1000)
    nfr, classes, gain = value["limits"]
    assert (nfr["limit"], nfr["bound"], nfr["verdict"], nfr["estimate"]) == ("max_nfr", 0.02, "pass", 0.01)
    assert nfr["interval"] == pytest.approx([0.004806, 0.018314], abs=1e-5)
    assert (classes["verdict"], classes["interval_level"]) == ("unresolved", 0.975)
    assert [(each["class"], each["verdict"], each["negative_flips"]) for each in classes["classes"]] == [
        (1, "unresolved", 10),
        (0, "pass", 0),
    ]
    assert classes["further_samples"] > 0
    assert (gain["verdict"], gain["estimate"]) == ("fail", pytest.approx(-0.01))


def test_markdown_fits_a_comment(command, pair):
    text = command("gate", *pair(), "--max-nfr", "0.02", "--max-class-nfr", "0.015", "--markdown", "-").stdout
    assert text.startswith("### ❔ Unresolved: old → new on 1,000 samples\n")
    assert "| NFR at most 2 % | 1.00 | [0.48, 1.83] | pass |  |" in text
    assert "Classes that do not pass: 1 of 2" in text
    assert "(Bonferroni)" in text


def test_junit_fails_if_the_gate_fails(command, pair, tmp_path):
    options = ("--max-nfr", "0.012", "--min-accuracy-gain", "-0.5", "--junit", tmp_path / "x.xml")
    command("gate", *pair(), *options)
    suite = ElementTree.parse(tmp_path / "x.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "0")
    flips, gain = suite.findall("testcase")
    assert flips.get("name") == "old → new: NFR at most 1.2 %"
    assert flips.find("failure").get("message").startswith("unresolved: 1.00 % [0.48, 1.83], further samples: about ")
    assert gain.find("failure") is None
    command("gate", *pair(), *options, "--allow-unresolved")
    suite = ElementTree.parse(tmp_path / "x.xml").getroot()
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")


def test_clusters_are_reported(command, pair):
    files = pair(group=[n // 10 for n in range(1000)])
    assert "The samples come in 100 clusters" in command("gate", *files, "--max-nfr", "0.02").stdout


def test_usage(refusal, pair, tmp_path):
    files = pair()
    code, (line,) = refusal("gate", *files)
    assert (code, "at least one limit" in line) == (2, True)
    for limits in (("--max-nfr", "2"), ("--max-nfr", "-0.1"), ("--max-class-nfr", "nan"), ("--min-accuracy-gain", "7")):
        code, (line,) = refusal("gate", *files, *limits)
        assert (code, f"{limits[0]} must be a fraction between" in line) == (2, True), limits
    assert refusal("gate", tmp_path / "none.csv", files[1], "--max-nfr", "0.1")[0] == 3


def test_limits_are_checked_before_the_files(refusal, tmp_path):
    assert refusal("gate", tmp_path / "none.csv", tmp_path / "nor.csv", "--max-nfr", "3")[0] == 2
