"""The diagonal of the Fisher information of a model's weights."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call, grad, vmap

from regnas.models.model import Model, share_of
from regnas.models.workshop import Workshop
from regnas.runtime.randomness import key_to_int
from regnas.training import first_images

CHUNK = 32  # samples whose gradients are held at once


def fisher_information(shop: Workshop, model: Model, samples: int) -> dict[str, Tensor]:
    """F_i = mean over training samples x of (d log p(y | x) / d w_i)^2, with y drawn from the model itself.

    The labels of the data would give almost nothing for a model that knows its training samples by heart.
    """
    network = shop.module(model)
    split = shop.samples(share_of(model))
    images = first_images(split, shop.splits.preprocessing, samples, shop.device)
    weights = {name: parameter.detach() for name, parameter in network.named_parameters()}
    with torch.no_grad():
        probabilities = network(images).softmax(dim=1).cpu()  # [N, C]
    random = torch.Generator().manual_seed(key_to_int(shop.seed, "labels for Fisher", shop.identity(model)))
    drawn = torch.multinomial(probabilities, 1, generator=random).squeeze(1).to(shop.device)  # [N]

    def negative_log_likelihood(values: dict[str, Tensor], image: Tensor, label: Tensor) -> Tensor:
        logits = functional_call(network, values, (image.unsqueeze(0),))
        return F.cross_entropy(logits, label.unsqueeze(0))

    of_each = vmap(grad(negative_log_likelihood), in_dims=(None, 0, 0))
    total = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    for some, labels in zip(torch.split(images, CHUNK), torch.split(drawn, CHUNK), strict=True):
        for name, gradients in of_each(weights, some, labels).items():  # [n, shape of the weight]
            total[name] += gradients.square().sum(dim=0)
    return {name: value / len(images) for name, value in total.items()}
