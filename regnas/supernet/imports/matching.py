"""Find the supernet that a checkpoint belongs to: the one with exactly these names and shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from regnas.components.registry import nearest
from regnas.errors import ArtifactError, ConfigurationError, first_line
from regnas.runtime.tensors import differences, first_three
from regnas.supernet import SUPERNETS, ImportsCheckpoints, Published, SupernetPlugin, build_plugin


def published_supernets() -> dict[str, Published]:
    """Return the published supernets of all plug-ins, by name."""
    plugins = [kind() for kind in SUPERNETS.usable().values() if hasattr(kind, "published")]
    importing = [plugin for plugin in plugins if isinstance(plugin, ImportsCheckpoints)]
    return {published.name: published for plugin in importing for published in plugin.published}


def importable(name: str, published: Mapping[str, Published]) -> Published:
    """Return a published supernet, or a plug-in with its defaults, by name."""
    if name in published:
        return published[name]
    plugins = {str(each.supernet["name"]) for each in published.values()}
    if name in plugins:
        return Published(name, "", {"name": name})
    known = [*sorted(published), *sorted(plugins)]
    raise ConfigurationError(f'`supernet`: unknown supernet "{name}"{nearest(name, known)} (known: {", ".join(known)})')


@dataclass(frozen=True, eq=False)
class Fit:
    """The tensors of a checkpoint under the names of a supernet, and their differences from the supernet."""

    supernet: Published
    own: Mapping[str, Tensor]  # the tensors of the supernet, without values
    tensors: dict[str, Tensor]
    differences: tuple[str, ...]


def fit(tensors: Mapping[str, Tensor], published: Published) -> Fit:
    """Compare a checkpoint with a published supernet."""
    plugin = build_plugin(published.supernet)
    assert isinstance(plugin, ImportsCheckpoints)
    try:
        return _compare(plugin.rename_tensors(tensors), plugin, published)
    except (LookupError, ValueError, TypeError, RuntimeError) as error:  # another network may have any names and shapes
        fitted = _compare(dict(tensors), plugin, published)
        return replace(
            fitted, differences=(f"its tensors cannot be renamed ({first_line(error)})", *fitted.differences)
        )


def fit_with_any_classes(tensors: Mapping[str, Tensor], published: Published) -> Fit:
    """Compare a checkpoint with a published supernet of as many classes as the checkpoint has."""
    fitted = fit(tensors, published)
    classes = _other_classes(fitted)
    if classes is None:
        return fitted
    return _compare(fitted.tensors, build_plugin(published.supernet), replace(published, classes=classes))


def recognize(tensors: Mapping[str, Tensor], published: Iterable[Published], path: Path) -> Fit:
    """Return the only supernet that fits; several published ones may be trainings of the same supernet."""
    distinct = {repr(build_plugin(each.supernet)): each for each in reversed(list(published))}.values()
    fits = [fit_with_any_classes(tensors, each) for each in distinct]
    whole = [each for each in fits if not each.differences]
    if len(whole) > 1:
        names = ", ".join(sorted(each.supernet.name for each in whole))
        raise ConfigurationError(f"{path} fits each of {names}. Choose one with `supernet`.")
    if whole:
        return whole[0]
    closest = min(fits, key=lambda each: len(each.differences))
    raise ArtifactError(
        f"{path} fits no supernet that regnas can import; the nearest is {closest.supernet.name}: "
        f"{first_three(closest.differences)}"
    )


def _compare(tensors: dict[str, Tensor], plugin: SupernetPlugin, published: Published) -> Fit:
    with torch.device("meta"):  # only names and shapes: neither memory nor random numbers
        own = plugin.supernet(published.input_shape, published.classes).state_dict()
    different = differences(own, tensors)
    different += [
        f"{name} holds {tensor.dtype} instead of {own[name].dtype}"
        for name, tensor in tensors.items()
        if name in own and tensor.is_floating_point() != own[name].is_floating_point()
    ]
    return Fit(published, own, tensors, tuple(different))


def _other_classes(fitted: Fit) -> int | None:
    """Return the number of classes of the checkpoint if only the rows of the classifier differ, else None."""
    counts = {
        len(found)
        for name, found in fitted.tensors.items()
        if name in fitted.own and _differ_in_rows(fitted.own[name], found, fitted.supernet.classes)
    }
    return counts.pop() if len(counts) == 1 and min(counts) > 1 else None


def _differ_in_rows(own: Tensor, found: Tensor, rows: int) -> bool:
    comparable = own.ndim == found.ndim > 0 and own.shape[1:] == found.shape[1:]
    return comparable and len(own) == rows != len(found)
