from __future__ import annotations

import pytest
from torch import nn

from regnas.health import self_test
from regnas.health.self_test import TESTS, run_self_test


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def only(monkeypatch, *names):
    monkeypatch.setattr(self_test, "TESTS", {name: TESTS[name] for name in names})


def test_training_resuming_and_comparing_work_here(folder, monkeypatch):
    only(monkeypatch, "compare", "train twice", "resume", "train on the device")
    found = list(run_self_test())
    assert [finding.status for finding in found] == ["ok"] * 4, found
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_the_export_works_here(monkeypatch):
    only(monkeypatch, "export to ONNX")
    [found] = run_self_test()
    assert found.status == "ok", found


def test_an_interrupted_training_that_ends_with_other_bits_is_a_failure(monkeypatch):
    networks = iter((nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)))
    monkeypatch.setattr(self_test, "_trained", lambda *_, **__: next(networks))
    only(monkeypatch, "resume")
    [found] = run_self_test()
    assert found.status == "failed" and "got 2 different tensors, such as weight" in found.found


def test_the_training_is_really_interrupted(monkeypatch):
    calls = []
    monkeypatch.setattr(self_test, "_trained", lambda *given, **more: calls.append(more) or nn.Linear(2, 2))
    monkeypatch.setattr(self_test, "_require_same", lambda *_: None)
    only(monkeypatch, "resume")
    assert [each.status for each in run_self_test()] == ["ok"]
    steps = self_test.EPOCHS * self_test.SAMPLES // self_test.BATCH
    assert 0 < calls[0]["until"] < steps and calls[0]["until"] % (steps // self_test.EPOCHS) != 0


def test_no_test_starts_after_the_time_is_over(monkeypatch):
    monkeypatch.setattr(self_test, "SECONDS", -1.0)
    assert {finding.status for finding in run_self_test()} == {"note"}
