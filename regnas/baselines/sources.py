"""Where a network of a comparison comes from, as a value."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from regnas.losses import Loss
from regnas.runtime.files import digest_of
from regnas.space import Architecture


@dataclass(frozen=True)
class Inherited:
    """A sub-network with the weights that the supernet has."""

    architecture: Architecture


@dataclass(frozen=True)
class Training:
    """A training of its own: label_weight * cross-entropy + weight * loss(mean logits of the teachers).

    Two trainings of the same content are one: what several methods need is trained once. ``repeat`` numbers the
    trainings that differ in nothing but chance.
    """

    architecture: Architecture
    repeat: int = 0
    label_weight: float = 1.0
    loss: Loss | None = None
    weight: float = 0.0
    teachers: tuple[Training, ...] = ()

    @cached_property
    def id(self) -> str:
        return digest_of(self._content())[:12]

    def _content(self) -> dict[str, Any]:
        return {
            "architecture": self.architecture.to_json(),
            "repeat": self.repeat,
            "label_weight": self.label_weight,
            "loss": [type(self.loss).__name__, asdict(self.loss)] if self.loss else None,  # type: ignore[call-overload]
            "weight": self.weight,
            "teachers": [teacher.id for teacher in self.teachers],
        }


Source = Inherited | Training


def needed(trainings: list[Training]) -> dict[Training, tuple[Training, ...]]:
    """All these trainings and their teachers', each with what it has to wait for."""
    found: dict[Training, tuple[Training, ...]] = {}
    pending = list(trainings)
    while pending:
        training = pending.pop(0)
        if training not in found:
            found[training] = training.teachers
            pending.extend(training.teachers)
    return found
