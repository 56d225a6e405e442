"""The diagonal of the Fisher information of a model's weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call, grad, vmap

from regnas.runtime.randomness import key_to_int
from regnas.training import PASSES_OF_A_STEP, prepare_spread_images
from regnas.updates.models.model import Model, share_of
from regnas.updates.models.store import ModelStore

CHUNK = 32  # samples whose gradients are held at once

Labels = Literal["drawn", "predicted"]


def fisher_information(store: ModelStore, model: Model, samples: int, labels: Labels) -> dict[str, Tensor]:
    """Return F_i = mean over training samples x of (d log p(y | x) / d w_i)^2, by the name of the weight.

    y is ``drawn`` from the model's own distribution p(. | x), which estimates the Fisher information without bias, or
    is the class that the model ``predicted``, the empirical form of Schumann et al. (2023). With the labels of the
    data, the gradients of a model that fits its training samples perfectly would be almost 0.
    """
    network = store.module(model)
    images = prepare_spread_images(store.samples(share_of(model)), store.splits.preprocessing, samples, store.device)
    weights = {name: parameter.detach() for name, parameter in network.named_parameters()}
    with torch.no_grad():
        chosen = _labels(store, model, network(images), labels)  # [N]

    def negative_log_likelihood(values: dict[str, Tensor], image: Tensor, label: Tensor) -> Tensor:
        logits = functional_call(network, values, (image.unsqueeze(0),))
        return F.cross_entropy(logits, label.unsqueeze(0))

    of_each = vmap(grad(negative_log_likelihood), in_dims=(None, 0, 0))
    total = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    for some, own in zip(torch.split(images, CHUNK), torch.split(chosen, CHUNK), strict=True):
        for name, gradients in of_each(weights, some, own).items():  # [n, shape of the weight]
            total[name] += gradients.square().sum(dim=0)
    return {name: value / len(images) for name, value in total.items()}


def _labels(store: ModelStore, model: Model, logits: Tensor, labels: Labels) -> Tensor:
    """Return the classes [N] that stand for the labels, from logits [N, C]."""
    if labels == "predicted":
        return logits.argmax(dim=1)
    random = torch.Generator().manual_seed(key_to_int(store.seed, "labels for Fisher", store.identity(model)))
    return torch.multinomial(logits.softmax(dim=1).cpu(), 1, generator=random).squeeze(1).to(logits.device)


def scale_to_mean_one(importance: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Divide by the mean over all weights of the model, so that strengths do not depend on how certain the model is.

    If all values are 0, they stay 0.
    """
    total = sum(float(value.double().sum()) for value in importance.values())
    mean = total / sum(value.numel() for value in importance.values())
    return {name: value / mean if mean > 0 else value for name, value in importance.items()}


def fisher_macs(store: ModelStore, model: Model, samples: int) -> int:
    """Return the multiply-adds: per sample, one forward pass for its label and the passes of a training step."""
    taken = min(samples, len(store.samples(share_of(model))))
    return (1 + PASSES_OF_A_STEP) * taken * store.macs(model)
