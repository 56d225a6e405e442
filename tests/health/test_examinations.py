from __future__ import annotations

import errno
import fcntl
import os
import tempfile
from importlib.metadata import version

import pytest
import torch

from regnas.health import devices, disk, machine, packages
from regnas.health.disk import examine_disk
from regnas.health.machine import examine_machine
from regnas.health.packages import examine_packages


def by_name(findings):
    return {finding.name: finding for finding in findings}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize(
    ("quota", "status", "threads"),
    [("150000 100000", "note", "machine.threads to 1"), ("max 100000", "ok", ""), ("6400000 100000", "ok", "")],
)
def test_the_quota_of_a_container_limits_the_cores(tmp_path, monkeypatch, quota, status, threads):
    (tmp_path / "cpu.max").write_text(quota + "\n")
    monkeypatch.setattr(machine, "QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    found = by_name(examine_machine())["cores"]
    assert (found.status, threads in found.remedy) == (status, True)


def test_only_numbers_of_variables_are_shown(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("MKL_NUM_THREADS", "secret")
    assert by_name(examine_machine())["variables"].found == "OMP_NUM_THREADS=3"


def test_a_good_folder_passes_and_nothing_is_left_behind(folder):
    found = by_name(examine_disk())
    assert {name: each.status for name, each in found.items() if name in disk.CHECKS} == dict.fromkeys(
        disk.CHECKS, "ok"
    )
    assert list(folder.iterdir()) == []


def test_locks_that_lock_nothing_are_found(monkeypatch):
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    found = by_name(examine_disk())
    assert (found["locks"].status, found["locks"].found) == ("failed", "OSError: a folder could be locked twice")
    assert found["mapped files"].status == "ok"


def test_a_file_system_that_cannot_flush_is_found(monkeypatch):
    def refuse(_):
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "fsync", refuse)
    found = by_name(examine_disk())["fsync and rename"]
    assert found.status == "failed" and "Invalid argument" in found.found


def test_missing_hard_links_are_no_problem(monkeypatch):
    def refuse(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert by_name(examine_disk())["hard links"].status == "ok"


def test_a_folder_that_cannot_be_written_is_one_failure(monkeypatch):
    def refuse(**_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", refuse)
    found = [finding for finding in examine_disk() if finding.status == "failed"]
    assert [finding.name for finding in found] == ["write"]


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    real = packages.is_installed
    monkeypatch.setattr(packages, "is_installed", lambda module: module != "onnxscript" and real(module))
    found = by_name(examine_packages())
    assert found["core"].status == "ok" and f"numpy {version('numpy')}" in found["core"].found
    assert found["onnx"].status == "note" and "onnxscript missing" in found["onnx"].found
    assert found["onnx"].remedy == "To install: pip install 'regnas[onnx]'"
    assert found["train"].found.count(f"torch {version('torch')}") == 1


def test_precisions_that_work_on_the_cpu_have_small_errors():
    cpu = torch.device("cpu")
    for name, tolerance in devices.TOLERANCES.items():
        assert 0 < devices._gradient_error(cpu, getattr(torch, name)) < tolerance


def test_a_precision_with_wrong_values_or_without_kernels_is_noted(monkeypatch):
    outcomes = {torch.bfloat16: float("nan"), torch.float16: RuntimeError("no kernel\nsecond line")}

    def error(_, kind):
        if isinstance(outcomes[kind], Exception):
            raise outcomes[kind]
        return outcomes[kind]

    monkeypatch.setattr(devices, "_gradient_error", error)
    wrong, missing = devices._precisions(torch.device("cpu"))
    assert (wrong.status, missing.status) == ("note", "note")
    assert "wrong" in wrong.found and missing.found == "does not work: no kernel"


def test_the_tried_precisions_leave_the_random_state_alone():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    devices._gradient_error(torch.device("cpu"), torch.bfloat16)
    assert torch.equal(torch.rand(2), expected)
