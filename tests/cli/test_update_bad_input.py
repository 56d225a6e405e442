"""Each mistake in an update ends with helpful messages and the documented exit code, and no result is lost."""

from __future__ import annotations

import shutil

import pytest

from tests.cli.update_runs import change, nothing_was_trained, tree

NETWORK = '{ name = "small_resnet", widths = [4, 8] }'
NEW = f"[models.new]\nnetwork = {NETWORK}"
METHODS = (
    "[methods.none]\n[methods.focal_distillation_lm]\n[methods.ensemble]\nmembers = 2\n[methods.elodi]\nmembers = 2\n"
    "[methods.bcwi]\n"
)


# The configuration


@pytest.mark.parametrize(
    ("replacement", "problem"),
    [
        (("[methods.elodi]", "[methods.elody]"), 'methods.elody: unknown method "elody"; did you mean "elodi"?'),
        (("members = 2", "memberz = 2"), 'methods.ensemble.memberz is not a known key; did you mean "members"?'),
        (("members = 2", "members = 1"), "methods.ensemble: members must be at least 2, got 1"),
        (("members = 2", 'members = "two"'), 'methods.ensemble.members = "two": input should be a valid integer'),
        (("[methods.bcwi]", "[methods.bcwi]\nalpha = 1.5"), "methods.bcwi: alpha must be between 0 and 1, got 1.5"),
        (("[methods.none]", '[methods."no/ne"]\nname = "none"'), 'only letters, digits, - and _, got "no/ne"'),
        (("epochs = 2", 'epochs = "two"'), 'training.epochs = "two": input should be a valid integer'),
        (("samples = 0.5", 'samples = "half"'), 'models.old.samples = "half": input should be a valid number'),
        (("samples = 0.5", "samples = 0"), "models.old: samples must be above 0 and at most 1, got 0.0"),
        (("samples = 0.5", 'start = "newest"'), "models.old.start = \"newest\": input should be 'fresh' or 'previous'"),
        (("samples = 0.5", 'start = "previous"'), 'models.old.start must be "fresh" for the oldest model'),
        (("samples = 0.5", 'checkpoint = "a.pt"\ntrained = false'), "models.old: checkpoint and trained = false excl"),
        ((NEW, f'{NEW}\ncheckpoint = "a.pt"'), "models.new is the newest model and must be trained"),
        ((NEW, f"{NEW}\nsamples = 0.4"), "models.new.samples must be at least that of models.old, 0.5, got 0.4"),
        ((NEW, f"{NEW}\nclases = 0.4"), 'models.new.clases is not a known key; did you mean "classes"?'),
        ((NEW, ""), "models must name at least two models, the old and the new one, got 1"),
        ((METHODS, ""), "methods is missing"),
        ((METHODS, "[methods]\n"), "methods must name at least one method, got none. Write [methods.none]."),
        (("seeds = [0, 1]", "seeds = [0, 1, 0]"), "seeds must be one or more different numbers, got [0, 1, 0]"),
        (("seeds = [0, 1]", "seeds = []"), "seeds must be one or more different numbers, got []"),
        (("seeds = [0, 1]", "seeds = 0"), "seeds = 0: input should be a valid array"),
        (("seeds", 'references = ["chain", "star"]\nseeds'), "references[1] = \"star\": input should be 'chain', "),
        (('name = "small_resnet"', 'name = "small_resnt"'), 'unknown network "small_resnt"; did you mean "small_re'),
        (
            (NETWORK, "{ widths = [4, 8] }"),
            "models.old.network.name is missing (known: small_resnet, timm, torchvision)",
        ),
        ((NETWORK, '"small_resnet"'), 'models.old.network must be a table such as { name = "small_resnet" }'),
        ((NETWORK, '{ name = "torchvision", model = "resnet19" }'), 'no classification model "resnet19"; did you mean'),
        (("widths = [4, 8]", "widths = [8, 4]"), "models.old.network: widths must not shrink from stage to stage"),
        (("cache =", "cash ="), 'cash is not a known key; did you mean "cache"?'),
    ],
)
def test_bad_values_exit_with_2_before_anything_is_written(refusal, config, tmp_path, replacement, problem):
    change(config, replacement)
    code, lines = refusal("update", config, "--out", tmp_path / "run")
    assert code == 2
    assert len(lines) == 1
    assert problem in lines[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.npz", "tiny_update.toml"]
    assert refusal("validate", config) == (code, lines)


def test_fine_tuning_from_another_network_is_refused(refusal, config, tmp_path):
    change(config, (NEW, '[models.new]\nstart = "previous"\nnetwork = { name = "small_resnet", widths = [4, 12] }'))
    code, lines = refusal("update", config, "--out", tmp_path / "run")
    assert (code, len(lines)) == (2, 1)
    assert 'models.new.network must be that of models.old, because start is "previous"' in lines[0]
    assert not (tmp_path / "run").exists()


def test_several_problems_are_reported_at_once(refusal, config):
    change(config, ("methods.elodi", "methods.elody"), ("epochs = 2", "epocs = 2"), ("samples = 0.5", "samples = 2"))
    code, lines = refusal("validate", config)
    assert code == 2
    assert len(lines) == 3


@pytest.mark.parametrize(
    ("replacement", "problem"),
    [
        (
            (NEW, '[models.new]\nnetwork = { name = "small_resnet", widths = [4, 12] }'),
            "tiny_update: methods.bcwi works on the weights of the old model: models.new.network must be that of the "
            "model before it. Leave the method out, or keep the network.",
        ),
        (
            (NEW, '[models.new]\nnetwork = { name = "torchvision", model = "resnet18" }'),
            "models.new.network: resnet18 needs images of 3 channels, got 1",
        ),
        (
            (NEW, '[models.new]\nnetwork = { name = "small_resnet", widths = [4, 8], patch = 3 }'),
            "models.new.network: patch must divide height and width, got 3 for images of 8 x 8",
        ),
    ],
)
def test_invalid_networks_are_refused_before_any_training(refusal, config, tmp_path, replacement, problem):
    change(config, replacement)
    code, lines = refusal("update", config, "--out", tmp_path / "run")
    assert (code, lines) == (2, [f"regnas: {problem}"])
    assert nothing_was_trained(tmp_path)
    assert refusal("validate", config) == (code, lines)


# Sweeps


@pytest.mark.parametrize(
    "text",
    [
        "bcwi.alpha",
        "bcwi.alpha=",
        "bcwi.alpha=0.5",
        "bcwi.alpha=0:1",
        "bcwi.alpha=0:1:0.1:2",
        "bcwi.alpha=a:b:c",
        "bcwi.alpha=0:1:0",
        "bcwi.alpha=0:1:-0.5",
        "bcwi.alpha=1:0:0.5",
        "bcwi.alpha=0:inf:1",
        "bcwi.alpha=nan:1:0.5",
        "bcwi.alpha=0:1:nan",
        "bcwi.alpha=0:1:1e-12",
        "bcwi=0:1:0.5",
        ".alpha=0:1:0.5",
        "=0:1:0.5",
        "",
    ],
)
def test_a_bad_sweep_is_refused_before_anything_is_written(refusal, config, tmp_path, text):
    code, lines = refusal("update", config, "--out", tmp_path / "run", "--sweep", text)
    assert (code, len(lines)) == (2, 1)
    assert "--sweep must be method.key=start:stop:step, such as bcwi.alpha=0:1:0.1" in lines[0]
    assert f'got "{text}"' in lines[0]
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("bcwy.alpha=0:1:0.5", 'unknown method "bcwy"; did you mean "bcwi"?'),
        ("bcwi.alfa=0:1:0.5", "--sweep bcwi.alfa: bcwi has no alfa (known: alpha)"),
        ("bcwi.alpha=0:2:0.5", "--sweep bcwi.alpha: alpha must be between 0 and 1, got 1.5"),
        ("elodi.teacher=0:1:1", "--sweep elodi.teacher: teacher must be a number"),
        ("elodi.members=2:3:0.5", "--sweep elodi.members: start and step must be integers"),
        ("heterogeneous_ensemble.networks=0:1:1", "methods.heterogeneous_ensemble must be configured"),
    ],
)
def test_an_invalid_sweep_leaves_a_run_unchanged(refusal, finished_update, tmp_path, text, problem):
    shutil.copytree(finished_update, tmp_path / "run")
    before = tree(tmp_path)
    code, lines = refusal("update", tmp_path / "run", "--sweep", text)
    assert (code, len(lines)) == (2, 1)
    assert problem in lines[0]
    assert tree(tmp_path) == before


def test_a_sweep_that_cannot_be_planned_does_not_block_later_runs(refusal, config, tmp_path):
    """bcwi is not configured, and the networks differ."""
    larger = '[models.new]\nnetwork = { name = "small_resnet", widths = [4, 12] }'
    change(config, (NEW, larger), (METHODS, "[methods.none]\n"), ("seeds = [0, 1]", "seeds = [0]"))
    code, lines = refusal("update", config, "--out", tmp_path / "run", "--sweep", "bcwi.alpha=0:1:0.5")
    assert (code, len(lines)) == (2, 1)
    assert "bcwi works on the weights of the old model" in lines[0]
    assert nothing_was_trained(tmp_path)
    assert refusal("update", tmp_path / "run") == (0, [])
