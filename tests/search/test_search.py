from __future__ import annotations

import signal
import subprocess
import sys
from functools import partial
from random import Random

import optuna
import pytest
import torch
from sqlalchemy import MetaData, select
from torch import nn

from regnas.errors import ArtifactError, BudgetInfeasible, Interrupted
from regnas.flips import negative_flip_rate
from regnas.runtime import signals
from regnas.search import (
    REWARDS,
    Evolution,
    FamilySearch,
    Measures,
    Study,
    Tier,
    Trial,
    best,
    open_storage,
    search,
    sqlite_storage,
)
from regnas.search.evaluation import CalibrationImages, Evaluator
from regnas.space import Budget, BudgetSampler, contains
from supernets.elastic_resnet import ElasticResNet

BUDGETS = {"small": Budget(76_000, 84_000), "medium": Budget(114_000, 126_000), "large": Budget(190_000, 210_000)}


def family_search(folder, space, evaluator, reward=None):
    return FamilySearch(
        space=space,
        budgets=BUDGETS,
        reward=reward or REWARDS["R2"](),
        order="smallest_first",
        algorithm=Evolution(population=3),
        candidates=7,
        evaluator=evaluator,
        open_study=partial(_study, sqlite_storage(folder / "study.db"), space),
        key=(0,),
    )


def _study(storage, space, name):
    return Study(storage, name, space)


def test_a_family_is_a_chain_of_containment_inside_its_budgets(tmp_path, space, evaluator):
    members = family_search(tmp_path, space, evaluator).family()
    assert list(members) == ["small", "medium", "large"]
    for name, architecture in members.items():
        assert space.cost(architecture) in BUDGETS[name]
    assert contains(members["medium"], members["small"])
    assert contains(members["large"], members["medium"])


def test_every_candidate_is_on_record_with_what_it_was_worth(tmp_path, space, evaluator):
    runner = family_search(tmp_path, space, evaluator, reward=REWARDS["R2"](l1=1.0, l2=3.0))
    members = runner.family()
    trials = runner.open_study("family/large").trials()
    assert len(trials) == 7  # as many as were asked for
    assert len({trial.architecture for trial in trials}) == 7
    for trial in trials:
        predictions = evaluator.predict(trial.architecture)
        references = {name: evaluator.predict(members[name]) for name in ("small", "medium")}
        flips = {name: negative_flip_rate(reference, predictions) for name, reference in references.items()}
        assert trial.measures.nfr == pytest.approx(flips)
        assert trial.reward == pytest.approx(predictions.accuracy - 3 * sum(flips.values()) / 2)
        assert trial.macs == space.cost(trial.architecture).macs
        assert contains(trial.architecture, members["medium"])
    assert best(trials).architecture == members["large"]


def test_optuna_reads_the_record_on_its_own(tmp_path, space, evaluator):
    family_search(tmp_path, space, evaluator).family()
    storage = sqlite_storage(tmp_path / "study.db")
    names = {summary.study_name for summary in optuna.get_all_study_summaries(storage)}
    assert names == {"family/small", "family/medium", "family/large"}
    study = optuna.load_study(study_name="family/large", storage=storage)
    assert study.best_value == max(trial.value for trial in study.trials)
    assert study.best_trial.params["stage1.block1.width"] in (4, 6, 8)


@pytest.mark.parametrize("stop_after", [1, 4, 6])
def test_a_search_interrupted_anywhere_goes_on_with_the_same_candidates(tmp_path, space, evaluator, stop_after):
    def run(name, study):
        key = (0, "test", "medium")
        tier = Tier("medium", space, BUDGETS["medium"], REWARDS["R0"]())
        return search(tier, Evolution(population=3), evaluator, study, 8, key)

    unbroken = run("unbroken", Study(sqlite_storage(tmp_path / "a.db"), "unbroken", space))

    class Stopping(Study):
        recorded = 0

        def record(self, trials):
            super().record(trials)
            self.recorded += len(trials)
            if self.recorded >= stop_after:
                signals.ask_to_stop(signal.SIGINT)

    storage = sqlite_storage(tmp_path / "b.db")
    with pytest.raises(Interrupted):
        run("broken", Stopping(storage, "broken", space))
    signals._received.clear()
    resumed = run("broken", Study(storage, "broken", space))
    assert [trial.architecture for trial in resumed] == [trial.architecture for trial in unbroken]
    assert len(resumed) == 8


def test_accuracy_alone_needs_no_containment_and_keeps_the_smallest(tmp_path, space, evaluator):
    runner = family_search(tmp_path, space, evaluator)
    family = runner.family()
    other = runner.accuracy_only(family["small"])
    assert other["small"] == family["small"]
    for name in ("medium", "large"):
        trials = runner.open_study(f"accuracy_only/{name}").trials()
        assert max(trial.measures.top1 for trial in trials) == evaluator.predict(other[name]).accuracy


