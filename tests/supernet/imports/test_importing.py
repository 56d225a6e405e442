"""From a name or a file to weights in the store."""

from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from regnas.errors import ArtifactError, ConfigurationError
from regnas.runtime.files import sha256_of
from regnas.runtime.tensors import load_into
from regnas.supernet.imports import import_supernet
from tests.supernet.imports.lake import SHAPE, Lake, deep, server, trained

NAME = "lake_d12_w1.0"

pytestmark = pytest.mark.usefixtures("lake")


def saved(path, tensors):
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"state_dict": tensors}, path)
    return path


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "store"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_original_in_the_store_becomes_weights_of_the_supernet_with_a_record(folder):
    original = saved(folder / NAME, trained())
    imported, fresh = import_supernet(NAME, folder)
    assert fresh
    assert names(folder) == [NAME, f"{NAME}.json", f"{NAME}.safetensors"]
    supernet = Lake().supernet(SHAPE, 3)
    load_into(supernet, imported.tensors(), imported.path)
    for name, tensor in trained().items():
        assert torch.equal(supernet.state_dict()[name.replace("net.", "largest.")], tensor)
    assert json.loads((folder / f"{NAME}.json").read_text()) == {
        "format": 1,
        "sha256": sha256_of(folder / f"{NAME}.safetensors"),
        "origin": f"http://lake.invalid/nets/{NAME}",
        "origin_sha256": sha256_of(original),
        "supernet": {"name": "lake"},
        "input_shape": [1, 8, 8],
        "classes": 3,
    }


def test_what_is_there_is_verified_and_not_converted_again(folder):
    saved(folder / NAME, trained())
    imported, _ = import_supernet(NAME, folder)
    (folder / NAME).unlink()
    before = imported.path.stat().st_mtime_ns
    again, fresh = import_supernet(NAME, folder)  # neither the original nor a network is needed
    assert (again, fresh, imported.path.stat().st_mtime_ns) == (imported, False, before)
    content = bytearray(imported.path.read_bytes())
    content[-1] ^= 1
    imported.path.write_bytes(content)
    with pytest.raises(ArtifactError, match=r"is damaged: its sha256 must be .*\. Delete it, and import it again"):
        import_supernet(NAME, folder)


@pytest.mark.parametrize("lost", [f"{NAME}.json", f"{NAME}.safetensors"])
def test_half_of_an_import_counts_for_nothing(folder, lost):
    saved(folder / NAME, trained())
    imported, _ = import_supernet(NAME, folder)
    (folder / lost).unlink()
    again, fresh = import_supernet(NAME, folder)
    assert (again, fresh) == (imported, True)


def test_a_download_is_converted_and_leaves_no_original(folder, monkeypatch, tmp_path):
    content = saved(tmp_path / "there", trained()).read_bytes()
    with server({NAME: content}) as address:
        monkeypatch.setattr(Lake, "address", address)
        imported, fresh = import_supernet(NAME, folder)
    assert (fresh, imported.origin) == (True, f"{address}/nets/{NAME}")
    assert imported.origin_sha256 == sha256_of(tmp_path / "there")
    assert names(folder) == [f"{NAME}.json", f"{NAME}.safetensors"]


def test_a_download_that_is_something_else_is_refused_and_not_kept(folder, monkeypatch):
    with server({NAME: b"it works!" * 100}) as address:
        monkeypatch.setattr(Lake, "address", address)
        with pytest.raises(ArtifactError, match=rf"{NAME} is damaged or holds more than weights.* \(from {address}/"):
            import_supernet(NAME, folder)
    assert names(folder) == []


@pytest.mark.parametrize(
    ("name", "file", "plugin"),
    [("lake_d12_alpha", "lake_alpha.pth", Lake()), ("lake_d13_w1.0", "lake_d13_w1.0", deep())],
    ids=["of the address", "where the address has none"],
)
def test_the_original_is_looked_for_under_its_published_file_name(folder, name, file, plugin):
    saved(folder / file, trained(plugin))
    imported, _ = import_supernet(name, folder)
    assert imported.path == folder / f"{name}.safetensors"


def test_the_file_of_a_published_supernet_may_lie_anywhere(folder, tmp_path, monkeypatch):
    here = saved(tmp_path / "downloads" / NAME, trained())
    assert import_supernet(NAME, folder, file=here)[1]
    monkeypatch.chdir(here.parent)
    assert import_supernet(NAME, tmp_path / "second")[1]
    assert names(tmp_path / "second") == [f"{NAME}.json", f"{NAME}.safetensors"]
    with pytest.raises(ConfigurationError, match="`file`: there is no file"):
        import_supernet("lake_d12_alpha", folder, file=tmp_path / "none")


