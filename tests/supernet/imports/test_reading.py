"""Foreign files are read as they are, or refused in one line before anything in them runs."""

from __future__ import annotations

import os
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from regnas.errors import ArtifactError
from regnas.supernet.imports import reading
from regnas.supernet.imports.reading import in_single_precision, read_tensors

STATE = {"stem.weight": torch.arange(6.0).reshape(2, 3), "stem.count": torch.tensor(7)}


def saved(path: Path, content: object) -> Path:
    torch.save(content, path)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(ArtifactError) as error:
        read_tensors(path)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(str(path))
    return str(error.value).removeprefix(str(path)).lstrip(": ")


FORMS = {
    "plain": ("net.pth", torch.save),
    "without an ending": ("net_w1.0", torch.save),
    "state_dict": ("net.pth.tar", lambda state, path: torch.save({"state_dict": state, "epoch": 3}, path)),
    "ordered": ("net", lambda state, path: torch.save({"state_dict": OrderedDict(state)}, path)),
    "legacy": ("net.pt", lambda state, path: torch.save(state, path, _use_new_zipfile_serialization=False)),
    "parallel": ("net.pth", lambda state, path: torch.save({f"module.{key}": state[key] for key in state}, path)),
    "safetensors": ("net.safetensors", save_file),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_tensors_are_read_unchanged_from_every_form(tmp_path, form):
    name, save = FORMS[form]
    save(STATE, tmp_path / name)
    found = read_tensors(tmp_path / name)
    assert list(found) == list(STATE) or form == "safetensors"
    assert all(torch.equal(found[name], tensor) for name, tensor in STATE.items())


def test_a_module_that_is_called_module_keeps_its_name(tmp_path):
    path = saved(tmp_path / "net", {"module.weight": torch.ones(2), "weight": torch.zeros(2)})
    assert list(read_tensors(path)) == ["module.weight", "weight"]


class Trap:
    """A pickle that would leave a file behind when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("place", ["whole", "entry", "bare pickle"])
def test_a_malicious_pickle_is_refused_and_nothing_is_run(tmp_path, place):
    trap, path = Trap(tmp_path / "sprung"), tmp_path / "net.pth"
    if place == "bare pickle":
        path.write_bytes(pickle.dumps(trap))
    else:
        torch.save(trap if place == "whole" else {"state_dict": {**STATE, "hook": trap}}, path)
    assert "pickles are not run" in refusal(path)
    assert not (tmp_path / "sprung").exists()
    # the trap is a real one
    pickle.loads(path.read_bytes()) if place == "bare pickle" else torch.load(path, weights_only=False)
    assert (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({**STATE, "epoch": 3}, "epoch must be a plain tensor, got a int. Save only the state dict."),
        ({"state_dict": {**STATE, "names": ["a"]}}, "names must be a plain tensor, got a list"),
        ({"model": STATE}, "model must be a plain tensor, got a dict"),
        ({"sparse": torch.eye(3).to_sparse()}, "sparse must be a plain tensor, got another kind of tensor"),
        ({"meta": torch.empty(3, device="meta")}, "meta must be a plain tensor, got another kind of tensor"),
        ({3: torch.ones(1)}, "has an entry '3', which cannot be the name of a tensor"),
        ({"two\nlines": torch.ones(1)}, "has an entry 'two\\nlines', which cannot be the name of a tensor"),
        ([torch.ones(1)], "must hold a state dict, which maps names to tensors"),
        ({}, "must hold a state dict"),
        ({"state_dict": {}}, "must hold a state dict"),
    ],
)
def test_a_value_that_is_not_a_tensor_is_refused_with_its_name(tmp_path, content, problem):
    assert refusal(saved(tmp_path / "net.pth", content)).startswith(problem)


def test_a_file_over_the_limit_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "net.pth"
    with path.open("wb") as sink:
        sink.truncate(2**30 + 1)  # takes no room on the disk
    monkeypatch.setattr(torch, "load", None)
    assert refusal(path) == "has 1,073,741,825 bytes, over the limit of 1,073,741,824 for a supernet"


def test_a_small_file_that_unpacks_to_a_large_one_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "SIZE_LIMIT", 2**20)
    packed = tmp_path / "packed.pth"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data/0", bytes(2**21))
    assert packed.stat().st_size < 2**13
    assert "would unpack to 2,097,152 bytes" in refusal(packed)
    repeated = saved(tmp_path / "repeated.pth", {"weight": torch.ones(1).expand(1000, 1000)})
    assert repeated.stat().st_size < 2**13
    assert "would unpack to 4,000,000 bytes" in refusal(repeated)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    assert refusal(tmp_path / "none.pth") == "cannot be read: No such file or directory"
    assert refusal(tmp_path) == "cannot be read: Is a directory"


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), name=st.sampled_from(["net.pth", "net.safetensors"]))
def test_a_damaged_file_gives_tensors_or_one_line(tmp_path, data, name):
    path = tmp_path / name
    save_file(STATE, path) if name.endswith("safetensors") else torch.save(STATE, path)
    content = bytearray(path.read_bytes())
    kept = data.draw(st.integers(0, len(content)))
    if kept:
        content[data.draw(st.integers(0, kept - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content[:kept])
    try:
        read_tensors(path)
    except ArtifactError as error:
        assert "\n" not in str(error)


def test_half_precision_becomes_single_and_counters_stay_whole():
    tensors = {
        "half": torch.tensor([0.5, -2.0]).half(),
        "brain": torch.tensor([1.5]).bfloat16(),
        "double": torch.tensor([0.25]).double(),
        "count": torch.tensor(7),
    }
    found = in_single_precision(tensors, Path("net.pth"))
    assert [tensor.dtype for tensor in found.values()] == [torch.float32, torch.float32, torch.float32, torch.int64]
    assert [tensor.tolist() for tensor in found.values()] == [[0.5, -2.0], [1.5], [0.25], 7]


def test_the_copies_share_no_memory_with_each_other():
    both = torch.arange(4.0)
    found = in_single_precision({"first": both[:2], "all": both}, Path("net.pth"))
    found["all"].zero_()
    assert found["first"].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_values_that_are_not_numbers_are_refused_with_the_name(value):
    with pytest.raises(ArtifactError, match=r"^net.pth: stem.weight must be finite, got infinite values or NaN$"):
        in_single_precision({"fine": torch.ones(2), "stem.weight": torch.tensor([0.0, value])}, Path("net.pth"))