def test_a_budget_that_no_network_above_the_floor_meets_is_refused_with_the_range(tmp_path, space, evaluator):
    study = Study(sqlite_storage(tmp_path / "study.db"), "x", space)
    floor = space.largest
    with pytest.raises(BudgetInfeasible, match="search for medium: no architecture takes 114 k to 126 k MACs"):
        tier = Tier("medium", space.above(floor), BUDGETS["medium"], REWARDS["R0"]())
        search(tier, Evolution(), evaluator, study, 5, (0, "medium"))
    assert study.trials() == []


def test_equal_rewards_are_decided_by_cost_and_then_by_id(space):
    def trial(architecture, macs, reward):
        return Trial(architecture, macs, Measures(0.5, {}), reward)

    small, large = space.smallest, space.largest
    assert best([trial(large, 10, 0.5), trial(small, 9, 0.5)]).architecture == small
    assert best([trial(large, 9, 0.6), trial(small, 9, 0.5)]).architecture == large
    tied = [trial(large, 9, 0.5), trial(small, 9, 0.5)]
    assert best(tied) == best(tied[::-1])


def test_an_architecture_is_evaluated_once(supernet, splits, space):
    class Counting(nn.Module):
        extracted = 0

        def __init__(self, supernet):
            super().__init__()
            self.supernet = supernet

        def extract(self, architecture):
            self.extracted += 1
            return self.supernet.extract(architecture)

    counting = Counting(supernet)
    evaluator = Evaluator.in_process(counting, splits, CalibrationImages(64, 64), torch.device("cpu"))
    first = evaluator.predict(space.smallest)
    before = counting.extracted
    assert evaluator.predict(space.smallest) is first
    assert counting.extracted == before


def test_a_record_that_regnas_did_not_write_is_refused(tmp_path, space):
    storage = sqlite_storage(tmp_path / "study.db")
    optuna.create_study(storage=storage, study_name="x").add_trial(optuna.create_trial(value=1.0))
    with pytest.raises(ArtifactError, match="trial 0 of the study must be one of regnas"):
        Study(storage, "x", space).trials()


def test_a_file_that_is_not_a_database_is_refused(tmp_path, space):
    (tmp_path / "study.db").write_bytes(b"nonsense" * 100)
    with pytest.raises(ArtifactError, match="cannot be opened"):
        Study(sqlite_storage(tmp_path / "study.db"), "x", space)


# Fills the study until no file may grow any more, as on a full disk.
FILLING = """
import resource, signal, sys
from pathlib import Path
from regnas.errors import EnvironmentProblem
from regnas.search import Measures, Study, Trial, sqlite_storage
from supernets.elastic_resnet import ElasticResNet
path = Path(sys.argv[1])
space = ElasticResNet().space((1, 16, 16), 10)
study = Study(sqlite_storage(path), "x", space)
trial = Trial(space.largest, 1, Measures(0.5, {}), 0.5)
study.record([trial])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limit = path.stat().st_size + 8192
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
recorded = 1
try:
    while recorded < 1000:
        study.record([trial])
        recorded += 1
except EnvironmentProblem as error:
    print(recorded, error.exit_code)
"""


@pytest.mark.slow
def test_a_full_disk_is_exit_5_and_every_recorded_candidate_is_kept(tmp_path):
    path = tmp_path / "study.db"
    done = subprocess.run([sys.executable, "-c", FILLING, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    recorded, code = map(int, done.stdout.split())
    assert code == 5
    assert len(Study(sqlite_storage(path), "x", ElasticResNet().space((1, 16, 16), 10)).trials()) == recorded


def test_what_is_written_at_once_is_what_optuna_writes_one_by_one(tmp_path, space, evaluator, monkeypatch):
    """Row by row of every table, but for the times."""
    anywhere, random = BudgetSampler(space, Budget(*space.macs_range)), Random(3)
    trials = [
        Trial(own, space.cost(own).macs, Measures(0.25, {"small": 0.125}), 0.125, (space.smallest, own))
        for own in (anywhere.sample(random) for _ in range(5))
    ]
    at_once, one_by_one = (open_storage(sqlite_storage(tmp_path / f"{name}.db")) for name in ("a", "b"))
    study = Study(at_once, "x", space)
    study.record(trials[:2])
    study.record(trials[2:])
    monkeypatch.setattr("regnas.search.recording.SCHEMA", -1)  # as if Optuna had changed its tables
    Study(one_by_one, "x", space).record(trials)
    assert Study(at_once, "x", space).trials() == trials == Study(one_by_one, "x", space).trials()

    def rows(storage):
        content = MetaData()
        content.reflect(storage.engine)
        with storage.engine.connect() as connection:
            return {
                name: [
                    {column: value for column, value in row._mapping.items() if not column.startswith("datetime")}
                    for row in connection.execute(select(table))
                ]
                for name, table in content.tables.items()
            }

    def unordered(rows):  # Optuna writes the parameters trial by trial, so that their own numbers differ
        keys = ("param_id", "trial_user_attribute_id", "trial_value_id")
        return {
            name: sorted(str({key: value for key, value in row.items() if key not in keys}) for row in entries)
            for name, entries in rows.items()
        }

    assert unordered(rows(at_once)) == unordered(rows(one_by_one))
