"""Write and read tensors; files are complete or absent, and checked before they are parsed."""

from __future__ import annotations

import errno
import pickle
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save, save_file
from torch import Tensor, nn

from regnas.errors import ArtifactError, RegnasError, first_line
from regnas.runtime.files import check_sha256, sha256_of, write_bytes, write_through
from regnas.runtime.safetensors_headers import read_header, with_metadata


def save_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> str:
    """Write the tensors, with ``metadata`` in the header if given, and return the sha256 of the file."""
    if metadata:
        write_bytes(path, tensor_bytes(tensors, metadata))
        return sha256_of(path)
    contiguous = _contiguous(tensors)

    def write(temporary: Path) -> None:
        try:
            save_file(contiguous, temporary)
        except SafetensorError as error:  # its text ends with the error of the system: "... (os error 28)"
            number = re.search(r"os error (\d+)", str(error))
            raise OSError(int(number[1]) if number else errno.EIO, str(error)) from None

    write_through(path, write)
    return sha256_of(path)


def tensor_bytes(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> bytes:
    """Return the content of a safetensors file with metadata; the same tensors give the same bytes."""
    return with_metadata(save(_contiguous(tensors)), metadata)


def _contiguous(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}


def load_tensors(path: Path, sha256: str) -> dict[str, Tensor]:
    """Read the tensors of a file after checking its sha256 and its header."""
    check_sha256(path, sha256)
    read_header(path)  # before any memory is allocated
    try:
        return load_file(path)
    except SafetensorError as error:
        raise ArtifactError(f"{path} is not a safetensors file ({error})") from None


def load_into(module: nn.Module, tensors: Mapping[str, Tensor], source: Path) -> None:
    """Fill a module; if names or shapes differ, load nothing and raise an error with the first three differences."""
    different = differences(module.state_dict(), tensors)
    if different:
        raise ArtifactError(f"{source} belongs to another network: {first_three(different)}")
    module.load_state_dict(dict(tensors))


def differences(wanted: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> list[str]:
    """Describe each difference of names and shapes between the wanted tensors and those found."""
    return [
        *(f"{name} is missing" for name in wanted if name not in found),
        *(f"{name} does not belong to this network" for name in found if name not in wanted),
        *(
            f"{name} is {list(found[name].shape)} instead of {list(tensor.shape)}"
            for name, tensor in wanted.items()
            if name in found and found[name].shape != tensor.shape
        ),
    ]


def first_three(different: Sequence[str]) -> str:
    """Return the first three differences, and the number of further ones, in one line."""
    more = f" and {len(different) - 3} more" if len(different) > 3 else ""
    return f"{'; '.join(different[:3])}{more}"


def leading_slice(tensor: Tensor, like: Tensor) -> Tensor:
    """Return the leading part of ``tensor`` in the shape of ``like``, as a view or the tensor itself."""
    if tensor.shape == like.shape:
        return tensor
    return tensor[tuple(slice(size) for size in like.shape)]


def load_untrusted(path: Path) -> Any:
    """Load a file that safetensors or torch.save wrote, without running a pickle; use it in ``refuse_unreadable``."""
    if path.suffix == ".safetensors":
        return load_file(path)
    with warnings.catch_warnings(action="ignore"):  # about oddities of damaged files
        return torch.load(path, map_location="cpu", weights_only=True)


@contextmanager
def refuse_unreadable(path: Path) -> Iterator[None]:
    """Turn every error of reading a damaged or foreign file into an ArtifactError."""
    try:
        yield
    except RegnasError:
        raise
    except FileNotFoundError:
        raise ArtifactError(f"{path} is missing") from None
    except pickle.UnpicklingError:  # torch's text advises to run the pickle
        raise ArtifactError(
            f"{path} is damaged or holds more than weights, and pickles are not run. Save only the state dict."
        ) from None
    except Exception as error:  # parsing a damaged file raises almost anything
        raise ArtifactError(f"{path} cannot be read as weights: {first_line(error)}") from None
