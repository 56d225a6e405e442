"""Polishing: after the search, train the shared weights further for the chosen members alone.

The members stay sub-networks of one supernet, so each still contains the smaller ones exactly. Training forks when its
later lessons begin. The number alpha moves along the line between the two ends, from accuracy (0) to agreement (1). The
search split decides: the best of the points on the line and of the unchanged weights; points that meet the limit on
flips come before points that exceed it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from regnas.components.rate import format_rate
from regnas.errors import ArtifactError
from regnas.flips import Predictions, negative_flip_rate
from regnas.losses import CrossEntropy, KnowledgeDistillation, LogitDifferenceInhibition
from regnas.runtime.files import digest_of, read_sealed_list, write_sealed_list
from regnas.runtime.randomness import Key
from regnas.search import Measures, Reward, excess_over, violation_of
from regnas.search.evaluation import Evaluator
from regnas.space import Architecture, SearchSpace
from regnas.training import Curriculum, Ends, ForkedTraining, Given, SupernetObjective, TeachingTerm, Trainer
from regnas.training.schedules import Ramp
from regnas.training.teachers import Largest, Mean

POINTS = "points.json"


def _lessons() -> dict[str, TeachingTerm]:
    return {
        "distillation": TeachingTerm(Largest(), KnowledgeDistillation()),
        "congruence": TeachingTerm(Mean(), LogitDifferenceInhibition(), 1.0, Ramp(0.67, 0.72)),
    }


@dataclass(frozen=True)
class Polishing:
    """How long, how fast and by which lessons the members are trained further.

    ``alphas`` are the points on the line that are compared. Everything else (batches, augmentation, schedule of the
    learning rate) is as in ``[training]``.
    """

    epochs: int = 8
    learning_rate: float = 0.1
    lessons: dict[str, TeachingTerm] = field(default_factory=_lessons)
    alphas: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.learning_rate <= 0:
            raise ValueError("epochs must be at least 1 and learning_rate positive")
        if not self.alphas or not all(0 <= alpha <= 1 for alpha in self.alphas):
            raise ValueError("alphas must hold at least one number, each between 0 and 1")
        if Curriculum(lessons=self.lessons).supernets_before:
            raise ValueError("supernets that are trained before teach in [curriculum], not in [polish]")


@dataclass(frozen=True)
class Point:
    """One choice of weights, measured on the search split; ``alpha`` is None for the unchanged weights."""

    alpha: float | None
    top1: dict[str, float]  # by member
    nfr: dict[str, float]  # by pair, "small > large"
    reward: float

    @property
    def name(self) -> str:
        return "unpolished" if self.alpha is None else f"alpha {self.alpha:g}"

    @property
    def mean_top1(self) -> float:
        return sum(self.top1.values()) / len(self.top1)

    @property
    def mean_nfr(self) -> float:
        return sum(self.nfr.values()) / len(self.nfr) if self.nfr else 0.0

    def violation(self, max_nfr: float | None) -> float:
        """By how much the highest NFR exceeds the limit."""
        return violation_of(excess_over(max_nfr, Measures(self.mean_top1, self.nfr)))

    def to_json(self) -> dict[str, Any]:
        return {"alpha": self.alpha, "top1": self.top1, "nfr": self.nfr, "reward": self.reward}


@dataclass(frozen=True)
class Polished:
    """The points that were compared, and the chosen one."""

    points: tuple[Point, ...]  # the unchanged weights first
    chosen: Point
    by_hand: bool  # the user named alpha
    ends: Ends
    training_macs: int
    max_nfr: float | None = None  # the limit, if there is one

    @property
    def weights(self) -> dict[str, Tensor] | None:
        """The new weights of the supernet; None if it stays unchanged."""
        return None if self.chosen.alpha is None else self.ends.at(self.chosen.alpha)

    @property
    def summary(self) -> str:
        """The effect on the search split, in one sentence."""
        by = "by hand" if self.by_hand else "on the search split"
        before, after = self.points[0], self.chosen
        if after.alpha is None:
            return f"nothing on the line was better {by}: the weights stay as they were{self._limit}"
        return (
            f"{after.name} chosen {by}: mean Top-1 {100 * before.mean_top1:.2f} -> {100 * after.mean_top1:.2f} %, "
            f"mean NFR {100 * before.mean_nfr:.2f} -> {100 * after.mean_nfr:.2f} %{self._limit}"
        )

    @property
    def _limit(self) -> str:
        if self.max_nfr is None or not self.chosen.nfr:
            return ""
        kept = "exceeds" if self.chosen.violation(self.max_nfr) else "is within"
        return f"; the highest NFR, {100 * max(self.chosen.nfr.values()):.2f} %, {kept} {format_rate(self.max_nfr)}"

    def to_json(self) -> dict[str, Any]:
        """The comparison, for the manifest."""
        return {
            "chosen": self.chosen.to_json(),
            "chosen_by": "hand" if self.by_hand else "search split",
            "points": [point.to_json() for point in self.points],
        }


@dataclass(frozen=True)
class Polisher:
    """Polishing for one run."""

    settings: Polishing
    trainer: Trainer  # with the epochs and the learning rate of the settings
    space: SearchSpace
    reward: Reward
    start: Callable[[], nn.Module]  # a new supernet with the unchanged weights
    evaluator: Callable[[Mapping[str, Tensor] | None], Evaluator]  # of the supernet with other weights
    key: tuple[Key, ...]
    folder: Path
    max_nfr: float | None = None
    old: Mapping[str, Predictions] = field(default_factory=dict)  # flips from these count too

    def polish(self, members: Mapping[str, Architecture], alpha: float | None = None) -> Polished:
        """Train both ends, unless they exist, and choose a point; ``alpha`` chooses instead of the search split."""
        training = self._training(members)
        ends = training.train(self.start, self.key, "polish")
        alphas = sorted({*self.settings.alphas, *([] if alpha is None else [alpha])})
        points = self._points(members, [None, *alphas], ends, training.folder / POINTS)
        wanted = [point for point in points if point.alpha == alpha] if alpha is not None else points
        chosen = prefer(wanted, self.max_nfr)
        return Polished(tuple(points), chosen, alpha is not None, ends, training.macs(), self.max_nfr)

    def _points(
        self, members: Mapping[str, Architecture], alphas: Sequence[float | None], ends: Ends, record: Path
    ) -> list[Point]:
        """Measure the points that are not on record."""
        known = recorded_points(record) if record.exists() else {}
        for alpha in alphas:
            if alpha not in known:
                known[alpha] = self._measured(members, alpha, None if alpha is None else ends.at(alpha))
        write_sealed_list(record, [point.to_json() for point in known.values()])
        return [known[alpha] for alpha in alphas]

    def _training(self, members: Mapping[str, Architecture]) -> ForkedTraining:
        falling = sorted(members.values(), key=lambda member: self.space.cost(member).macs, reverse=True)
        curriculum = Curriculum(Given(tuple(falling)), self.settings.lessons)
        # Other members need a training of their own.
        folder = self.folder / digest_of([member.to_json() for member in falling])[:12]
        return ForkedTraining(self.trainer, self._objective, curriculum, folder)

    def _objective(self, curriculum: Curriculum) -> SupernetObjective:
        return SupernetObjective(self.space, curriculum, CrossEntropy(), self.key)

    def _measured(
        self, members: Mapping[str, Architecture], alpha: float | None, weights: Mapping[str, Tensor] | None
    ) -> Point:
        evaluator = self.evaluator(weights)
        predicted = dict(zip(members, evaluator.predict_each(list(members.values())), strict=True))
        top1 = {name: predictions.accuracy for name, predictions in predicted.items()}
        references = {**self.old, **predicted}
        nfr = {
            f"{small} > {large}": negative_flip_rate(references[small], predicted[large])
            for small, large in [*product(self.old, members), *combinations(members, 2)]
        }
        mean = sum(top1.values()) / len(top1)
        return Point(alpha, top1, nfr, self.reward(Measures(mean, nfr)))


def prefer(points: Sequence[Point], max_nfr: float | None) -> Point:
    """Return the best point by constraint domination; the first of equal ones, which needs no change."""
    return min(points, key=lambda point: (point.violation(max_nfr), -point.reward))


def recorded_points(path: Path) -> dict[float | None, Point]:
    """Return the measured points of an interrupted polishing by alpha; None stands for the unchanged weights."""
    try:
        return {point["alpha"]: Point(**point) for point in read_sealed_list(path, dict, "tables")}
    except (KeyError, TypeError) as error:
        raise ArtifactError(f"{path} is damaged ({error!r}). Delete it, and the points are measured again.") from None
