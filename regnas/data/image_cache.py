"""Decoded images, and their statistics, kept between runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from regnas.data.preprocessing import Preprocessing
from regnas.errors import ArtifactError, EnvironmentProblem
from regnas.runtime.files import check_sha256, digest_of, read_json, sha256_of, write_json, write_through

REMEDY = 'Free some space, or set "cache" of the data set to another folder.'


def cached_images(folder: Path, key: str, shape: tuple[int, ...], make: Callable[[], Tensor]) -> Tensor:
    """Return the uint8 tensor that is kept under ``key``; if there is none, or it is damaged, make and keep it.

    The record with the sha256 is written after the tensor: a record means that the file is complete.
    """
    file, record = folder / f"{key}.safetensors", folder / f"{key}.json"
    kept = _kept(file, record, shape)
    if kept is not None:
        return kept
    _check_room(folder, shape)
    images = make()
    try:
        write_through(file, lambda temporary: save_file({"images": images}, temporary))
        write_json(record, {"sha256": sha256_of(file)})
    except (EnvironmentProblem, SafetensorError) as error:
        raise EnvironmentProblem(f"cannot keep the decoded images in {folder} ({error}). {REMEDY}") from error
    return images


def cached_preprocessing(folder: Path, key: str, fit: Callable[[], Preprocessing]) -> Preprocessing:
    """Return the preprocessing that is kept under ``key``; if there is none, or it is damaged, fit and keep it."""
    record = folder / f"{key}.json"
    try:
        kept = read_json(record)
        if kept["sha256"] == digest_of(kept["preprocessing"]):
            return Preprocessing.from_json(kept["preprocessing"])
    except (ArtifactError, KeyError, TypeError, OSError):
        pass
    fitted = fit()
    try:
        write_json(record, {"preprocessing": fitted.to_json(), "sha256": digest_of(fitted.to_json())})
    except EnvironmentProblem as error:
        raise EnvironmentProblem(f"cannot keep the statistics of the images in {folder} ({error}). {REMEDY}") from error
    return fitted


def _kept(file: Path, record: Path, shape: tuple[int, ...]) -> Tensor | None:
    try:
        check_sha256(file, str(read_json(record)["sha256"]))
        images = load_file(file)["images"]
    except (ArtifactError, SafetensorError, KeyError, TypeError, OSError):
        return None
    return images if tuple(images.shape) == shape and images.dtype == torch.uint8 else None


def _check_room(folder: Path, shape: tuple[int, ...]) -> None:
    """Refuse to decode for minutes if the disk has no room for the result."""
    needed = torch.Size(shape).numel()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise EnvironmentProblem(f"cannot keep decoded images in {folder} ({error.strerror}). {REMEDY}") from error
    if free < needed:
        raise EnvironmentProblem(
            f"the decoded images need {needed / 1e9:.1f} GB, but {folder} has {free / 1e9:.1f} GB left. {REMEDY}"
        )
