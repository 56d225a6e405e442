"""The imported weights that a configuration names: found and of its supernet, or refused with what differs."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from regnas.errors import ArtifactError, ConfigurationError
from regnas.supernet.imports import find_weights, import_supernet
from supernets.elastic_resnet import ElasticResNet
from tests.supernet.imports.lake import SHAPE, Lake, trained

pytestmark = pytest.mark.usefixtures("lake")


@pytest.fixture
def imported(store, tmp_path):
    torch.save(trained(), tmp_path / "mine_w1.0.pth")
    return import_supernet(str(tmp_path / "mine_w1.0.pth"), store)[0]


def test_by_name_in_the_store_or_by_path(imported):
    assert find_weights("mine_w1.0", Lake(), SHAPE, 3) == imported
    assert find_weights(str(imported.path), Lake(), SHAPE, 3) == imported
    assert find_weights("~/.cache/regnas/supernets/mine_w1.0.safetensors", Lake(), SHAPE, 3) == imported


def test_what_is_not_there_is_to_be_imported_first(store, tmp_path):
    with pytest.raises(ConfigurationError) as error:
        find_weights("mine_w1.0", Lake(), SHAPE, 3)
    assert str(error.value) == (
        'weights: there is no imported supernet "mine_w1.0": run `regnas import-ofa mine_w1.0` first'
    )
    path = tmp_path / "bare.safetensors"
    path.write_bytes(b"")
    for missing in (path, tmp_path / "none.safetensors"):
        with pytest.raises(ConfigurationError, match=r"`regnas import-ofa` writes such a file, with its .json beside"):
            find_weights(str(missing), Lake(), SHAPE, 3)


def test_other_sizes_of_images_are_accepted(imported):
    wider = replace(Lake(), resolutions=(8, 12))
    assert find_weights("mine_w1.0", wider, (1, 12, 12), 3) == imported


@pytest.mark.parametrize(
    ("plugin", "shape", "classes", "problem"),
    [
        (ElasticResNet(), SHAPE, 3, "its supernet is lake, not elastic_resnet"),
        (replace(Lake(), depths=(1, 3)), SHAPE, 3, "its supernet.depths is [1, 2], not [1, 3]"),
        (Lake(), SHAPE, 10, "it has 3 classes, the data has 10"),
        (Lake(), (3, 8, 8), 3, "it needs images of 1 channels, the data has 3"),
        (
            replace(Lake(), stem_width=2),
            (3, 8, 8),
            4,
            "its supernet.stem_width is 4, not 2; it has 3 classes, the data has 4; "
            "it needs images of 1 channels, the data has 3",
        ),
    ],
)
def test_weights_of_another_supernet_or_for_other_data_are_refused(imported, plugin, shape, classes, problem):
    with pytest.raises(ConfigurationError) as error:
        find_weights("mine_w1.0", plugin, shape, classes)
    assert str(error.value) == f"weights: mine_w1.0 does not belong to this configuration: {problem}"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"format": 2}, "must have format 1, got 2"),
        ({"input_shape": [8, 8]}, "is damaged (not enough values to unpack"),
        ({"classes": None}, "is damaged (int() argument must be"),
        ({"supernet": {"name": "lak"}}, 'unknown supernet "lak"; did you mean "lake"?'),
    ],
)
def test_a_record_that_is_not_ours_is_refused(imported, change, problem):
    record = imported.path.with_suffix(".json")
    record.write_text(json.dumps(json.loads(record.read_text()) | change))
    with pytest.raises(ArtifactError) as error:
        find_weights("mine_w1.0", Lake(), SHAPE, 3)
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", ["", "[]", "{}"])
def test_a_damaged_record_is_named(imported, content):
    imported.path.with_suffix(".json").write_text(content)
    with pytest.raises(ArtifactError, match=r"mine_w1.0\.json"):
        find_weights("mine_w1.0", Lake(), SHAPE, 3)
