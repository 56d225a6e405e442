"""A kept network belongs to the current code: if code that affects a training is edited, it is trained again."""

from __future__ import annotations

import importlib
import sys

import pytest
import torch

from regnas.updates.models import Lesson, Trained, code
from regnas.updates.models.code import code_of
from regnas.updates.models.store import RECORD
from tests.updates.models.making import SMALL, open_store, same, state

LOSS = '''
"""A loss of a plug-in."""
from dataclasses import dataclass
from regnas.losses import KnowledgeDistillation
from {package}.scale import SCALE

@dataclass(frozen=True)
class Scaled:
    """What it does."""
    factor: float = 1.0

    def __call__(self, logits, targets, reference):
        return SCALE * self.factor * KnowledgeDistillation()(logits, targets, reference)
'''
SCALE = "SCALE = 0.5\n"
OTHER = '"""Nobody imports this module."""\n'


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Write the files of a package, import it again as another process would, and return its loss."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(package="plugin_a", loss=LOSS, scale=SCALE, other=OTHER):
        (tmp_path / package).mkdir(exist_ok=True)
        contents = {"__init__": "", "loss": loss.format(package=package), "scale": scale, "other": other}
        for name, content in contents.items():
            (tmp_path / package / f"{name}.py").write_text(content)
        for name in [name for name in sys.modules if name.partition(".")[0] == package]:
            del sys.modules[name]
        for remembered in vars(code).values():
            if hasattr(remembered, "cache_clear"):
                remembered.cache_clear()
        importlib.invalidate_caches()
        return importlib.import_module(f"{package}.loss").Scaled()

    return write


def taught(loss):
    return Trained(SMALL, lessons=(Lesson(loss, 1.0, (Trained(SMALL, "old"),)),))


def test_editing_a_loss_trains_the_network_again_with_the_same_draws(tmp_path, plugin):
    folder = tmp_path / "kept"
    before = taught(plugin())
    first = open_store(folder)
    weights = state(first, before)
    edited = taught(plugin(loss=LOSS.replace("SCALE * self.factor", "3 * self.factor")))
    second = open_store(folder)
    assert second.identity(edited) == first.identity(before)  # random draws are keyed by it
    assert not second.is_kept(edited)
    assert second.is_kept(Trained(SMALL, "old"))  # made of other code
    assert not same(state(second, edited), weights)
    again = taught(plugin())
    third = open_store(folder)
    assert third.is_kept(again)
    assert same(state(third, again), weights)
    assert len(list(folder.glob(f"*/{RECORD}"))) == 3


def test_what_a_loss_imports_from_its_package_counts(plugin):
    before = code_of(taught(plugin()))
    assert code_of(taught(plugin(scale="SCALE = 0.25\n"))) != before


@pytest.mark.parametrize(
    "change",
    [
        {"loss": LOSS.replace("What it does.", "What it does, said better.")},
        {"loss": LOSS.replace("factor: float = 1.0", "factor: float = 1.0  # a comment")},
        {"other": "ANYTHING = 1\n"},
    ],
    ids=["docstring", "comment", "other module"],
)
def test_what_cannot_change_the_weights_does_not_count(plugin, change):
    before = code_of(taught(plugin()))
    assert code_of(taught(plugin(**change))) == before


def test_two_packages_with_a_class_of_one_name_do_not_share_a_network(tmp_path, plugin):
    one, other = taught(plugin("plugin_a")), taught(plugin("plugin_b", scale="SCALE = 9.0\n"))
    store = open_store(tmp_path / "kept")
    assert store.identity(one) == store.identity(other)
    assert store._folder_of(one) != store._folder_of(other)
    assert not torch.equal(store.module(one).stem.weight, store.module(other).stem.weight)


def test_a_training_is_made_of_the_training_code_of_regnas_and_not_of_other_losses():
    reached = code._reachable("regnas.updates.models.trained", frozenset({"regnas"}))
    assert {"regnas.training.trainer", "regnas.training.calibration", "regnas.updates.models.store"} <= reached
    assert {"regnas.runtime.randomness", "regnas.data.splits", "regnas.losses.cross_entropy"} <= reached
    assert not {name for name in reached if name.startswith(("regnas.report", "regnas.cli", "regnas.errors"))}
    assert "regnas.losses.focal_distillation" not in reached
    assert "regnas.losses" not in reached


def test_code_that_cannot_be_read_is_never_taken_for_the_same(monkeypatch):
    code._digest.cache_clear()
    assert code._digest("no_such_module") == code.UNREADABLE


def test_networks_in_memory_are_bounded_and_come_back_bit_for_bit(tmp_path, monkeypatch):
    models = [Trained(SMALL, name) for name in "abc"]
    size = sum(tensor.nbytes for tensor in open_store(tmp_path).module(models[0]).state_dict().values())
    monkeypatch.setattr("regnas.updates.models.store.MODULES_LIMIT", 2 * size)
    store = open_store(tmp_path)
    first = store.module(models[0])
    weights = {name: tensor.clone() for name, tensor in first.state_dict().items()}
    for model in models[1:]:
        store.module(model)
        assert store._modules.bytes <= 2 * size
    again = store.module(models[0])
    assert again is not first
    assert same(again.state_dict(), weights)
