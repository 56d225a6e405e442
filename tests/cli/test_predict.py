"""`regnas predict`: three commands compare two models."""

from __future__ import annotations

import os
import shutil
import signal

import numpy as np
import pytest
import torch

from regnas.family.onnx_models import OnnxNetwork
from regnas.flips import load_predictions, negative_flip_rate
from tests.prediction.folders import write_folder


@pytest.mark.parametrize("member", ["small", "medium", "large"])
def test_a_member_answers_its_runs_own_split_as_the_run_did_to_the_byte(command, finished_run, tmp_path, member):
    out = tmp_path / f"{member}.npz"
    outcome = command("predict", f"{finished_run}:{member}", finished_run, "--out", out, "--device", "cpu")
    assert outcome.code == 0, outcome.stderr
    recorded = finished_run / "predictions" / f"{member}.npz"
    assert out.read_bytes() == recorded.read_bytes()
    top1 = 100 * load_predictions(recorded).accuracy
    assert outcome.stdout == f"{out}: {member}, 100 samples, Top-1 {top1:.2f} %\n"


def test_two_files_of_one_folder_can_be_compared(command, finished_run, tmp_path):
    data = finished_run.parent / "data.npz"
    for member in ("small", "large"):
        assert command("predict", f"{finished_run}:{member}", data, "--out", tmp_path / f"{member}.npz").code == 0
    small, large = (load_predictions(tmp_path / f"{member}.npz") for member in ("small", "large"))
    recorded = [load_predictions(finished_run / "predictions" / f"{member}.npz") for member in ("small", "large")]
    assert negative_flip_rate(small, large) == negative_flip_rate(*recorded)
    assert small.ids.tolist() == [f"test/{index}" for index in range(100)]


def test_an_onnx_file_on_a_folder(command, brightness_onnx, tmp_path):
    folder = write_folder(tmp_path / "photos")
    outcome = command("predict", brightness_onnx, folder, "--out", tmp_path / "deep" / "p.npz", "--batch-size", 2)
    assert outcome.code == 0, outcome.stderr
    with np.load(tmp_path / "deep" / "p.npz") as arrays:
        assert {"id", "target", "predicted", "logits"} <= set(arrays)
        assert arrays["id"][0] == "dark/0.png"
        assert arrays["predicted"].tolist() == arrays["target"].tolist()


def test_the_search_split_of_a_configuration(command, finished_run, tmp_path):
    config, out = finished_run.parent / "tiny.toml", tmp_path / "p.npz"
    assert command("predict", f"{finished_run}:small", config, "--out", out, "--split", "search").code == 0
    assert len(load_predictions(out)) == 60


def test_a_file_that_is_there_is_left_alone_without_overwrite(refusal, command, finished_run, tmp_path):
    out = tmp_path / "p.npz"
    out.write_bytes(b"precious")
    arguments = ("predict", f"{finished_run}:small", finished_run, "--out", out)
    assert refusal(*arguments) == (
        2,
        [f"regnas: {out} exists. Choose another file, or replace it with --overwrite."],
    )
    assert out.read_bytes() == b"precious"
    assert command(*arguments, "--overwrite").code == 0
    assert len(load_predictions(out)) == 100


def broken_family(run, tmp_path):
    shutil.copytree(run / "family", tmp_path / "family")
    (tmp_path / "family" / "small.safetensors").write_bytes(b"damaged")
    return f"{tmp_path}:small"


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (["{run}:small", "{data}", "--out", "{tmp}/p.csv"], 2, "--out must end in .npz, got"),
        (["{run}:small", "{data}", "--out", "{tmp}/folder.npz"], 2, "--out must be a file, got the folder"),
        (["{run}:small", "{data}", "--out", "{data}/p.npz"], 5, "must be a folder that you may write to"),
        (
            ["{run}:small", "{data}", "--out", "{tmp}/p.npz", "--device", "gpu"],
            2,
            'mps, got "gpu"',
        ),
        (["{run}:tiny", "{data}", "--out", "{tmp}/p.npz"], 2, 'no member "tiny"'),
        (["{broken}", "{data}", "--out", "{tmp}/p.npz"], 3, "small.safetensors is damaged: its sha256"),
        (["resnet18", "{data}", "--out", "{tmp}/p.npz"], 5, "cannot get the weights resnet18-f37072fd.pth"),
        (["resnet1", "{data}", "--out", "{tmp}/p.npz"], 2, 'no classification model "resnet1"'),
        (["{run}:small", "{tmp}/none", "--out", "{tmp}/p.npz"], 2, "there is no file"),
        (["{run}:small", "{tmp}/empty", "--out", "{tmp}/p.npz"], 3, "must have class folders"),
        (["{run}:small", "{tmp}/photos", "--out", "{tmp}/p.npz"], 3, "must have the same classes, got 3 of 3 only in"),
        (["{run}:small", "update_digits", "--out", "{tmp}/p.npz"], 3, "must have the same classes, got 10 of 10"),
    ],
)
def test_refusals_are_one_line_with_their_code_and_write_nothing(
    refusal, finished_run, tmp_path, checkpoints, arguments, code, problem
):
    write_folder(tmp_path / "photos")
    (tmp_path / "empty").mkdir()
    (tmp_path / "folder.npz").mkdir()
    names = {"run": finished_run, "data": finished_run.parent / "data.npz", "tmp": tmp_path}
    broken = broken_family(finished_run, tmp_path)
    found = refusal("predict", *(each.format(**names, broken=broken) for each in arguments))
    assert found[0] == code
    assert len(found[1]) == 1
    assert problem in found[1][0]
    assert not list(tmp_path.rglob("*p.npz*"))


def test_a_device_that_is_not_there_is_refused(refusal, finished_run, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    arguments = ("predict", f"{finished_run}:small", finished_run, "--out", tmp_path / "p.npz", "--device", "cuda")
    line = 'regnas: torch must have the device "cuda" and has not. Choose another device.'
    assert refusal(*arguments) == (5, [line])


def test_names_with_line_breaks_and_escapes_stay_in_one_line(refusal, brightness_onnx, tmp_path):
    write_folder(tmp_path / "photos", {"two\nlines": 20, "\x1b[31mred": 128, "light": 240})
    code, lines = refusal("predict", brightness_onnx, tmp_path / "photos", "--out", tmp_path / "p.npz")
    assert (code, len(lines)) == (3, 1)
    assert '"\\x1b[31mred", "two\\nlines"' in lines[0]
    write_folder(tmp_path / "bad")
    (tmp_path / "bad" / "gray" / "a\nb.png").write_bytes(b"no picture")
    code, lines = refusal("predict", brightness_onnx, tmp_path / "bad", "--out", tmp_path / "p.npz")
    assert (code, len(lines)) == (3, 1)
    assert "gray/a\\nb.png: cannot identify image file" in lines[0]


def test_an_interrupt_leaves_nothing_behind(command, brightness_onnx, tmp_path, monkeypatch):
    write_folder(tmp_path / "photos")
    seen = []

    def forward(self, images):
        seen.append(len(images))
        os.kill(os.getpid(), signal.SIGINT)
        return torch.zeros(len(images), 3)

    monkeypatch.setattr(OnnxNetwork, "forward", forward)
    (tmp_path / "out").mkdir()
    out = tmp_path / "out" / "p.npz"
    outcome = command("predict", brightness_onnx, tmp_path / "photos", "--out", out, "--batch-size", 2)
    assert (outcome.code, outcome.stderr) == (130, "regnas: interrupted by SIGINT; nothing was written\n")
    assert seen == [2]
    assert list(out.parent.iterdir()) == []
