"""The loggers, with the local files of each service, which its own reader reads back."""

from __future__ import annotations

import struct
import sys

import pytest

from regnas.errors import MissingPackage
from regnas.training.loggers import LOGGERS, LoggedTraining

TABLE = {"seed": 3, "training": {"epochs": 2, "schedule": "cosine"}}


def training(folder, first=1, name="polish, plain end"):
    return LoggedTraining("night", name, "0123456789abcdef", TABLE, folder, first)


def write(logger, folder):
    """Log as a process that is killed after step 6, and one that continues from a checkpoint after step 4."""
    killed = logger.open(training(folder))
    for step in range(1, 7):
        killed.log(step, {"loss": 1 / step, "learning_rate": 0.1 * step})
    kill(killed)
    continued = logger.open(training(folder, first=5))
    for step in range(5, 9):
        continued.log(step, {"loss": 1 / step, "learning_rate": 0.1 * step})
    continued.close(True)


def kill(log):
    """Write what a service gets within seconds, without closing the log."""
    if hasattr(log, "writer"):
        log.writer.flush()
    for operation in getattr(log, "sent", ()):
        operation.wait()


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """No service is told anything, and no settings of this machine are read."""
    for name in ("DO_NOT_TRACK", "MLFLOW_DISABLE_TELEMETRY"):
        monkeypatch.setenv(name, "true")
    for name in ("MLFLOW_TRACKING_URI", "WANDB_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("chosen", ["", "curves"])
def test_tensorboard_shows_every_step_once(tmp_path, chosen):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = tmp_path / "run"
    write(LOGGERS["tensorboard"](folder=str(tmp_path / chosen) if chosen else ""), run)
    place = tmp_path / "curves" / "night" if chosen else run / "tensorboard"
    shown = EventAccumulator(str(place / "polish-plain-end"))
    shown.Reload()
    for name, factor in (("loss", None), ("learning_rate", 0.1)):
        found = [(event.step, event.value) for event in shown.Scalars(name)]
        expected = [(step, factor * step if factor else 1 / step) for step in range(1, 9)]
        assert found == [(step, pytest.approx(value, rel=1e-6)) for step, value in expected]
    [text] = shown.Tensors("configuration/text_summary")
    assert b'"schedule": "cosine"' in text.tensor_proto.string_val[0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the packages that it imports
def test_mlflow_has_every_step_once_and_one_run_per_training(tmp_path):
    mlflow = pytest.importorskip("mlflow")
    run = tmp_path / "run"
    write(LOGGERS["mlflow"](experiment="nights"), run)
    other = LOGGERS["mlflow"](experiment="nights").open(
        LoggedTraining("night", "supernet", "fedcba9876543210", {}, run)
    )
    other.close(False)
    client = mlflow.MlflowClient(tracking_uri=f"sqlite:///{run / 'mlflow' / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("nights").experiment_id
    found = {entry.info.run_name: entry for entry in client.search_runs([experiment])}
    assert set(found) == {"night: polish, plain end", "night: supernet"}
    whole, stopped = found["night: polish, plain end"], found["night: supernet"]
    assert (whole.info.status, stopped.info.status) == ("FINISHED", "KILLED")
    assert whole.data.params == {"seed": "3", "training.epochs": "2", "training.schedule": "cosine"}
    history = client.get_metric_history(whole.info.run_id, "loss")
    assert sorted((entry.step, entry.value) for entry in history) == [(step, 1 / step) for step in range(1, 9)]


def leveldb_records(content):
    """Read the format of LevelDB's log, after the 7 bytes that name a file of W&B: blocks of 32 KiB with parts."""
    place, whole = 7, b""
    while place < len(content):
        if 2**15 - place % 2**15 < 7:
            place += 2**15 - place % 2**15
        length, kind = struct.unpack_from("<HB", content, place + 4)
        whole += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # complete, or its last part
            yield whole
            whole = b""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_wandb_writes_a_run_that_can_be_uploaded_later(tmp_path):
    wandb = pytest.importorskip("wandb")
    from wandb.proto.wandb_internal_pb2 import Record

    log = LOGGERS["wandb"](project="nights", mode="offline").open(training(tmp_path))
    for step in (2, 4):
        log.log(step, {"loss": 1 / step})
    log.close(True)
    wandb.teardown()  # waits until its own process has written everything
    [file] = (tmp_path / "wandb").glob("offline-run-*/*.wandb")
    records = [Record.FromString(content) for content in leveldb_records(file.read_bytes())]
    [run] = [record.run for record in records if record.HasField("run")]
    assert (run.run_id, run.project, run.run_group) == ("0123456789abcdef", "nights", "night")
    assert run.display_name == "night: polish, plain end"
    assert {item.key or item.nested_key[0]: item.value_json for item in run.config.update}["seed"] == "3"
    rows = [
        {item.key or item.nested_key[0]: float(item.value_json) for item in record.history.item}
        for record in records
        if record.HasField("history")
    ]
    assert [(row["_step"], row["loss"]) for row in rows] == [(2, 0.5), (4, 0.25)]
    assert [record.exit.exit_code for record in records if record.HasField("exit")] == [0]


@pytest.mark.parametrize("name", ["tensorboard", "wandb", "mlflow"])
def test_a_missing_package_is_named_with_its_extra(tmp_path, name, monkeypatch):
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPackage, match=rf"the logger {name} needs {name}, .* pip install 'regnas\[{name}\]'"):
        LOGGERS[name]().open(training(tmp_path))


def test_a_password_is_no_part_of_an_address():
    with pytest.raises(ValueError, match="store must be an address without a password"):
        LOGGERS["mlflow"](store="https://ann:secret@host/mlflow")
