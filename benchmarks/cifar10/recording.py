"""The common part of the stages of the study: the data, the run folders, and the rows that they record.

A row is one family of networks, made by one method with one seed. RUNS/rows/<row>/seed-<s> holds row.json (its
description and costs) and, for the search and the report split, the predictions of every member.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regnas.data import Splits
from regnas.runs.config import LoadedConfig, load_config
from regnas.runs.folder import RunFolder
from regnas.runs.job import Job, prepare
from regnas.runtime.files import write_json
from regnas.runtime.machine import describe_machine
from regnas.space import Architecture
from regnas.training import logits_on, predictions_from

HERE = Path(__file__).parent
ROW = "row.json"


@dataclass(frozen=True)
class Study:
    """The folders of the images and of the runs."""

    images: Path
    runs: Path

    def job(self, folder: str, seed: int, *assignments: str) -> Job:
        """Open or start a run folder with the settings of study.toml."""
        config = self.config(seed, *assignments)
        torch.set_num_threads(config.values.machine.threads)
        device = torch.device("cpu")
        path = self.runs / folder
        path.mkdir(parents=True, exist_ok=True)
        run = RunFolder.create(path, "cifar10", config.table, describe_machine(device), "resume")
        return prepare(config, run, None, ())

    def config(self, seed: int, *assignments: str) -> LoadedConfig[Any]:
        """Load the settings of study.toml, changed by ``assignments``."""
        data = f'data={{ name = "image_folder", path = "{self.images.resolve()}", size = 32 }}'
        return load_config(str(HERE / "study.toml"), [data, f"seed={seed}", *assignments])

    def place(self, row: str, seed: int) -> Path:
        return self.runs / "rows" / row / f"seed-{seed}"

    def has(self, row: str, seed: int) -> bool:
        return (self.place(row, seed) / ROW).exists()

    def record(
        self,
        row: str,
        seed: int,
        group: str,
        title: str,
        job: Job,
        networks: Mapping[str, nn.Module],
        architectures: Mapping[str, Architecture],
        training_macs: int,
        seconds: float,
        search_macs: int = 0,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Predict both splits with every member, and write the description of the row last."""
        place = self.place(row, seed)
        for name, network in networks.items():
            for split in (job.splits.search, job.splits.report):
                logits = logits_on(network, split, job.splits.preprocessing, job.device)
                path = place / split.name / f"{name}.npz"
                path.parent.mkdir(parents=True, exist_ok=True)
                predictions_from(name, logits, split, keep_logits=False).save(path)
        write_json(
            place / ROW,
            {
                "row": row,
                "title": title,
                "group": group,
                "seed": seed,
                "members": list(networks),
                "macs": [job.space.cost(architecture).macs for architecture in architectures.values()],
                "architectures": [architecture.id for architecture in architectures.values()],
                "training_macs": training_macs,
                "search_macs": search_macs,
                "seconds": round(seconds, 1),
                "settings": dict(settings or {}),
            },
        )
        print(f"{time.strftime('%H:%M:%S')} recorded {row} of seed {seed}", flush=True)


def save_family(path: Path, members: Mapping[str, Architecture]) -> None:
    write_json(path, {name: architecture.to_json() for name, architecture in members.items()})


def load_family(path: Path) -> dict[str, Architecture]:
    return {name: Architecture.from_json(value) for name, value in json.loads(path.read_text()).items()}


def search_macs(job: Job, splits: Splits, candidates: list[Architecture]) -> int:
    """Return the multiply-adds of evaluating candidates: their calibration and the search split."""
    images = len(splits.search) + job.calibration_images.candidates
    return images * sum(job.space.cost(architecture).macs for architecture in candidates)
