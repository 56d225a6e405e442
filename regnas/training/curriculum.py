"""The curriculum of a supernet as a value: the sub-networks of each step, and their lessons."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from regnas.losses import KnowledgeDistillation, Loss
from regnas.space import SearchSpace
from regnas.training.schedules import Constant, Schedule
from regnas.training.shrinking import Shrinking, WholeSpace
from regnas.training.sub_networks import Sandwich, SubNetworks
from regnas.training.teachers import EnsembleOfSupernets, Largest, MovingAverage, Teacher


@dataclass(frozen=True)
class TeachingTerm:
    """weight * schedule(progress) * loss(sub-network; the teacher's logits), over all sub-networks it teaches."""

    teacher: Teacher
    loss: Loss
    weight: float = 1.0
    schedule: Schedule = field(default_factory=Constant)

    def __post_init__(self) -> None:
        if self.weight < 0:
            raise ValueError(f"weight must be at least 0, got {self.weight}")

    def weight_at(self, progress: float) -> float:
        return self.weight * self.schedule(progress)


def _in_place_distillation() -> dict[str, TeachingTerm]:
    return {"distillation": TeachingTerm(Largest(), KnowledgeDistillation())}


@dataclass(frozen=True)
class Curriculum:
    """The sub-networks of a step learn the labels and ``lessons``, by name; by default the largest teaches the others.

    With ``interpolation``, training forks when the first later lesson begins: one branch continues without the later
    lessons, one with them. The result is (1 - interpolation) * plain + interpolation * congruent weights (BCWI).
    """

    sub_networks: SubNetworks = field(default_factory=Sandwich)
    lessons: dict[str, TeachingTerm] = field(default_factory=_in_place_distillation)
    shrinking: Shrinking = field(default_factory=WholeSpace)
    interpolation: float | None = None

    def __post_init__(self) -> None:
        if self.interpolation is None:
            return
        if not 0 <= self.interpolation <= 1:
            raise ValueError(f"interpolation must be between 0 and 1, got {self.interpolation}")
        if self.fork is None:
            raise ValueError("interpolation needs a lesson whose schedule begins after the start of the training")

    def check(self, space: SearchSpace, averages: bool) -> None:
        """Raise a ``ValueError`` for settings that this space or recipe does not support."""
        self.shrinking.check(space)
        for name, lesson in self.lessons.items():
            if isinstance(lesson.teacher, MovingAverage) and not averages:
                raise ValueError(
                    f"lessons.{name}: teacher moving_average needs training.ema_decay above 0 or training.averaging"
                )

    @property
    def supernets_before(self) -> int:
        """The number of supernets that must be trained before this one, as its teachers."""
        teachers = [lesson.teacher for lesson in self.lessons.values()]
        return max((teacher.members for teacher in teachers if isinstance(teacher, EnsembleOfSupernets)), default=0)

    def without_ensembles(self) -> Curriculum:
        """The curriculum of those supernets."""
        kept = {
            name: lesson for name, lesson in self.lessons.items() if not isinstance(lesson.teacher, EnsembleOfSupernets)
        }
        return replace(self, lessons=kept, interpolation=None)

    @property
    def fork(self) -> float | None:
        """The start of the first later lesson; None if there is none."""
        begins = (lesson.schedule.begin for lesson in self.lessons.values())
        return min((begin for begin in begins if begin > 0), default=None)

    def plain(self) -> Curriculum:
        """The curriculum without the later lessons: identical up to the fork."""
        kept = {name: lesson for name, lesson in self.lessons.items() if not lesson.schedule.begin}
        return replace(self, lessons=kept, interpolation=None)
