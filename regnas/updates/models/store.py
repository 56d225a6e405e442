"""Make models and keep them by content, so that a model that several methods or runs need is made once."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regnas.data import DataFraction, Split, Splits
from regnas.errors import ArtifactError
from regnas.networks import Network, Normalized, macs_of
from regnas.runtime.files import digest_of, read_sealed_json, require_keys, write_sealed_json
from regnas.runtime.lock import exclusive
from regnas.runtime.memory import BoundedCache
from regnas.runtime.randomness import key_to_int
from regnas.runtime.tensors import load_into, load_tensors, save_tensors
from regnas.training import Clipping, Prepared, Recipe, Trainer, logits_on, spread_images
from regnas.training.loggers import METRICS, RunLoggers
from regnas.updates.models.code import code_of
from regnas.updates.models.content import content_of
from regnas.updates.models.epochs import EPOCHS, AnswersByEpoch, Recorder, WatchedSamples, read_answers
from regnas.updates.models.model import Model, Training, share_of

NETWORK = "network.safetensors"
RECORD = "model.json"
CHECKPOINTS = "checkpoints"
MODULES_LIMIT = 2**30  # bytes of networks that a store keeps in memory

Train = Callable[[nn.Module, Path], tuple[nn.Module, Clipping | None]]  # a network, and where its checkpoints go
CHECKPOINTS_AGAIN = "checkpoints-again"  # of a network that is kept, and trained again for its predictions by epoch


def bytes_of(network: nn.Module) -> int:
    """Return the memory of the weights of a network, in bytes."""
    return sum(tensor.nbytes for tensor in network.state_dict().values())


def _module_cache() -> BoundedCache[str, nn.Module]:
    return BoundedCache(MODULES_LIMIT, bytes_of)


@dataclass(frozen=True, eq=False)
class ModelStore:
    """Makes models on one data set, with one recipe and one seed.

    ``folder`` keeps every trained network under the digest of everything that decides its weights: its content, its
    data and recipe, the seed, the code that trains it, and the ``conditions`` (machine and versions) under which the
    bits are the same. Random draws depend on the content of a model, and not on the code.
    """

    splits: Splits
    training: Recipe
    fine_tuning: Recipe  # of trainings that start from the weights of another model
    device: torch.device
    calibration_images: int
    folder: Path
    seed: int
    conditions: Mapping[str, Any] = field(default_factory=dict)
    loggers: RunLoggers = field(default_factory=RunLoggers)
    verbose: bool = False  # every training shows its own progress
    methods: Mapping[Model, str] = field(default_factory=dict)  # the method of a training, for progress and logs
    watched: frozenset[Model] = frozenset()  # trainings whose predictions are kept epoch by epoch; see epochs.py
    _modules: BoundedCache[str, nn.Module] = field(default_factory=_module_cache, repr=False)
    _trained_on: dict[DataFraction, Split] = field(default_factory=dict, repr=False)
    _identities: dict[Model, str] = field(default_factory=dict, repr=False)
    _keys: dict[Model, str] = field(default_factory=dict, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_modules": _module_cache()}  # another process loads what it needs

    # The identity of a model

    def identity(self, model: Model) -> str:
        """Return the digest of everything that decides what this model computes, except the machine."""
        if model not in self._identities:
            facts = [content_of(model, self._inner(model)), self.splits.digest, self.seed, self.calibration_images]
            if isinstance(model, Training):
                facts.append(content_of(model.recipe(self)))
            self._identities[model] = digest_of(facts)
        return self._identities[model]

    def _inner(self, outer: Model) -> Callable[[Any], Any | None]:
        return lambda value: self.identity(value) if isinstance(value, Model) and value is not outer else None

    # The material of a model

    @property
    def classes(self) -> int:
        return len(self.splits.classes)

    def samples(self, share: DataFraction) -> Split:
        """Return the training samples of a share, which are the same for every seed, as the old data of a team are."""
        if share not in self._trained_on:
            self._trained_on[share] = share.of(self.splits.train, self.classes, seed=0)
        return self._trained_on[share]

    def fresh(self, network: Network, classes: int, identity: str) -> nn.Module:
        """Return a network with random weights that are keyed by the content: no two trainings share random draws."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(key_to_int(self.seed, "start", identity))
            built = network.build(self.splits.input_shape, classes)
        if isinstance(network, Normalized):
            built = network.reading(built, self.splits.preprocessing)
        return self.place(built)

    def place(self, network: nn.Module) -> nn.Module:
        """Move a network to the device."""
        return network.to(self.device, memory_format=torch.channels_last)  # type: ignore[no-any-return, call-overload]

    def trainer(self, recipe: Recipe, share: DataFraction) -> Trainer:
        """Return a trainer on a share of the training samples."""
        return self.trainer_on(self.samples(share), recipe)

    def trainer_on(self, samples: Split, recipe: Recipe) -> Trainer:
        """Return a trainer on these samples."""
        reading, quiet = self.splits.preprocessing, not self.verbose
        return Trainer(recipe, samples, reading, self.device, loggers=self.loggers, quiet=quiet)

    def calibration(self, share: DataFraction) -> Prepared:
        """Return the images that batch-norm statistics are computed from."""
        images = spread_images(self.samples(share), self.calibration_images)
        return Prepared(images, self.splits.preprocessing, self.device)

    def logits(self, model: Model, split: Split) -> Tensor:
        """Return the logits [samples of the split, classes of the model] on the CPU."""
        return logits_on(self.module(model), split, self.splits.preprocessing, self.device)

    # Making

    def module(self, model: Model) -> nn.Module:
        """Return the network of a model, frozen and in evaluation mode; make it if it is not kept yet."""
        return self._modules.get(self._key(model), lambda: model.build(self).requires_grad_(False).eval())

    def load_or_train(self, model: Training, network: nn.Module, train: Train) -> nn.Module:
        """Load the trained weights of a model into ``network``; if there are none, train them and keep them."""
        folder = self._folder_of(model)
        if self.is_kept(model):
            return self._load(folder, network)
        with exclusive(folder, patient=True):  # another run may be training it
            if self.is_kept(model):
                return self._load(folder, network)
            if (folder / RECORD).exists():
                return self._trained_again(folder, network, train)
            network, clipping = train(network, folder / CHECKPOINTS)
            if (metrics := folder / CHECKPOINTS / METRICS).exists():
                metrics.replace(folder / METRICS)
            sha256 = save_tensors(folder / NETWORK, network.state_dict())
            record = {"sha256": sha256, "model": content_of(model), "seed": self.seed}
            if clipping is not None:  # a network of a joint training has no steps of its own
                record["clipping"] = clipping.to_json()
            write_sealed_json(folder / RECORD, record)
            shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
        return network

    def is_kept(self, model: Training) -> bool:
        """Whether the model is trained and kept; for a watched model, with its predictions by epoch."""
        if not (self._folder_of(model) / RECORD).exists():
            return False
        return model not in self.watched or self.answers(model).epochs >= model.recipe(self).epochs

    def _trained_again(self, folder: Path, network: nn.Module, train: Train) -> nn.Module:
        """Repeat the training of a kept network to get its predictions by epoch; the result must have the same bits."""
        network, _ = train(network, folder / CHECKPOINTS_AGAIN)
        record = read_sealed_json(folder / RECORD)
        require_keys(record, ("sha256",), folder / RECORD)
        known = load_tensors(folder / NETWORK, record["sha256"])
        if not all(torch.equal(tensor.cpu(), known[name]) for name, tensor in network.state_dict().items()):
            (folder / EPOCHS).unlink(missing_ok=True)
            raise ArtifactError(
                f"{folder / NETWORK} must be the result of its training, got other weights when it was trained again "
                "for its predictions by epoch. Delete the folder."
            )
        shutil.rmtree(folder / CHECKPOINTS_AGAIN, ignore_errors=True)
        return network

    # The record of a training

    def watching(self, models: Iterable[Training]) -> ModelStore:
        """Return a store that keeps the predictions by epoch of these models.

        It has no networks in memory: a network that was made unwatched would hide that its predictions are missing.
        """
        return replace(self, watched=frozenset(models), _modules=_module_cache())

    def name_of(self, model: Training) -> str:
        """Return a short name for logs and reports: the replicate and the beginning of the digest."""
        return " ".join(filter(None, (getattr(model, "replicate", ""), self.identity(model)[:6])))

    def describe_training(self, model: Training) -> str:
        """Name the training and the method that it belongs to, for progress and logs."""
        method = f"{self.methods[model]}: " if model in self.methods else ""
        return f"train {method}{self.name_of(model)}, seed {self.seed}"

    def clipping(self, model: Training) -> Clipping | None:
        """Return how many steps of a kept model's training were clipped; None if an earlier version trained it."""
        path = self._folder_of(model) / RECORD
        known = read_sealed_json(path).get("clipping") if path.exists() else None
        return None if known is None else Clipping.from_json(known)

    def metrics(self, model: Training) -> Path:
        """Return the file with the course of a training; networks of earlier versions have none."""
        return self._folder_of(model) / METRICS

    def watched_samples(self, model: Training) -> WatchedSamples:
        """Return the samples that are predicted at the end of every epoch of this training."""
        return WatchedSamples.of(self.samples(share_of(model)), self.splits.report)

    def answers(self, model: Training) -> AnswersByEpoch:
        """Return the recorded predictions of the watched samples, epoch by epoch."""
        return read_answers(self._folder_of(model) / EPOCHS, self.watched_samples(model))

    def recorder(self, model: Training) -> Recorder | None:
        """Return the recorder of a watched training; None if it is not watched."""
        if model not in self.watched:
            return None
        return Recorder(
            path=self._folder_of(model) / EPOCHS,
            samples=self.watched_samples(model),
            calibration=self.calibration(share_of(model)),
            preprocessing=self.splits.preprocessing,
            device=self.device,
        )

    def macs(self, model: Model) -> int:
        """Return the multiply-adds of one image."""
        return macs_of(self.module(model), self.splits.input_shape)

    def _key(self, model: Model) -> str:
        """Return the identity with the code: two classes of one name, or two versions of one class, are two models."""
        if model not in self._keys:
            parts = [model, model.recipe(self)] if isinstance(model, Training) else [model]
            self._keys[model] = digest_of([self.identity(model), code_of(parts)])
        return self._keys[model]

    def _folder_of(self, model: Model) -> Path:
        return self.folder / digest_of([self._key(model), content_of(self.conditions)])[:24]

    def _load(self, folder: Path, network: nn.Module) -> nn.Module:
        record = read_sealed_json(folder / RECORD)
        require_keys(record, ("sha256",), folder / RECORD)
        load_into(network, load_tensors(folder / NETWORK, record["sha256"]), folder / NETWORK)
        shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)  # left by a process that was killed just before
        return network
