"""Configurations of runs that take seconds: three classes of 8 x 8 images, noisy enough that networks disagree."""

from __future__ import annotations

from pathlib import Path

import numpy as np

CONFIG = """\
seed = 3

[data]
name = "arrays"
path = "{data}"
search_fraction = 0.3

[supernet]
name = "elastic_resnet"
widths = [[4, 6, 8], [8, 12, 16]]
depths = [1, 2]
stem_width = 4

[budgets]
small = "80k +- 5 %"
medium = "120k +- 5 %"
large = "200k +- 5 %"

[training]
epochs = 3
batch_size = 32
learning_rate = 0.1

[curriculum.lessons.distillation] # the largest sub-network of a step teaches the others
teacher = {{ name = "largest" }}
loss = {{ name = "knowledge_distillation" }}

[curriculum.lessons.congruence]
teacher = {{ name = "mean" }}
loss = {{ name = "logit_difference_inhibition" }}
weight = 0.25
schedule = {{ name = "ramp", start = 0.25, full = 0.5 }}

[search]
candidates = 8
calibration_images = 64
reward = {{ name = "R2" }}
algorithm = {{ name = "evolution", population = 3 }}

[baselines.independent]
[baselines.focal_distillation_lm]
[baselines.elodi]
members = 2
[baselines.accuracy_only]

[machine]
device = "cpu"
threads = 1
workers = {workers}
"""

UPDATE = """\
cache = "{cache}"
seeds = [0, 1]

[data]
name = "arrays"
path = "{data}"
search_fraction = 0.3

[models.old]
network = {{ name = "small_resnet", widths = [4, 8] }}
samples = 0.5

[models.new]
network = {{ name = "small_resnet", widths = [4, 8] }}

[training]
epochs = 2
batch_size = 32
learning_rate = 0.1

[fine_tuning]
epochs = 1
batch_size = 32
learning_rate = 0.05

[methods.none]
[methods.focal_distillation_lm]
[methods.ensemble]
members = 2
[methods.elodi]
members = 2
[methods.bcwi]

[machine]
device = "cpu"
threads = 1
workers = {workers}
"""


def write_arrays(path: Path, samples: int = 300) -> None:
    random = np.random.default_rng(0)
    targets = np.arange(samples) % 3
    patterns = random.integers(0, 200, (3, 8, 8))
    noise = random.normal(0, 70, (samples, 8, 8))
    images = np.clip(patterns[targets] + noise, 0, 255).astype(np.uint8)
    half = samples // 3 * 2
    np.savez(
        path,
        train_images=images[:half],
        train_targets=targets[:half],
        test_images=images[half:],
        test_targets=targets[half:],
        classes=np.array(["stripe", "<b>dot</b>", "ring"]),
    )


def write_tiny(folder: Path, workers: int = 1, extra: str = "") -> Path:
    """Write a configuration with its data beside it."""
    data = folder / "data.npz"
    write_arrays(data)
    path = folder / "tiny.toml"
    path.write_text(CONFIG.format(data=data, workers=workers) + extra)
    return path


def write_tiny_update(folder: Path, workers: int = 1, extra: str = "") -> Path:
    """Write the configuration of an update with its data beside it; its networks are kept there as well."""
    data = folder / "data.npz"
    write_arrays(data)
    path = folder / "tiny_update.toml"
    path.write_text(UPDATE.format(data=data, cache=folder / "cache", workers=workers) + extra)
    return path
