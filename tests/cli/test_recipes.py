"""A recipe is the same for supernets and networks that are trained alone, and must fit all of them."""

from __future__ import annotations

import pytest
from safetensors.torch import load_file

from benchmarks.tiny import write_tiny, write_tiny_update
from regnas.training.checkpoint import last_checkpoint

RECIPE = [
    'optimizer={ name = "muon", others = "adamw", others_factor = 0.1 }',
    "learning_rate=0.02",
    'weight_decay_on="weights"',
    "learning_rate_factors={ stem = 0.0 }",
    'schedule={ name = "cosine", warm_up = "20 %" }',
    'averaging={ name = "lookahead", every = 2, decay = 0.5, power = 0.0 }',
    'initialization=["identity_convolutions", "zero_residual_norms", "whitened_stem"]',
    'clip_norm="none"',
]


PUBLISHED = '{ name = "torchvision", model = "resnet18", weights = "DEFAULT" }'


def options(*changes):
    return [option for change in changes for option in ("--set", f"training.{change}")]


@pytest.mark.slow
def test_a_run_of_other_components_keeps_its_stem_whitened_in_the_supernet_and_in_every_member(tmp_path, command):
    run = tmp_path / "run"
    small = ["--set", "search.candidates=2", "--set", "baselines={ independent = {} }"]
    outcome = command("run", write_tiny(tmp_path), "--out", run, *options(*RECIPE, "epochs=1"), *small)
    assert outcome.code == 0, outcome.stderr
    stem = last_checkpoint(run / "supernet").part("model")["largest.stem.weight"]
    assert (stem[2:] == -stem[:2]).all()  # a learning rate of 0
    alone = [load_file(path) for path in (run / "trainings").glob("*/network.safetensors")]
    assert len(alone) == 3
    assert all((member["stem.weight"] == stem).all() for member in alone)
    assert any(member["stages.0.0.norm2.weight"].any() for member in alone)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            "learning_rate_factors={ clasifier = 0.1 }",
            'must name layers of the network, got "clasifier"; did you mean "cl',
        ),
        (
            "learning_rate_factors={ largest = 0.1 }",
            'must name layers of the network, got "largest"; did you mean "stages"? (known: stem, ',
        ),
        (
            'schedule={ name = "step", milestones = [2, 3] }',
            "must lie inside the training of 3 epochs, got 2, 3. Lower",
        ),
        ('optimizer="adamw"', "training: learning_rate must be below 0.1 for adamw, got 0.1. Set it"),
    ],
)
def test_recipes_that_do_not_fit_are_refused_before_training(tmp_path, refusal, change, message):
    config = write_tiny(tmp_path)
    code, (line,) = refusal("train", config, "--out", tmp_path / "run", *options(change))
    assert code == 2
    assert message in line
    assert not (tmp_path / "run" / "supernet").exists()
    assert refusal("validate", config, *options(change)) == (code, [line])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (['training.learning_rate_factors={ "stages.7" = 0.1 }'], 'must name layers of the network, got "stages.7"'),
        (
            ['training.initialization=["whitened_stem"]', "models.old.network.widths=[1, 8]"],
            "must find the stem of small",
        ),
        (
            ['training.initialization=["zero_residual_norms"]', "models.old.network=" + PUBLISHED],
            "training.initialization must be empty if models.old.network has published weights. Remove one of them.",
        ),
        (
            ['fine_tuning.initialization=["whitened_stem"]'],
            "fine_tuning.initialization must be empty, because fine-tuning",
        ),
    ],
)
def test_recipes_that_do_not_fit_the_networks_of_an_update_are_refused_before_training(
    tmp_path, refusal, changes, message
):
    sets = [option for change in changes for option in ("--set", change)]
    code, (line,) = refusal("update", write_tiny_update(tmp_path), "--out", tmp_path / "run", *sets)
    assert code == 2
    assert message in line
    assert not (tmp_path / "cache").exists()


def test_imported_weights_are_not_initialized_again(tmp_path, refusal):
    changes = [*options('initialization=["whitened_stem"]'), "--set", "weights=mine"]
    code, (line,) = refusal("validate", write_tiny(tmp_path), *changes)
    assert code == 2
    assert "training.initialization must be empty if weights names an imported supernet. Remove one." in line
