"""Checkpoints of torch."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

from benchmarks.reliability.inputs.target import Target
from benchmarks.reliability.mutations import mutate_bytes, rezipped


def checkpoints(folder: Path) -> Iterable[Target]:
    import torch

    from regnas.supernet.imports.reading import in_single_precision, read_tensors

    sink = io.BytesIO()
    torch.save({"state_dict": {f"layer{number}.weight": torch.ones(3, number) for number in range(1, 4)}}, sink)
    good = sink.getvalue()
    legacy = io.BytesIO()
    torch.save({"weight": torch.ones(4)}, legacy, _use_new_zipfile_serialization=False)
    old = legacy.getvalue()
    path = folder / "checkpoint.pth"

    def read() -> None:
        in_single_precision(read_tensors(path), path)

    yield Target(
        "torch checkpoint",
        path,
        good,
        (
            lambda random: mutate_bytes(good, random, old),
            lambda random: mutate_bytes(old, random, good),
            lambda random: rezipped(good, random),
        ),
        read,
        ("import-ofa", path, "--to", folder / "imported"),
    )
