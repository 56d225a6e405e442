"""Models under every name that `predict` accepts, and names that are refused."""

from __future__ import annotations

import builtins
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from torchvision import models

from regnas.data.image_transforms import Center, transformed
from regnas.errors import ArtifactError, ConfigurationError, EnvironmentProblem
from regnas.prediction.models import load_classifier
from tests.prediction.onnx_models import metadata

SQUEEZENET = "squeezenet1_1-b8a52dc0.pth"


def test_a_member_is_named_by_run_by_family_or_by_file(finished_run):
    sources = (f"{finished_run}:small", f"{finished_run}/family:small", f"{finished_run}/family/small.safetensors")
    members = [load_classifier(str(source)) for source in sources]
    image = torch.randn(1, 1, 8, 8)
    logits = [member.network(image) for member in members]
    assert all(torch.equal(each, logits[0]) for each in logits)
    assert {(member.name, member.classes) for member in members} == {("small", ("stripe", "<b>dot</b>", "ring"))}
    assert members[0].reading.shape == (1, 8, 8)


def test_a_folder_that_happens_to_be_called_like_a_network_is_not_taken_for_a_family(
    checkpoints, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "squeezenet1_1").mkdir()
    with pytest.raises(EnvironmentProblem, match="cannot get the weights squeezenet"):
        load_classifier("squeezenet1_1")


def test_an_unknown_member_is_refused_with_the_known_members(finished_run, tmp_path):
    with pytest.raises(ConfigurationError, match=r'no member "smal"; did you mean "small"\? \(members: small, medium'):
        load_classifier(f"{finished_run}:smal")
    with pytest.raises(ConfigurationError, match=rf"must be named, one of {finished_run}:small, "):
        load_classifier(str(finished_run))
    with pytest.raises(ArtifactError, match=r"must have manifest\.json or .*; it has none"):
        load_classifier(f"{tmp_path}:small")
    shutil.copytree(finished_run / "family", tmp_path / "family")
    shutil.copy(tmp_path / "family" / "small.safetensors", tmp_path / "family" / "tiny.safetensors")
    with pytest.raises(ArtifactError, match=r"tiny\.safetensors must be listed in the manifest .* lists small"):
        load_classifier(str(tmp_path / "family" / "tiny.safetensors"))


def test_a_damaged_family_is_found_before_it_predicts(finished_run, tmp_path):
    shutil.copytree(finished_run / "family", tmp_path / "family")
    weights = tmp_path / "family" / "small.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(ArtifactError, match=r"small\.safetensors is damaged: its sha256"):
        load_classifier(f"{tmp_path}:small")


def test_an_exported_file_says_itself_what_it_is(brightness_onnx):
    classifier = load_classifier(str(brightness_onnx))
    assert (classifier.name, classifier.classes) == ("brightness", ("light", "gray", "dark"))
    assert (classifier.reading.shape, classifier.reading.transform) == ((3, 8, 8), "fit")
    bright = classifier.preprocessing(torch.full((5, 3, 8, 8), 255, dtype=torch.uint8))
    assert torch.allclose(classifier.network(bright), torch.tensor([2.0, 0.1, -2.0]).expand(5, 3))


def changed(source, path, **entries):
    """A copy with other metadata; None leaves an entry out."""
    model = onnx.load(source)
    found = {entry.key: entry.value for entry in model.metadata_props} | entries
    del model.metadata_props[:]
    onnx.helper.set_model_props(model, {key: value for key, value in found.items() if value is not None})
    onnx.save(model, path)
    return str(path)


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ({"regnas.classes": None, "regnas.model": None}, r"lacks regnas\.model, regnas\.classes in its metadata"),
        ({"regnas.classes": "[1, 2"}, r"regnas\.classes in its metadata is not JSON"),
        ({"regnas.classes": "[" * 100_000}, r"regnas\.classes in its metadata is not JSON"),
        ({"regnas.classes": "[1, 2, 3]"}, r"regnas\.classes in its metadata must be a list of names"),
        ({"regnas.classes": '["a", "a", "b"]'}, "has a name twice"),
        ({"regnas.classes": '["a", "b"]'}, r"must give logits of 2 classes, as its metadata say, got .*"),
        ({"regnas.input_shape": "[3, 8]"}, r"regnas\.input_shape in its metadata must be \[C, H, W\], got \[3, 8\]"),
        ({"regnas.input_shape": "[3, 8, -8]"}, r"must be \[C, H, W\]"),
        (
            {"regnas.input_shape": "[3, 16, 16]"},
            r"must take images \[batch, 3, 16, 16\], as its metadata say, got \['batch', 3, 8, 8\]",
        ),
        ({"regnas.preprocessing": '{"mean": [0.5], "std": [0.5]}'}, "must be for 3 channels, got 1"),
        ({"regnas.preprocessing": '{"mean": [0.5]}'}, "the preprocessing .* cannot be used"),
        ({"regnas.preprocessing": "[]"}, "the preprocessing .* cannot be used"),
    ],
)
def test_metadata_that_are_missing_or_wrong_are_named(brightness_onnx, tmp_path, entries, problem):
    with pytest.raises(ArtifactError, match=problem) as caught:
        load_classifier(changed(brightness_onnx, tmp_path / "m.onnx", **entries))
    assert "\n" not in str(caught.value)


