"""Models are made once, kept by content, and loaded bit for bit."""

from __future__ import annotations

import signal
import threading
import time
from dataclasses import replace

import pytest
import torch

from regnas.errors import ArtifactError, Interrupted
from regnas.losses import LogitDifferenceInhibition
from regnas.runtime import signals
from regnas.runtime.lock import exclusive
from regnas.training import SingleNetwork, Trainer
from regnas.updates.models import (
    Consolidated,
    DecoupledDecay,
    Ensemble,
    Interpolated,
    Lesson,
    MixedWeights,
    Trained,
    make_all,
)
from regnas.updates.models.store import CHECKPOINTS, NETWORK, RECORD
from tests.updates.models.making import RECIPE, SMALL, images, open_store, same, state, tiny_splits

PLAIN = Trained(SMALL, "plain")
OLD = Trained(SMALL, "old")


def shelves(store):
    return sorted(path for path in store.folder.iterdir() if path.is_dir())


def no_training(*_arguments, **_keywords):
    raise AssertionError("this is kept already")


# Kept, and loaded again


@pytest.mark.parametrize(
    "model",
    [PLAIN, Trained(SMALL, dropout=0.3), Trained(SMALL, start=OLD, tie=MixedWeights(OLD, 0.5))],
    ids=["plain", "dropout", "mixout"],
)
def test_a_second_workshop_loads_what_the_first_has_trained_bit_for_bit(tmp_path, monkeypatch, model):
    first = open_store(tmp_path)
    trained, logits = state(first, model), first.logits(model, first.splits.report)
    assert first.is_kept(model)
    monkeypatch.setattr(Trainer, "train", no_training)
    second = open_store(tmp_path, splits=tiny_splits())  # the same data, read again
    assert same(state(second, model), trained)
    assert torch.equal(second.logits(model, second.splits.report), logits)


def test_a_model_that_is_not_kept_is_trained(tmp_path, monkeypatch):
    monkeypatch.setattr(Trainer, "train", no_training)
    with pytest.raises(AssertionError, match="kept already"):
        open_store(tmp_path).module(PLAIN)


def test_a_training_learns_and_ends_frozen_and_in_evaluation_mode(tmp_path):
    store = open_store(tmp_path, training=replace(RECIPE, epochs=8))
    network = store.module(PLAIN)
    assert not network.training
    assert not any(parameter.requires_grad for parameter in network.parameters())
    predicted = store.logits(PLAIN, store.splits.report).argmax(dim=1)
    assert (predicted == store.splits.report.targets).float().mean() > 0.8
    assert store.module(Trained(SMALL, "plain")) is network


def test_a_training_starts_from_weights_of_its_own_chance(store):
    one, other = (store.fresh(SMALL, 4, store.identity(Trained(SMALL, chance))) for chance in ("a", "b"))
    again = store.fresh(SMALL, 4, store.identity(Trained(SMALL, "a")))
    assert not torch.equal(one.stem.weight, other.stem.weight)
    assert torch.equal(one.stem.weight, again.stem.weight)


def test_making_models_leaves_the_global_randomness_alone(store):
    torch.manual_seed(7)
    untouched = torch.rand(3)
    torch.manual_seed(7)
    store.module(PLAIN)
    assert torch.equal(torch.rand(3), untouched)


def test_checkpoints_are_gone_once_the_training_is_finished(store):
    store.module(PLAIN)
    (shelf,) = shelves(store)
    assert {path.name for path in shelf.iterdir()} >= {NETWORK, RECORD}
    assert not (shelf / CHECKPOINTS).exists()


@pytest.mark.parametrize("place", [0, 100, -1])
def test_one_flipped_byte_is_refused_with_the_name_of_the_file(tmp_path, place):
    first = open_store(tmp_path)
    first.module(PLAIN)
    (shelf,) = shelves(first)
    content = bytearray((shelf / NETWORK).read_bytes())
    content[place] ^= 1
    (shelf / NETWORK).write_bytes(content)
    with pytest.raises(ArtifactError, match=r"network\.safetensors is damaged") as error:
        open_store(tmp_path).module(PLAIN)
    assert str(shelf / NETWORK) in str(error.value)


def test_a_record_that_is_not_ours_is_refused(tmp_path):
    first = open_store(tmp_path)
    first.module(PLAIN)
    (shelf,) = shelves(first)
    (shelf / RECORD).write_text("{}")
    with pytest.raises(ArtifactError, match=r"model\.json lacks sha256"):
        open_store(tmp_path).module(PLAIN)


# Interrupted


class StopAt:
    """Asks to stop, or fails, while a given step is computed."""

    def __init__(self, index, fail):
        self.index, self.fail, self.compute, self.seen = index, fail, SingleNetwork.__call__, []

    def __call__(self, objective, model, step):
        self.seen.append(step.index)
        if step.index == self.index:
            if self.fail:
                raise OSError("the power went")
            signals.ask_to_stop(signal.SIGTERM)
        return self.compute(objective, model, step)


BROKEN = {
    "plain": PLAIN,
    "taught": Trained(SMALL, lessons=(Lesson(LogitDifferenceInhibition(), 0.5, (OLD,)),)),
    "dropout": Trained(SMALL, dropout=0.5),
    "mixout": Trained(SMALL, start=OLD, tie=MixedWeights(OLD, 0.6)),
    "ewc": Trained(SMALL, start=OLD, tie=Consolidated(OLD, 1.0, 16)),
    "prior": Trained(SMALL, start=OLD, tie=DecoupledDecay(OLD, 3.0)),
    "late": Trained(SMALL, label_weight=0.3, lessons=(Lesson(LogitDifferenceInhibition(), 0.7, (OLD,), start=0.5),)),
}


