"""A training to a target: what it holds out, its state, and that an interruption changes nothing."""

from __future__ import annotations

import logging
import signal
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from regnas.data import DataFraction
from regnas.errors import Interrupted
from regnas.losses import FlipHinge, FocalDistillationKL, on_known_classes
from regnas.networks import macs_of
from regnas.runtime import signals
from regnas.training import ConstrainedObjective
from regnas.updates.models import Constrained, Trained, network_of, share_of
from regnas.updates.models.store import NETWORK
from tests.updates.models.making import RECIPE, SMALL, open_store, same, state

OLD = Trained(SMALL, "old")
HALF = Trained(SMALL, "old", share=DataFraction(0.5))
OF_TWO = Trained(SMALL, "old", share=DataFraction(1.0, 0.5))
MODEL = Constrained(SMALL, (OLD,), 0.05, "new", warm_up=0.0)


def kept_state(store, model):
    return load_file(store._folder_of(model) / NETWORK)


@pytest.mark.parametrize("old", [OLD, HALF, OF_TWO], ids=["same data", "more samples", "more classes"])
def test_held_out_samples_are_of_known_classes_and_unseen_if_there_are_such(store, old):
    trainer, held = replace(MODEL, olds=(old,))._trainer(store)
    whole, seen = store.splits.train, store.samples(old.share)
    assert sorted([*trainer.split.ids, *held.ids]) == sorted(whole.ids)
    assert (held.targets < share_of(old).classes_of(4)).all()
    assert len(held) == pytest.approx(0.1 * len(seen.targets) * (2 if old is HALF else 1), abs=3)
    if old is HALF:
        assert not np.isin(held.ids, seen.ids).any()
    again = replace(MODEL, olds=(old,))._trainer(open_store(store.folder / "other", seed=5))[1]
    assert again.ids.tolist() == held.ids.tolist()


def test_no_step_trains_on_what_is_held_out_and_neither_split_of_the_evaluation_is_touched(store, monkeypatch):
    trainer, held = MODEL._trainer(store)
    evaluated = {*store.splits.search.ids, *store.splits.report.ids}
    assert not evaluated & {*trainer.split.ids, *held.ids}
    seen, compute = [], ConstrainedObjective.__call__

    def watch(objective, model, step):
        seen.append((objective.held_out.split.ids.tolist(), step.indices))
        return compute(objective, model, step)

    monkeypatch.setattr(ConstrainedObjective, "__call__", watch)
    store.module(MODEL)
    assert len(seen) == trainer.total_steps
    assert all(ids == held.ids.tolist() for ids, _ in seen)
    assert len(trainer.split) == len(store.splits.train) - len(held)
    assert max(int(indices.max()) for _, indices in seen) < len(trainer.split)
    assert not {*trainer.split.ids} & {*held.ids}


def test_the_multiplier_rises_if_the_target_is_out_of_reach_and_stays_at_zero_if_it_is_met(tmp_path):
    store = open_store(tmp_path, training=replace(RECIPE, epochs=4))
    strict, easy = replace(MODEL, target=1e-6), replace(MODEL, target=0.999)
    store.module(strict), store.module(easy)
    rising = kept_state(store, strict)["history"][:, 0, 0]
    assert not same(state(store, strict), state(store, easy))
    assert rising.tolist() == pytest.approx([1.0, 2.0, 3.0, 4.0])  # by the rate per epoch
    assert kept_state(store, easy)["history"][:, 0, 0].tolist() == [0.0] * 4
    later = replace(strict, warm_up=0.5)
    store.module(later)
    assert kept_state(store, later)["history"][:, 0, 0].tolist() == pytest.approx([0.0, 0.0, 1.0, 2.0])


