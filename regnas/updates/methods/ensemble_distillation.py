"""The common part of the forms of ELODI: an ensemble per release, and how a student learns from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from itertools import cycle, islice
from typing import Any, Literal

from regnas import losses
from regnas.losses import Loss
from regnas.networks import Network
from regnas.updates.methods.chain import ChainStage
from regnas.updates.methods.tunable import SHARES, tunable
from regnas.updates.models import Lesson, Model


@dataclass(frozen=True)
class EnsembleDistillation:
    """(1 - alpha) * cross-entropy + alpha * a loss to an ensemble of ``members`` networks.

    ``towards`` is that loss (table 10 of ELODI): "ldi" over the ``top_k`` highest classes with exponent ``power``,
    ``margin`` and ``exclude_target``; "kd" or "fd" (FD-KL) at ``temperature``. ``teachers`` are the networks of the
    ensemble, repeated in turn up to ``members`` (tables 8 and 9). If it is empty, they have the student's own
    architecture. The ensemble sees the student's own batch (``teacher = "online"``) or each training sample once,
    without augmentation ("offline": table 11). Before the share ``start_at`` of the training, only the labels count,
    with weight 1.
    """

    members: int = 8
    alpha: float = tunable(0.8, SHARES)
    top_k: int = 10
    power: float = 2.0
    teacher: Literal["online", "offline"] = "online"
    margin: float = 0.0
    exclude_target: bool = True
    towards: Literal["ldi", "kd", "fd"] = "ldi"
    temperature: float = 100.0
    teachers: tuple[Network, ...] = ()
    start_at: float = 0.0

    def __post_init__(self) -> None:
        if self.members < 1 or not 0 <= self.alpha <= 1:
            raise ValueError(
                f"members must be at least 1 and alpha between 0 and 1, got {self.members} and {self.alpha}"
            )
        if len(self.teachers) > self.members:
            raise ValueError(
                f"members must be at least the number of teachers, {len(self.teachers)}, got {self.members}. "
                "Raise members, or name fewer teachers."
            )
        if not 0 <= self.start_at < 1:
            raise ValueError(f"start_at must be at least 0 and below 1, got {self.start_at}")
        losses.LogitDifferenceInhibition(self.power, self.top_k, margin=self.margin, exclude_target=self.exclude_target)
        self.loss(self.margin)

    def loss(self, margin: float) -> Loss:
        """Return the loss that ``towards`` names; only LDI has a margin."""
        if self.towards == "kd":
            return losses.KnowledgeDistillation(self.temperature)
        if self.towards == "fd":
            return losses.FocalDistillationKL(temperature=self.temperature)
        return losses.LogitDifferenceInhibition(
            self.power, self.top_k, margin=margin, exclude_target=self.exclude_target
        )

    def lesson(self, weight: float, teachers: Sequence[Model], margin: float, online: bool = True) -> Lesson:
        """Return the lesson from these teachers."""
        return Lesson(self.loss(margin), weight, tuple(teachers), online, self.start_at)

    def networks(self, stage: ChainStage) -> tuple[Network, ...]:
        """Return the networks of the ensemble of a release."""
        return in_turn(self.teachers or (stage.release.network,), self.members)

    @property
    def details(self) -> str:
        """The settings that distinguish variants, for titles."""
        told = [f"m = {self.members}"]
        if self.towards == "ldi":
            told += [f"K = {self.top_k}"]
            told += [f"p = {self.power:g}"] if self.power != 2 else []
            told += [f"margin {self.margin:g}"] if self.margin else []
            told += [] if self.exclude_target else ["with the target"]
        else:
            told += [self.towards.upper(), f"τ = {self.temperature:g}"]
        told += ["offline"] if self.teacher == "offline" else []
        told += [f"teachers {describe_networks(self.teachers)}"] if self.teachers else []
        told += [f"from {100 * self.start_at:g} % on"] if self.start_at else []
        return ", ".join(told)


def in_turn(networks: Sequence[Network], count: int) -> tuple[Network, ...]:
    """Return ``count`` networks, repeating the given ones in turn."""
    return tuple(islice(cycle(networks), count))


def describe_networks(networks: Sequence[Network]) -> str:
    """Describe networks by their settings, short enough for a title."""
    return " / ".join(_describe_network(network) for network in networks)


def _describe_network(network: Any) -> str:
    entries = fields(network) if is_dataclass(network) else ()
    told = {entry.name: getattr(network, entry.name) for entry in entries if _is_told(entry, network)}
    values = (value if isinstance(value, str) else f"{name} {_short(value)}" for name, value in told.items())
    return " ".join(values) or type(network).__name__


def _is_told(entry: Any, network: Any) -> bool:
    return entry.default is MISSING or getattr(network, entry.name) != entry.default


def _short(value: Any) -> str:
    return "-".join(map(str, value)) if isinstance(value, tuple) else str(value)
