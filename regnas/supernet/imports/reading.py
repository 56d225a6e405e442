"""Read weights from a file of another project; nothing in it is run, and its size is checked first."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regnas.errors import ArtifactError
from regnas.runtime.tensors import load_untrusted, refuse_unreadable

SIZE_LIMIT = 2**30  # bytes; the published supernets have a fifth of it


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a state dict, from safetensors or from a file of torch.save, without wrappers."""
    check_size(path)
    content = _content(path)
    if isinstance(content, Mapping) and isinstance(content.get("state_dict"), Mapping):
        content = content["state_dict"]
    if not isinstance(content, Mapping) or not content:
        raise ArtifactError(f"{path} must hold a state dict, which maps names to tensors, got something else")
    for name, value in content.items():
        if not isinstance(name, str) or not name.isprintable():
            raise ArtifactError(f"{path} has an entry {str(name)[:40]!r}, which cannot be the name of a tensor")
        if not _is_plain(value):
            kind = "another kind of tensor" if isinstance(value, Tensor) else f"a {type(value).__name__}"
            raise ArtifactError(f"{path}: {name} must be a plain tensor, got {kind}. Save only the state dict.")
    # A tensor may be a view that repeats a few numbers of the file many times.
    _check_bytes(path, sum(tensor.numel() * tensor.element_size() for tensor in content.values()), "would unpack to")
    parallel = all(name.startswith("module.") for name in content)  # saved by a data-parallel training
    return {name.removeprefix("module.") if parallel else name: tensor for name, tensor in content.items()}


def in_single_precision(tensors: Mapping[str, Tensor], path: Path) -> dict[str, Tensor]:
    """Return copies in single precision, except counters; refuse weights that are infinite or NaN."""
    for name, tensor in tensors.items():
        if not bool(torch.isfinite(tensor).all()):
            raise ArtifactError(f"{path}: {name} must be finite, got infinite values or NaN")
    return {
        name: tensor.detach().to(torch.float32 if tensor.is_floating_point() else tensor.dtype, copy=True)
        for name, tensor in tensors.items()
    }


def check_size(path: Path) -> None:
    """Refuse a file that is too large for a supernet, or that cannot be read."""
    try:
        with path.open("rb"):  # fails if the file cannot be read
            _check_bytes(path, path.stat().st_size, "has")
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror or error}") from None


def _content(path: Path) -> Any:
    with refuse_unreadable(path):
        if path.suffix != ".safetensors" and zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                _check_bytes(path, sum(info.file_size for info in archive.infolist()), "would unpack to")
        return load_untrusted(path)


def _is_plain(value: object) -> bool:
    return (
        isinstance(value, Tensor)
        and value.layout is torch.strided
        and not value.is_quantized
        and value.device.type == "cpu"
    )


def _check_bytes(path: Path, found: int, verb: str) -> None:
    if found > SIZE_LIMIT:
        raise ArtifactError(f"{path} {verb} {found:,} bytes, over the limit of {SIZE_LIMIT:,} for a supernet")
