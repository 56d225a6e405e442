"""Save and load the state of a training.

A folder holds the newest checkpoints as ``step-<n>.safetensors``, and ``checkpoints.json``, which names them with
their sha256. It is written last: files that it does not name are ignored.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from regnas.errors import ArtifactError
from regnas.runtime.files import read_json, read_sealed_json, write_json, write_sealed_json
from regnas.runtime.tensors import load_tensors, save_tensors

INDEX = "checkpoints.json"
INTERRUPTED = "interrupted"  # a key of entries
KEPT = 2


@dataclass(frozen=True)
class Checkpoint:
    step: int
    path: Path
    tensors: dict[str, Tensor]

    def part(self, prefix: str) -> dict[str, Tensor]:
        """Return the tensors whose names begin with ``prefix.``, without the prefix."""
        start = f"{prefix}."
        return {name.removeprefix(start): value for name, value in self.tensors.items() if name.startswith(start)}


def save_checkpoint(folder: Path, step: int, parts: dict[str, dict[str, Tensor]], interrupted: bool = False) -> Path:
    """Write a checkpoint and delete all but the newest few.

    One that is written only because the training is ``interrupted`` is deleted after the next one: a training that was
    interrupted ends with the files of one that was not.
    """
    path = folder / f"step-{step}.safetensors"
    tensors = {f"{part}.{name}": tensor for part, named in parts.items() for name, tensor in named.items()}
    entry: dict[str, Any] = {"step": step, "file": path.name, "sha256": save_tensors(path, tensors)}
    if interrupted:
        entry[INTERRUPTED] = True
    planned = [old for old in _entries(folder) if old["step"] != step and INTERRUPTED not in old]
    write_sealed_json(folder / INDEX, {"checkpoints": [entry, *planned][:KEPT]})
    remove_unnamed(folder)
    return path


def remove_unnamed(folder: Path) -> None:
    """Delete the checkpoints that the index does not name: older ones, and what a killed process left behind."""
    named = {entry["file"] for entry in _entries(folder)}
    for path in folder.glob("step-*.safetensors"):
        if path.name not in named:
            path.unlink(missing_ok=True)


def last_checkpoint(folder: Path) -> Checkpoint | None:
    """Load the newest checkpoint, or None before the first; refuse a damaged one and name the one before it."""
    entries = [entry for entry in _entries(folder) if (folder / entry["file"]).exists()]
    if not entries:
        return None
    newest, *older = entries
    path = folder / newest["file"]
    try:
        return Checkpoint(newest["step"], path, load_tensors(path, newest["sha256"]))
    except ArtifactError as error:
        remedy = f"the one before it is {folder / older[0]['file']}" if older else "there is none before it"
        raise ArtifactError(f"{error}; {remedy}. Delete the damaged file, and resume.") from None


def copy_checkpoints(source: Path, target: Path) -> None:
    """Let another training continue from this one; keep what the target already has."""
    if not (target / INDEX).exists():
        target.mkdir(parents=True, exist_ok=True)
        for entry in _entries(source):
            shutil.copyfile(source / entry["file"], target / entry["file"])
        write_json(target / INDEX, read_json(source / INDEX))


def newest_path(folder: Path) -> Path | None:
    entries = _entries(folder)
    return folder / entries[0]["file"] if entries else None


def newest_step(folder: Path) -> int:
    """Return how many steps a training in this folder has done."""
    return next((int(entry["step"]) for entry in _entries(folder) if (folder / entry["file"]).exists()), 0)


def _entries(folder: Path) -> list[dict[str, Any]]:
    index = folder / INDEX
    if not index.exists():
        return []
    try:
        return [
            {"step": int(entry["step"]), "file": Path(entry["file"]).name, "sha256": str(entry["sha256"])}
            | ({INTERRUPTED: True} if entry.get(INTERRUPTED) else {})
            for entry in read_sealed_json(index)["checkpoints"]
        ]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ArtifactError(f"{index} is damaged ({error!r}). Delete the folder to train again.") from None
