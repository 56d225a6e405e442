"""Record the rows that only search a trained supernet: families by several rewards."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from benchmarks.cifar10.recording import Study, save_family, search_macs
from regnas.runs.job import Job
from regnas.runs.search_stage import open_evaluator
from regnas.runs.supernet_stage import supernet_training_macs, train_supernet
from regnas.search import Reward, Tier, TopOne, TopOneAndFlips, best, search
from regnas.search.evaluation import Evaluator
from regnas.space import Architecture, Budget

FOUR = ("1.2M +- 2 %", "1.9M +- 2 %", "3.0M +- 2 %", "4.8M +- 2 %")
RATIOS = (0.05, 0.2, 1.0, 5.0, 20.0)


def search_rows(study: Study, seed: int, what: str) -> None:
    folder = f"plain-{seed}"
    job = study.job(folder, seed)
    supernet = train_supernet(job)
    with closing(open_evaluator(job, supernet)) as evaluator:
        rows = Rows(study, job, evaluator, seed, study.runs / folder)
        if what == "families":
            rows.find("regnas", "family", "R2 and containment (REG-NAS)", TopOneAndFlips())
            rows.find("r0", "family", "R0 (once-for-all)", TopOne(), contained=False)
            rows.find("r2", "family", "R2, no containment", TopOneAndFlips(), contained=False)
        elif what == "tradeoff":
            for ratio in RATIOS:
                rows.find(f"tradeoff@{ratio:g}", "tradeoff", f"l2 / l1 = {ratio:g}", TopOneAndFlips(1.0, ratio))
        elif what == "four":
            budgets = {f"{text.split()[0]}": Budget.parse(text) for text in FOUR}
            rows.find("four", "four", "Four members, R2 and containment", TopOneAndFlips(), budgets=budgets)


class Rows:
    def __init__(self, study: Study, job: Job, evaluator: Evaluator, seed: int, folder: Path) -> None:
        self.study = study
        self.job = job
        self.evaluator = evaluator
        self.seed = seed
        self.folder = folder

    def find(
        self,
        row: str,
        group: str,
        title: str,
        reward: Reward,
        contained: bool = True,
        budgets: dict[str, Budget] | None = None,
    ) -> None:
        """Search a family, smallest first, unless the row exists; all rewards use the same draws."""
        if self.study.has(row, self.seed):
            return
        began = time.monotonic()
        job = replace(self.job, budgets=budgets) if budgets else self.job
        members: dict[str, Architecture] = {}
        tried: list[Architecture] = []
        for name, budget in job.budgets.items():
            space = job.space.above(list(members.values())[-1]) if contained and members else job.space
            references = {other: self.evaluator.predict(own) for other, own in members.items()}
            tier = Tier(name, space, budget, reward if members else TopOne(), references)
            # The smallest one is found once: it is the same search for every row.
            label = f"{row}/{name}" if members or budgets else f"smallest/{name}"
            settings = job.config.values.search
            key = (self.seed, "study", name)
            trials = search(tier, settings.algorithm, self.evaluator, job.studies.open(label), settings.candidates, key)
            members[name] = best(trials).architecture
            tried += [trial.architecture for trial in trials]
        save_family(self.folder / f"{row}.json", members)
        networks = {name: self.evaluator.network(architecture) for name, architecture in members.items()}
        self.study.record(
            row,
            self.seed,
            group,
            title,
            job,
            networks,
            members,
            supernet_training_macs(job),
            time.monotonic() - began + job.folder.facts["timings"].get("train", 0.0),
            search_macs(job, job.splits, tried),
        )
