"""The weights in checkpoints that users trained, as training scripts wrap them; no pickle is ever executed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor

from regnas.errors import ArtifactError
from regnas.runtime.tensors import load_untrusted, refuse_unreadable

WRAPPERS = ("state_dict", "model", "model_state_dict")
AVERAGES = ("model_ema", "state_dict_ema", "ema_state_dict")  # moving averages, as torchvision and timm store them
PREFIXES = ("module.", "_orig_mod.")  # of DistributedDataParallel and AveragedModel, and of torch.compile
COUNTER = "n_averaged"  # of AveragedModel


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read safetensors, or a state dict that torch.save wrote."""
    with refuse_unreadable(path):
        content = load_untrusted(path)
    if path.suffix == ".safetensors":
        return _plain(content)
    for _ in range(2):  # a state dict in a wrapper, as in {"model": {"state_dict": ...}}
        content = _unwrapped(path, content)
    if not isinstance(content, dict) or not all(isinstance(value, Tensor) for value in content.values()):
        raise ArtifactError(f"{path} must hold a state dict, which maps names to tensors, got something else")
    return _plain(content)


def _unwrapped(path: Path, content: Any) -> Any:
    if not isinstance(content, dict):
        return content
    own, averaged = ([name for name in names if isinstance(content.get(name), dict)] for names in (WRAPPERS, AVERAGES))
    if own and averaged:
        raise ArtifactError(
            f"{path} must hold one set of weights, got {own[0]} and their moving average {averaged[0]}. Save the one "
            f'that you use: torch.save(torch.load(FILE)["{averaged[0]}"], NEW).'
        )
    return next((content[name] for name in (*own, *averaged)), content)


def _plain(content: dict[Any, Tensor]) -> dict[str, Tensor]:
    """Remove the prefixes that wrappers of a network add to all names."""
    weights = {str(name): value for name, value in content.items()}
    if any(name.startswith(PREFIXES) for name in weights):
        weights.pop(COUNTER, None)
    return {_without_prefixes(name): value for name, value in weights.items()}


def _without_prefixes(name: str) -> str:
    while prefix := next((each for each in PREFIXES if name.startswith(each)), ""):
        name = name.removeprefix(prefix)
    return name
