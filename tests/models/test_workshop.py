"""Models are made once, kept by content, and come back bit for bit."""

from __future__ import annotations

import signal
import threading
import time
from dataclasses import replace

import pytest
import torch

from regnas.data import Share
from regnas.errors import ArtifactError, Interrupted
from regnas.losses import BackwardCompatible, FocalDistillationLM, LogitDifferenceInhibition, RegressionAlleviating
from regnas.models import (
    Consolidated,
    DecayedToOld,
    Ensemble,
    FeatureLesson,
    Interpolated,
    Lesson,
    MixedWithOld,
    Trained,
    make_all,
    training_macs,
)
from regnas.models.workshop import CHECKPOINTS, NETWORK, RECORD
from regnas.networks import macs_of
from regnas.runtime import signals
from regnas.runtime.lock import exclusive
from regnas.training import Augmentation, Recipe, SingleNetwork, Trainer
from tests.models.making import OTHER, RECIPE, SMALL, images, same, state, tiny_splits, workshop

PLAIN = Trained(SMALL, "plain")
OLD = Trained(SMALL, "old")


def shelves(shop):
    return sorted(path for path in shop.folder.iterdir() if path.is_dir())


def no_training(*_arguments):
    raise AssertionError("this is kept already")


# Kept, and loaded again


@pytest.mark.parametrize(
    "model",
    [PLAIN, Trained(SMALL, dropout=0.3), Trained(SMALL, start=OLD, tie=MixedWithOld(OLD, 0.5))],
    ids=["plain", "dropout", "mixout"],
)
def test_a_second_workshop_loads_what_the_first_has_trained_bit_for_bit(tmp_path, monkeypatch, model):
    first = workshop(tmp_path)
    trained, logits = state(first, model), first.logits(model, first.splits.report)
    assert first.is_kept(model)
    monkeypatch.setattr(Trainer, "train", no_training)
    second = workshop(tmp_path, splits=tiny_splits())  # the same data, read anew
    assert same(state(second, model), trained)
    assert torch.equal(second.logits(model, second.splits.report), logits)


def test_a_model_that_is_not_kept_is_trained(tmp_path, monkeypatch):
    monkeypatch.setattr(Trainer, "train", no_training)
    with pytest.raises(AssertionError, match="kept already"):
        workshop(tmp_path).module(PLAIN)


def test_a_training_learns_and_ends_frozen_and_in_evaluation_mode(tmp_path):
    shop = workshop(tmp_path, training=replace(RECIPE, epochs=8))
    network = shop.module(PLAIN)
    assert not network.training
    assert not any(parameter.requires_grad for parameter in network.parameters())
    predicted = shop.logits(PLAIN, shop.splits.report).argmax(dim=1)
    assert (predicted == shop.splits.report.targets).float().mean() > 0.8
    assert shop.module(Trained(SMALL, "plain")) is network


def test_a_training_starts_from_weights_of_its_own_chance(shop):
    one, other = (shop.fresh(SMALL, 4, shop.identity(Trained(SMALL, chance))) for chance in ("a", "b"))
    again = shop.fresh(SMALL, 4, shop.identity(Trained(SMALL, "a")))
    assert not torch.equal(one.stem.weight, other.stem.weight)
    assert torch.equal(one.stem.weight, again.stem.weight)


def test_making_models_leaves_the_global_randomness_alone(shop):
    torch.manual_seed(7)
    untouched = torch.rand(3)
    torch.manual_seed(7)
    shop.module(PLAIN)
    assert torch.equal(torch.rand(3), untouched)


def test_checkpoints_are_gone_once_the_training_is_finished(shop):
    shop.module(PLAIN)
    (shelf,) = shelves(shop)
    assert {path.name for path in shelf.iterdir()} >= {NETWORK, RECORD}
    assert not (shelf / CHECKPOINTS).exists()


