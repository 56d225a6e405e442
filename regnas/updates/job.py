"""The state that all steps of an update share: the data, one store per seed, and the predictions so far."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from regnas.data import Split, Splits, in_random_class_order
from regnas.errors import ConfigurationError
from regnas.flips import Predictions
from regnas.networks import Network, Normalized
from regnas.runs.config import LoadedConfig
from regnas.runs.folder import RunFolder
from regnas.runs.job import loggers_of
from regnas.runs.tables import describe
from regnas.runtime.files import cache_folder
from regnas.runtime.machine import choose_device
from regnas.runtime.memory import BoundedCache
from regnas.runtime.signals import stop_if_asked
from regnas.training import Recipe, calibration_count, check_sizes, predictions_from
from regnas.training.loggers import RunLoggers
from regnas.updates.config import UpdateConfig
from regnas.updates.methods import Chain
from regnas.updates.models import Model, ModelStore

# Of the recorded versions, those that can change the bits of a training.
DECISIVE_VERSIONS = ("regnas", "torch", "numpy")
LOGITS_LIMIT = 2**30  # bytes of logits kept in memory

log = logging.getLogger("regnas")


def logits_cache(limit: int = LOGITS_LIMIT) -> BoundedCache[tuple[int, Model, str], Predictions]:
    """Return an empty cache of predictions with logits, by seed, model and split."""
    return BoundedCache(limit, lambda predictions: 0 if predictions.logits is None else predictions.logits.nbytes)


@dataclass(frozen=True)
class UpdateJob:
    """The state that all steps of an update share."""

    config: LoadedConfig[UpdateConfig]
    folder: RunFolder
    splits: Splits
    stores: Mapping[int, ModelStore]  # by seed
    chain: Chain
    evaluated_on: dict[str, Split] = field(default_factory=dict)  # by the name of the whole split
    # Many methods share models. Predicted classes take few bytes per sample and are all kept; logits are not.
    known: dict[tuple[int, Model, str], Predictions] = field(default_factory=dict)
    with_logits: BoundedCache[tuple[int, Model, str], Predictions] = field(default_factory=logits_cache)

    @property
    def seeds(self) -> tuple[int, ...]:
        return self.config.values.seeds

    def on_old_classes(self, split: Split) -> Split:
        """Return the samples of the classes that the first release knows: the others cannot flip."""
        return replace(self.chain.stages[0].release.share, samples=1.0).of(split, len(self.splits.classes), seed=0)

    def predict(self, seed: int, models: Sequence[Model], split: Split | None = None) -> list[Predictions]:
        """Return the predictions of models on the old classes of the report split or another split, without logits."""
        whole = split or self.splits.report
        return [self._answers(seed, model, whole) for model in models]

    def predict_logits(self, seed: int, models: Sequence[Model]) -> list[Predictions]:
        """Return the predictions of models on the old classes of the report split, with logits."""
        return [self._logits(seed, model, self.splits.report) for model in models]

    def _answers(self, seed: int, model: Model, whole: Split) -> Predictions:
        key = seed, model, whole.name
        if key not in self.known:
            self.known[key] = self._logits(seed, model, whole).changed(logits=None)
        return self.known[key]

    def _logits(self, seed: int, model: Model, whole: Split) -> Predictions:
        if whole.name not in self.evaluated_on:
            self.evaluated_on[whole.name] = self.on_old_classes(whole)
        chosen, store = self.evaluated_on[whole.name], self.stores[seed]

        def predict() -> Predictions:
            stop_if_asked()
            logits = store.logits(model, chosen)
            return predictions_from(store.identity(model)[:12], logits, chosen, keep_logits=True)

        return self.with_logits.get((seed, model, whole.name), predict)


def prepare(config: LoadedConfig[UpdateConfig], folder: RunFolder) -> UpdateJob:
    """Load the data and build every network once, before anything is trained."""
    log.info("data: %s", describe(config.table, "data"))
    splits = load_splits(config.values)
    folder.check_data(splits.summary())
    conditions = folder.facts["machine"] | {"threads": folder.facts["threads"]}
    conditions["versions"] = {name: folder.facts["versions"][name] for name in DECISIVE_VERSIONS}
    stores = open_stores(config.values, splits, conditions, loggers_of(config, folder))
    check_stages(config.values.chain, stores[config.values.seeds[0]])
    return UpdateJob(config, folder, splits, stores, config.values.chain)


def load_splits(values: UpdateConfig) -> Splits:
    """Load the data, with the classes in random order if a release knows only some of them.

    If a model is provided, the classes keep the order of the data, because its outputs are the first of them.
    """
    splits, releases = values.data.load(), values.models.values()
    given = any(release.checkpoint or not release.trained for release in releases)
    if any(release.classes < 1 for release in releases) and not given:
        return in_random_class_order(splits, seed=0)
    return splits


def open_stores(
    values: UpdateConfig, splits: Splits, conditions: Mapping[str, Any], loggers: RunLoggers | None = None
) -> dict[int, ModelStore]:
    """Return a store of models for each seed."""
    return {
        seed: ModelStore(
            splits=splits,
            training=values.training,
            fine_tuning=values.fine_tuning or values.training,
            device=choose_device(values.machine.device),
            calibration_images=calibration_count(values.calibration_images, *splits.input_shape[1:]),
            folder=Path(values.cache).expanduser() if values.cache else cache_folder() / "models",
            seed=seed,
            conditions=conditions,
            loggers=loggers or RunLoggers(),
        )
        for seed in values.seeds
    }


def check_stages(chain: Chain, store: ModelStore) -> None:
    """Build or load each release once, so that faults are found before hours of training."""
    for stage in chain.stages:
        release = stage.release
        try:
            if stage.given:
                store.module(stage.given)
            else:
                _check_start(stage.name, release.network, store.training)
                network = store.fresh(release.network, release.share.classes_of(store.classes), stage.name)
                shape = store.splits.input_shape
                for section, recipe in (("training", store.training), ("fine_tuning", store.fine_tuning)):
                    recipe.check_network(network)
                    other = [each for each in recipe.image_shapes(shape, section) if each != shape]
                    check_sizes(network, other, f"models.{stage.name}")
        except ValueError as error:
            raise ConfigurationError(f"models.{stage.name}.network: {error}") from None


def _check_start(name: str, network: Network, recipe: Recipe) -> None:
    """Refuse to initialize published weights."""
    own = network.network if isinstance(network, Normalized) else network
    published: str = getattr(own, "weights", "")
    if recipe.initialization and published:
        raise ConfigurationError(
            f"training.initialization must be empty if models.{name}.network has published weights. Remove one of them."
        )
