"""Networks that are trained together, and each of them alone."""

from __future__ import annotations

import math
import signal
from dataclasses import replace

import pytest
import torch

from regnas.data import DataFraction
from regnas.errors import Interrupted
from regnas.losses import KnowledgeDistillation, LogitDifferenceInhibition
from regnas.networks import macs_of
from regnas.runtime import signals
from regnas.training import PulledToMean, Trainer, calibrate
from regnas.updates.models import (
    Averaged,
    JointTraining,
    MeanLogits,
    MemberOf,
    Trained,
    Twins,
    joint_members,
    make_all,
    network_of,
    share_of,
    training_macs,
    weights_in,
)
from tests.updates.models.making import OTHER, RECIPE, SMALL, open_store, same, state

JOINT = JointTraining((SMALL, OTHER), MeanLogits(KnowledgeDistillation(), 1.0), "old new")
TWINS = JointTraining((SMALL, SMALL), Twins(10.0), "new")


def test_members_are_networks_of_their_own_with_the_architectures_asked_for(shared_shop):
    one, other = joint_members(JOINT)
    assert (network_of(one), network_of(other)) == (SMALL, OTHER)
    assert share_of(one) == JOINT.share
    assert weights_in(one) is one
    shared = {parameter.data_ptr() for parameter in shared_shop.module(one).parameters()}
    assert not shared & {parameter.data_ptr() for parameter in shared_shop.module(other).parameters()}
    first, second = (shared_shop.module(member) for member in joint_members(TWINS))
    assert not torch.equal(first.stem.weight, second.stem.weight)


def test_a_member_has_the_weights_of_the_joint_training_and_calibrated_statistics(shared_shop):
    joint = shared_shop.module(JOINT)
    for index, member in enumerate(joint_members(JOINT)):
        found, network = shared_shop.module(member), joint.networks[index]
        for name, parameter in network.named_parameters():
            assert torch.equal(parameter, found.get_parameter(name))
        fresh = member.network.build((1, 8, 8), 4)
        fresh.load_state_dict(network.state_dict())
        calibrate(shared_shop.place(fresh), shared_shop.calibration(JOINT.share))
        assert same(fresh.state_dict(), found.state_dict())


def test_pulling_to_the_mean_brings_the_members_together(tmp_path):
    store = open_store(tmp_path, training=replace(RECIPE, epochs=4))
    distances = {}
    for weight in (0.0, 10.0):
        pair = joint_members(replace(JOINT, bond=MeanLogits(KnowledgeDistillation(), weight)))
        one, other = (store.logits(member, store.splits.report).softmax(1) for member in pair)
        distances[weight] = (one - other).abs().sum(1).mean().item()
    assert distances[10.0] < 0.7 * distances[0.0]


def test_every_part_of_a_joint_training_is_part_of_its_identity(store):
    bond = MeanLogits(LogitDifferenceInhibition(), 1.0)
    different = [
        replace(JOINT, bond=bond),
        JOINT,
        replace(JOINT, bond=replace(bond, weight=2.0)),
        replace(JOINT, bond=replace(bond, start=0.5)),
        replace(JOINT, networks=(OTHER, SMALL)),
        replace(JOINT, networks=(SMALL, OTHER, SMALL)),
        replace(JOINT, replicate="other"),
        replace(JOINT, share=DataFraction(0.5)),
        replace(JOINT, starts=(Trained(SMALL), Trained(OTHER))),
        TWINS,
        replace(TWINS, bond=Twins(1.0)),
        MemberOf(JOINT, 0),
        MemberOf(JOINT, 1),
    ]
    assert len({store.identity(model) for model in different}) == len(different)


def test_the_gradient_may_be_as_long_as_that_of_all_networks(store):
    assert JOINT.recipe(store) == replace(store.training, clip_norm=store.training.clip_norm * math.sqrt(2))
    tuned = replace(JOINT, starts=(Trained(SMALL), Trained(OTHER)))
    assert tuned.recipe(store).learning_rate == store.fine_tuning.learning_rate


def test_members_start_from_their_own_predecessors(tmp_path, monkeypatch):
    store, starts = open_store(tmp_path), (Trained(SMALL, "a"), Trained(SMALL, "b"))
    olds = [state(store, start) for start in starts]
    monkeypatch.setattr(Trainer, "train", lambda *_arguments: None)
    joint = store.module(replace(TWINS, starts=starts))
    assert all(same(network.state_dict(), old) for network, old in zip(joint.networks, olds, strict=True))


def test_each_bootstrap_draws_as_many_samples_as_there_are_and_differs_from_the_other(store):
    counts = TWINS.bond.objective(store, TWINS).counts
    assert counts.sum(dim=1).tolist() == [120, 120]
    assert not torch.equal(counts[0], counts[1])
    drawn = (counts > 0).float().mean().item()
    assert drawn == pytest.approx(1 - 1 / math.e, abs=0.08)
    assert torch.equal(counts, TWINS.bond.objective(store, TWINS).counts)
    other = replace(TWINS, replicate="old")
    assert not torch.equal(counts, other.bond.objective(store, other).counts)


def test_the_cost_of_the_training_is_divided_among_its_members(shared_shop):
    each = {network: 3 * 96 * macs_of(network.build((1, 8, 8), 4), (1, 8, 8)) for network in (SMALL, OTHER)}
    one, other = joint_members(JOINT)
    assert training_macs(shared_shop, [one, other]) == each[SMALL] + each[OTHER]
    assert training_macs(shared_shop, [other], without=[one]) == each[OTHER]
    assert training_macs(shared_shop, [Averaged(*joint_members(TWINS))]) == 2 * each[SMALL]


def test_the_joint_training_runs_once_and_its_members_are_kept(tmp_path, monkeypatch):
    store, members = open_store(tmp_path), joint_members(JOINT)
    make_all({0: store}, {0: members}, 1)
    found = [state(store, member) for member in members]

    def no_training(*_arguments):
        raise AssertionError("this is kept already")

    monkeypatch.setattr(Trainer, "train", no_training)
    again = open_store(tmp_path)
    assert all(again.is_kept(model) for model in (JOINT, *members))
    assert all(same(state(again, member), kept) for member, kept in zip(members, found, strict=True))


@pytest.mark.parametrize("fail", [False, True], ids=["signal", "crash"])
def test_a_joint_training_that_was_broken_off_ends_with_the_same_bits(tmp_path, monkeypatch, fail):
    settings = {"training": replace(RECIPE, epochs=2)}
    expected = state(open_store(tmp_path / "unbroken", **settings), MemberOf(JOINT, 1))
    compute, seen = PulledToMean.__call__, []

    def stop_at_four(objective, model, step):
        seen.append(step.index)
        if step.index == 4 and len(seen) == 5:
            if fail:
                raise OSError("the power went")
            signals.ask_to_stop(signal.SIGTERM)
        return compute(objective, model, step)

    monkeypatch.setattr(PulledToMean, "__call__", stop_at_four)
    with pytest.raises(OSError if fail else Interrupted):
        open_store(tmp_path / "broken", **settings).module(MemberOf(JOINT, 1))
    signals._received.clear()
    resumed = open_store(tmp_path / "broken", **settings)
    assert same(state(resumed, MemberOf(JOINT, 1)), expected)
    assert seen[5:] == ([3, 4, 5] if fail else [5])