def test_a_foreign_file_is_refused_with_all_that_it_lacks(brightness_onnx, tmp_path):
    nothing = dict.fromkeys(metadata([], [3, 8, 8]))
    with pytest.raises(
        ArtifactError, match=r"lacks regnas\.model, regnas\.preprocessing, regnas\.classes, regnas\.input_shape in"
    ):
        load_classifier(changed(brightness_onnx, tmp_path / "m.onnx", **nothing))


@pytest.mark.parametrize("content", [b"", b"\x00damaged" * 50, None])
def test_a_file_that_is_not_onnx_is_refused(brightness_onnx, tmp_path, content, capfd):
    path = tmp_path / "m.onnx"
    path.write_bytes(brightness_onnx.read_bytes()[:-40] if content is None else content)
    with pytest.raises(ArtifactError, match=r"m\.onnx is damaged or not an ONNX file|m\.onnx lacks"):
        load_classifier(str(path))
    assert capfd.readouterr().err == ""
    with pytest.raises(ArtifactError, match="cannot be read: No such file"):
        load_classifier(str(tmp_path / "none.onnx"))


@pytest.mark.parametrize("hidden", [False, True])
def test_weights_in_other_files_are_not_followed(brightness_onnx, tmp_path, hidden):
    model = onnx.load(brightness_onnx)
    tensor = model.graph.node.add(op_type="Constant").attribute.add(name="value").t if hidden else None
    tensor = model.graph.initializer[0] if tensor is None else tensor
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../etc/passwd")
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    first = "a constant" if hidden else "linear.weight"
    with pytest.raises(ArtifactError, match=f"got some in other files, first {first}. Export it as one file"):
        load_classifier(str(tmp_path / "m.onnx"))


@pytest.mark.parametrize("missing", ["onnx", "onnxruntime"])
def test_without_the_packages_it_says_what_to_install(brightness_onnx, monkeypatch, missing):
    original = builtins.__import__

    def without(name, *rest):
        if name == missing:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(EnvironmentProblem, match=rf"needs {missing}. Run: pip install 'regnas\[onnx\]'"):
        load_classifier(str(brightness_onnx))


def test_a_network_of_torchvision_comes_with_its_weights_and_their_evaluation(checkpoints):
    torch.manual_seed(0)
    published = models.squeezenet1_1().state_dict()
    torch.save(published, checkpoints / SQUEEZENET)
    classifier = load_classifier("squeezenet1_1")
    reference = models.squeezenet1_1(weights="DEFAULT").eval()
    transforms = models.SqueezeNet1_1_Weights.DEFAULT.transforms()
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 256, (240, 300, 3), dtype=np.uint8))
    square = np.asarray(transformed(picture, classifier.reading.transform, 224))
    pixels = torch.from_numpy(square.transpose(2, 0, 1).copy())[None]
    images = classifier.preprocessing(pixels)
    assert torch.allclose(images, transforms(picture)[None], atol=1e-5)
    assert torch.allclose(classifier.network(images), reference(transforms(picture)[None]), atol=1e-4)
    assert classifier.classes == tuple(models.SqueezeNet1_1_Weights.DEFAULT.meta["categories"])
    assert not classifier.network.training


def test_every_published_evaluation_transform_can_be_read():
    from regnas.networks import TorchvisionModel

    picture = Image.fromarray(np.random.default_rng(1).integers(0, 256, (301, 270, 3), dtype=np.uint8))
    for name in ("vit_b_16", "inception_v3", "efficientnet_b4", "swin_t", "regnet_y_16gf", "maxvit_t"):
        for weights, entry in models.get_model_weights(name).__members__.items():
            evaluation = TorchvisionModel(name, weights).evaluation()
            transforms = entry.transforms()
            found = transformed(picture, Center(evaluation.shorter, evaluation.interpolation), evaluation.size)
            pixels = torch.from_numpy(np.asarray(found).transpose(2, 0, 1).copy()) / 255
            mean, std = (torch.tensor(values)[:, None, None] for values in (evaluation.mean, evaluation.std))
            assert torch.allclose((pixels - mean) / std, transforms(picture), atol=1e-5), (name, weights)


