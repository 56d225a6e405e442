"""Weights in a file that others wrote: nothing in it is run, and it is checked before memory is taken for it."""

from __future__ import annotations

import pickle
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from regnas.errors import ArtifactError

SIZE_LIMIT = 2**30  # bytes; the published supernets have a fifth of it


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a state dict, from safetensors or from what torch.save wrote, under the names of one network."""
    check_size(path)
    content = _content(path)
    if isinstance(content, Mapping) and isinstance(content.get("state_dict"), Mapping):
        content = content["state_dict"]
    if not isinstance(content, Mapping) or not content:
        raise ArtifactError(f"{path} holds no state dict: it has to map names to tensors")
    for name, value in content.items():
        if not isinstance(name, str) or not name.isprintable():
            raise ArtifactError(f"{path} has an entry {str(name)[:40]!r}, which is no name of a tensor")
        if not _is_plain(value):
            kind = "no plain tensor" if isinstance(value, Tensor) else f"a {type(value).__name__} and no tensor"
            raise ArtifactError(f"{path}: {name} is {kind}: give a file with the state dict alone")
    # A tensor may be a view that repeats a few numbers in the file any number of times.
    _check_bytes(path, sum(tensor.numel() * tensor.element_size() for tensor in content.values()), "would unpack to")
    parallel = all(name.startswith("module.") for name in content)  # saved by a data-parallel training
    return {name.removeprefix("module.") if parallel else name: tensor for name, tensor in content.items()}


def in_single_precision(tensors: Mapping[str, Tensor], path: Path) -> dict[str, Tensor]:
    """Copies in single precision, but for counters; a weight that is infinite or not a number is refused."""
    for name, tensor in tensors.items():
        if not bool(torch.isfinite(tensor).all()):
            raise ArtifactError(f"{path}: {name} has values that are infinite or not a number")
    return {
        name: tensor.detach().to(torch.float32 if tensor.is_floating_point() else tensor.dtype, copy=True)
        for name, tensor in tensors.items()
    }


def check_size(path: Path) -> None:
    try:
        with path.open("rb"):  # it can be read
            _check_bytes(path, path.stat().st_size, "has")
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror or error}") from None


def _content(path: Path) -> Any:
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                _check_bytes(path, sum(info.file_size for info in archive.infolist()), "would unpack to")
        with warnings.catch_warnings(action="ignore"):  # torch's, about what is odd in a file that is damaged
            return torch.load(path, map_location="cpu", weights_only=True)
    except ArtifactError:
        raise
    except pickle.UnpicklingError:  # torch's own words advise to run it all the same
        raise ArtifactError(
            f"{path} is damaged or holds more than weights, and no pickle is run: give a file with the state dict alone"
        ) from None
    except Exception as error:  # parsing a damaged file raises almost anything
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ArtifactError(f"{path} cannot be read as weights: {reason}") from None


def _is_plain(value: object) -> bool:
    return (
        isinstance(value, Tensor)
        and value.layout is torch.strided
        and not value.is_quantized
        and value.device.type == "cpu"
    )


def _check_bytes(path: Path, found: int, verb: str) -> None:
    if found > SIZE_LIMIT:
        raise ArtifactError(f"{path} {verb} {found:,} bytes, over the limit of {SIZE_LIMIT:,}: it is no supernet")
