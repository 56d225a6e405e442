"""`regnas export`: files in several formats, each compared with its member on the report split."""

from __future__ import annotations

import json
import shutil
import signal
from dataclasses import replace

import numpy as np
import onnxruntime
import pytest
import torch
from safetensors import safe_open
from torch import nn

from benchmarks.processes import start_regnas
from regnas.family.export.torch_export_files import torch_export_bytes
from regnas.family.family import load_family
from regnas.family.manifest import metadata_of, read_manifest, write_manifest
from regnas.flips import flip_table_from_correctness
from regnas.runtime.files import write_bytes
from regnas.runtime.signals import ask_to_stop

pytestmark = pytest.mark.slow

MEMBERS = ("small", "medium", "large")
FILES = {f"{member}.{suffix}" for member in MEMBERS for suffix in ("safetensors", "onnx", "int8.onnx", "pt2", "md")}

WITHOUT_REPORT = shutil.ignore_patterns("report")  # which would be written again for a changed family


def content(run):
    return {path.name: path.read_bytes() for path in (run / "family").iterdir()}


def manifest_of(run):
    return json.loads((run / "family" / "manifest.json").read_text())


@pytest.fixture
def run_copy(finished_run, tmp_path):
    return shutil.copytree(finished_run, tmp_path / "run", ignore=WITHOUT_REPORT)


@pytest.fixture
def exported_copy(exported_run, tmp_path):
    return shutil.copytree(exported_run, tmp_path / "run", ignore=WITHOUT_REPORT)


@pytest.fixture(scope="module")
def measured_again(finished_run, exported_run):
    """Whether each test image is classified correctly, by the loaded members and by onnxruntime alone."""
    family = load_family(exported_run / "family")
    with np.load(finished_run.parent / "data.npz") as data:
        targets = data["test_targets"]
        images = family.preprocess(torch.from_numpy(data["test_images"])[:, None])
    logits = {}
    for member in MEMBERS:
        with torch.no_grad():
            logits["member", member] = family[member](images).numpy()
        for suffix in ("onnx", "int8.onnx"):
            path = exported_run / "family" / f"{member}.{suffix}"
            session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
            (logits[suffix, member],) = session.run(None, {"images": images.numpy()})
    return logits, targets


def test_every_file_is_listed_with_what_it_answers(exported_run, measured_again):
    logits, targets = measured_again
    manifest = manifest_of(exported_run)
    entries = {entry["file"]: entry for entry in manifest["exports"]}
    assert set(entries) == {name for name in FILES if not name.endswith(".md")}
    for member in MEMBERS:
        right = logits["member", member].argmax(1) == targets
        for suffix in ("onnx", "int8.onnx"):
            entry, found = entries[f"{member}.{suffix}"], logits[suffix, member]
            also = found.argmax(1) == targets
            assert entry["top1"] == also.mean()
            assert entry["nfr"] == (right & ~also).mean()
            assert entry["pfr"] == (~right & also).mean()
            assert entry["disagreements"] == (found.argmax(1) != logits["member", member].argmax(1)).sum()
            difference = np.abs(found - logits["member", member]).max()
            assert entry["largest_logit_difference"] == pytest.approx(difference, rel=1e-3, abs=1e-5)
            assert entry["bytes"] == (exported_run / "family" / entry["file"]).stat().st_size
        for suffix in ("safetensors", "pt2", "onnx"):
            assert entries[f"{member}.{suffix}"]["disagreements"] == 0
            assert entries[f"{member}.{suffix}"]["largest_logit_difference"] < 1e-4
        assert entries[f"{member}.int8.onnx"]["largest_logit_difference"] > 1e-3


def test_flips_among_the_files_of_a_format_are_measured_on_the_files(exported_run, measured_again):
    logits, targets = measured_again
    tables = manifest_of(exported_run)["exported_flips"]
    assert list(tables) == ["safetensors", "onnx", "onnx-int8", "torch-export"]
    for suffix, name in (("onnx", "onnx"), ("int8.onnx", "onnx-int8")):
        right = np.stack([logits[suffix, member].argmax(1) == targets for member in MEMBERS])
        assert tables[name] == flip_table_from_correctness(MEMBERS, right).to_json()


def test_a_file_with_different_predictions_is_reported(exported_run):
    stdout = (exported_run.parent / "stdout.txt").read_text()
    for entry in manifest_of(exported_run)["exports"]:
        assert entry["file"] in stdout
        line = f"{entry['file']} disagrees with {entry['member']} on {entry['disagreements']} of 100 images"
        assert (line in stdout) == (entry["disagreements"] > 0)
    assert "export: done" in stdout


