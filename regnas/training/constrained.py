"""Train to a target, an upper limit of the negative flip rate, by a Lagrangian."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from regnas.data import Preprocessing, Split
from regnas.losses import CrossEntropy, FlipHinge, Loss
from regnas.runtime.randomness import Key, generator
from regnas.training.objective import Step

MEMORY = 20  # held-out batches over which the negative flip rate is averaged

log = logging.getLogger("regnas")


class WithMultipliers(nn.Module):
    """A network and the state of its constraints, one per old model: buffers, so that checkpoints keep them."""

    multiplier: Tensor  # [R]
    flip_rate: Tensor  # [R] on held-out batches, averaged over the last ones
    updates: Tensor  # [] number of updates
    history: Tensor  # [epochs, 2, R]: multiplier and flip_rate at the end of each epoch

    def __init__(self, network: nn.Module, constraints: int, epochs: int) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("multiplier", torch.zeros(constraints))
        self.register_buffer("flip_rate", torch.zeros(constraints))
        self.register_buffer("updates", torch.zeros((), dtype=torch.int64))
        self.register_buffer("history", torch.zeros(epochs, 2, constraints))

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.network(images)
        return logits

    def ascend(self, flip_rate: Tensor, target: float, rate: float) -> None:
        """Take one step of dual ascent from the negative flip rates [R] of a held-out batch."""
        self.updates += 1
        self.flip_rate.lerp_(flip_rate.to(self.flip_rate.device), 1 / min(int(self.updates), MEMORY))
        violation = (self.flip_rate / target - 1).clamp(-1, 1)  # [R]
        self.multiplier.add_(violation, alpha=rate).clamp_(min=0)

    def close_epoch(self, epoch: int) -> None:
        self.history[epoch] = torch.stack([self.multiplier, self.flip_rate])  # [2, R]

    def line(self, epoch: int) -> str:
        """Return the log line of an epoch, counted from 0."""
        multipliers, rates = self.history[epoch].tolist()
        shown = ", ".join(f"{value:.3f}" for value in multipliers), ", ".join(f"{value:.2%}" for value in rates)
        return f"epoch {epoch + 1}: multiplier {shown[0]}, held-out NFR {shown[1]}"


@dataclass(frozen=True)
class HeldOut:
    """Training samples that no step trains on, and which of them each old model predicts correctly."""

    split: Split
    correct: Tensor  # [R, samples of the split], bool
    preprocessing: Preprocessing
    batch_size: int
    key: tuple[Key, ...]

    @torch.no_grad()
    def flip_rates(self, network: nn.Module, index: int, device: torch.device) -> Tensor:
        """Return the negative flip rate of a batch per old model [R]; the index of the step draws the batch."""
        order = generator(*self.key, "held out", index).permutation(len(self.split))
        chosen = torch.from_numpy(order[: self.batch_size])
        images = self.preprocessing(self.split.images[chosen].to(device))
        with batch_statistics(network):
            predicted = network(images.contiguous(memory_format=torch.channels_last)).argmax(dim=1).cpu()  # [N]
        wrong = predicted != self.split.targets[chosen]  # [N]
        rates: Tensor = (self.correct[:, chosen] & wrong).float().mean(dim=1)  # [R, N] -> [R]
        return rates


@dataclass(frozen=True)
class ConstrainedObjective:
    """(cross-entropy + sum_r lambda_r * h_r) / (1 + sum_r lambda_r), with lambda_r >= 0 from held-out batches.

    The Lagrangian of: minimize cross-entropy subject to NFR(network; old model r) <= target for each r; the
    ``surrogate`` h stands for the NFR, which has no gradient. Dividing by 1 + sum_r lambda_r keeps the size of the
    steps and moves no minimum. Before each step, dual ascent:

    lambda_r <- max(0, lambda_r + rate / steps_per_epoch * clamp(NFR_r / target - 1, -1, 1)),

    with NFR_r averaged over the last held-out batches. During the fraction ``warm_up`` of the training lambda stays 0:
    early in training a network has many flips with any constraint, which would drive lambda too high to return in
    time. The clamp has the same reason: if the target is small, an NFR of 0 is only slightly below it.
    """

    olds: Sequence[nn.Module]
    held_out: HeldOut
    target: float
    rate: float
    steps_per_epoch: int
    name: str  # in the log
    warm_up: float = 0.0
    surrogate: Loss = field(default_factory=FlipHinge)
    label_loss: Loss = field(default_factory=CrossEntropy)

    def __call__(self, model: nn.Module, step: Step) -> Tensor:
        assert isinstance(model, WithMultipliers)
        if int(model.updates) == step.index:  # once per step, even if the batch comes in several parts
            self._ascend(model, step)
        with torch.no_grad():
            references = [old(step.images).float() for old in self.olds]
        logits = model(step.images).float()  # [N, C]
        values = torch.stack([self.surrogate(logits, step.targets, known).mean() for known in references])  # [R]
        labels = self.label_loss(logits, step.targets, logits).mean()
        multiplier = model.multiplier.clone()  # the backward pass needs the values of this step
        return (labels + (multiplier * values).sum()) / (1 + multiplier.sum())

    def _ascend(self, model: WithMultipliers, step: Step) -> None:
        flip_rates = self.held_out.flip_rates(model.network, step.index, step.images.device)
        rate = self.rate if step.progress >= self.warm_up else 0.0
        model.ascend(flip_rates, self.target, rate / self.steps_per_epoch)
        epoch, within = divmod(step.index, self.steps_per_epoch)
        if within + 1 == self.steps_per_epoch:
            model.close_epoch(epoch)
            log.info("%s: %s", self.name, model.line(epoch))


@contextmanager
def batch_statistics(network: nn.Module) -> Iterator[None]:
    """Inside the block, batch norms use batch statistics without updating their own; other layers evaluate."""
    was_training = network.training
    norms = [module for module in network.modules() if isinstance(module, _BatchNorm)]
    momenta = [norm.momentum for norm in norms]
    network.eval()
    for norm in norms:
        norm.train()
        norm.momentum = 0.0
    try:
        yield
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        network.train(was_training)