@pytest.mark.parametrize("place", [0, 100, -1])
def test_one_flipped_byte_is_refused_with_the_name_of_the_file(tmp_path, place):
    first = workshop(tmp_path)
    first.module(PLAIN)
    (shelf,) = shelves(first)
    content = bytearray((shelf / NETWORK).read_bytes())
    content[place] ^= 1
    (shelf / NETWORK).write_bytes(content)
    with pytest.raises(ArtifactError, match=r"network\.safetensors is damaged") as error:
        workshop(tmp_path).module(PLAIN)
    assert str(shelf / NETWORK) in str(error.value)


def test_a_record_that_is_not_ours_is_refused(tmp_path):
    first = workshop(tmp_path)
    first.module(PLAIN)
    (shelf,) = shelves(first)
    (shelf / RECORD).write_text("{}")
    with pytest.raises(ArtifactError, match=r"model\.json lacks sha256"):
        workshop(tmp_path).module(PLAIN)


# What a model is

LESSON = Lesson(FocalDistillationLM(1.0, 5.0), 1.0, (OLD,))
FEATURE = FeatureLesson(RegressionAlleviating(0.05), 1.0, OLD)
DIFFERENT = [
    Trained(SMALL, "plain"),
    Trained(SMALL, "other chance"),
    Trained(OTHER, "plain"),
    Trained(replace(SMALL, blocks=2), "plain"),
    Trained(SMALL, "plain", share=Share(0.5)),
    Trained(SMALL, "plain", share=Share(1.0, 0.5)),
    Trained(SMALL, "plain", start=OLD),
    Trained(SMALL, "plain", start=Trained(SMALL, "another old")),
    Trained(SMALL, "plain", label_weight=0.5),
    Trained(SMALL, "plain", dropout=0.1),
    Trained(SMALL, "plain", dropout=0.2),
    Trained(SMALL, "plain", lessons=(LESSON,)),
    Trained(SMALL, "plain", lessons=(LESSON, LESSON)),
    Trained(SMALL, "plain", lessons=(replace(LESSON, weight=2.0),)),
    Trained(SMALL, "plain", lessons=(replace(LESSON, online=False),)),
    Trained(SMALL, "plain", lessons=(replace(LESSON, teachers=(PLAIN,)),)),
    Trained(SMALL, "plain", lessons=(replace(LESSON, teachers=(OLD, PLAIN)),)),
    Trained(SMALL, "plain", lessons=(replace(LESSON, loss=FocalDistillationLM(2.0, 5.0)),)),
    Trained(SMALL, "plain", lessons=(replace(LESSON, loss=FocalDistillationLM(1.0, 6.0)),)),
    Trained(SMALL, "plain", lessons=(replace(LESSON, loss=LogitDifferenceInhibition()),)),
    Trained(SMALL, "plain", lessons=(replace(LESSON, loss=LogitDifferenceInhibition(3.0)),)),
    Trained(SMALL, "plain", lessons=(replace(LESSON, loss=LogitDifferenceInhibition(top_k=2)),)),
    Trained(SMALL, "plain", feature_lessons=(FEATURE,)),
    Trained(SMALL, "plain", feature_lessons=(replace(FEATURE, weight=2.0),)),
    Trained(SMALL, "plain", feature_lessons=(replace(FEATURE, loss=RegressionAlleviating(0.1)),)),
    Trained(SMALL, "plain", feature_lessons=(replace(FEATURE, loss=BackwardCompatible()),)),
    Trained(SMALL, "plain", feature_lessons=(replace(FEATURE, teacher=PLAIN),)),
    Trained(SMALL, "plain", tie=DecayedToOld(OLD, 0.1)),
    Trained(SMALL, "plain", tie=DecayedToOld(OLD, 0.2)),
    Trained(SMALL, "plain", tie=DecayedToOld(PLAIN, 0.1)),
    Trained(SMALL, "plain", tie=MixedWithOld(OLD, 0.1)),
    Trained(SMALL, "plain", tie=Consolidated(OLD, 0.1, 16)),
    Trained(SMALL, "plain", tie=Consolidated(OLD, 0.1, 17)),
    Ensemble((PLAIN, OLD)),
    Ensemble((OLD, PLAIN)),
    Interpolated(OLD, PLAIN, 0.4),
    Interpolated(OLD, PLAIN, 0.5),
    Interpolated(OLD, PLAIN, 0.4, 16),
]


