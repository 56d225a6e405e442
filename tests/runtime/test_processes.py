from __future__ import annotations

from datetime import timedelta

import pytest
import torch

from regnas.cli import exit_code
from regnas.errors import ConfigurationError, EnvironmentProblem
from regnas.runtime import processes as module
from regnas.runtime.processes import SINGLE, FailedElsewhere, Processes, current_processes, joined

VARIABLES = {"WORLD_SIZE": "4", "RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29400"}


def test_without_torchrun_and_with_a_single_process_there_is_one():
    assert current_processes({}) is SINGLE
    assert current_processes({"WORLD_SIZE": "1", "RANK": "0"}) is SINGLE


def test_the_variables_of_torchrun_say_who_this_is():
    found = current_processes(VARIABLES | {"RANK": "3", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"})
    assert found == Processes(rank=3, count=4, local_rank=1, local_count=2)
    assert not found.is_main
    assert list(range(10))[found.share] == [3, 7]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"MASTER_ADDR": ""}, "MASTER_ADDR must be set if WORLD_SIZE is 4, got nothing"),
        ({"MASTER_PORT": "x"}, 'MASTER_PORT must be a number of at least 1 for several processes, got "x"'),
        ({"RANK": ""}, 'RANK must be a number of at least 0 for several processes, got ""'),
        ({"RANK": "4"}, "RANK must be below WORLD_SIZE (4), got 4"),
        ({"WORLD_SIZE": "two"}, 'WORLD_SIZE must be a number of at least 1 for several processes, got "two"'),
        ({"LOCAL_RANK": "-1"}, 'LOCAL_RANK must be a number of at least 0 for several processes, got "-1"'),
    ],
)
def test_variables_that_cannot_be_are_refused(changes, problem):
    with pytest.raises((ConfigurationError, FailedElsewhere)) as error:
        current_processes(VARIABLES | changes)
    assert error.value.exit_code == 2
    assert isinstance(error.value, FailedElsewhere) or str(error.value).startswith(problem)


def test_only_the_main_process_says_that_they_cannot_connect():
    with pytest.raises(FailedElsewhere) as error:
        current_processes(VARIABLES | {"RANK": "1", "MASTER_ADDR": ""})
    assert (error.value.exit_code, error.value.problems) == (2, ())


def test_processes_that_do_not_come_are_not_waited_for_forever(monkeypatch):
    monkeypatch.setattr(module, "MEETING", timedelta(seconds=1))
    for name, value in (VARIABLES | {"MASTER_PORT": "29517"}).items():
        monkeypatch.setenv(name, value)
    problem = r"the 4 processes did not connect at 127\.0\.0\.1:29517 within 1 s"
    with pytest.raises(EnvironmentProblem, match=problem), joined(current_processes()):
        pass


def cuda_devices(monkeypatch, count):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    chosen = []
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    return chosen


def test_every_process_of_a_machine_has_a_cuda_device_of_its_own(monkeypatch):
    chosen = cuda_devices(monkeypatch, 2)
    assert Processes(3, 4, 1, 2).device("auto") == torch.device("cuda", 1)
    assert chosen == [torch.device("cuda", 1)]
    assert Processes(3, 4, 1, 2).device("cpu") == torch.device("cpu")


@pytest.mark.parametrize(
    ("devices", "wish", "kind", "problem"),
    [
        (0, "cuda", EnvironmentProblem, 'machine.device is "cuda", but torch finds no CUDA device'),
        (1, "auto", EnvironmentProblem, "each process needs a CUDA device of its own, got 2 processes and 1 device."),
        (0, "mps", ConfigurationError, 'machine.device "mps" works with one process only, got 4'),
    ],
)
def test_devices_that_are_not_enough_for_all_are_refused(monkeypatch, devices, wish, kind, problem):
    cuda_devices(monkeypatch, devices)
    with pytest.raises(kind) as error:
        Processes(0, 4, 0, 2).device(wish)
    assert str(error.value).startswith(problem)


@pytest.mark.parametrize(("rank", "lines"), [("0", 1), ("1", 0)])
@pytest.mark.parametrize("command", ["search", "update", "compare", "list"])
def test_single_process_commands_refuse_several_processes_in_one_line(monkeypatch, capsys, command, rank, lines):
    for name, value in (VARIABLES | {"RANK": rank}).items():
        monkeypatch.setenv(name, value)
    assert exit_code([command, "digits"]) == 2
    found = capsys.readouterr().err.splitlines()
    assert len(found) == lines
    assert all(line.startswith(f"regnas: {command} must run in one process, got 4") for line in found)
