"""How a supernet is trained, as a value: which sub-networks a step trains, and who teaches whom."""

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
    """weight * schedule(progress) * loss(sub-network; the teacher's logits), over all that this teacher teaches."""

    teacher: Teacher
    loss: Loss
    weight: float = 1.0
    schedule: Schedule = field(default_factory=Constant)

    def __post_init__(self) -> None:
        if self.weight < 0:
            raise ValueError(f"weight is {self.weight}: it has to be 0 or above")

    def weight_at(self, progress: float) -> float:
        return self.weight * self.schedule(progress)


def _in_place_distillation() -> dict[str, TeachingTerm]:
    return {"distillation": TeachingTerm(Largest(), KnowledgeDistillation())}


@dataclass(frozen=True)
class Curriculum:
    """The sub-networks of a step learn the labels and ``lessons``, by name; by default the largest teaches the rest.

    With ``interpolation`` the training forks when the first later lesson begins: one end goes on without the later
    lessons, one with them, and the result is (1 - interpolation) * plain + interpolation * congruent weights (BCWI).
    """

    sub_networks: SubNetworks = field(default_factory=Sandwich)
    lessons: dict[str, TeachingTerm] = field(default_factory=_in_place_distillation)
    shrinking: Shrinking = field(default_factory=WholeSpace)
    interpolation: float | None = None

    def __post_init__(self) -> None:
        if self.interpolation is None:
            return
        if not 0 <= self.interpolation <= 1:
            raise ValueError(f"interpolation is {self.interpolation}: it has to be between 0 and 1")
        if self.fork is None:
            raise ValueError("interpolation needs a lesson that begins after the start, by its schedule")

    def check(self, space: SearchSpace, ema_decay: float) -> None:
        """Refuse with a ``ValueError`` what this space or recipe cannot do."""
        self.shrinking.check(space)
        for name, lesson in self.lessons.items():
            if isinstance(lesson.teacher, MovingAverage) and not ema_decay:
                raise ValueError(f"lessons.{name}: the moving average teaches only with training.ema_decay above 0")

    @property
    def supernets_before(self) -> int:
        """How many supernets have to be trained before this one, to teach it."""
        teachers = [lesson.teacher for lesson in self.lessons.values()]
        return max((teacher.members for teacher in teachers if isinstance(teacher, EnsembleOfSupernets)), default=0)

    def without_ensembles(self) -> Curriculum:
        """How those supernets are trained themselves."""
        kept = {
            name: lesson for name, lesson in self.lessons.items() if not isinstance(lesson.teacher, EnsembleOfSupernets)
        }
        return replace(self, lessons=kept, interpolation=None)

    @property
    def fork(self) -> float | None:
        """When the first of the later lessons begins; None if there is none."""
        begins = (lesson.schedule.begin for lesson in self.lessons.values())
        return min((begin for begin in begins if begin > 0), default=None)

    def plain(self) -> Curriculum:
        """Without the later lessons: the same up to the fork."""
        kept = {name: lesson for name, lesson in self.lessons.items() if not lesson.schedule.begin}
        return replace(self, lessons=kept, interpolation=None)
