"""Databases in which a value was changed, by a flipped bit or by another program."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from random import Random

import optuna
import pytest

from regnas.errors import ArtifactError
from regnas.search import Studies, Study, open_storage, sqlite_storage
from regnas.space import Budget, BudgetSampler
from tests.search.synthetic import Problem


@pytest.fixture
def recorded(tmp_path, space):
    """The path of a study with three trials, and a function that reads them."""
    path = tmp_path / "study.db"
    limits = Budget(*space.macs_range)
    problem = Problem(space, limits, 0)
    sampler, chooser = BudgetSampler(space, limits), Random(1)
    trials = [problem.trial(sampler.sample(chooser)) for _ in range(3)]
    Study(sqlite_storage(path), "small", space).record(trials)

    def read():
        storage = open_storage(sqlite_storage(path))
        try:
            return Study(storage, "small", space).trials()
        finally:
            storage.engine.dispose()

    assert read() == trials
    return path, read


def change(path, statement):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        (
            "update trial_user_attributes set value_json = '0.9' where key = 'top1'",
            "it does not match its own digest",
        ),
        ("update trial_values set value = value + 0.001", "it does not match its own digest"),
        ("delete from trials where number = 1", "trial 1 is missing"),
        ("update trial_params set distribution_json = '1'", "cannot be read"),
        ("update trial_user_attributes set value_json = '{'", "cannot be read"),
        ("update alembic_version set version_num = 'x'", "cannot be opened"),
        ("update trials set state = 'COMPLFTE'", "cannot be"),
        ("update trials set state = 'FAIL' where number = 2", "its trials do not match their own digest"),
        ("delete from trials where number = 2", "its trials do not match their own digest"),
        ("delete from study_user_attributes", "its trials do not match their own digest"),
        ("update study_user_attributes set key = 'content_sha257'", "its trials do not match their own digest"),
        ("delete from trial_user_attributes where key = 'content_sha256'", "must be one of regnas"),
        ("update trials set number = 2 - number", "its trials do not match their own digest"),
    ],
)
def test_a_changed_study_is_refused_in_one_line(recorded, statement, problem):
    path, read = recorded
    change(path, statement)
    with pytest.raises(ArtifactError) as caught:
        read()
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_study_whose_name_was_changed_is_refused_by_the_run_that_would_search_again(recorded, space):
    path, _ = recorded
    change(path, "update studies set study_name = 'smaml'")
    storage = open_storage(sqlite_storage(path))
    with pytest.raises(ArtifactError, match=r"study\.db is damaged: the study smaml must have the name small"):
        Studies(storage, space).names()
    storage.engine.dispose()


def test_a_trial_of_another_study_is_refused(recorded, space):
    path, _ = recorded
    problem = Problem(space, Budget(*space.macs_range), 1)
    sampler = BudgetSampler(space, Budget(*space.macs_range))
    Study(sqlite_storage(path), "large", space).record([problem.trial(sampler.sample(Random(4))) for _ in range(3)])
    change(path, "delete from trials where trial_id = 6")
    change(path, "update trials set study_id = 2 where trial_id = 3")
    with pytest.raises(ArtifactError, match="trial 2 of the study is damaged"):
        Study(sqlite_storage(path), "large", space).trials()


@pytest.mark.parametrize("known_layout", [True, False])
def test_the_seal_covers_what_several_searches_added_one_after_the_other(tmp_path, space, monkeypatch, known_layout):
    if not known_layout:
        monkeypatch.setattr("regnas.search.recording._known_tables", lambda engine: None)
    path = sqlite_storage(tmp_path / "study.db")
    limits = Budget(*space.macs_range)
    problem, sampler, chooser = Problem(space, limits, 0), BudgetSampler(space, limits), Random(1)
    trials = [problem.trial(sampler.sample(chooser)) for _ in range(5)]
    first = Study(path, "small", space)
    first.record(trials[:1])
    first.record(trials[1:3])
    Study(path, "small", space).record(trials[3:])  # continues without having read the trials
    assert Study(path, "small", space).trials() == trials


def test_a_search_that_was_killed_while_optuna_added_its_trials_continues(tmp_path, space, monkeypatch):
    """If the layout of the tables is unknown, Optuna adds trials one by one, and the seal comes last."""
    monkeypatch.setattr("regnas.search.recording._known_tables", lambda engine: None)
    path = sqlite_storage(tmp_path / "study.db")
    limits = Budget(*space.macs_range)
    problem, sampler, chooser = Problem(space, limits, 0), BudgetSampler(space, limits), Random(1)
    trials = [problem.trial(sampler.sample(chooser)) for _ in range(4)]

    def add_two(study, frozen):
        for each in frozen[:2]:
            study.add_trial(each)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(optuna.Study, "add_trials", add_two)
        with pytest.raises(KeyboardInterrupt):
            Study(path, "small", space).record(trials)
    continued = Study(path, "small", space)
    assert continued.trials() == trials[:2]
    continued.record(trials[2:])
    assert Study(path, "small", space).trials() == trials