def test_every_part_of_a_model_is_part_of_its_identity(shop):
    assert len({shop.identity(model) for model in DIFFERENT}) == len(DIFFERENT)
    assert len({shop._shelf(model) for model in DIFFERENT}) == len(DIFFERENT)


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 1},
        {"calibration_images": 32},
        {"splits": tiny_splits(seed=1)},
        {"splits": tiny_splits(classes=3)},
        {"training": replace(RECIPE, epochs=2)},
        {"training": replace(RECIPE, weight_decay=0.0)},
        {"training": replace(RECIPE, augmentation=Augmentation(shift=1))},
    ],
    ids=str,
)
def test_the_seed_the_data_and_the_recipe_are_part_of_the_identity(tmp_path, changes):
    assert workshop(tmp_path, **changes).identity(PLAIN) != workshop(tmp_path).identity(PLAIN)


def test_equal_models_have_one_identity_in_every_workshop(tmp_path):
    one, other = workshop(tmp_path / "here"), workshop(tmp_path / "there", splits=tiny_splits(), aloud=True)
    for model in DIFFERENT:
        assert one.identity(model) == other.identity(replace(model))


def test_the_machine_decides_the_shelf_and_not_the_identity(tmp_path):
    here = workshop(tmp_path, conditions={"threads": 1, "versions": {"torch": "2"}})
    there = workshop(tmp_path, conditions={"threads": 2, "versions": {"torch": "2"}})
    turned = workshop(tmp_path, conditions={"versions": {"torch": "2"}, "threads": 1})
    assert here.identity(PLAIN) == there.identity(PLAIN)
    assert here._shelf(PLAIN) == turned._shelf(PLAIN) != there._shelf(PLAIN)
    here.module(PLAIN)
    assert turned.is_kept(PLAIN)
    assert not there.is_kept(PLAIN)


def test_a_training_from_older_weights_has_the_recipe_of_fine_tuning(tmp_path):
    tuned = Trained(SMALL, "new", start=OLD)
    shop = workshop(tmp_path)
    longer = workshop(tmp_path, training=replace(RECIPE, epochs=2))
    gentler = workshop(tmp_path, fine_tuning=replace(RECIPE, learning_rate=0.001))
    assert tuned.recipe(shop) == shop.fine_tuning == tuned.recipe(longer)
    assert OLD.recipe(shop) == shop.training
    # another training of the start is another start, and so another model
    assert len({each.identity(OLD) for each in (shop, longer)}) == 2
    assert len({each.identity(tuned) for each in (shop, longer, gentler)}) == 3
    assert gentler.identity(OLD) == shop.identity(OLD)


def test_decay_to_the_old_weights_stands_in_place_of_the_decay_to_zero(shop):
    assert Trained(SMALL, start=OLD, tie=DecayedToOld(OLD, 0.1)).recipe(shop).weight_decay == 0
    for tie in (MixedWithOld(OLD, 0.1), Consolidated(OLD, 0.1, 16)):
        assert Trained(SMALL, start=OLD, tie=tie).recipe(shop) == shop.fine_tuning


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
    "mixout": Trained(SMALL, start=OLD, tie=MixedWithOld(OLD, 0.6)),
    "ewc": Trained(SMALL, start=OLD, tie=Consolidated(OLD, 1.0, 16)),
}


