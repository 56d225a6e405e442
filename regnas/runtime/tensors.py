"""Tensors on disk: safetensors, written whole, checked before they are parsed."""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save, save_file
from torch import Tensor, nn

from regnas.errors import ArtifactError
from regnas.runtime.files import check_sha256, sha256_of, write_bytes, write_through
from regnas.runtime.safetensors_headers import read_header, with_metadata


def save_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> str:
    """Write the tensors, with texts in the header where there are any, and return the sha256 of the file."""
    if metadata:
        write_bytes(path, tensor_bytes(tensors, metadata))
        return sha256_of(path)
    contiguous = _contiguous(tensors)

    def write(temporary: Path) -> None:
        try:
            save_file(contiguous, temporary)
        except SafetensorError as error:  # its way to say what the system said: "... (os error 28)"
            number = re.search(r"os error (\d+)", str(error))
            raise OSError(int(number[1]) if number else errno.EIO, str(error)) from None

    write_through(path, write)
    return sha256_of(path)


def tensor_bytes(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> bytes:
    """The content of a safetensors file with texts in its header; the same tensors always give the same bytes."""
    return with_metadata(save(_contiguous(tensors)), metadata)


def _contiguous(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}


def load_tensors(path: Path, sha256: str) -> dict[str, Tensor]:
    check_sha256(path, sha256)
    read_header(path)  # before anything is allocated for what it says
    try:
        return load_file(path)
    except SafetensorError as error:
        raise ArtifactError(f"{path} is not a safetensors file ({error})") from None


def load_into(module: nn.Module, tensors: Mapping[str, Tensor], source: Path) -> None:
    """Fill a module; on any difference of names or shapes say what differs (the first three) and load nothing."""
    different = differences(module.state_dict(), tensors)
    if different:
        raise ArtifactError(f"{source} belongs to another network: {first_three(different)}")
    module.load_state_dict(dict(tensors))


def differences(wanted: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> list[str]:
    """In which names and shapes the tensors found are not those wanted, each difference for people."""
    return [
        *(f"{name} is missing" for name in wanted if name not in found),
        *(f"{name} is not of this network" for name in found if name not in wanted),
        *(
            f"{name} is {list(found[name].shape)} instead of {list(tensor.shape)}"
            for name, tensor in wanted.items()
            if name in found and found[name].shape != tensor.shape
        ),
    ]


def first_three(different: Sequence[str]) -> str:
    more = f" and {len(different) - 3} more" if len(different) > 3 else ""
    return f"{'; '.join(different[:3])}{more}"
