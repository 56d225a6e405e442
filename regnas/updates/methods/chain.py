"""A chain of releases, and the references that each release must not regress against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from regnas.components.paths import path_key
from regnas.data import DataFraction, Preprocessing
from regnas.errors import ArtifactError, ConfigurationError
from regnas.losses import FeatureLoss, Loss
from regnas.networks import HasPublishedWeights, Network, Normalized
from regnas.runtime.files import sha256_of
from regnas.updates.models import Checkpoint, FeatureLesson, Lesson, Model, Published, Trained, network_of, weights_in
from regnas.updates.normalization import Normalization

Mixture = Literal["sum", "convex"]  # CE + w D, or (1 - w) CE + w D
References = Literal["chain", "radial", "fc", "untargeted"]


@dataclass(frozen=True)
class Release:
    """A model that a team ships: its network, its share of the data, and the origin of its weights.

    ``start`` is ``fresh`` or ``previous`` (fine-tuning of the release before it). ``checkpoint`` is a file with the
    weights of an existing model. With ``trained = false``, the network keeps the weights that it comes with. Neither
    is modified. ``normalization`` has the statistics that the network reads images with, by default those of the data.
    """

    network: Network
    samples: float = 1.0
    classes: float = 1.0
    start: Literal["fresh", "previous"] = "fresh"
    checkpoint: str = path_key("")
    trained: bool = True
    normalization: Normalization | None = None

    def __post_init__(self) -> None:
        DataFraction(self.samples, self.classes)
        if self.checkpoint and not self.trained:
            raise ValueError("checkpoint and trained = false exclude each other")
        if self.normalization == "published" and not isinstance(self.network, HasPublishedWeights):
            raise ValueError(
                'normalization "published" must belong to a network with published weights. Write its mean and std.'
            )

    @property
    def statistics(self) -> Preprocessing | None:
        """The statistics that ``normalization`` means; None for those of the data."""
        if self.normalization != "published":
            return self.normalization
        assert isinstance(self.network, HasPublishedWeights)
        evaluation = self.network.evaluation()
        return Preprocessing(evaluation.mean, evaluation.std)

    @property
    def share(self) -> DataFraction:
        return DataFraction(self.samples, self.classes)

    @property
    def reading(self) -> Release:
        """The release with a network that reads images as ``normalization`` says."""
        statistics = self.statistics
        if statistics is None:
            return self
        return replace(self, network=Normalized(self.network, statistics), normalization=None)


@dataclass(frozen=True)
class ChainStage:
    """One release at its place in the chain."""

    name: str
    release: Release

    @cached_property
    def given(self) -> Model | None:
        """The existing model, which no method modifies; None if the release is trained."""
        if self.release.checkpoint:
            path = Path(self.release.checkpoint).expanduser()
            try:
                sha256 = sha256_of(path)
            except OSError as error:  # a folder, or a file that may not be read
                raise ArtifactError(f"models.{self.name}.checkpoint: {path}: {error.strerror}") from None
            return Checkpoint(self.release.network, str(path), sha256, self.release.share)
        return None if self.release.trained else Published(self.release.network, self.release.share)

    def train(self, previous: Model | None, repeat: int = 0, **treatment: Any) -> Trained:
        """Return a training of this release; ``treatment`` has further fields of ``Trained``."""
        fields: dict[str, Any] = {
            "network": self.release.network,
            "replicate": f"{self.name} {repeat}",
            "share": self.release.share,
            "start": weights_in(previous) if previous and self.release.start == "previous" else None,
        }
        return Trained(**(fields | treatment))

    def plain(self, previous: Model | None) -> Model:
        """Return the model of this release without treatment."""
        return self.given or self.train(previous)

    def repeats(self, previous: Model | None, count: int) -> tuple[Trained, ...]:
        """Return trainings without treatment that differ only in their random draws; the first is the plain one."""
        return tuple(self.train(previous, repeat) for repeat in range(count))


@dataclass(frozen=True)
class Chain:
    """All releases in order; ``references`` says which earlier models a targeted method gives to each model.

    ``chain``: the one before it, ``radial``: the first, ``fc``: all, ``untargeted``: none (table 5 of ELODI).
    """

    stages: tuple[ChainStage, ...]
    references: References = "chain"

    def untargeted(self, treat: Callable[[ChainStage, Model | None], Model]) -> tuple[Model, ...]:
        """Return a model for each release: ``treat`` gets the release and the model before it."""
        models: list[Model] = []
        for stage in self.stages:
            models.append(stage.given or treat(stage, models[-1] if models else None))
        return tuple(models)

    def targeted(self, treat: Callable[[ChainStage, Model, tuple[Model, ...]], Model]) -> tuple[Model, ...]:
        """Return a model for each release: the first is plain, ``treat`` makes the others.

        ``treat`` gets the release, the model before it, and its references.
        """
        models: list[Model] = [self.stages[0].plain(None)]
        for stage in self.stages[1:]:
            chosen = self._choose(models)
            models.append(stage.given or (treat(stage, models[-1], chosen) if chosen else stage.plain(models[-1])))
        return tuple(models)

    def following(self, treat: Callable[[ChainStage, Model], Model]) -> tuple[Model, ...]:
        """Return a model for each release: the first is plain, ``treat`` makes each other one from the one before."""
        models: list[Model] = [self.stages[0].plain(None)]
        for stage in self.stages[1:]:
            models.append(stage.given or treat(stage, models[-1]))
        return tuple(models)

    def _choose(self, ancestors: Sequence[Model]) -> tuple[Model, ...]:
        return {
            "chain": tuple(ancestors[-1:]),
            "radial": tuple(ancestors[:1]),
            "fc": tuple(ancestors),
            "untargeted": (),
        }[self.references]


def label_weight(weight: float, mixture: Mixture) -> float:
    """Return the weight of cross-entropy beside a term: 1 in a ``sum``, 1 - weight if ``convex`` (PCT, eq. 4)."""
    if mixture == "convex" and not 0 <= weight <= 1:
        raise ValueError(
            f'weight must be between 0 and 1 in a convex mixture, got {weight}. Lower it, or set mixture = "sum".'
        )
    return 1 - weight if mixture == "convex" else 1.0


def lessons(loss: Loss, weight: float, references: Sequence[Model]) -> tuple[Lesson, ...]:
    """Return one lesson from each reference, with the weight divided among them."""
    return tuple(Lesson(loss, weight / len(references), (reference,)) for reference in references)


def feature_lessons(loss: FeatureLoss, weight: float, references: Sequence[Model]) -> tuple[FeatureLesson, ...]:
    """Return one lesson on features from each reference, with the weight divided among them."""
    return tuple(FeatureLesson(loss, weight / len(references), reference) for reference in references)


def fine_tune(stage: ChainStage, previous: Model, method: str, repeat: int = 0, **treatment: Any) -> Trained:
    """Return a training from the weights of the model before, which must have the same architecture."""
    if bare(network_of(previous)) == bare(stage.release.network) and network_of(previous) != stage.release.network:
        raise ConfigurationError(
            f"methods.{method} works on the weights of the old model: models.{stage.name}.normalization must be that "
            "of the model before it. Set both, or leave the method out."
        )
    if network_of(previous) != stage.release.network:
        raise ConfigurationError(
            f"methods.{method} works on the weights of the old model: models.{stage.name}.network must be that of "
            "the model before it. Leave the method out, or keep the network."
        )
    return stage.train(previous, repeat, **({"start": weights_in(previous)} | treatment))


def bare(network: Network | None) -> Network | None:
    """Return the network without the statistics that it reads images with."""
    return network.network if isinstance(network, Normalized) else network
