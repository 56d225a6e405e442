"""What each part of a training recipe brings on CIFAR-10, at the compute of the cifar10 preset.

    python benchmarks/recipes.py --images cifar10 --seeds 2 --rows base nesterov smoothing

Every row trains the medium network of the preset ``cifar10`` for its epochs, with some keys of ``[training]`` changed,
and is measured on the search split (5,000 held-out training images). ``--images`` is a folder with ``train`` and
``test``. Each training is kept in benchmarks/recipes.json as soon as it has ended.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

import torch

from regnas.data import Splits
from regnas.runs.config import Config, load_config
from regnas.runtime.files import read_json, write_json
from regnas.runtime.machine import describe_machine
from regnas.space import BudgetSampler
from regnas.training import Prepared, SingleNetwork, Trainer, calibrate, logits_on

RESULTS = Path(__file__).with_suffix(".json")
CPU = torch.device("cpu")
BUDGET = "medium"

SHIFT = {"name": "shift", "pixels": 2}
ALTERNATING = [{"name": "alternating_flip"}, SHIFT]
MUON = {"name": "muon", "others_factor": 10.0}
ROWS: dict[str, dict[str, Any]] = {
    "base": {"learning_rate": 0.2, "augmentations": [{"name": "horizontal_flip"}, SHIFT]},
    "nesterov": {"optimizer": {"name": "sgd", "nesterov": True}},
    "smoothing": {"label_smoothing": 0.1},
    "alternating flip": {"augmentations": ALTERNATING},
    "no decay of norms": {"weight_decay_on": "weights"},
    "moving average": {"averaging": {"name": "moving_average", "decay": 0.99}},
    "lookahead": {"averaging": "lookahead"},
    "no clipping": {"clip_norm": "none"},
    "identity convolutions": {"initialization": ["identity_convolutions"]},
    "zero residual norms": {"initialization": ["zero_residual_norms"]},
    "whitened stem": {"initialization": ["whitened_stem"]},
    "muon 0.02": {"optimizer": MUON, "learning_rate": 0.02},
    "muon 0.05": {"optimizer": MUON, "learning_rate": 0.05},
}


def config_of(images: Path, changes: dict[str, Any]) -> Config:
    """Return the preset with other keys of ``[training]``, on image files."""
    settings = {f"training.{key}": value for key, value in {**ROWS["base"], **changes}.items()}
    return load_config("cifar10", {"data": {"name": "image_folder", "path": str(images), "size": 32}} | settings).values


def train(config: Config, splits: Splits, seed: int) -> dict[str, float]:
    """Train one network; return its Top-1 on the search split, and the CPU time."""
    space = config.supernet.space(splits.input_shape, len(splits.classes))
    architecture = BudgetSampler(space, config.budgets[BUDGET]).sample(Random(0))
    torch.manual_seed(seed)
    network = config.supernet.network(architecture, splits.input_shape, len(splits.classes))
    trainer = Trainer(config.training, splits.train, splits.preprocessing, CPU)
    trainer.initialize(network)
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(network, SingleNetwork(label_loss=config.training.label_loss), (seed,), Path(folder), "")
    seconds = time.process_time() - began
    calibrate(network, Prepared(splits.train.images, splits.preprocessing, CPU))
    logits = logits_on(network, splits.search, splits.preprocessing, CPU)
    return {"top1": (logits.argmax(dim=1) == splits.search.targets).double().mean().item(), "cpu_seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    report = read_json(options.out) if options.out.exists() else {"rows": {}}
    report["machine"] = describe_machine(CPU)
    splits = config_of(options.images, {}).data.load()
    for seed in range(options.seeds):
        for name in options.rows:
            row = report["rows"].setdefault(name, {"changes": ROWS[name], "seeds": {}})
            if str(seed) not in row["seeds"]:
                row["seeds"][str(seed)] = train(config_of(options.images, ROWS[name]), splits, seed)
                write_json(options.out, report)
            found = [each["top1"] for each in row["seeds"].values()]
            print(f"{name}: {100 * statistics.mean(found):.2f} % over {len(found)} seeds", flush=True)


if __name__ == "__main__":
    main()
