"""Models that exist already: a user's checkpoint, or published weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from torch import Tensor, nn

from regnas.data import WHOLE, DataFraction
from regnas.errors import ArtifactError, ConfigurationError
from regnas.networks import Network, classifier_of, read_weights
from regnas.runtime.files import check_sha256
from regnas.runtime.tensors import load_into
from regnas.updates.models.model import Model
from regnas.updates.models.store import ModelStore


@dataclass(frozen=True)
class Checkpoint:
    """The weights in a file, unchanged: the model that users know."""

    network: Network
    path: str = field(metadata={"content": False})
    sha256: str
    share: DataFraction = WHOLE

    def parts(self) -> tuple[Model, ...]:
        return ()

    def build(self, store: ModelStore) -> nn.Module:
        path = Path(self.path)
        check_sha256(path, self.sha256)
        classes = self.share.classes_of(store.classes)
        network = store.fresh(self.network, classes, store.identity(self))
        weights = read_weights(path)
        self._check_classes(network, weights, classes)
        load_into(network, weights, path)
        return network

    def _check_classes(self, network: nn.Module, weights: dict[str, Tensor], classes: int) -> None:
        """Refuse a wrong number of classes, the most likely mistake, if the network ends in a linear classifier."""
        try:
            classifier = classifier_of(network, classes)
        except ConfigurationError:
            return
        name = next(f"{name}.weight" for name, module in network.named_modules() if module is classifier)
        found = weights.get(name)
        if found is not None and found.shape[1:] == classifier.weight.shape[1:] and len(found) != classes:
            raise ArtifactError(
                f"{self.path} must have {classes} classes, as its share of the data has, got {len(found)}. Use the "
                "data that it was trained on, or set its key classes to the share of the classes that it has."
            )


@dataclass(frozen=True)
class Published:
    """A network with the weights that it comes with, without training."""

    network: Network
    share: DataFraction = WHOLE

    def parts(self) -> tuple[Model, ...]:
        return ()

    def build(self, store: ModelStore) -> nn.Module:
        return store.fresh(self.network, self.share.classes_of(store.classes), store.identity(self))
