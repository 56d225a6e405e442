"""Each mistake ends with helpful messages and the documented exit code, and no result is lost."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from PIL import Image

from benchmarks.tiny import CONFIG, write_tiny
from regnas import cli
from regnas.cli import exit_code
from regnas.runtime.files import write_sealed_json


@pytest.fixture
def command(capsys):
    """The command in this process, which is faster: exit code and the lines on standard error."""

    def call(*arguments):
        code = exit_code(list(map(str, arguments)))
        captured = capsys.readouterr()
        return code, captured.err.splitlines()

    return call


@pytest.fixture
def config(tmp_path):
    return write_tiny(tmp_path)


def tree(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock"}


def test_misspelled_keys_and_wrong_types_are_reported_together_with_the_nearest_key(command, tmp_path):
    text = CONFIG.format(data="data.npz", workers=1)
    text = text.replace("epochs = 3", 'epocs = 3\nmomentum = "high"').replace("candidates = 8", "candidates = 8.5")
    text = text.replace('name = "evolution"', 'name = "evolutoin"').replace("[[4, 6, 8]", '[[4, "6", 8]')
    (tmp_path / "bad.toml").write_text(text)
    code, lines = command("run", tmp_path / "bad.toml", "--out", tmp_path / "run")
    assert code == 2
    assert lines == [
        'regnas: bad: supernet.widths[0][1] = "6": input should be a valid integer',
        'regnas: bad: training.epocs is not a known key; did you mean "epochs"?',
        'regnas: bad: training.momentum = "high": input should be a valid number',
        "regnas: bad: search.candidates = 8.5: input should be a valid integer",
        'regnas: bad: search.algorithm: unknown algorithm "evolutoin"; did you mean "evolution"? '
        "(known: evolution, nsga2, predictor_guided, random, tpe)",
    ]
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("medium = ", "medim = "), None),  # a budget may have any name
        (
            ('medium = "120k', 'medium = "80k'),
            "budgets.medium must differ from budgets.small, got 76 k to 84 k MACs for both",
        ),
        (('large = "200k', 'large = "90k'), "budgets.large (85.5 k to 94.5 k MACs) must be larger than budgets.medium"),
        (
            ('small = "80k +- 5 %"', 'small = "eighty"'),
            'budgets.small = "eighty": a budget must be "300M +- 2 %"',
        ),
        (('small = "80k +- 5 %"', "small = 80000"), "budgets.small = 80000: a budget must be a text such as"),
        (("seed = 3", "seed = 3\nseed = 4"), "must be TOML: Cannot overwrite a value"),
        (("epochs = 3", "epochs = 0"), "training: epochs must be at least 1"),
        (("depths = [1, 2]", "depths = [2, 1]"), "supernet: depths must be [min, max]"),
        (('name = "arrays"', 'name = "array"'), 'data: unknown data set "array"; did you mean "arrays"?'),
        (("[baselines.elodi]", "[baselines.elodo]"), 'unknown baseline "elodo"; did you mean "elodi"?'),
        (("members = 2", "memberz = 2"), 'baselines.elodi.memberz is not a known key; did you mean "members"?'),
        (('device = "cpu"', 'device = "gpu"'), "machine.device = \"gpu\": input should be 'auto', 'cpu',"),
    ],
)
def test_bad_values_exit_with_2_before_anything_is_written(command, config, tmp_path, change, problem):
    config.write_text(config.read_text().replace(*change))
    code, lines = command("validate", config)
    if problem is None:
        assert code == 0
    else:
        assert code == 2
        assert len(lines) == 1
        assert problem in lines[0]


def test_a_budget_out_of_reach_is_refused_before_training_with_the_range(command, config, tmp_path):
    config.write_text(config.read_text().replace("200k", "200M"))
    code, lines = command("run", config, "--out", tmp_path / "run")
    assert code == 4
    assert len(lines) == 1
    assert "budgets.large: no architecture takes 190 M to 210 M MACs; " in lines[0]
    assert "the attainable range is 18.5 k to 389 k MACs" in lines[0]
    assert not (tmp_path / "run" / "supernet").exists()


def test_validate_prints_the_attainable_range_and_trains_nothing(config, capsys, tmp_path):
    assert exit_code(["validate", str(config)]) == 0
    out = capsys.readouterr().out.splitlines()
    # by hand: stem 2,304 + blocks 9,216 + 6,912 + head 24, and 2,304 + 2 * (82,944 + 110,592) + 48
    assert out[0] == "attainable: 18.5 k to 389 k MACs (18,456 to 389,424)"
    assert out[1].startswith("budgets.small: 76 k to 84 k MACs, about ")
    assert out[-1] == "tiny is valid"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.npz", "tiny.toml"]


def test_an_unknown_configuration_lists_the_presets(command):
    code, lines = command("run", "digts")
    assert code == 2
    assert 'nor a preset of that name; did you mean "digits"? (presets: ' in lines[0]


@pytest.mark.parametrize(
    ("assignment", "problem"),
    [
        ("training.epochs", '--set must be KEY=VALUE, such as training.epochs=3, got "training.epochs"'),
        ("=3", '--set must be KEY=VALUE, such as training.epochs=3, got "=3"'),
        ("seed.x=3", '--set seed.x: "seed" must be a table, got the value 3'),
    ],
)
def test_a_bad_set_is_refused(command, config, assignment, problem):
    assert command("validate", config, "--set", assignment) == (2, [f"regnas: {problem}"])


def test_set_changes_a_key_or_is_checked_like_the_file(command, config):
    assert command("validate", config, "--set", "training.epochs=5", "--set", "data.name=arrays")[0] == 0
    code, lines = command("validate", config, "--set", "training.epochs=many")
    assert (code, lines) == (2, ['regnas: tiny: training.epochs = "many": input should be a valid integer'])


@pytest.fixture
def run_copy(finished_run, tmp_path):
    """A finished run and its configuration, to be misused."""
    shutil.copytree(finished_run.parent, tmp_path / "copy")
    return tmp_path / "copy" / "run", finished_run.parent / "tiny.toml"


def test_a_folder_in_use_is_left_alone_without_resume_or_overwrite(command, run_copy):
    run, config = run_copy
    before = tree(run)
    code, lines = command("run", config, "--out", run)
    assert code == 2
    assert lines == [
        f"regnas: {run} must be empty, got files. Continue its run with --resume, or start again with --overwrite."
    ]
    assert tree(run) == before


def test_resume_with_another_configuration_is_refused_with_the_difference(command, run_copy):
    run, config = run_copy
    before = tree(run)
    code, lines = command("run", config, "--out", run, "--resume", "--set", "search.candidates=9")
    assert code == 2
    assert "belongs to another configuration (search.candidates was 8, now 9)" in lines[0]
    assert tree(run) == before


def test_overwrite_never_deletes_what_is_not_a_run(command, config, tmp_path):
    precious = tmp_path / "home" / "thesis.txt"
    precious.parent.mkdir()
    precious.write_text("years of work")
    code, lines = command("run", config, "--out", precious.parent, "--overwrite")
    assert code == 2
    assert "has files but no run; --overwrite deletes only runs. Choose another --out." in lines[0]
    assert precious.read_text() == "years of work"


def test_other_threads_need_a_word_from_the_user(command, run_copy):
    run, _ = run_copy
    facts = json.loads((run / "run.json").read_text())
    facts["threads"] = 64
    write_sealed_json(run / "run.json", facts)
    code, lines = command("report", run)
    assert code == 2
    assert "(threads: 64 -> 1)" in lines[0]
    assert "--allow-inexact" in lines[0]


@pytest.mark.parametrize(
    ("damaged", "named"),
    [
        ("family/manifest.json", "manifest.json is damaged"),
        ("family/medium.safetensors", "medium.safetensors is damaged"),
        ("run.json", "run.json is damaged"),
        ("study.db", "cannot be opened"),
    ],
)
def test_a_damaged_file_is_named_and_nothing_is_overwritten(command, run_copy, damaged, named):
    run, _ = run_copy
    (run / damaged).write_bytes(b"\x00damaged" * 50)
    before = {path: content for path, content in tree(run).items() if path.name not in ("run.log", "run.json")}
    code, lines = command("report", run)
    assert code == 3
    assert len(lines) == 1
    assert named in lines[0]
    after = tree(run)
    assert all(after[path] == content for path, content in before.items())


def test_a_damaged_checkpoint_is_named_with_the_one_before_it(command, run_copy):
    run, _ = run_copy
    newest = run / "supernet" / "step-12.safetensors"
    content = bytearray(newest.read_bytes())
    content[1000] ^= 4
    newest.write_bytes(content)
    code, lines = command("report", run)
    assert code == 3
    assert "step-12.safetensors is damaged" in lines[0]
    assert "the one before it is" in lines[0]
    assert "step-8.safetensors" in lines[0]


def test_other_data_under_the_same_name_is_found(command, run_copy, tmp_path):
    run, _ = run_copy
    facts = json.loads((run / "run.json").read_text())
    facts["data"]["digest"] = "0" * 64
    write_sealed_json(run / "run.json", facts)
    code, lines = command("report", run)
    assert code == 3
    assert "the data set must be the one that" in lines[0]


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda root: shutil.rmtree(root / "train"), "must have a folder train/"),
        (lambda root: [path.unlink() for path in (root / "train" / "cat").iterdir()], "cat"),
        (lambda root: [shutil.rmtree(root / part / "dog") for part in ("train", "test")], "cat"),
        (lambda root: (root / "train" / "cat" / "1.png").write_bytes(b"no picture"), "1.png"),
    ],
)
def test_bad_image_folders_exit_with_3_before_training(command, config, tmp_path, spoil, problem):
    root = tmp_path / "images"
    random = np.random.default_rng(0)
    for part in ("train", "test"):
        for name in ("cat", "dog"):
            (root / part / name).mkdir(parents=True)
            for index in range(6):
                pixels = random.integers(0, 255, (8, 8, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(root / part / name / f"{index}.png")
    spoil(root)
    data = f'[data]\nname = "image_folder"\npath = "{root}"\nsize = 8\ncache = "{tmp_path / "cache"}"\n'
    text = config.read_text()
    config.write_text(text[: text.index("[data]")] + data + text[text.index("[supernet]") :])
    code, lines = command("run", config, "--out", tmp_path / "run")
    assert code == 3
    assert len(lines) == 1
    assert problem in lines[0]
    assert not (tmp_path / "run" / "supernet").exists()


def test_a_bug_is_reported_as_a_bug_in_one_line_and_with_debug_as_a_traceback(command, monkeypatch):
    def broken(arguments, **options):
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr(cli, "app", broken)
    code, lines = command("run", "digits")
    assert (code, lines) == (
        1,
        ["regnas: internal error: RuntimeError: first line. Run again with --debug, and report it."],
    )
    with pytest.raises(RuntimeError):
        exit_code(["run", "digits"], debug=True)


def test_usage_errors_exit_with_2(command):
    assert command("run")[0] == 2
    assert command("run", "digits", "--no-such-option")[0] == 2
    assert command("frobnicate")[0] == 2
