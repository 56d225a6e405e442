"""Polish a family: after the search, train the shared weights further for the chosen members alone.

The members stay sub-networks of one supernet, so each still contains the smaller ones exactly. The training forks at
the point where its later lessons begin. The number alpha moves along the line between the two ends, from accuracy (0)
to agreement (1). The images of the search choose the point on the line. Points that meet the limit on flips come before
points that exceed it. Held-out images decide whether this point replaces the unpolished weights; see ``deciding``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError
from torch import Tensor, nn

from regnas.components.rate import format_rate
from regnas.errors import ArtifactError, first_line
from regnas.family.deciding import Answers, compare_answers
from regnas.family.decision import Comparison, Decision, Reason
from regnas.flips import Predictions
from regnas.losses import KnowledgeDistillation, LogitDifferenceInhibition
from regnas.report.kit.json_values import json_value
from regnas.runtime.files import digest_of, read_sealed_list, write_sealed_list
from regnas.runtime.randomness import Key
from regnas.search import Measures, Reward, excess_over, violation_of
from regnas.search.evaluation import Evaluator
from regnas.space import Architecture, SearchSpace
from regnas.training import Curriculum, Ends, ForkedTraining, Given, Recipe, SupernetObjective, TeachingTerm, Trainer
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
    """The settings of polishing: its epochs, learning rate and lessons.

    ``alphas`` are the points on the line that are compared. Everything else (batches, augmentation, schedule of the
    learning rate) is as in ``[training]``. ``held_out`` is the share of the search split that the search does not use.
    Its images decide whether the members are polished. With 0, the images of the search decide, which favors the
    unpolished weights.
    """

    epochs: int = 8
    learning_rate: float = 0.1
    lessons: dict[str, TeachingTerm] = field(default_factory=_lessons)
    alphas: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    held_out: float = 0.25

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.learning_rate <= 0:
            raise ValueError(
                f"epochs must be at least 1 and learning_rate above 0, got {self.epochs} and {self.learning_rate:g}"
            )
        if not self.alphas or not all(0 <= alpha <= 1 for alpha in self.alphas):
            raise ValueError(f"alphas must be one or more numbers between 0 and 1, got {list(self.alphas)}")
        if not 0 <= self.held_out < 1:
            raise ValueError(f"held_out must be at least 0 and below 1, got {self.held_out:g}")
        if Curriculum(lessons=self.lessons).supernets_before:
            raise ValueError('teachers of [polish] must not be "ensemble", got it. Use it in [curriculum].')

    def recipe(self, training: Recipe) -> Recipe:
        """Return the recipe of ``[training]`` with the epochs and the learning rate of polishing."""
        try:
            return replace(training, epochs=self.epochs, learning_rate=self.learning_rate)
        except ValueError as error:
            raise ValueError(f"polish: the recipe of [training] must fit polishing, got: {error}") from None


@dataclass(frozen=True)
class Images:
    """Positions in the search split: images of the search, and images that decide; the same if nothing is held out."""

    searched: NDArray[np.int64]
    deciding: NDArray[np.int64]
    originals: int  # the number of originals of the deciding images

    @property
    def held_out(self) -> bool:
        return not np.isin(self.deciding, self.searched).any()


@dataclass(frozen=True)
class Point:
    """One choice of weights, measured on the images of the search; ``alpha`` is None for the unpolished weights.

    ``comparison`` is with the unpolished weights on the deciding images; None for these weights themselves.
    """

    alpha: float | None
    top1: dict[str, float]  # by member
    nfr: dict[str, float]  # by pair, "small > large"
    reward: float
    comparison: Comparison | None = None

    @property
    def name(self) -> str:
        return "unpolished" if self.alpha is None else f"alpha {self.alpha:g}"

    @property
    def mean_top1(self) -> float:
        return sum(self.top1.values()) / len(self.top1)

    def violation(self, max_nfr: float | None) -> float:
        """Return the excess of the highest NFR over the limit, or 0."""
        return violation_of(excess_over(max_nfr, Measures(self.mean_top1, self.nfr)))

    def to_json(self) -> dict[str, Any]:
        """Return the point as a JSON object."""
        content: dict[str, Any] = json_value(self)
        return content


@dataclass(frozen=True)
class Polished:
    """The points that were compared, the chosen one, and the decision."""

    points: tuple[Point, ...]  # the unpolished weights first
    chosen: Point
    decision: Decision
    ends: Ends
    training_macs: int
    max_nfr: float | None = None  # the limit, if there is one

    @property
    def weights(self) -> dict[str, Tensor] | None:
        """The new weights of the supernet; None if it stays unchanged."""
        return None if self.chosen.alpha is None else self.ends.at(self.chosen.alpha)

    @property
    def summary(self) -> str:
        """The decision and its numbers, in one line."""
        return "; ".join(self.decision.lines()).removeprefix("polishing: ").rstrip(".") + self._limit

    @property
    def _limit(self) -> str:
        if self.max_nfr is None or not self.chosen.nfr:
            return ""
        kept = "exceeds" if self.chosen.violation(self.max_nfr) else "is within"
        return f"; the highest NFR, {100 * max(self.chosen.nfr.values()):.2f} %, {kept} {format_rate(self.max_nfr)}"

    def to_json(self) -> dict[str, Any]:
        """Return the comparison for the manifest."""
        return {
            "chosen": self.chosen.to_json(),
            "chosen_by": "hand" if self.decision.reason == "hand" else "search split",
            "decision": self.decision.to_dict(),
            "points": [point.to_json() for point in self.points],
        }


@dataclass(frozen=True)
class Polisher:
    """Polishing for one run."""

    settings: Polishing
    trainer: Trainer  # with the epochs and the learning rate of the settings
    space: SearchSpace
    reward: Reward
    start: Callable[[], nn.Module]  # a new supernet with the unpolished weights
    evaluator: Callable[[Mapping[str, Tensor] | None], Evaluator]  # evaluates the supernet with other weights
    key: tuple[Key, ...]
    folder: Path
    images: Images
    max_nfr: float | None = None
    old: Mapping[str, Predictions] = field(default_factory=dict)  # flips from these count too

    def polish(self, members: Mapping[str, Architecture], alpha: float | None = None) -> Polished:
        """Train both ends, unless they exist, and choose a point; ``alpha`` chooses instead of the search split."""
        training = self._training(members)
        ends = training.train(self.start, self.key, "polish")
        alphas = sorted({*self.settings.alphas, *([] if alpha is None else [alpha])})
        points = self._points(members, alphas, ends, training.folder / POINTS)
        chosen, compared, reason = choose(points, self.max_nfr, alpha)
        decision = self._decision(chosen, compared, reason)
        return Polished(tuple(points), chosen, decision, ends, training.macs(), self.max_nfr)

    def _decision(self, chosen: Point, compared: Point, reason: Reason) -> Decision:
        assert compared.alpha is not None and compared.comparison is not None  # by choose
        return Decision(
            alpha=chosen.alpha,
            compared=compared.alpha,
            reason=reason,
            held_out=self.images.held_out,
            images=len(self.images.deciding),
            originals=self.images.originals,
            comparison=compared.comparison,
        )

    def _points(
        self, members: Mapping[str, Architecture], alphas: Sequence[float], ends: Ends, record: Path
    ) -> list[Point]:
        """Measure the points that are not recorded; the unpolished weights come first."""
        known = recorded_points(record) if record.exists() else {}
        unknown = [alpha for alpha in alphas if alpha not in known]
        if unknown or None not in known:
            before = self._answers(members, None)
            known[None] = self._measured(None, before)
            for alpha in unknown:
                known[alpha] = self._measured(alpha, self._answers(members, ends.at(alpha)), before)
        write_sealed_list(record, [point.to_json() for point in known.values()])
        return [known[alpha] for alpha in (None, *alphas)]

    def _training(self, members: Mapping[str, Architecture]) -> ForkedTraining:
        falling = sorted(members.values(), key=lambda member: self.space.cost(member).macs, reverse=True)
        curriculum = Curriculum(Given(tuple(falling)), self.settings.lessons)
        # Other members need a training of their own.
        folder = self.folder / digest_of([member.to_json() for member in falling])[:12]
        return ForkedTraining(self.trainer, self._objective, curriculum, folder)

    def _objective(self, curriculum: Curriculum) -> SupernetObjective:
        return SupernetObjective(self.space, curriculum, self.trainer.recipe.label_loss, self.key)

    def _answers(self, members: Mapping[str, Architecture], weights: Mapping[str, Tensor] | None) -> Answers:
        predicted = self.evaluator(weights).predict_each(list(members.values()))
        named = dict(zip(members, predicted, strict=True))
        return Answers.of(named, self.old)

    def _measured(self, alpha: float | None, answers: Answers, before: Answers | None = None) -> Point:
        searched = answers.part(self.images.searched)
        measures = searched.measures()
        comparison = None
        if before is not None:
            deciding = self.images.deciding
            comparison = compare_answers(before.part(deciding), answers.part(deciding), self.reward)
        top1 = {name: float(correct.mean()) for name, correct in searched.correct.items()}
        return Point(alpha, top1, measures.nfr, self.reward(measures), comparison)


def choose(points: Sequence[Point], max_nfr: float | None, alpha: float | None) -> tuple[Point, Point, Reason]:
    """Return the chosen point, the one that was compared with the unpolished weights, and the reason.

    ``alpha`` chooses by hand. Otherwise the best point of the line, by constraint domination, replaces the unpolished
    weights, unless it exceeds the limit by more, or is significantly worse.
    """
    unpolished, *line = points
    if alpha is not None:
        (named,) = (point for point in line if point.alpha == alpha)
        return named, named, "hand"
    best = prefer(line, max_nfr)
    assert best.comparison is not None
    violations = best.violation(max_nfr), unpolished.violation(max_nfr)
    if violations[0] != violations[1]:
        return (best if violations[0] < violations[1] else unpolished), best, "limit"
    return (unpolished if best.comparison.verdict == "worse" else best), best, "interval"


def prefer(points: Sequence[Point], max_nfr: float | None) -> Point:
    """Return the best point by constraint domination; the first of equal ones."""
    return min(points, key=lambda point: (point.violation(max_nfr), -point.reward))


def recorded_points(path: Path) -> dict[float | None, Point]:
    """Read the measured points; return none if an earlier version, which did not compare, wrote them."""
    content = read_sealed_list(path, dict, "tables")
    try:
        points = TypeAdapter(list[Point]).validate_python(content)
    except ValidationError as error:
        raise ArtifactError(
            f"{path} is damaged: {first_line(error)}. Delete it; the points are then measured again."
        ) from None
    known = {point.alpha: point for point in points}
    return known if all(point.comparison is not None for point in points if point.alpha is not None) else {}