@pytest.mark.parametrize("fail", [False, True], ids=["signal", "crash"])
@pytest.mark.parametrize("name", BROKEN)
def test_a_training_that_was_broken_off_ends_with_the_bits_of_an_unbroken_one(tmp_path, monkeypatch, name, fail):
    model = BROKEN[name]
    settings = {"training": replace(RECIPE, epochs=2), "fine_tuning": replace(RECIPE, epochs=2)}
    unbroken = workshop(tmp_path / "unbroken", **settings)
    expected = state(unbroken, model)

    broken = workshop(tmp_path / "broken", **settings)
    for part in model.parts():
        broken.module(part)
    stop = StopAt(4, fail)  # the second of the three steps of the second epoch
    with monkeypatch.context() as patch:
        patch.setattr(SingleNetwork, "__call__", lambda *arguments: stop(*arguments))
        with pytest.raises(OSError if fail else Interrupted):
            broken.module(model)
    signals._received.clear()
    assert not broken.is_kept(model)

    resumed, watch = workshop(tmp_path / "broken", **settings), StopAt(-1, fail=False)
    with monkeypatch.context() as patch:
        patch.setattr(SingleNetwork, "__call__", lambda *arguments: watch(*arguments))
        found = state(resumed, model)
    assert watch.seen == ([3, 4, 5] if fail else [5])  # from the last checkpoint on
    assert same(found, expected)


# Several at once


