"""The verbosity of Optuna stays as the user set it."""

from __future__ import annotations

import subprocess
import sys

import optuna
import pytest

from regnas.search import Studies, open_storage, sqlite_storage
from regnas.search.optuna_tools import quiet_optuna
from tests.space.toy import toy_space


def test_importing_the_search_leaves_optuna_as_it_is():
    program = (
        "import optuna; before = optuna.logging.get_verbosity(); import regnas.search; "
        "assert optuna.logging.get_verbosity() == before == optuna.logging.INFO"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("verbosity", [optuna.logging.DEBUG, optuna.logging.INFO, optuna.logging.ERROR])
def test_a_study_is_opened_in_silence_and_the_verbosity_is_as_before(tmp_path, capfd, verbosity):
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(verbosity)
    try:
        Studies(open_storage(sqlite_storage(tmp_path / "study.db")), toy_space()).open("family/small")
        assert optuna.logging.get_verbosity() == verbosity
    finally:
        optuna.logging.set_verbosity(before)
    assert capfd.readouterr().err == ""


def test_an_error_restores_the_verbosity_too():
    before = optuna.logging.get_verbosity()
    with pytest.raises(ValueError, match="broken"), quiet_optuna():
        assert optuna.logging.get_verbosity() == optuna.logging.WARNING
        raise ValueError("broken")
    assert optuna.logging.get_verbosity() == before
