"""Predictions by epoch are stored beside a network, are not part of it, and survive every interruption."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from regnas.errors import ArtifactError
from regnas.losses import LogitDifferenceInhibition
from regnas.runtime.files import read_json, write_sealed_json
from regnas.runtime.tensors import save_tensors
from regnas.training import Clipping, SingleNetwork
from regnas.training.loggers import METRICS
from regnas.updates.models import Lesson, Trained, collect_clipping, describe_clipping, make_all
from regnas.updates.models.clipped import ClippedTraining
from regnas.updates.models.epochs import EPOCHS, AnswersByEpoch, WatchedSamples
from regnas.updates.models.store import NETWORK, RECORD
from tests.updates.models.making import DATA, RECIPE, SMALL, open_store, same, state
from tests.updates.models.test_store import StopAt

OLD = Trained(SMALL, "old")
NEW = Trained(SMALL, "new", lessons=(Lesson(LogitDifferenceInhibition(), 0.5, (OLD,)),))
LONGER = {"training": replace(RECIPE, epochs=3)}


def watching(folder):
    return open_store(folder, watched=frozenset([NEW]), **LONGER)


def record(store):
    kept = store.answers(NEW)
    return kept.train.tolist(), kept.report.tolist()


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    store = watching(tmp_path_factory.mktemp("watched"))
    store.module(NEW)
    return store


def test_watching_changes_neither_the_weights_nor_the_place(watched, tmp_path):
    alone = open_store(tmp_path, **LONGER)
    assert same(state(alone, NEW), state(watched, NEW))
    assert alone._folder_of(NEW).name == watched._folder_of(NEW).name
    assert not (alone._folder_of(NEW) / EPOCHS).exists()
    assert not (watched._folder_of(OLD) / EPOCHS).exists()  # only what is watched


def test_the_answers_of_the_last_epoch_are_those_of_the_network_that_is_kept(watched):
    answers, samples = watched.answers(NEW), watched.watched_samples(NEW)
    assert answers.epochs == 3
    for name in ("train", "report"):
        expected = watched.logits(NEW, getattr(samples, name)).argmax(dim=1).tolist()
        assert getattr(answers, name)[-1].tolist() == expected
    right = (answers.train == samples.train.targets.numpy()).mean(axis=1)
    assert right[-1] > right[0]


def test_a_network_that_is_kept_without_its_answers_is_trained_again_for_them_alone(watched, tmp_path):
    open_store(tmp_path, **LONGER).module(NEW)
    shelf = open_store(tmp_path, **LONGER)._folder_of(NEW)
    before = {name: (shelf / name).stat().st_mtime_ns for name in (NETWORK, RECORD)}
    later = watching(tmp_path)
    assert not later.is_kept(NEW)
    make_all({0: later}, {0: [NEW]}, 1)
    assert later.is_kept(NEW)
    assert record(later) == record(watched)
    assert {name: (shelf / name).stat().st_mtime_ns for name in before} == before
    assert {path.name for path in shelf.iterdir()} == {NETWORK, RECORD, EPOCHS, METRICS, ".lock"}


def test_a_network_that_is_in_memory_without_its_answers_is_trained_again_for_them(watched, tmp_path):
    """As after tuning, which makes networks before it is known which of them are watched."""
    before = open_store(tmp_path, **LONGER)
    before.module(NEW)
    later = before.watching([NEW])
    make_all({0: later}, {0: [NEW]}, 1)
    assert record(later) == record(watched)


def test_a_kept_network_that_its_training_does_not_come_to_is_refused(tmp_path):
    open_store(tmp_path, **LONGER).module(NEW)
    shelf = open_store(tmp_path, **LONGER)._folder_of(NEW)
    tensors = {name: tensor + 1 for name, tensor in open_store(tmp_path, **LONGER).module(NEW).state_dict().items()}
    write_sealed_json(shelf / RECORD, read_json(shelf / RECORD) | {"sha256": save_tensors(shelf / NETWORK, tensors)})
    with pytest.raises(
        ArtifactError, match=r"must be the result of its training, got other weights.*Delete the folder"
    ):
        watching(tmp_path).module(NEW)
    assert not (shelf / EPOCHS).exists()


def broken_off(store, monkeypatch, at):
    """Dies while it computes this step, of three in an epoch."""
    store.module(OLD)
    stop = StopAt(at, fail=True)
    with monkeypatch.context() as patch:
        patch.setattr(SingleNetwork, "__call__", lambda *arguments: stop(*arguments))
        with pytest.raises(OSError, match="power"):
            store.module(NEW)


def steps_taken(store, monkeypatch):
    watch = StopAt(-1, fail=False)
    with monkeypatch.context() as patch:
        patch.setattr(SingleNetwork, "__call__", lambda *arguments: watch(*arguments))
        store.module(NEW)
    return watch.seen


def test_broken_off_and_resumed_the_answers_and_the_counts_are_those_of_an_unbroken_training(
    watched, tmp_path, monkeypatch
):
    broken_off(watching(tmp_path), monkeypatch, at=7)
    resumed = watching(tmp_path)
    assert steps_taken(resumed, monkeypatch) == [6, 7, 8]
    assert record(resumed) == record(watched)
    assert same(state(resumed, NEW), state(watched, NEW))
    assert resumed.clipping(NEW) == watched.clipping(NEW)


def test_a_training_that_started_without_being_watched_starts_again(watched, tmp_path, monkeypatch):
    broken_off(open_store(tmp_path, **LONGER), monkeypatch, at=7)
    resumed = watching(tmp_path)
    assert steps_taken(resumed, monkeypatch) == list(range(9))
    assert record(resumed) == record(watched)


def test_answers_ahead_of_the_checkpoint_are_written_again(watched, tmp_path, monkeypatch):
    """Killed between the answers of an epoch and its checkpoint."""
    broken_off(watching(tmp_path), monkeypatch, at=4)
    store = watching(tmp_path)
    ahead = store.answers(NEW)
    wrong = [np.zeros_like(ahead.train[0]), np.zeros_like(ahead.report[0])]
    ahead.with_epoch(2, wrong).save(store._folder_of(NEW) / EPOCHS)
    assert steps_taken(store, monkeypatch) == [3, 4, 5, 6, 7, 8]
    assert record(store) == record(watched)


def test_a_gap_in_the_answers_is_refused():
    nothing = AnswersByEpoch(np.zeros((0, 2), dtype=np.int32), np.zeros((0, 3), dtype=np.int32))
    with pytest.raises(ArtifactError, match="predictions by epoch must have 1 epochs, got 0"):
        nothing.with_epoch(2, [np.zeros(2, dtype=np.int32), np.zeros(3, dtype=np.int32)])


def test_of_a_large_training_split_a_few_samples_spread_over_it_are_watched(monkeypatch):
    monkeypatch.setattr("regnas.updates.models.epochs.MOST_WATCHED", 5)
    chosen = WatchedSamples.of(DATA.train, DATA.report)
    assert chosen.train.ids.tolist() == ["s0", "s30", "s60", "s89", "s119"]  # 0, 29.75, 59.5, 89.25 and 119 of 120
    assert torch.equal(chosen.train.targets, DATA.train.targets[[0, 30, 60, 89, 119]])
    assert chosen.report is DATA.report


# Clipped steps


def test_the_record_of_a_network_says_how_many_steps_were_clipped(tmp_path):
    tight = open_store(tmp_path, training=replace(RECIPE, epochs=3, clip_norm=1e-6))
    tight.module(OLD)
    assert tight.clipping(OLD) == Clipping(1e-6, steps=8, clipped=8)  # of nine steps the first is warm-up
    (found,) = collect_clipping(tight, {"none": [OLD], "again": [OLD]})
    assert (found.method, found.seed, found.training[:4]) == ("none", 0, "old ")
    assert describe_clipping([found]).startswith("at most 100.0 % of the steps after warm-up (none, old ")


def test_a_network_of_an_earlier_version_has_no_count(tmp_path):
    store = open_store(tmp_path)
    store.module(OLD)
    path = store._folder_of(OLD) / RECORD
    write_sealed_json(path, {name: value for name, value in read_json(path).items() if name != "clipping"})
    assert store.clipping(OLD) is None
    known = [ClippedTraining("a", Clipping(5.0, 100, 4), seed=1), ClippedTraining("b", Clipping(5.0, 100, 3))]
    told = describe_clipping([*known, *collect_clipping(store, {"none": [OLD]})])
    assert told == (
        "at most 4.0 % of the steps after warm-up (a, seed 1); 1 of 2 trainings above 3 %; not recorded for 1 trainings"
    )
