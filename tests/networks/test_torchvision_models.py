"""Models of torchvision; its published weights are stood in for by files made here, under the names it downloads."""

from __future__ import annotations

import email.message
import io
import pickle
import re
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path
from urllib.error import URLError
from urllib.response import addinfourl

import pytest
import torch
from pydantic import TypeAdapter
from torchvision import models

from regnas.errors import ArtifactError, EnvironmentProblem
from regnas.networks import TorchvisionModel

RESNET18 = "resnet18-f37072fd.pth"
SQUEEZENET = "squeezenet1_1-b8a52dc0.pth"


@pytest.fixture
def checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for downloaded files, with a network that always fails."""

    def unreachable(*_: object) -> None:
        raise URLError("no route to host")

    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr("torch.hub.urlopen", unreachable)
    folder = tmp_path / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    return folder


def states_equal(one: dict[str, torch.Tensor], two: dict[str, torch.Tensor], but: str = "-") -> bool:
    assert one.keys() == two.keys()
    return all(torch.equal(one[name], two[name]) for name in one if not name.startswith(but))


def test_a_random_start_is_torchvisions_own():
    torch.manual_seed(0)
    network = TorchvisionModel("resnet18").build((3, 32, 32), 10)
    after = torch.get_rng_state()
    torch.manual_seed(0)
    reference = models.resnet18(num_classes=10)
    assert torch.equal(torch.get_rng_state(), after)
    assert network.training
    assert states_equal(network.state_dict(), reference.state_dict())
    assert network(torch.zeros(2, 3, 32, 32)).shape == (2, 10)


def test_every_model_and_its_weights_are_accepted():
    names = models.list_models(module=models)
    assert len(names) >= 80
    for name in names:
        assert TorchvisionModel(name).model == name
        assert TorchvisionModel(name, "DEFAULT").weights == "DEFAULT"


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(ValueError, match='no classification model "resnet_18"; did you mean "resnet18"'):
        TorchvisionModel("resnet_18")
    with pytest.raises(ValueError, match="list_models"):
        TorchvisionModel("zzz")
    with pytest.raises(ValueError, match="fcn_resnet50"):  # segmentation
        TorchvisionModel("fcn_resnet50")
    with pytest.raises(ValueError, match=r"IMAGENET1K_V2.*\(known: DEFAULT, IMAGENET1K_V1\)"):
        TorchvisionModel("resnet18", "IMAGENET1K_V2")
    with pytest.raises(ValueError, match=r"\(known: DEFAULT, IMAGENET1K_V1\)"):  # has no classifier
        TorchvisionModel("vgg16", "IMAGENET1K_FEATURES")


def test_fields_come_from_a_configuration():
    adapter = TypeAdapter(TorchvisionModel)
    assert adapter.validate_json('{"model": "resnet18"}', strict=True) == TorchvisionModel("resnet18", "")


@pytest.mark.parametrize(
    ("model", "weights", "shape", "complaint"),
    [
        ("resnet18", "", (1, 32, 32), "needs images of 3 channels, got 1"),
        ("alexnet", "", (3, 32, 32), "alexnet cannot use images of 32 x 32 "),
        ("vit_b_32", "", (3, 64, 32), "square images, got 64 x 32"),
        ("vit_b_32", "", (3, 40, 40), "vit_b_32 cannot use images of 40 x 40 "),
        ("vit_b_16", "IMAGENET1K_SWAG_E2E_V1", (3, 224, 224), "need images of 384 x 384, got 224 x 224"),
    ],
)
def test_images_that_do_not_fit_are_refused(checkpoints, model, weights, shape, complaint):
    with pytest.raises(ValueError, match=complaint) as caught:
        TorchvisionModel(model, weights).build(shape, 10)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("model", "side"), [("googlenet", 32), ("inception_v3", 75)])
def test_models_with_auxiliary_heads_give_a_tensor_in_training(model, side):
    network = TorchvisionModel(model).build((3, side, side), 5).train()
    logits = network(torch.randn(2, 3, side, side))
    assert isinstance(logits, torch.Tensor) and logits.shape == (2, 5)
    assert not any(name.startswith(("aux", "Aux")) for name in network.state_dict())
    assert not network.transform_input


def test_published_weights_are_loaded_but_for_another_number_of_classes(checkpoints):
    published = models.resnet18(num_classes=1000).state_dict()
    torch.save(published, checkpoints / RESNET18)
    same = TorchvisionModel("resnet18", "DEFAULT").build((3, 32, 32), 1000)
    assert states_equal(same.state_dict(), published)
    torch.manual_seed(1)
    other = TorchvisionModel("resnet18", "IMAGENET1K_V1").build((3, 32, 32), 10)
    torch.manual_seed(1)
    fresh = models.resnet18(num_classes=10)
    assert other.fc.weight.shape == (10, 512)
    assert torch.equal(other.fc.weight, fresh.fc.weight) and torch.equal(other.fc.bias, fresh.fc.bias)
    assert {name for name, value in other.state_dict().items() if value.shape != published[name].shape} == {
        "fc.weight",
        "fc.bias",
    }
    assert states_equal(other.state_dict(), published, but="fc.")


def test_a_classifier_that_is_a_convolution_starts_afresh_too(checkpoints):
    published = models.squeezenet1_1().state_dict()
    torch.save(published, checkpoints / SQUEEZENET)
    network = TorchvisionModel("squeezenet1_1", "DEFAULT").build((3, 32, 32), 10)
    assert network.classifier[1].weight.shape == (10, 512, 1, 1)
    assert states_equal(network.state_dict(), published, but="classifier.1.")


def test_googlenet_with_weights_is_torchvisions_without_auxiliary_heads(checkpoints):
    torch.save(models.googlenet(init_weights=False).state_dict(), checkpoints / "googlenet-1378be20.pth")
    network = TorchvisionModel("googlenet", "DEFAULT").build((3, 32, 32), 1000)
    reference = models.googlenet(weights="DEFAULT")
    images = torch.randn(2, 3, 32, 32)
    assert states_equal(network.state_dict(), reference.state_dict())
    assert torch.equal(network.eval()(images), reference.eval()(images))
    assert network.train()(images).shape == (2, 1000)


def test_densenet_is_read_from_a_file_with_the_names_of_its_time(checkpoints):
    state = models.densenet121().state_dict()
    old = OrderedDict(
        (re.sub(r"(denselayer\d+\.(?:norm|conv))([12])\.", r"\1.\2.", name), value)
        for name, value in state.items()
        if not name.endswith("num_batches_tracked")
    )
    assert "features.denseblock1.denselayer1.norm.1.weight" in old
    torch.save(old, checkpoints / "densenet121-a639ec97.pth")
    network = TorchvisionModel("densenet121", "DEFAULT").build((3, 32, 32), 1000)
    reference = models.densenet121(weights="DEFAULT")
    assert states_equal(network.state_dict(), reference.state_dict())
    assert states_equal(network.state_dict(), state)


def test_without_a_network_the_error_says_where_to_put_which_file(checkpoints, capfd):
    with pytest.raises(EnvironmentProblem) as caught:
        TorchvisionModel("resnet18", "DEFAULT").build((3, 32, 32), 10)
    message = str(caught.value)
    assert "\n" not in message
    assert RESNET18 in message and "no route to host" in message
    assert f"Download https://download.pytorch.org/models/{RESNET18} and put it into {checkpoints}" in message
    assert list(checkpoints.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def serve(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(
        "torch.hub.urlopen", lambda request: addinfourl(io.BytesIO(content), email.message.Message(), request.full_url)
    )


def test_a_download_whose_hash_is_not_that_of_its_name_is_not_kept(checkpoints, monkeypatch):
    serve(monkeypatch, b"a page that asks for a password")
    with pytest.raises(EnvironmentProblem, match=f"cannot get the weights {SQUEEZENET} .*invalid hash"):
        TorchvisionModel("squeezenet1_1", "DEFAULT").build((3, 32, 32), 10)
    assert list(checkpoints.iterdir()) == []


def test_a_download_is_loaded_and_kept(checkpoints, monkeypatch):
    published = models.squeezenet1_1().state_dict()
    file = io.BytesIO()
    torch.save(published, file)
    serve(monkeypatch, file.getvalue())
    monkeypatch.setattr("torch.hub.HASH_REGEX", re.compile("(?!)"))  # these weights are not those of the name
    network = TorchvisionModel("squeezenet1_1", "DEFAULT").build((3, 32, 32), 1000)
    assert states_equal(network.state_dict(), published)
    assert (checkpoints / SQUEEZENET).read_bytes() == file.getvalue()


def test_a_folder_that_cannot_be_made_is_a_problem_of_the_environment(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "file"))
    with pytest.raises(EnvironmentProblem, match=RESNET18):
        TorchvisionModel("resnet18", "DEFAULT").build((3, 32, 32), 10)


@pytest.mark.parametrize("length", [0, 1, 1000, -1000])
def test_a_damaged_file_is_named(checkpoints, length):
    file = checkpoints / SQUEEZENET
    torch.save(models.squeezenet1_1().state_dict(), file)
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(ArtifactError, match=f"{file} is damaged") as caught:
        TorchvisionModel("squeezenet1_1", "DEFAULT").build((3, 32, 32), 10)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [[1, 2], {"state": {"a": torch.zeros(1)}}, {1: torch.zeros(1)}, torch.zeros(2)])
def test_a_file_of_something_else_is_refused(checkpoints, content):
    torch.save(content, checkpoints / SQUEEZENET)
    with pytest.raises(ArtifactError, match=f"{SQUEEZENET} is not a state dict"):
        TorchvisionModel("squeezenet1_1", "DEFAULT").build((3, 32, 32), 10)


def changed(name: str, value: torch.Tensor | None) -> dict[str, torch.Tensor]:
    state = models.squeezenet1_1().state_dict()
    if value is None:
        del state[name]
    else:
        state[name] = value
    return state


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("classifier.1.bias", None),
        ("classifier.1.weight", torch.zeros(1000, 511, 1, 1)),  # more than the classes differs
        ("features.0.bias", torch.zeros(65)),
        ("aux1.bias", torch.zeros(1)),
    ],
)
def test_a_state_dict_of_another_model_is_refused(checkpoints, name, value):
    torch.save(changed(name, value), checkpoints / SQUEEZENET)
    with pytest.raises(ArtifactError, match=f"{SQUEEZENET} does not belong to squeezenet1_1 .*{name}") as caught:
        TorchvisionModel("squeezenet1_1", "DEFAULT").build((3, 32, 32), 10)
    assert "\n" not in str(caught.value)


class Malice:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.mark,)


@pytest.mark.parametrize("write", [torch.save, lambda content, file: file.write_bytes(pickle.dumps(content))])
def test_a_pickle_that_runs_code_is_refused(checkpoints, tmp_path, write):
    mark = tmp_path / "was here"
    write({"features.0.weight": Malice(mark)}, checkpoints / SQUEEZENET)
    with pytest.raises(ArtifactError, match=f"{SQUEEZENET} is damaged or holds more than weights"):
        TorchvisionModel("squeezenet1_1", "DEFAULT").build((3, 32, 32), 10)
    assert not mark.exists()
    with (checkpoints / SQUEEZENET).open("rb") as file:  # the pickle is armed
        torch.load(file, weights_only=False) if write is torch.save else pickle.load(file)
    assert mark.exists()


@pytest.mark.slow
def test_the_package_is_imported_without_torchvision():
    check = "import sys, regnas.networks; sys.exit('torchvision' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
