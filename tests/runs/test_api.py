"""Runs from Python: objects come back, errors are raised, nothing is printed, and the process is the caller's."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import tomllib

import pytest
import torch

import regnas
from benchmarks.tiny import write_tiny
from regnas.errors import ArtifactError, ConfigurationError, DataError
from regnas.report.update.results import UpdateResult
from regnas.runtime.files import digest_of, read_sealed_json, write_sealed_json
from regnas.training import SupernetObjective


@pytest.fixture
def run_copy(finished_run, tmp_path):
    """A finished run that may be changed; its data stay where they are."""
    return shutil.copytree(finished_run, tmp_path / "run")


def tables(folder):
    return tomllib.loads(write_tiny(folder).read_text(encoding="utf-8"))


def reconfigure(run, change):
    """Change the configuration that a run has recorded."""
    facts = json.loads((run / "run.json").read_text())
    change(facts["configuration"])
    facts["digest"] = digest_of(facts["configuration"])
    write_sealed_json(run / "run.json", facts)


def test_an_opened_run_has_its_family_its_flips_and_its_report(finished_run):
    run = regnas.open_run(finished_run)
    assert run.path == finished_run
    assert run.flips.to_dict() == read_sealed_json(finished_run / "report" / "flips.json")
    assert run.flips.methods[0].pairs[-1].new == "large"
    assert list(run.family) == ["small", "medium", "large"]
    assert run.family is run.family
    assert run.report == finished_run / "report" / "index.html"
    assert run.configuration["search"]["candidates"] == 8
    assert repr(run) == f"Run('{finished_run}')"
    assert run.flips.summary in run._repr_html_()
    assert run.report.as_uri() in run._repr_html_()


def test_an_opened_update_has_its_results_and_its_report(finished_update):
    update = regnas.open_update(finished_update)
    stored = (finished_update / "report" / "update.json").read_text()
    assert update.results.to_json() + "\n" == stored
    assert UpdateResult.from_dict(json.loads(stored), "update.json") == update.results
    assert update.results.to_markdown() == (finished_update / "report" / "update.md").read_text()
    assert update.results.to_html() == (finished_update / "report" / "index.html").read_text()
    assert update.report == finished_update / "report" / "index.html"
    assert update.configuration["seeds"] == [0, 1]
    assert repr(update) == f"Update('{finished_update}')"
    assert update.results["elodi"].title in update._repr_html_()
    assert update.report.as_uri() in update._repr_html_()


def test_a_folder_of_the_other_kind_is_refused_with_the_function_that_opens_it(finished_run, finished_update):
    with pytest.raises(ArtifactError, match=r"must be the run folder of a family, got an update\. Use regnas\.open_u"):
        regnas.open_run(finished_update)
    with pytest.raises(ArtifactError, match=r"must be the run folder of an update, got a family\. Use regnas\.open_r"):
        regnas.open_update(finished_run)


@pytest.mark.parametrize(
    ("kind", "name", "command", "read"),
    [
        ("finished_run", "flips.json", "report", lambda path: regnas.open_run(path).flips),
        ("finished_update", "update.json", "update", lambda path: regnas.open_update(path).results),
    ],
)
@pytest.mark.slow
def test_a_damaged_report_is_one_line_with_the_file_the_key_and_the_command(
    request, tmp_path, kind, name, command, read
):
    finished = request.getfixturevalue(kind)
    run = shutil.copytree(finished, tmp_path / "run", ignore=shutil.ignore_patterns("trainings", "supernet"))
    stored = run / "report" / name
    content = json.loads(stored.read_text())
    del content["methods"][0]["title"]
    write_sealed_json(stored, content)
    with pytest.raises(ArtifactError) as caught:
        read(run)
    assert (
        str(caught.value) == f"{stored} must have methods[0].title, got none. Write it with `regnas {command} {run}`."
    )
    stored.unlink()
    with pytest.raises(ArtifactError, match=rf"must have a report, got none\. Write it with `regnas {command} "):
        read(run)


def test_a_run_of_tables_is_quiet_tells_its_progress_and_leaves_the_process_as_it_was(finished_run, tmp_path, capfd):
    logger = logging.getLogger("regnas")
    before = (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), logger.level, list(logger.handlers))
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        heard = []
        run = regnas.run(tables(tmp_path), out=tmp_path / "run", until="train", progress=heard.append)
        assert torch.get_num_threads() == 2  # the run itself had one
    finally:
        torch.set_num_threads(threads)
    assert capfd.readouterr() == ("", "")
    after = (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), logger.level, list(logger.handlers))
    assert after == before
    training = [event for event in heard if event.description == "train supernet"]
    assert {event.heading for event in training} == {"stage 1 of 1: train"}
    assert [event.done for event in training] == [*range(13), 12]
    assert run.path == tmp_path / "run"
    weights = "supernet/step-12.safetensors"
    assert (run.path / weights).read_bytes() == (finished_run / weights).read_bytes()
    assert "without a report so far" in run._repr_html_()
    with pytest.raises(ArtifactError, match=r"must have a report, got none\. Write it with `regnas report"):
        _ = run.flips


def test_an_interrupt_from_the_keyboard_leaves_a_run_that_resumes_to_the_same_bytes(finished_run, tmp_path):
    def interrupt(event):
        if event.description == "train supernet" and event.done == 6 and not event.finished:
            os.kill(os.getpid(), signal.SIGINT)

    config = write_tiny(tmp_path)
    with pytest.raises(KeyboardInterrupt, match="everything up to here is kept"):
        regnas.run(config, out=tmp_path / "run", until="train", progress=interrupt)
    assert not (tmp_path / "run" / "supernet" / "step-12.safetensors").exists()
    assert "interrupted by SIGINT" in (tmp_path / "run" / "run.log").read_text()
    heard = []
    regnas.run(tmp_path / "run", resume=True, until="train", progress=heard.append)
    assert next(event.done for event in heard if event.description == "train supernet") >= 6
    weights = "supernet/step-12.safetensors"
    assert (tmp_path / "run" / weights).read_bytes() == (finished_run / weights).read_bytes()


def test_members_are_predicted_once_and_the_draws_of_the_training_are_not_repeated(run_copy, finished_run, monkeypatch):
    """The family is exported again and reported, from a run that has counted its training."""
    from regnas.runs import job

    shutil.rmtree(run_copy / "family")
    predicted = []
    logits_on = job.logits_on
    monkeypatch.setattr(job, "logits_on", lambda *given: predicted.append(given) or logits_on(*given))

    def replay(self, index, progress):
        raise AssertionError("the draws of a step were repeated")

    monkeypatch.setattr(SupernetObjective, "macs_of", replay)
    run = regnas.run(run_copy, resume=True)
    assert len(predicted) == 3 + 4 * 3  # the members, and those of four baselines
    for file in ("report/flips.json", "family/manifest.json"):
        assert (run.path / file).read_bytes() == (finished_run / file).read_bytes()
    assert "load the supernet" in (run_copy / "run.log").read_text().rpartition("stage 1 of 5: train")[2]


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (
            lambda config: regnas.run(config, resume=True, overwrite=True),
            "only one of `resume` and `overwrite` must be set",
        ),
        (lambda config: regnas.run(config, until="polish"), 'until must be one of train, search, .* got "polish"'),
        (lambda config: regnas.run(config, executor="threads"), '`executor` must be inline, .* got "threads"'),
        (lambda config: regnas.run(config, set=["epochs"]), '`set` must be KEY=VALUE, .* got "epochs"'),
        (lambda config: regnas.run(config, set={"seed.x": 1}), '`set` seed.x: "seed" must be a table, got the value 3'),
        (lambda config: regnas.run({"seed": 1}), "`out` must name the run folder if the configuration is a dict"),
        (lambda config: regnas.run({"seed": print}, out="x"), "must hold texts, numbers, lists and tables"),
        (lambda config: regnas.run("no-such-preset"), 'there is no file "no-such-preset", nor a preset'),
        (lambda config: regnas.update(config), "has a supernet and no models: it is for `regnas run tiny`"),
        (lambda config: regnas.update({"seed": 1}), "`out` must name the run folder if the configuration is a dict"),
    ],
)
def test_what_cannot_be_is_raised_before_anything_is_written(tmp_path, monkeypatch, call, problem):
    monkeypatch.chdir(tmp_path)
    config = write_tiny(tmp_path)
    with pytest.raises(ConfigurationError, match=problem):
        call(config)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.npz", "tiny.toml"]


def test_a_folder_that_is_not_a_run_is_not_opened(tmp_path):
    with pytest.raises(ArtifactError, match=r"must be a run folder with run\.json, got none"):
        regnas.open_run(tmp_path)


@pytest.mark.parametrize(
    "request_",
    [
        lambda run: regnas.run(run, resume=True, add_budgets=["tablet=155k +- 8 %"], until="search"),
        lambda run: regnas.polish(run, set={"epochs": 1}, alpha=0.5),
    ],
)
def test_a_request_that_is_refused_after_the_data_are_loaded_is_not_remembered(run_copy, request_):
    reconfigure(run_copy, lambda table: table["search"].update(old_predictions="missing.npz"))
    with pytest.raises(ArtifactError, match=r"search\.old_predictions"):
        request_(run_copy)
    facts = json.loads((run_copy / "run.json").read_text())
    assert not facts["added_budgets"]
    assert facts["polish"] is None


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        (lambda run: regnas.run(run, resume=True, add_budgets=["x"]), 'a budget must be .*, got "x"'),
        (lambda run: regnas.run(run, resume=True, add_budgets=["small=150k"]), "the name must be new"),
        (lambda run: regnas.polish(run, alpha=2.0), "alpha must be between 0"),
        (lambda run: regnas.polish(run, set={"polish.epochs": 0}), "epochs must be at least 1"),
    ],
)
def test_options_are_checked_before_the_data_are_loaded(run_copy, request_, problem):
    reconfigure(run_copy, lambda table: table["data"].update(path="missing.npz"))
    with pytest.raises((ArtifactError, DataError)):
        regnas.run(run_copy, resume=True)  # the data are missing, indeed
    with pytest.raises(ConfigurationError, match=problem):
        request_(run_copy)


@pytest.mark.parametrize("named", ["folder", "configuration and out", "configuration in its working folder"])
@pytest.mark.parametrize("reported", [True, False])
def test_an_existing_report_is_rewritten_for_every_way_to_name_the_run(
    finished_run, tmp_path, monkeypatch, named, reported
):
    """Only which stage a request goes to; the tests of the commands check that the report is new."""
    run = shutil.copytree(finished_run, tmp_path / "runs" / "tiny", ignore=shutil.ignore_patterns("trainings"))
    if not reported:
        shutil.rmtree(run / "report")
    config = finished_run.parent / "tiny.toml"
    monkeypatch.chdir(tmp_path)
    went_to = []
    monkeypatch.setattr("regnas.runs.pipeline.run_stages", lambda *given: went_to.append(given[2]))
    source, out = {
        "folder": (run, None),
        "configuration and out": (config, run),
        "configuration in its working folder": (config, None),
    }[named]
    regnas.polish(source, out=out, set={"epochs": 1})
    regnas.run(source, out=out, resume=True, add_budgets=["155k"], until="search")
    regnas.run(source, out=out, resume=True, until="search")
    assert went_to == (["report", "report", "search"] if reported else ["export", "export", "search"])
