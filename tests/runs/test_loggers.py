from __future__ import annotations

import json
from pathlib import Path

import pytest

from regnas.components.paths import Anchors
from regnas.errors import ConfigurationError
from regnas.runs.config import parse_config
from regnas.runs.folder import RunFolder
from regnas.runs.tables import load_table
from regnas.training.loggers.mlflow_runs import MLflow
from regnas.training.loggers.tensorboard_files import TensorBoard

MACHINE = {"threads": 1, "versions": {}, "platform": "Linux", "device": "cpu"}
TENSORBOARD = {"loggers": [{"name": "tensorboard"}]}


def create(path, table):
    return RunFolder.create(path, "night", table, MACHINE, "resume")


def test_a_run_is_continued_with_other_loggers_and_remembers_them(tmp_path):
    plain = {"seed": 1}
    digest = create(tmp_path, plain).facts["digest"]
    for table in (plain | TENSORBOARD, plain | {"loggers": []}, plain):
        folder = create(tmp_path, table)
        assert folder.facts["digest"] == digest
        assert RunFolder.open(tmp_path).facts["configuration"] == table
    with pytest.raises(ConfigurationError, match="seed was 1, now 2"):
        create(tmp_path, {"seed": 2} | TENSORBOARD)


def test_the_digest_of_a_run_with_loggers_is_that_of_one_without(tmp_path):
    digests = [
        create(tmp_path / name, {"seed": 1} | more).facts["digest"]
        for name, more in {"a": {}, "b": TENSORBOARD}.items()
    ]
    assert digests[0] == digests[1]


def test_paths_of_loggers_belong_to_the_folder_of_the_configuration():
    name, table, _ = load_table("digits")
    loggers = [{"name": "tensorboard", "folder": "curves"}, {"name": "mlflow", "store": "sqlite:///runs.db"}]
    config = parse_config(name, table | {"loggers": loggers}, Anchors(Path("/home/ann"), Path("/elsewhere")))
    assert config.values.loggers == (TensorBoard("/home/ann/curves"), MLflow("sqlite:////home/ann/runs.db"))


def test_an_unknown_logger_is_refused_with_the_nearest_name():
    name, table, _ = load_table("digits")
    with pytest.raises(
        ConfigurationError, match=r'loggers\[0\]: unknown logger "tensorbord"; did you mean "tensorboard"'
    ):
        parse_config(name, table | {"loggers": [{"name": "tensorbord"}]})


def test_every_training_of_a_run_leaves_its_course(finished_run):
    trained = {"supernet": finished_run / "supernet" / "metrics.jsonl"}
    trained |= {file.stem: file for file in (finished_run / "metrics").iterdir()}
    networks = list((finished_run / "trainings").glob("*/model.json"))
    joint = [path for path in networks if "clipping" not in json.loads(path.read_text())]
    assert len(trained) == 1 + len(networks) - len(joint)
    assert {name.partition("-")[0] for name in trained} >= {"supernet", "independent", "elodi"}
    for file in trained.values():
        steps = [json.loads(line)["step"] for line in file.read_text().splitlines()]
        assert steps == sorted(set(steps)) and steps[0] >= 1


def test_every_training_of_an_update_leaves_its_course(finished_update):
    names = {file.stem for file in (finished_update / "metrics").iterdir()}
    assert {name.rpartition("-")[2] for name in names} == {"0", "1"}  # its seeds
    assert any(name.startswith("elodi-") for name in names)
