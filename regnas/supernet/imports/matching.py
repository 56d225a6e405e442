"""Which supernet a checkpoint belongs to: the one with exactly these names and shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from regnas.components.registry import nearest
from regnas.errors import ArtifactError, ConfigurationError
from regnas.runtime.tensors import differences, first_three
from regnas.supernet import SUPERNETS, ImportsCheckpoints, Published, SupernetPlugin, build_plugin


def published_supernets() -> dict[str, Published]:
    """By name, of all plug-ins that can import what others trained."""
    plugins = [kind() for kind in SUPERNETS.usable().values() if hasattr(kind, "published")]
    importing = [plugin for plugin in plugins if isinstance(plugin, ImportsCheckpoints)]
    return {published.name: published for plugin in importing for published in plugin.published}


def importable(name: str, published: Mapping[str, Published]) -> Published:
    """A published supernet, or a plug-in with its defaults, by name."""
    if name in published:
        return published[name]
    plugins = {str(each.supernet["name"]) for each in published.values()}
    if name in plugins:
        return Published(name, "", {"name": name})
    known = [*sorted(published), *sorted(plugins)]
    raise ConfigurationError(f'--supernet: unknown supernet "{name}"{nearest(name, known)} (known: {", ".join(known)})')


@dataclass(frozen=True, eq=False)
class Fit:
    """A checkpoint's tensors under the names of a supernet, and in what they are not the supernet's."""

    supernet: Published
    own: Mapping[str, Tensor]  # what the supernet has, without values
    tensors: dict[str, Tensor]
    differences: tuple[str, ...]


def fit(tensors: Mapping[str, Tensor], published: Published) -> Fit:
    plugin = build_plugin(published.supernet)
    assert isinstance(plugin, ImportsCheckpoints)
    try:
        return _compared(plugin.rename_tensors(tensors), plugin, published)
    except (LookupError, ValueError, TypeError, RuntimeError) as error:  # of another network, a name may hold any shape
        fitted = _compared(dict(tensors), plugin, published)
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        return replace(fitted, differences=(f"its tensors cannot be renamed ({reason})", *fitted.differences))


def fit_with_any_classes(tensors: Mapping[str, Tensor], published: Published) -> Fit:
    """With as many classes as the checkpoint tells apart, which may be others than the published supernet's."""
    fitted = fit(tensors, published)
    classes = _other_classes(fitted)
    if classes is None:
        return fitted
    return _compared(fitted.tensors, build_plugin(published.supernet), replace(published, classes=classes))


def recognize(tensors: Mapping[str, Tensor], published: Iterable[Published], path: Path) -> Fit:
    """The one supernet that fits; several published ones may be trainings of the same."""
    distinct = {repr(build_plugin(each.supernet)): each for each in reversed(list(published))}.values()
    fits = [fit_with_any_classes(tensors, each) for each in distinct]
    whole = [each for each in fits if not each.differences]
    if len(whole) > 1:
        names = ", ".join(sorted(each.supernet.name for each in whole))
        raise ConfigurationError(f"{path} may be any of {names}: say which with --supernet")
    if whole:
        return whole[0]
    closest = min(fits, key=lambda each: len(each.differences))
    raise ArtifactError(
        f"{path} fits no supernet that regnas can import; the nearest is {closest.supernet.name}: "
        f"{first_three(closest.differences)}"
    )


def _compared(tensors: dict[str, Tensor], plugin: SupernetPlugin, published: Published) -> Fit:
    with torch.device("meta"):  # names and shapes alone: neither memory nor random numbers
        own = plugin.supernet(published.input_shape, published.classes).state_dict()
    different = differences(own, tensors)
    different += [
        f"{name} holds {tensor.dtype} instead of {own[name].dtype}"
        for name, tensor in tensors.items()
        if name in own and tensor.is_floating_point() != own[name].is_floating_point()
    ]
    return Fit(published, own, tensors, tuple(different))


def _other_classes(fitted: Fit) -> int | None:
    """Where what differs are rows of the classifier, which has one for each class, the number found."""
    counts = {
        len(found)
        for name, found in fitted.tensors.items()
        if name in fitted.own and _differ_in_rows(fitted.own[name], found, fitted.supernet.classes)
    }
    return counts.pop() if len(counts) == 1 and min(counts) > 1 else None


def _differ_in_rows(own: Tensor, found: Tensor, rows: int) -> bool:
    alike = own.ndim == found.ndim > 0 and own.shape[1:] == found.shape[1:]
    return alike and len(own) == rows != len(found)
