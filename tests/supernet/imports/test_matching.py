"""Which supernet a checkpoint belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from regnas.errors import ArtifactError, ConfigurationError
from regnas.supernet.imports.matching import fit, fit_with_any_classes, importable, published_supernets, recognize
from tests.supernet.imports.lake import deep, trained

PATH = Path("net.pth")


@pytest.fixture
def published(lake):
    return published_supernets()


def test_only_plug_ins_that_import_have_published_supernets(published):
    assert sorted(published) == ["lake_d12_alpha", "lake_d12_w1.0", "lake_d13_w1.0"]


def test_a_checkpoint_fits_its_own_supernet_under_the_supernets_names(published, lake):
    tensors = trained()
    fitted = fit(tensors, published["lake_d12_w1.0"])
    assert fitted.differences == ()
    assert set(fitted.tensors) == set(lake().supernet((1, 8, 8), 3).state_dict())
    assert torch.equal(fitted.tensors["largest.classifier.weight"], tensors["net.classifier.weight"])


def test_every_missing_foreign_misshapen_and_mistyped_tensor_is_a_difference(published):
    tensors = trained()
    del tensors["net.classifier.bias"]
    tensors["net.tail"] = torch.ones(1)
    tensors["net.stem.weight"] = torch.ones(4, 1, 5, 5)
    tensors["net.classifier.weight"] = tensors["net.classifier.weight"].to(torch.int8)
    shape = list(trained()["net.stem.weight"].shape)
    assert fit(tensors, published["lake_d12_w1.0"]).differences == (
        "largest.classifier.bias is missing",
        "largest.tail does not belong to this network",
        f"largest.stem.weight is [4, 1, 5, 5] instead of {shape}",
        "largest.classifier.weight holds torch.int8 instead of torch.float32",
    )


@pytest.mark.parametrize("classes", [2, 3, 4, 1000])
def test_the_number_of_classes_is_read_off_the_classifier(published, classes):
    found = fit_with_any_classes(trained(classes=classes), published["lake_d12_w1.0"])
    assert found.supernet.classes == classes
    assert found.differences == ()


@pytest.mark.parametrize(
    ("weight", "bias"),
    [((7, 5), ()), ((7, 16), (8,)), ((1, 16), (1,)), ((0, 16), (0,))],
    ids=["another shape", "not agreed", "one class", "no class"],
)
def test_a_classifier_that_makes_no_sense_says_nothing_about_the_classes(published, weight, bias):
    tensors = trained() | {"net.classifier.weight": torch.ones(weight), "net.classifier.bias": torch.ones(bias)}
    found = fit_with_any_classes(tensors, published["lake_d12_w1.0"])
    assert found.supernet.classes == 3
    assert found.differences == (
        f"largest.classifier.weight is {list(weight)} instead of [3, 16]",
        f"largest.classifier.bias is {list(bias)} instead of [3]",
    )


def test_the_matching_supernet_is_found_and_two_trainings_of_it_are_not_ambiguous(published):
    assert recognize(trained(), published.values(), PATH).supernet.name == "lake_d12_w1.0"
    found = recognize(trained(deep(), classes=5), published.values(), PATH).supernet
    assert (found.name, found.classes) == ("lake_d13_w1.0", 5)


def test_if_none_fits_the_nearest_is_named_with_three_differences(published):
    tensors = trained(deep())
    for name in list(tensors)[:5]:
        del tensors[name]
    with pytest.raises(ArtifactError) as error:
        recognize(tensors, published.values(), PATH)
    text = str(error.value)
    assert text.startswith("net.pth fits no supernet that regnas can import; the nearest is lake_d13_w1.0: largest.")
    assert text.count(" is missing") == 3
    assert text.endswith(" and 2 more")


def test_tensors_that_a_plug_in_cannot_read_are_not_a_bug(published, lake, monkeypatch):
    monkeypatch.setattr(
        lake, "rename_tensors", lambda self, tensors: {name: tensors[name].flatten(1) for name in tensors}
    )
    with pytest.raises(ArtifactError, match=r"is lake_d12_w1.0: its tensors cannot be renamed \(Dimension out"):
        recognize({"x.mix.bias": torch.ones(3)}, published.values(), PATH)


def test_if_several_fit_the_user_must_choose(published, lake, monkeypatch):
    twice = [published["lake_d12_w1.0"], published["lake_d13_w1.0"]]
    monkeypatch.setattr("regnas.supernet.imports.matching.differences", lambda wanted, found: [])
    with pytest.raises(
        ConfigurationError, match=r"fits each of lake_d12_w1.0, lake_d13_w1.0. Choose one with `supernet`"
    ):
        recognize(trained(), twice, PATH)


def test_a_supernet_is_named_by_what_is_published_or_by_its_plug_in(published):
    assert importable("lake_d13_w1.0", published) is published["lake_d13_w1.0"]
    assert importable("lake", published).supernet == {"name": "lake"}
    with pytest.raises(ConfigurationError) as error:
        importable("lak", published)
    assert str(error.value) == (
        '`supernet`: unknown supernet "lak"; did you mean "lake"? '
        "(known: lake_d12_alpha, lake_d12_w1.0, lake_d13_w1.0, lake)"
    )