def test_without_a_network_one_line_says_which_file_goes_where(checkpoints):
    with pytest.raises(EnvironmentProblem, match=rf"cannot get the weights {SQUEEZENET} .* put it into {checkpoints}"):
        load_classifier("squeezenet1_1")


@pytest.mark.parametrize(
    ("source", "weights", "problem"),
    [
        ("resnet_18", None, 'no classification model "resnet_18"; did you mean "resnet18"?'),
        (
            "../etc/passwd",
            None,
            "A model must be FOLDER:MEMBER of a family, FOLDER:METHOD of an update",
        ),
        ("resnet18", "IMAGENET1K_V9", 'resnet18 has no weights "IMAGENET1K_V9"'),
        ("m.onnx", "DEFAULT", "weights must belong to a model of torchvision, got DEFAULT for m.onnx"),
        ("run:small", "DEFAULT", "weights must belong to a model of torchvision, got DEFAULT for run:small"),
    ],
)
def test_unknown_names_are_refused(source, weights, problem):
    with pytest.raises(ConfigurationError) as caught:
        load_classifier(source, weights)
    assert problem in str(caught.value)


@pytest.mark.parametrize("classes", [3, 1000])
def test_a_checkpoint_of_a_user_predicts_as_its_own_network(tmp_path, classes):
    torch.manual_seed(0)
    own = models.squeezenet1_1(num_classes=classes).eval()
    torch.save(
        {"state_dict": {f"module.{name}": value for name, value in own.state_dict().items()}}, tmp_path / "a.pth"
    )
    found = load_classifier("squeezenet1_1", checkpoint=tmp_path / "a.pth")
    image = torch.randn(1, 3, 224, 224)
    assert torch.equal(found.network(image), own(image))
    assert (found.name, found.by_number) == ("a", True)
    assert found.classes == ("0", "1", "2") if classes == 3 else found.classes[0] == "tench"
    assert found.reading.transform == Center(256, "bilinear")
    assert found.preprocessing.mean == (0.485, 0.456, 0.406)


def test_a_checkpoint_of_another_network_is_refused_with_the_first_tensor(tmp_path):
    state = models.squeezenet1_1(num_classes=3).state_dict()
    torch.save(state, tmp_path / "a.pth")
    with pytest.raises(ArtifactError, match=r"a\.pth belongs to another network: fc\.weight is missing"):
        load_classifier("resnet18", checkpoint=tmp_path / "a.pth")
    del state["features.0.weight"]
    torch.save(state, tmp_path / "a.pth")
    with pytest.raises(ArtifactError, match=r"features\.0\.weight is missing"):
        load_classifier("squeezenet1_1", checkpoint=tmp_path / "a.pth")
    torch.save(state | {"classifier.1.weight": torch.tensor(1.0)}, tmp_path / "a.pth")
    with pytest.raises(ArtifactError, match=r"must have classes, got classifier\.1\.weight of the shape \[\]"):
        load_classifier("squeezenet1_1", checkpoint=tmp_path / "a.pth")


def test_a_checkpoint_needs_a_network_by_name(tmp_path):
    with pytest.raises(ConfigurationError, match=r"checkpoint must belong to a model of torchvision or timm"):
        load_classifier("runs/digits:small", checkpoint=Path("a.pth"))


def test_a_checkpoint_of_timm_predicts_as_its_own_network(tmp_path):
    timm = pytest.importorskip("timm")
    own = timm.create_model("mobilenetv3_small_050", num_classes=5).eval()
    save_file(own.state_dict(), tmp_path / "mine.safetensors")
    found = load_classifier("timm/mobilenetv3_small_050", checkpoint=tmp_path / "mine.safetensors")
    image = torch.randn(1, 3, 224, 224)
    assert torch.equal(found.network(image), own(image))
    assert found.classes == ("0", "1", "2", "3", "4")
    assert found.reading.transform == Center(256, "bicubic")
    with pytest.raises(ConfigurationError, match=r'no model "mobilenet_v3"; did you mean'):
        load_classifier("timm/mobilenet_v3")
    with pytest.raises(ConfigurationError, match=r"Write timm/resnet18\.a1_in1k"):
        load_classifier("timm/resnet18", weights="a1_in1k")