@pytest.mark.parametrize("fail", [False, True], ids=["signal", "crash"])
@pytest.mark.parametrize("name", BROKEN)
def test_a_training_that_was_broken_off_ends_with_the_bits_of_an_unbroken_one(tmp_path, monkeypatch, name, fail):
    model = BROKEN[name]
    settings = {"training": replace(RECIPE, epochs=2), "fine_tuning": replace(RECIPE, epochs=2)}
    unbroken = open_store(tmp_path / "unbroken", **settings)
    expected = state(unbroken, model)

    broken = open_store(tmp_path / "broken", **settings)
    for part in model.parts():
        broken.module(part)
    stop = StopAt(4, fail)  # the second of the three steps of the second epoch
    with monkeypatch.context() as patch:
        patch.setattr(SingleNetwork, "__call__", lambda *arguments: stop(*arguments))
        with pytest.raises(OSError if fail else Interrupted):
            broken.module(model)
    signals._received.clear()
    assert not broken.is_kept(model)

    resumed, watch = open_store(tmp_path / "broken", **settings), StopAt(-1, fail=False)
    with monkeypatch.context() as patch:
        patch.setattr(SingleNetwork, "__call__", lambda *arguments: watch(*arguments))
        found = state(resumed, model)
    assert watch.seen == ([3, 4, 5] if fail else [5])  # from the last checkpoint on
    assert same(found, expected)


# Several at once


def test_if_two_processes_need_the_same_model_one_trains_and_the_other_waits(tmp_path, monkeypatch):
    monkeypatch.setattr("regnas.runtime.lock.POLL_SECONDS", 0.01)
    compute, trained_by, found, together = SingleNetwork.__call__, [], [], threading.Barrier(2)

    def slowly(objective, model, step):
        trained_by.append(threading.get_ident())
        time.sleep(0.1)  # so that the other process finds a training in progress
        return compute(objective, model, step)

    def want():
        store = open_store(tmp_path)  # the system's lock tells apart files that were opened twice
        together.wait()
        found.append(state(store, PLAIN))

    monkeypatch.setattr(SingleNetwork, "__call__", slowly)
    threads = [threading.Thread(target=want) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(trained_by) == 3
    assert len(set(trained_by)) == 1
    assert same(*found)


def test_a_process_that_finds_the_model_locked_waits_and_then_loads(tmp_path, monkeypatch):
    monkeypatch.setattr("regnas.runtime.lock.POLL_SECONDS", 0.01)
    elsewhere = open_store(tmp_path / "elsewhere")
    elsewhere.module(PLAIN)
    waiting = open_store(tmp_path / "here")
    shelf, other = waiting._folder_of(PLAIN), elsewhere._folder_of(PLAIN)
    monkeypatch.setattr(Trainer, "train", no_training)
    found = []
    with exclusive(shelf):
        thread = threading.Thread(target=lambda: found.append(state(waiting, PLAIN)))
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
        for name in (NETWORK, RECORD):  # the network that the process with the lock has trained
            (shelf / name).write_bytes((other / name).read_bytes())
    thread.join(20)
    assert same(found[0], state(elsewhere, PLAIN))


@pytest.mark.slow
def test_two_workers_make_the_bits_that_one_makes(tmp_path):
    taught = Trained(SMALL, lessons=(Lesson(LogitDifferenceInhibition(), 0.5, (OLD, PLAIN)),))
    wanted = [Interpolated(OLD, Trained(SMALL, start=OLD), 0.5), taught, Ensemble((OLD, PLAIN))]
    found = {}
    for workers in (1, 2):
        stores = {seed: open_store(tmp_path / str(workers), seed=seed) for seed in (0, 1)}
        make_all(stores, {0: wanted, 1: [PLAIN]}, workers)
        assert len(shelves(stores[0])) == 4 + 1
        found[workers] = {
            path.parent.name: path.read_bytes() for path in (tmp_path / str(workers)).glob(f"*/{NETWORK}")
        }
    assert found[1] == found[2]


def test_making_all_trains_nothing_that_is_kept(tmp_path, monkeypatch):
    store = open_store(tmp_path)
    make_all({0: store}, {0: [Ensemble((OLD, PLAIN))]}, 1)
    monkeypatch.setattr(Trainer, "train", no_training)
    make_all({0: open_store(tmp_path)}, {0: [Ensemble((PLAIN, OLD)), PLAIN]}, 1)
    with pytest.raises(AssertionError, match="kept already"):
        make_all({0: open_store(tmp_path)}, {0: [Trained(SMALL, "further")]}, 1)


# What it answers


def test_asking_for_the_answers_of_a_model_is_enough_to_have_it_made(tmp_path):
    offline = Trained(SMALL, lessons=(Lesson(LogitDifferenceInhibition(), 1.0, (PLAIN,), online=False),))
    asked, made = open_store(tmp_path / "asked"), open_store(tmp_path / "made")
    found = asked.logits(offline, asked.splits.report)
    assert not found.requires_grad
    make_all({0: made}, {0: [offline]}, 1)
    assert torch.equal(found, made.logits(offline, made.splits.report))


def test_logits_are_those_of_the_network_on_prepared_images(shared_shop):
    network = shared_shop.module(PLAIN)
    with torch.no_grad():
        by_hand = network(images(shared_shop).contiguous(memory_format=torch.channels_last))
    assert torch.equal(shared_shop.logits(PLAIN, shared_shop.splits.report), by_hand)
