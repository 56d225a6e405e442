"""The parameters of a network with their learning rates and weight decays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import groupby, islice
from typing import Any, Literal

from torch import nn

from regnas.components.registry import nearest
from regnas.errors import ConfigurationError
from regnas.training.side_by_side import SideBySide

Decayed = Literal["all", "weights"]
NAMES_SHOWN = 20


@dataclass(frozen=True, eq=False)
class TrainedParameter:
    """A parameter, its name in the network, and its settings.

    ``is_hidden_weight`` holds for weights of full convolutions and linear layers, except for the last linear layer.
    """

    name: str
    parameter: nn.Parameter
    learning_rate_factor: float
    weight_decay: float
    is_hidden_weight: bool


def trained_parameters(
    model: nn.Module, weight_decay: float, decayed: Decayed, factors: Mapping[str, float]
) -> list[TrainedParameter]:
    """Return the parameters in the order of the model.

    Args:
        model: the network.
        weight_decay: of the decayed parameters; the others have 0.
        decayed: "weights" leaves out parameters with fewer than two dimensions, which are norms and biases.
        factors: multiples of the learning rate by pattern; a parameter that several patterns match has their product.
    """
    names = [name for name, _ in model.named_parameters()]
    for pattern in factors:
        if not any(matches(pattern, name) for name in names):
            raise ConfigurationError(
                f'training.learning_rate_factors must name layers of the network, got "{pattern}"'
                f"{_known(pattern, names)}"
            )
    hidden = _hidden_weights(model)
    found = []
    for name, parameter in model.named_parameters():
        factor = 1.0
        for pattern in sorted(factors):
            factor *= factors[pattern] if matches(pattern, name) else 1.0
        decay = weight_decay if decayed == "all" or parameter.ndim > 1 else 0.0
        found.append(TrainedParameter(name, parameter, factor, decay, id(parameter) in hidden))
    return found


def matches(pattern: str, name: str) -> bool:
    """Return whether the pattern matches consecutive parts of a name.

    "classifier" and "stages.*.0" match all parameters of these layers, also of a network inside another one.

    Example:
        >>> matches("stages.*.conv1", "largest.stages.0.conv1.weight"), matches("class", "classifier.weight")
        (True, False)
    """
    parts, wanted = name.split("."), pattern.split(".")
    starts = range(len(parts) - len(wanted) + 1)
    return any(all(map(fnmatchcase, parts[start : start + len(wanted)], wanted)) for start in starts)


def torch_groups(
    parameters: Iterable[TrainedParameter], read: Callable[[nn.Parameter], nn.Parameter] = lambda own: own
) -> list[dict[str, Any]]:
    """Return the groups of a torch optimizer, one for each pair of settings, with the names of their parameters.

    ``read`` returns what the optimizer trains instead of a parameter, such as a view of it.
    """

    def settings(each: TrainedParameter) -> tuple[float, float]:
        return each.learning_rate_factor, each.weight_decay

    groups = []
    for (factor, decay), members in groupby(sorted(parameters, key=settings), settings):  # the sort is stable
        own = list(members)
        groups.append(
            {
                "params": [read(each.parameter) for each in own],
                "names": [each.name for each in own],
                "learning_rate_factor": factor,
                "weight_decay": decay,
            }
        )
    return groups


def _hidden_weights(model: nn.Module) -> set[int]:
    """Return the ids of the weights between the images and the logits that are matrices."""
    found: set[int] = set()
    for network in model.networks if isinstance(model, SideBySide) else [model]:
        linear = [layer for layer in network.modules() if isinstance(layer, nn.Linear)]
        convolutions = [layer for layer in network.modules() if isinstance(layer, nn.Conv2d) and layer.groups == 1]
        found |= {id(layer.weight) for layer in [*linear[:-1], *convolutions]}
    return found


def _known(pattern: str, names: Sequence[str]) -> str:
    layers = list(dict.fromkeys(_layers(names)))
    shown = ", ".join(islice(layers, NAMES_SHOWN)) + (", ..." if len(layers) > NAMES_SHOWN else "")
    parts = sorted({part for layer in layers for part in (layer, *layer.split("."))})
    return f"{nearest(pattern, parts)} (known: {shown})"


def _layers(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        layer, _, last = name.rpartition(".")
        yield layer or last
