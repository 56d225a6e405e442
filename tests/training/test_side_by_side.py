"""What a step of a joint training minimizes, against the formulas written out."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from regnas.augmentations import MixedLabels
from regnas.losses import CrossEntropy, FlipHinge, KnowledgeDistillation, LogitDifferenceInhibition
from regnas.training import PulledToMean, SideBySide, Step, TwinBootstraps


def batch(progress=0.5, samples=5):
    images = torch.randn(samples, 4, generator=torch.Generator().manual_seed(0))
    return Step(images, torch.arange(samples) % 3, torch.arange(samples) + 2, index=2, progress=progress)


def networks(count):
    torch.manual_seed(1)
    return SideBySide([nn.Linear(4, 3) for _ in range(count)])


def gradients(model, loss):
    model.zero_grad()
    loss.backward()
    return [parameter.grad.clone() for parameter in model.parameters()]


def divergence(own, mean):
    p = mean.softmax(dim=1)
    return (p * (p.log() - own.log_softmax(dim=1))).sum(dim=1)


@pytest.mark.parametrize("count", [2, 3])
def test_each_network_gets_its_labels_and_a_pull_to_the_mean_of_all(count):
    model, step = networks(count), batch()
    found = gradients(model, PulledToMean(KnowledgeDistillation(), 0.7)(model, step))
    with torch.no_grad():
        mean = sum(network(step.images) for network in model.networks) / count
    by_hand = []
    for network in model.networks:  # one at a time: each is trained as if it were alone, beside a fixed mean
        logits = network(step.images)
        loss = F.cross_entropy(logits, step.targets) + 0.7 * divergence(logits, mean).mean()
        by_hand += torch.autograd.grad(loss, list(network.parameters()))
    for one, other in zip(found, by_hand, strict=True):
        torch.testing.assert_close(one, other)


def test_the_term_is_the_loss_it_is_given():
    model, step, loss = networks(2), batch(), LogitDifferenceInhibition()
    logits = [network(step.images) for network in model.networks]
    mean = (logits[0] + logits[1]) / 2
    by_hand = sum(F.cross_entropy(own, step.targets) + 0.3 * loss(own, step.targets, mean).mean() for own in logits)
    torch.testing.assert_close(PulledToMean(loss, 0.3)(model, step), by_hand)


def test_mixed_images_count_for_both_labels_by_their_shares():
    model, step = networks(2), batch()
    mixed = replace(step, mixed=MixedLabels(step.targets.roll(1), 0.25))
    objective = PulledToMean(LogitDifferenceInhibition(), 0.3)
    own, other = (objective(model, replace(step, targets=labels)) for labels in (step.targets, step.targets.roll(1)))
    torch.testing.assert_close(objective(model, mixed), 0.25 * own + 0.75 * other)
    assert objective.single_labels == ""
    assert PulledToMean(FlipHinge(), 0.3).single_labels == "FlipHinge"


@pytest.mark.parametrize(("progress", "pulled"), [(0.0, False), (0.59, False), (0.6, True), (0.9, True)])
def test_the_term_begins_at_its_share_of_the_training(progress, pulled):
    model = networks(2)
    step = batch(progress)
    labels = sum(F.cross_entropy(network(step.images), step.targets) for network in model.networks)
    loss = PulledToMean(KnowledgeDistillation(), 5.0, start=0.6)(model, step)
    assert torch.isclose(loss, labels).item() != pulled


def test_without_weight_each_network_has_the_gradient_of_a_training_alone():
    model, step = networks(2), batch()
    found = gradients(model, PulledToMean(KnowledgeDistillation(), 0.0)(model, step))
    alone = copy.deepcopy(model.networks[1])
    F.cross_entropy(alone(step.images), step.targets).backward()
    torch.testing.assert_close(found[2:], [parameter.grad for parameter in alone.parameters()])


def test_twins_count_a_sample_as_often_as_their_bootstraps_draw_it():
    model, step = networks(2), batch()
    counts = torch.tensor([[9.0, 9, 0, 1, 2, 3, 1], [9.0, 9, 1, 1, 0, 0, 4]])  # of samples 0 to 6; the batch has 2 to 6
    found = TwinBootstraps(1.5, counts)(model, step)
    one, other = (network(step.images) for network in model.networks)
    p, q = one.softmax(1), other.softmax(1)
    symmetric = ((p * (p / q).log()).sum(1) + (q * (q / p).log()).sum(1)) / 2
    by_hand = torch.zeros(())
    for sample, (in_a, in_b) in enumerate([(0, 1), (1, 1), (2, 0), (3, 0), (1, 4)]):
        target = step.targets[sample]
        by_hand = by_hand - in_a * p[sample, target].log() - in_b * q[sample, target].log()
        by_hand = by_hand + 1.5 * (in_a + in_b) / 2 * symmetric[sample]
    torch.testing.assert_close(found, by_hand / 5)


def test_counting_is_drawing_on_average():
    """The mean over all batches of the counted loss is that over the two bootstraps, with both networks on both."""
    model, samples = networks(2), 8
    images = torch.randn(samples, 4, generator=torch.Generator().manual_seed(5))
    targets = torch.arange(samples) % 3
    drawn = [torch.tensor([0, 0, 1, 2, 5, 5, 5, 7]), torch.tensor([1, 2, 3, 3, 4, 6, 6, 7])]
    counts = torch.stack([torch.bincount(draws, minlength=samples).float() for draws in drawn])
    steps = [Step(images[part], targets[part], part, 0, 0.0) for part in torch.arange(samples).split(2)]
    counted = sum(TwinBootstraps(2.0, counts)(model, step) for step in steps) / len(steps)
    labels, apart = torch.zeros(()), torch.zeros(())
    for own, draws in zip(model.networks, drawn, strict=True):
        labels = labels + CrossEntropy()(own(images[draws]), targets[draws], own(images[draws])).mean()
        p, q = (network(images[draws]).softmax(1) for network in model.networks)
        apart = apart + ((p - q) * (p / q).log()).sum(1).mean() / 2
    torch.testing.assert_close(counted, labels + 2.0 * apart / 2)
