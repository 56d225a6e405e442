"""Databases in which a value was changed: by a flipped bit, or by something else than regnas."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from random import Random

import pytest

from regnas.errors import ArtifactError
from regnas.search import Study, open_storage, sqlite_storage
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
            "it is not what its own digest says",
        ),
        ("update trial_values set value = value + 0.001", "it is not what its own digest says"),
        ("delete from trials where number = 1", "trial 1 is missing"),
        ("update trial_params set distribution_json = '1'", "cannot be read"),
        ("update trial_user_attributes set value_json = '{'", "cannot be read"),
        ("update alembic_version set version_num = 'x'", "cannot be opened"),
        ("update trials set state = 'COMPLFTE'", "cannot be"),
    ],
)
def test_a_changed_study_is_refused_in_one_line(recorded, statement, problem):
    path, read = recorded
    change(path, statement)
    with pytest.raises(ArtifactError) as caught:
        read()
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_trials_of_an_earlier_version_have_no_digest(recorded):
    path, read = recorded
    before = read()
    change(path, "delete from trial_user_attributes where key = 'content_sha256'")
    assert read() == before
