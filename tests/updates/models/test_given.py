"""A user's own weights: taken as they are, or refused in one line."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from regnas.data import WHOLE, DataFraction
from regnas.errors import ArtifactError
from regnas.networks import SmallResNet, TimmModel, read_weights
from regnas.runtime.files import sha256_of
from regnas.updates.models import Checkpoint, Published
from tests.updates.models.making import OTHER, SMALL, images


@pytest.fixture
def users_network():
    """With batch-norm statistics that no data of ours would give."""
    torch.manual_seed(5)
    network = SMALL.build((1, 8, 8), 4)
    for name, tensor in network.state_dict().items():
        if "running" in name:
            tensor.uniform_(0.5, 1.5)
    return network.eval()


def checkpoint(path, network=SMALL, share=WHOLE):
    return Checkpoint(network, str(path), sha256_of(path), share)


FORMS = {
    "safetensors": ("old.safetensors", lambda state, path: save_file(state, path)),
    "torch": ("old.pth", torch.save),
    "legacy torch": ("old.pt", lambda state, path: torch.save(state, path, _use_new_zipfile_serialization=False)),
    "state_dict": ("old.pth", lambda state, path: torch.save({"epoch": 3, "state_dict": state}, path)),
    "model": ("old.pth", lambda state, path: torch.save({"model": state, "best": 0.7}, path)),
    "model_state_dict": ("old.pth", lambda state, path: torch.save({"model_state_dict": state}, path)),
    "parallel": (
        "old.pth",
        lambda state, path: torch.save({"state_dict": {f"module.{name}": t for name, t in state.items()}}, path),
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_answers_are_exactly_those_of_the_users_network(tmp_path, store, users_network, form):
    name, save = FORMS[form]
    save(users_network.state_dict(), tmp_path / name)
    with torch.no_grad():
        expected = users_network.to(memory_format=torch.channels_last)(images(store))
    given_model = checkpoint(tmp_path / name)
    torch.testing.assert_close(store.logits(given_model, store.splits.report), expected, rtol=0, atol=0)
    found = store.module(given_model).state_dict()
    assert all(torch.equal(found[name], tensor) for name, tensor in users_network.state_dict().items())
    assert not store.folder.exists()  # nothing is trained and nothing kept


def test_the_identity_depends_on_the_content_and_not_on_the_path(tmp_path, store, users_network):
    for name in ("one.safetensors", "two.safetensors"):
        save_file(users_network.state_dict(), tmp_path / name)
    one, two = (checkpoint(tmp_path / name) for name in ("one.safetensors", "two.safetensors"))
    assert store.identity(one) == store.identity(two)
    assert store.identity(one) != store.identity(replace(one, sha256="0" * 64))
    assert store.identity(one) != store.identity(replace(one, share=DataFraction(0.5)))


def test_another_architecture_is_refused_with_what_differs(tmp_path, store, users_network):
    path = tmp_path / "old.safetensors"
    save_file(users_network.state_dict(), path)
    with pytest.raises(ArtifactError, match="belongs to another network") as error:
        store.module(checkpoint(path, OTHER))
    assert str(path) in str(error.value)
    assert "stages.1.0.conv1.weight is [8, 4, 3, 3] instead of [6, 4, 3, 3]" in str(error.value)
    with pytest.raises(ArtifactError, match=r"stages\.0\.1\.conv1\.weight is missing"):
        store.module(checkpoint(path, SmallResNet(widths=(4, 8), blocks=2)))


@pytest.mark.parametrize(("classes", "share"), [(3, DataFraction()), (7, DataFraction()), (4, DataFraction(1.0, 0.5))])
def test_another_number_of_classes_is_refused_with_both_numbers(tmp_path, store, classes, share):
    path = tmp_path / "old.safetensors"
    save_file(SMALL.build((1, 8, 8), classes).state_dict(), path)
    known = share.classes_of(4)
    with pytest.raises(ArtifactError, match=f"must have {known} classes, as its share of the data has, got {classes}"):
        store.module(checkpoint(path, share=share))


def test_a_checkpoint_of_the_old_classes_is_taken_for_a_share_of_the_classes(tmp_path, store):
    path = tmp_path / "old.safetensors"
    save_file(SMALL.build((1, 8, 8), 2).state_dict(), path)
    assert store.logits(checkpoint(path, share=DataFraction(1.0, 0.5)), store.splits.report).shape == (44, 2)


def test_a_classifier_that_is_a_single_number_is_refused(tmp_path, store, users_network):
    path = tmp_path / "old.safetensors"
    save_file(users_network.state_dict() | {"classifier.weight": torch.tensor(1.0)}, path)
    with pytest.raises(ArtifactError, match=r"classifier\.weight is \[\] instead of \[4, 8\]"):
        store.module(checkpoint(path))


class Evil:
    """Leaves a trace where it is unpickled."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return os.mkdir, (str(self.trace),)