@pytest.mark.parametrize("fail", [False, True], ids=["signal", "crash"])
def test_a_training_that_was_broken_off_ends_with_the_same_network_and_multiplier(tmp_path, monkeypatch, fail):
    settings = {"training": replace(RECIPE, epochs=2)}
    unbroken = open_store(tmp_path / "unbroken", **settings)
    expected = state(unbroken, MODEL)
    compute, seen = ConstrainedObjective.__call__, []

    def stop_at_four(objective, model, step):
        seen.append(step.index)
        value = compute(objective, model, step)
        if step.index == 4 and len(seen) == 5:
            if fail:
                raise OSError("the power went")
            signals.ask_to_stop(signal.SIGTERM)
        return value

    broken = open_store(tmp_path / "broken", **settings)
    broken.module(OLD)
    monkeypatch.setattr(ConstrainedObjective, "__call__", stop_at_four)
    with pytest.raises(OSError if fail else Interrupted):
        broken.module(MODEL)
    signals._received.clear()
    resumed = open_store(tmp_path / "broken", **settings)
    assert same(state(resumed, MODEL), expected)
    assert seen[5:] == ([3, 4, 5] if fail else [5])
    one, other = (kept_state(each, MODEL) for each in (unbroken, resumed))
    assert one["multiplier"].item() > 0
    assert one["updates"].item() == 6
    for name in ("multiplier", "flip_rate", "updates", "history"):
        assert torch.equal(one[name], other[name])


@pytest.mark.parametrize("surrogate", [FlipHinge(), FocalDistillationKL(0.0, 1.0)], ids=["hinge", "divergence"])
def test_the_hinge_uses_added_classes_and_a_distance_uses_common_classes(surrogate):
    logits = torch.tensor([[2.0, 1.0, 9.0, 0.0], [1.0, 2.0, 0.0, 5.0]], requires_grad=True)
    reference, targets = torch.tensor([[3.0, 0.0], [0.0, 2.0]]), torch.tensor([0, 3])  # the second is an added class
    values = on_known_classes(surrogate, logits, targets, reference)
    (gradient,) = torch.autograd.grad(values.sum(), logits)
    assert values[1].item() == 0.0
    assert gradient[1].abs().sum() == 0
    if isinstance(surrogate, FlipHinge):
        assert gradient[0].tolist() == [-1.0, 0.0, 1.0, 0.0]
    else:
        assert gradient[0, :2].abs().min() > 0


def test_the_log_has_every_epoch_whether_it_was_trained_here_or_before(tmp_path, caplog):
    settings = {"training": replace(RECIPE, epochs=2)}
    lines = []
    for _ in range(2):
        caplog.clear()
        with caplog.at_level(logging.INFO, "regnas"):
            open_store(tmp_path, **settings).module(MODEL)
        lines.append(list(caplog.messages))
    assert len(lines[0]) == 2
    assert lines[0] == lines[1]
    assert "to NFR <= 5.00%: epoch 2: multiplier " in lines[0][1]


def test_it_is_one_network_of_its_share_with_calibrated_statistics(shared_shop):
    module = shared_shop.module(MODEL)
    assert network_of(MODEL) == SMALL
    assert module.state_dict().keys() == shared_shop.module(OLD).state_dict().keys()
    assert not module.training
    assert not any(parameter.requires_grad for parameter in module.parameters())


def test_it_can_start_from_older_weights(store):
    tuned = replace(MODEL, start=OLD)
    assert tuned.recipe(store) == store.fine_tuning
    assert tuned.parts() == (OLD,)
    assert store.identity(tuned) != store.identity(MODEL)


def test_the_cost_counts_the_old_model_and_the_held_out_batches(shared_shop):
    macs = macs_of(SMALL.build((1, 8, 8), 4), (1, 8, 8))
    trainer, held = MODEL._trainer(shared_shop)
    assert (trainer.total_steps, len(held)) == (3, 12)
    # 3 steps of 32: three passes, one of the old model; 12 held-out images per step, and once for the old model
    assert MODEL.training_macs(shared_shop) == (3 * 96 + 3 * 12 + 96 + 12) * macs


def test_every_part_of_it_is_part_of_its_identity(store):
    different = [
        MODEL,
        replace(MODEL, target=0.01),
        replace(MODEL, olds=(HALF,)),
        replace(MODEL, olds=(OLD, HALF)),
        replace(MODEL, rate=2.0),
        replace(MODEL, warm_up=0.5),
        replace(MODEL, surrogate=FlipHinge(2.0)),
        replace(MODEL, surrogate=FocalDistillationKL(0.0, 1.0)),
        replace(MODEL, held_out=0.2),
        replace(MODEL, replicate="other"),
        replace(MODEL, share=DataFraction(0.5)),
        replace(MODEL, start=OLD),
    ]
    assert len({store.identity(model) for model in different}) == len(different)
