"""Models of an update on disk, made without training: fresh networks whose predictions are random."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from regnas.family.updated import write_updated
from regnas.flips import Predictions
from regnas.networks import SmallResNet

CLASSES = ("cat", "dog", "elk")
TABLE = {"name": "small_resnet", "widths": [4, 8]}


def network(shape: tuple[int, int, int] = (1, 8, 8), seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    built = SmallResNet(widths=(4, 8)).build(shape, len(CLASSES))
    built(torch.randn(16, *shape))  # statistics that are not the fresh ones
    return built.eval()


def predictions(seed: int) -> Predictions:
    random = np.random.default_rng(seed)
    ids = np.array([f"test/{index}" for index in range(20)])
    return Predictions("any", ids, np.arange(20) % 3, random.integers(0, 3, 20), split="1" * 64)


def write_models(
    run: Path,
    models: tuple[tuple[str, int], ...] = (("none", 0), ("elodi", 0), ("elodi", 1)),
    shape: tuple[int, int, int] = (1, 8, 8),
    **changes: Any,
) -> dict[str, nn.Module]:
    """Write the models of an update into the run folder; the networks by name."""
    networks = {key: network(shape, number) for number, key in enumerate(models)}
    data = {
        "input_shape": list(shape),
        "classes": list(CLASSES),
        "preprocessing": {"mean": [0.5] * shape[0], "std": [0.25] * shape[0]},
        "digest": "0" * 64,
    }
    answers = {key: predictions(number) for number, key in enumerate(models)}
    write_updated(run / "models", networks, TABLE, data | changes, answers)
    return {f"{method}-seed-{seed}": built for (method, seed), built in networks.items()}