def test_of_two_that_want_the_same_model_at_once_one_trains_and_the_other_waits(tmp_path, monkeypatch):
    monkeypatch.setattr("regnas.runtime.lock.POLL_SECONDS", 0.01)
    compute, trained_by, found, together = SingleNetwork.__call__, [], [], threading.Barrier(2)

    def slowly(objective, model, step):
        trained_by.append(threading.get_ident())
        time.sleep(0.1)  # so that the other one comes upon a training under way
        return compute(objective, model, step)

    def want():
        shop = workshop(tmp_path)  # the system's lock tells apart files that were opened twice
        together.wait()
        found.append(state(shop, PLAIN))

    monkeypatch.setattr(SingleNetwork, "__call__", slowly)
    threads = [threading.Thread(target=want) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(trained_by) == 3
    assert len(set(trained_by)) == 1
    assert same(*found)


def test_whoever_finds_the_shelf_taken_waits_and_then_loads(tmp_path, monkeypatch):
    monkeypatch.setattr("regnas.runtime.lock.POLL_SECONDS", 0.01)
    elsewhere = workshop(tmp_path / "elsewhere")
    elsewhere.module(PLAIN)
    waiting = workshop(tmp_path / "here")
    shelf, other = waiting._shelf(PLAIN), elsewhere._shelf(PLAIN)
    monkeypatch.setattr(Trainer, "train", no_training)
    found = []
    with exclusive(shelf):
        thread = threading.Thread(target=lambda: found.append(state(waiting, PLAIN)))
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
        for name in (NETWORK, RECORD):  # what the one that holds the shelf has trained
            (shelf / name).write_bytes((other / name).read_bytes())
    thread.join(20)
    assert same(found[0], state(elsewhere, PLAIN))


def test_two_workers_make_the_bits_that_one_makes(tmp_path):
    taught = Trained(SMALL, lessons=(Lesson(LogitDifferenceInhibition(), 0.5, (OLD, PLAIN)),))
    wanted = [Interpolated(OLD, Trained(SMALL, start=OLD), 0.5), taught, Ensemble((OLD, PLAIN))]
    found = {}
    for workers in (1, 2):
        shops = {seed: workshop(tmp_path / str(workers), seed=seed) for seed in (0, 1)}
        make_all(shops, {0: wanted, 1: [PLAIN]}, workers)
        assert len(shelves(shops[0])) == 4 + 1
        found[workers] = {
            path.parent.name: path.read_bytes() for path in (tmp_path / str(workers)).glob(f"*/{NETWORK}")
        }
    assert found[1] == found[2]


def test_making_all_trains_nothing_that_is_kept(tmp_path, monkeypatch):
    shop = workshop(tmp_path)
    make_all({0: shop}, {0: [Ensemble((OLD, PLAIN))]}, 1)
    monkeypatch.setattr(Trainer, "train", no_training)
    make_all({0: workshop(tmp_path)}, {0: [Ensemble((PLAIN, OLD)), PLAIN]}, 1)
    with pytest.raises(AssertionError, match="kept already"):
        make_all({0: workshop(tmp_path)}, {0: [Trained(SMALL, "further")]}, 1)


# What it costs: 120 samples are 3 steps of 32 images in each epoch


@pytest.fixture(scope="module")
def macs(shared_shop):
    return {network: macs_of(network.build((1, 8, 8), 4), (1, 8, 8)) for network in (SMALL, OTHER)}


def test_a_plain_training_is_three_passes_of_every_image(shared_shop, macs):
    assert PLAIN.training_macs(shared_shop) == 3 * 96 * macs[SMALL]
    assert training_macs(shared_shop, [PLAIN]) == 3 * 96 * macs[SMALL]
    half = Trained(SMALL, share=Share(0.5))  # 60 samples: one step
    assert half.training_macs(shared_shop) == 3 * 32 * macs[SMALL]


def test_teachers_run_once_for_every_image_they_see(shared_shop, macs):
    teachers = (OLD, Trained(OTHER, "other"))
    lesson = Lesson(LogitDifferenceInhibition(), 1.0, teachers)
    both = macs[SMALL] + macs[OTHER]
    online, offline = (Trained(SMALL, lessons=(replace(lesson, online=where),)) for where in (True, False))
    assert online.training_macs(shared_shop) == 3 * 96 * macs[SMALL] + 96 * both
    assert offline.training_macs(shared_shop) == 3 * 96 * macs[SMALL] + 120 * both
    feature = Trained(SMALL, feature_lessons=(FeatureLesson(BackwardCompatible(), 1.0, teachers[1]),))
    assert feature.training_macs(shared_shop) == 3 * 96 * macs[SMALL] + 96 * macs[OTHER]


def test_the_fisher_information_takes_a_gradient_of_as_many_samples_as_there_are(shared_shop, macs):
    for samples, taken in ((16, 16), (512, 120)):
        model = Trained(SMALL, start=OLD, tie=Consolidated(OLD, 1.0, samples))
        assert model.training_macs(shared_shop) == 3 * (96 + taken) * macs[SMALL]


def test_parts_that_are_shared_count_once_and_those_needed_anyway_not_at_all(shared_shop, macs):
    one = 3 * 96 * macs[SMALL]
    student = Trained(SMALL, "student", lessons=(Lesson(LogitDifferenceInhibition(), 1.0, (OLD, PLAIN)),))
    taught = one + 2 * 96 * macs[SMALL]
    assert training_macs(shared_shop, [Ensemble((OLD, PLAIN)), OLD, PLAIN]) == 2 * one
    assert training_macs(shared_shop, [student, Ensemble((OLD, PLAIN))]) == taught + 2 * one
    assert training_macs(shared_shop, [student], without=[OLD]) == taught + one
    assert training_macs(shared_shop, [student], without=[Ensemble((OLD, PLAIN))]) == taught
    assert training_macs(shared_shop, [student], without=[student]) == 0


def test_asking_for_the_answers_of_a_model_is_enough_to_have_it_made(tmp_path):
    offline = Trained(SMALL, lessons=(Lesson(LogitDifferenceInhibition(), 1.0, (PLAIN,), online=False),))
    asked, made = workshop(tmp_path / "asked"), workshop(tmp_path / "made")
    found = asked.logits(offline, asked.splits.report)
    assert not found.requires_grad
    make_all({0: made}, {0: [offline]}, 1)
    assert torch.equal(found, made.logits(offline, made.splits.report))


def test_the_cost_follows_the_recipe(tmp_path, macs):
    shop = workshop(tmp_path, fine_tuning=Recipe(epochs=4, batch_size=50))
    assert Trained(SMALL, start=OLD).training_macs(shop) == 3 * (4 * 2 * 50) * macs[SMALL]


def test_logits_are_those_of_the_network_on_prepared_images(shared_shop):
    network = shared_shop.module(PLAIN)
    with torch.no_grad():
        by_hand = network(images(shared_shop).contiguous(memory_format=torch.channels_last))
    assert torch.equal(shared_shop.logits(PLAIN, shared_shop.splits.report), by_hand)