@pytest.mark.parametrize("form", ["pickle", "torch", "legacy torch", "safetensors"])
def test_a_pickle_that_runs_code_is_refused_and_not_run(tmp_path, store, users_network, form):
    trace, path = tmp_path / "trace", tmp_path / ("old.safetensors" if form == "safetensors" else "old.pth")
    content = users_network.state_dict() | {"evil": Evil(trace)}
    if form in ("pickle", "safetensors"):
        path.write_bytes(pickle.dumps(content))
    else:
        torch.save(content, path, _use_new_zipfile_serialization=form == "torch")
    with pytest.raises(ArtifactError) as error:
        store.module(checkpoint(path))
    assert not trace.exists()
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [[1, 2], {"a": 1}, {"state_dict": {"a": "text"}}, torch.zeros(2)], ids=str)
def test_a_file_without_a_state_dict_is_refused(tmp_path, content):
    torch.save(content, tmp_path / "old.pth")
    with pytest.raises(ArtifactError, match=r"old\.pth must hold a state dict"):
        read_weights(tmp_path / "old.pth")


@pytest.fixture(scope="module")
def whole_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    for name, save in FORMS.values():
        save({"a": torch.ones(3), "b": torch.zeros(2, 2)}, folder / name)
    return {path.suffix: path.read_bytes() for path in folder.iterdir()}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_bytes_are_refused_or_read_and_nothing_else(tmp_path, whole_files, data):
    suffix = data.draw(st.sampled_from(sorted(whole_files)))
    content = bytearray(whole_files[suffix])
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=4)):
        content[place] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))] if data.draw(st.booleans()) else content
    path = tmp_path / f"old{suffix}"
    path.write_bytes(bytes(content) if data.draw(st.integers(0, 3)) else data.draw(st.binary(max_size=60)))
    try:
        weights = read_weights(path)
    except ArtifactError as error:
        assert str(path) in str(error)
    else:
        assert all(isinstance(value, torch.Tensor) for value in weights.values())


def test_a_file_that_changed_since_it_was_planned_is_refused(tmp_path, store, users_network):
    path = tmp_path / "old.safetensors"
    save_file(users_network.state_dict(), path)
    planned = checkpoint(path)
    save_file(SMALL.build((1, 8, 8), 4).state_dict(), path)
    with pytest.raises(ArtifactError, match=r"old\.safetensors is damaged: its sha256 must be"):
        store.module(planned)


def test_a_missing_file_is_named(tmp_path, store):
    with pytest.raises(ArtifactError, match=r"gone\.pth is missing"):
        store.module(Checkpoint(SMALL, str(tmp_path / "gone.pth"), "0" * 64))
    with pytest.raises(ArtifactError, match=r"gone\.pth is missing"):
        read_weights(Path(tmp_path / "gone.pth"))


def test_published_networks_are_taken_without_training(store):
    assert store.logits(Published(SMALL, DataFraction(1.0, 0.5)), store.splits.report).shape == (44, 2)
    assert not store.folder.exists()


def test_a_users_network_of_timm_is_taken_as_it_is(tmp_path, store):
    timm = pytest.importorskip("timm")
    own = timm.create_model("mobilenetv3_small_050", num_classes=4, in_chans=1).eval()
    torch.save({"model_ema": {f"module.{name}": each for name, each in own.state_dict().items()}}, tmp_path / "old.pth")
    with torch.no_grad():
        expected = own.to(memory_format=torch.channels_last)(images(store))
    found = store.logits(checkpoint(tmp_path / "old.pth", TimmModel("mobilenetv3_small_050")), store.splits.report)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