def test_a_published_name_takes_only_what_was_published_under_it(folder, tmp_path):
    for tensors, difference in [
        (trained(classes=7), r"largest.classifier.weight is \[7, 16\] instead of \[3, 16\]; largest.classifier"),
        (trained(deep()), r"largest\.stages\.[01]\.2\.\S+ does not belong to this network; .* and \d+ more$"),
    ]:
        with pytest.raises(ArtifactError, match=f"is not {NAME}: {difference}"):
            import_supernet(NAME, folder, file=saved(tmp_path / "net", tensors))
    assert not folder.exists()


@pytest.mark.parametrize(
    ("file", "name"), [("mine.pth", "mine"), ("mine_w1.0", "mine_w1.0"), ("mine_w1.2.pth.tar", "mine_w1.2")]
)
def test_a_file_of_ones_own_is_recognized_and_called_as_its_file(folder, tmp_path, file, name):
    imported, fresh = import_supernet(str(saved(tmp_path / file, trained(deep(), classes=5))), folder)
    assert fresh
    assert imported.path == folder / f"{name}.safetensors"
    assert imported.name == name
    assert (imported.supernet, imported.classes) == ({"name": "lake", "depths": [1, 3]}, 5)
    assert imported.origin == str(tmp_path / file)


def test_half_precision_safetensors_of_ones_own_become_single(folder, tmp_path):
    half = {name: tensor.half() if tensor.is_floating_point() else tensor for name, tensor in trained().items()}
    save_file(half, tmp_path / "mine.safetensors")
    import_supernet(str(tmp_path / "mine.safetensors"), folder, name="ours")
    found = load_file(folder / "ours.safetensors")
    assert torch.equal(found["largest.stem.weight"], half["net.stem.weight"].float())
    assert found["largest.stem_norm.num_batches_tracked"].dtype == torch.int64


def test_the_user_may_say_what_it_is(folder, tmp_path):
    path = saved(tmp_path / "mine.pth", trained(classes=5))
    imported, _ = import_supernet(str(path), folder, supernet="lake_d12_alpha")
    assert (imported.supernet, imported.classes) == ({"name": "lake"}, 5)
    with pytest.raises(ArtifactError, match=r"mine.pth is not lake_d13_w1.0: largest.* is missing"):
        import_supernet(str(path), tmp_path / "other", supernet="lake_d13_w1.0")


def test_a_plug_in_by_name_stands_for_its_defaults(folder, tmp_path):
    torch.manual_seed(0)
    color = Lake().supernet((3, 224, 224), 5).state_dict()
    path = saved(tmp_path / "mine.pth", {name.replace("largest.", "net."): color[name] for name in color})
    imported, _ = import_supernet(str(path), folder, supernet="lake")
    assert (imported.input_shape, imported.classes) == ((3, 224, 224), 5)


def test_another_file_under_a_name_that_is_taken_is_refused_and_the_same_one_is_not(folder, tmp_path):
    first = saved(tmp_path / "mine.pth", trained(seed=0))
    second = saved(tmp_path / "second" / "mine.pth", trained(seed=1))
    imported, _ = import_supernet(str(first), folder)
    assert import_supernet(str(first), folder) == (imported, False)
    with pytest.raises(ConfigurationError) as error:
        import_supernet(str(second), folder)
    assert str(error.value) == (f"{imported.path} comes from another file ({first}). Delete it, or change `name`.")
    assert import_supernet(str(second), folder, name="mine2")[1]
    imported.check()


def test_weights_that_are_not_numbers_are_refused_and_nothing_is_written(folder, tmp_path):
    tensors = trained()
    tensors["net.classifier.bias"][1] = float("nan")
    with pytest.raises(ArtifactError, match=r"largest\.classifier\.bias must be finite, got infinite values or NaN"):
        import_supernet(str(saved(tmp_path / "mine.pth", tensors)), folder)
    assert not folder.exists()


@pytest.mark.parametrize("name", ["../outside", "a/b", ".hidden", "two words", "new\nline"])
def test_a_name_stays_inside_the_folder(folder, tmp_path, name):
    path = saved(tmp_path / "mine.pth", trained())
    with pytest.raises(ConfigurationError, match="must have only letters, digits"):
        import_supernet(str(path), folder, name=name)
    assert names(tmp_path) == ["mine.pth"]
