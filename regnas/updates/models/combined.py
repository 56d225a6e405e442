"""Models that combine the predictions of other models without training, and the network behind each model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from regnas.losses import cost_ratio_decision
from regnas.networks import Network
from regnas.training import mean_logits
from regnas.updates.models.averaged import Averaged
from regnas.updates.models.mixed_weights import FisherInterpolated, FisherMerged, Interpolated, Soup
from regnas.updates.models.model import Model, share_of
from regnas.updates.models.store import ModelStore


@dataclass(frozen=True)
class Ensemble:
    """The mean logits of its members."""

    members: tuple[Model, ...]

    def parts(self) -> tuple[Model, ...]:
        return self.members

    def build(self, store: ModelStore) -> nn.Module:
        return MeanOfLogits([store.module(member) for member in self.members])


@dataclass(frozen=True)
class Centric:
    """The member whose logits are nearest to the mean of all members on the search split (Xie et al., ACL 2021)."""

    members: tuple[Model, ...]

    def parts(self) -> tuple[Model, ...]:
        return self.members

    def build(self, store: ModelStore) -> nn.Module:
        logits = torch.stack([store.logits(member, store.splits.search) for member in self.members])  # [M, N, C]
        distances = (logits - logits.mean(dim=0)).square().sum(dim=2).mean(dim=1)  # [M]
        return store.module(self.members[int(distances.argmin())])


@dataclass(frozen=True)
class BayesianUpdated:
    """Both models run; the old prediction stands unless the posterior clearly favors another (Träuble et al., 2021)."""

    old: Model
    new: Model
    cost_ratio: float

    def parts(self) -> tuple[Model, ...]:
        return self.old, self.new

    def build(self, store: ModelStore) -> nn.Module:
        share = share_of(self.new)
        classes = share.classes_of(store.classes)
        search = replace(share, samples=1.0).of(store.splits.search, store.classes, seed=0)
        old, new = (
            log_confusion(store.logits(model, search).argmax(dim=1), search.targets, classes)
            for model in (self.old, self.new)
        )
        module = BayesianDecision(store.module(self.old), store.module(self.new), old, new, self.cost_ratio)
        return module.to(store.device)


class MeanOfLogits(nn.Module):
    """The mean of the members' logits [N, C]."""

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, images: Tensor) -> Tensor:
        return mean_logits([member(images) for member in self.members])


class BayesianDecision(nn.Module):
    """log p(y | old prediction, new prediction) for each class y, changed so that the decided class is the highest.

    The prior over classes is uniform; ``old_confusion`` and ``new_confusion`` [C, C] hold log p(prediction | y).
    """

    def __init__(
        self, old: nn.Module, new: nn.Module, old_confusion: Tensor, new_confusion: Tensor, cost_ratio: float
    ) -> None:
        super().__init__()
        self.old = old
        self.new = new
        self.register_buffer("old_confusion", old_confusion)
        self.register_buffer("new_confusion", new_confusion)
        self.cost_ratio = cost_ratio

    def forward(self, images: Tensor) -> Tensor:
        old_answer = self.old(images).argmax(dim=1)  # [N]
        new_answer = self.new(images).argmax(dim=1)  # [N]
        likelihood = self.old_confusion[:, old_answer] + self.new_confusion[:, new_answer]  # type: ignore[index]
        log_posterior: Tensor = likelihood.T.log_softmax(dim=1)  # [C, N] -> [N, C]
        decided = cost_ratio_decision(log_posterior, old_answer, self.cost_ratio)[:, None]  # [N, 1]
        best = log_posterior.argmax(dim=1, keepdim=True)  # [N, 1]
        highest = log_posterior.gather(1, best)
        top = highest.nextafter(torch.full_like(highest, torch.inf))  # above classes that share the highest value
        return log_posterior.scatter(1, best, log_posterior.gather(1, decided)).scatter(1, decided, top)


def log_confusion(predicted: Tensor, targets: Tensor, classes: int) -> Tensor:
    """Return log p(predicted | target) [C, C], rows by target; each count is raised by one, so that none is 0."""
    counts = torch.bincount(targets * classes + predicted, minlength=classes**2).reshape(classes, classes) + 1.0
    return (counts / counts.sum(dim=1, keepdim=True)).log()


def network_of(model: Model | None) -> Network | None:
    """Return the architecture of a model that is one set of weights; None for any other model."""
    if isinstance(model, Interpolated | FisherInterpolated | FisherMerged | BayesianUpdated):
        return network_of(model.new)
    if isinstance(model, Soup | Centric):
        return network_of(model.members[0])
    return getattr(model, "network", None)


def weights_in(model: Model) -> Model:
    """Return the model whose weights a further training of this one starts from."""
    return weights_in(model.new) if isinstance(model, BayesianUpdated | Averaged) else model
