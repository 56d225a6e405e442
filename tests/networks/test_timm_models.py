"""Models of timm; the hub with its published weights is replaced by state dicts that are made here."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms.functional import pil_to_tensor

from regnas.data import Preprocessing
from regnas.data.image_transforms import Center
from regnas.errors import EnvironmentProblem, MissingPackage
from regnas.networks import TimmModel

SMALL = "mobilenetv3_small_050"


@pytest.fixture(scope="module")
def timm():
    return pytest.importorskip("timm")


@pytest.fixture
def hub(timm, monkeypatch):
    """Weights under the names of the hub; any other name is unreachable."""
    files = {}

    def load(name, *_, **__):
        if name not in files:
            raise OSError(f"cannot reach {name}")
        return dict(files[name])

    monkeypatch.setattr("timm.models._builder.load_state_dict_from_hf", load)
    return files


def test_a_random_start_is_timms_own(timm):
    torch.manual_seed(0)
    network = TimmModel(SMALL).build((3, 32, 32), 10)
    torch.manual_seed(0)
    reference = timm.create_model(SMALL, num_classes=10).state_dict()
    found = network.state_dict()
    assert found.keys() == reference.keys()
    assert all(torch.equal(found[name], reference[name]) for name in found)
    assert network.training
    assert network(torch.zeros(2, 3, 32, 32)).shape == (2, 10)


def test_images_of_one_channel_and_fixed_sizes_are_possible_without_weights(timm):
    assert TimmModel(SMALL).build((1, 32, 32), 4)(torch.zeros(2, 1, 32, 32)).shape == (2, 4)
    assert TimmModel("vit_tiny_patch16_224").build((3, 64, 64), 4)(torch.zeros(2, 3, 64, 64)).shape == (2, 4)


def test_published_weights_are_taken_and_another_number_of_classes_replaces_the_classifier_alone(timm, hub):
    published = timm.create_model(SMALL).state_dict()
    hub[f"timm/{SMALL}.lamb_in1k"] = published
    same = TimmModel(SMALL, "DEFAULT").build((3, 32, 32), 1000).state_dict()
    assert all(torch.equal(same[name], published[name]) for name in published)
    torch.manual_seed(5)
    other = TimmModel(f"{SMALL}.lamb_in1k", "DEFAULT").build((3, 32, 32), 7).state_dict()
    assert {name for name in other if not torch.equal(other[name], published[name])} == {
        "classifier.weight",
        "classifier.bias",
    }
    assert other["classifier.weight"].shape == (7, published["classifier.weight"].shape[1])


def test_weights_that_cannot_be_had_are_a_problem_of_the_environment(hub):
    with pytest.raises(EnvironmentProblem, match=rf"cannot get the weights of {SMALL} \(cannot reach timm/"):
        TimmModel(SMALL, "DEFAULT").build((3, 32, 32), 10)


def test_unknown_names_are_refused_with_the_nearest(timm):
    with pytest.raises(ValueError, match='no model "resnet_18"; did you mean "resnet18"'):
        TimmModel("resnet_18")
    with pytest.raises(ValueError, match="list_models"):
        TimmModel("zzz")
    with pytest.raises(ValueError, match=r'no weights "lamb_in1"; did you mean "lamb_in1k"\? \(known: lamb_in1k\)'):
        TimmModel(f"{SMALL}.lamb_in1")
    with pytest.raises(ValueError, match=r'must be empty or "DEFAULT", got "a1_in1k"\. .*: "resnet18\.a1_in1k"'):
        TimmModel("resnet18", "a1_in1k")


@pytest.mark.parametrize(
    ("model", "shape", "problem"),
    [
        (("vit_tiny_patch16_224",), (3, 8, 8), "cannot use images of 8 x 8"),
        ((SMALL, "DEFAULT"), (1, 64, 64), "need images of 3 channels, got 1"),
    ],
)
def test_images_that_do_not_fit_are_refused(timm, model, shape, problem):
    with pytest.raises(ValueError, match=problem):
        TimmModel(*model).build(shape, 10)


@pytest.mark.parametrize(
    "name",
    [
        "efficientnet_lite0.ra_in1k",
        "resnet18.a1_in1k",  # crops 95 %
        "tf_efficientnet_lite0.in1k",  # another mean and standard deviation
        "eva02_tiny_patch14_336.mim_in22k_ft_in1k",  # squashes
        "mobilenetv2_035.untrained",
    ],
)
@pytest.mark.parametrize("size", [(500, 375), (333, 480), (300, 300)])
def test_images_are_read_as_timm_reads_them(timm, name, size):
    if name.endswith("untrained"):
        name = name.partition(".")[0]
    evaluation = TimmModel(name).evaluation()
    random = np.random.default_rng(0)
    picture = Image.fromarray(random.integers(0, 256, (size[1] // 5, size[0] // 5, 3), np.uint8)).resize(size)
    chosen = timm.data.resolve_data_config({}, pretrained_cfg=timm.get_pretrained_cfg(name).to_dict())
    reference = timm.data.create_transform(**chosen)(picture)
    cropped = Center(evaluation.shorter, evaluation.interpolation, evaluation.squash)(picture, evaluation.size)
    found = Preprocessing(evaluation.mean, evaluation.std)(pil_to_tensor(cropped).unsqueeze(0))[0]
    assert found.shape == reference.shape
    torch.testing.assert_close(found, reference, rtol=0, atol=1e-5)


def test_the_classes_of_imagenet_have_their_names(timm):
    evaluation = TimmModel("resnet18").evaluation()
    assert (len(evaluation.categories), evaluation.categories[0]) == (1000, "tench")


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(MissingPackage, match=r"the network timm needs timm, .* pip install 'regnas\[timm\]'"):
        TimmModel("resnet18")