class Backwards(nn.Module):
    """Predict the least likely class."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, images):
        return -self.network(images)


def test_an_export_that_breaks_every_answer_is_reported_as_that(run_copy, command, monkeypatch):
    def broken(network, *rest):
        return torch_export_bytes(Backwards(network), *rest)

    monkeypatch.setattr("regnas.family.export.formats.torch_export_bytes", broken)
    outcome = command("export", run_copy, "--format", "torch-export")
    assert outcome.code == 0, outcome.stderr
    manifest = manifest_of(run_copy)
    for entry in manifest["exports"]:
        if entry["format"] == "torch-export":
            assert entry["disagreements"] == 100
            assert entry["nfr"] == entry["member_top1"] > 0
            line = f"{entry['file']} disagrees with {entry['member']} on 100 of 100 images: "
            assert line + f"{100 * entry['nfr']:.2f} % become wrong" in outcome.stdout
    assert command("verify", run_copy).code == 0


def test_a_network_that_a_format_cannot_hold_is_refused_in_one_line(run_copy, refusal, monkeypatch):
    def unable(*_):
        raise RuntimeError("no operator for this\nand a long story")

    monkeypatch.setattr("regnas.family.export.formats.torch_export_bytes", unable)
    code, lines = refusal("export", run_copy, "--format", "torch-export")
    assert code == 4
    assert lines == ["regnas: small cannot be written as torch-export: no operator for this"]


def test_weights_and_cards_describe_the_member(exported_run):
    manifest = manifest_of(exported_run)
    for member in manifest["members"]:
        with safe_open(exported_run / "family" / member["file"], "pt") as weights:
            assert weights.metadata() == metadata_of(
                member["name"], manifest["preprocessing"], manifest["classes"], manifest["input_shape"]
            )
        card = (exported_run / "family" / f"{member['name']}.md").read_text()
        assert manifest["data"]["digest"] in card
        assert f"{member['macs']:,}" in card
        assert f"| Parameters | {member['parameters']:,} |" in card
        low, high = (f"{100 * bound:.2f}" for bound in member["top1_interval"])
        assert f"{100 * member['top1']:.2f} [{low}, {high}]" in card
        assert "| these weights | not stated |" in card
        assert "&lt;b>dot&lt;/b>" in card
        assert "<b>" not in card
        for other in MEMBERS:
            assert (f"| {other} by {member['name']} |" in card or f"| {member['name']} by {other} |" in card) == (
                other != member["name"]
            )
    table = manifest["flip_table"]
    row = f"| small by large | {100 * table['nfr'][0][2]:.2f} | {100 * table['nfr'][2][0]:.2f} |"
    assert row in (exported_run / "family" / "small.md").read_text()
    assert row in (exported_run / "family" / "large.md").read_text()


def test_the_manifest_has_the_budgets_as_they_were_written(exported_run):
    budgets = [member["budget"] for member in manifest_of(exported_run)["members"]]
    assert budgets == ["80k +- 5 %", "120k +- 5 %", "200k +- 5 %"]


def test_an_export_that_is_whole_is_left_as_it_is_without_data(exported_copy, command, monkeypatch):
    monkeypatch.setattr("regnas.data.arrays.Arrays.load", lambda self: pytest.fail("the data were loaded"))
    before = {path: path.stat().st_mtime_ns for path in (exported_copy / "family").iterdir()}
    outcome = command("export", exported_copy, "--format", "onnx", "--int8")
    assert outcome.code == 0, outcome.stderr
    assert {path: path.stat().st_mtime_ns for path in (exported_copy / "family").iterdir()} == before


@pytest.mark.parametrize("damage", ["small.pt2", "small.md"])
def test_what_is_damaged_is_written_again_with_the_same_bytes(exported_copy, exported_run, command, damage):
    path = exported_copy / "family" / damage
    path.write_bytes(path.read_bytes()[:-1])
    assert command("export", exported_copy, "--format", "torch-export").code == 0
    assert content(exported_copy) == content(exported_run)


def test_the_license_of_the_weights_is_the_users_and_stays(run_copy, command):
    assert command("export", run_copy, "--weights-license", "CC | <BY>").code == 0
    assert command("export", run_copy, "--format", "torch-export").code == 0
    assert manifest_of(run_copy)["licenses"] == {"regnas": "Apache-2.0", "weights": "CC | <BY>"}
    assert r"| these weights | CC \| &lt;BY> |" in (run_copy / "family" / "small.md").read_text()
    assert command("verify", run_copy).code == 0


def test_calibration_uses_only_training_images(run_copy, finished_run, command, monkeypatch):
    seen = []

    def remember(content, images, metadata):
        seen.append(images)
        return content

    monkeypatch.setattr("regnas.family.export.formats.int8_bytes", remember)
    assert command("export", run_copy, "--int8").code == 0
    family = load_family(run_copy / "family")
    with np.load(finished_run.parent / "data.npz") as data:
        parts = [torch.from_numpy(data[f"{part}_images"])[:, None] for part in ("train", "test")]
    train, test = map(family.preprocess, parts)
    known, held_back = ({image.tobytes() for image in split.numpy()} for split in (train, test))
    assert len(seen) == 3
    for images in seen:
        assert len(images) == 140  # 256 are wanted, and the search holds 60 of 200 back
        assert {image.tobytes() for image in images} <= known
        assert not {image.tobytes() for image in images} & held_back


def test_killed_in_the_middle_the_family_is_whole_and_the_same_command_ends_with_the_same_bytes(
    run_copy, exported_run, command
):
    process = start_regnas("export", run_copy, "--format", "torch-export")
    process.wait_for(lambda: (run_copy / "family" / "medium.pt2").exists())
    process.kill()
    outcome = command("verify", run_copy)
    assert outcome.code == 0, outcome.stderr
    assert "'medium.pt2' is not listed in the manifest" in outcome.stdout
    assert command("export", run_copy, "--format", "torch-export").code == 0
    for name, text in content(exported_run).items():
        if name.endswith((".safetensors", ".pt2")):
            assert (run_copy / "family" / name).read_bytes() == text
    uninterrupted, found = manifest_of(exported_run), manifest_of(run_copy)
    formats = {"safetensors", "torch-export"}
    assert found["exports"] == [entry for entry in uninterrupted["exports"] if entry["format"] in formats]
    assert found["exported_flips"] == {name: uninterrupted["exported_flips"][name] for name in found["exported_flips"]}


def test_an_interrupted_export_says_how_to_go_on(run_copy, command, monkeypatch):
    def write_and_ask(path, text):
        write_bytes(path, text)
        ask_to_stop(signal.SIGINT)

    monkeypatch.setattr("regnas.family.export.writing.write_bytes", write_and_ask)
    outcome = command("export", run_copy, "--format", "torch-export", "--allow-inexact")
    assert outcome.code == 130
    assert f"continue with: regnas export {run_copy} --format torch-export --allow-inexact\n" in outcome.stderr
    assert not (run_copy / "family" / "medium.pt2").exists()
    assert command("verify", run_copy).code == 0


def test_a_family_of_the_older_format_is_rewritten(run_copy, finished_run, command, refusal):
    path = run_copy / "family" / "manifest.json"
    manifest = manifest_of(run_copy)
    path.write_text(json.dumps({"format": 1, "members": manifest["members"]}))
    code, lines = refusal("verify", run_copy)
    assert code == 3
    assert lines[0].endswith("must have format 2, got 1. Write it again with `regnas export RUN`.")
    assert command("export", run_copy).code == 0
    assert content(run_copy) == content(finished_run)


def test_no_files_of_the_old_family_remain_after_a_change(exported_copy, command):
    outcome = command("search", exported_copy, "--add-budget", "tablet=155k +- 8 %", "--executor", "inline")
    assert outcome.code == 0, outcome.stderr
    members = ("small", "medium", "tablet", "large")
    assert set(content(exported_copy)) == {"manifest.json"} | {
        f"{member}.{suffix}" for member in members for suffix in ("safetensors", "md")
    }
    assert command("verify", exported_copy).code == 0


def test_an_unknown_format_is_refused_before_anything_runs(run_copy, refusal):
    code, lines = refusal("export", run_copy, "--format", "onx", "--format", "tflite")
    assert code == 2
    assert lines == [
        "regnas: --format onx: unknown (known: safetensors, onnx, torch-export)",
        "regnas: --format tflite: unknown (known: safetensors, onnx, torch-export)",
    ]


@pytest.mark.parametrize("options", [["--format", "onnx"], ["--int8"]])
def test_without_the_packages_of_onnx_one_line_says_what_to_install(run_copy, refusal, monkeypatch, options):
    monkeypatch.setattr("regnas.family.export.formats.find_spec", lambda name: None if name == "onnx" else name)
    assert refusal("export", run_copy, *options) == (
        5,
        ["regnas: ONNX files need onnx. Run: pip install 'regnas[onnx]'"],
    )


def test_other_data_than_the_familys_are_refused(run_copy, refusal):
    manifest = read_manifest(run_copy / "family")
    write_manifest(run_copy / "family", replace(manifest, data={"digest": "0" * 64}))
    code, lines = refusal("export", run_copy, "--format", "torch-export")
    assert code == 3
    assert "must be measured on the given data" in lines[0]
