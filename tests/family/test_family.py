from __future__ import annotations

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

import regnas
from regnas.errors import ArtifactError, ConfigurationError
from regnas.flips import flip_table, load_predictions
from regnas.runtime.files import digest_of
from regnas.space import contains


@pytest.fixture
def family_folder(finished_run, tmp_path):
    """A copy that a test may damage."""
    shutil.copytree(finished_run / "family", tmp_path / "family")
    return tmp_path / "family"


def change_manifest(folder, change):
    """Change the manifest and renew its digest, as an attacker would."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    manifest["digest"] = digest_of({key: value for key, value in manifest.items() if key != "digest"})
    path.write_text(json.dumps(manifest))


def test_members_are_plain_networks_that_predict_what_the_run_recorded(finished_run):
    family = regnas.load_family(finished_run / "family")
    images = np.load(finished_run.parent / "data.npz")["test_images"]
    batch = family.preprocess(torch.from_numpy(images)[:, None])
    for name in ("small", "medium", "large"):
        network = family[name]
        assert isinstance(network, nn.Module)
        assert not network.training
        recorded = load_predictions(finished_run / "predictions" / f"{name}.npz")
        with torch.no_grad():
            np.testing.assert_allclose(network(batch).numpy(), recorded.logits, rtol=1e-4, atol=1e-4)


def test_a_family_lists_its_members_from_small_to_large(finished_run):
    family = regnas.load_family(finished_run / "family")
    assert list(family) == ["small", "medium", "large"]
    assert [member.name for member in family.members] == list(family)
    macs = [member.macs for member in family.members]
    assert macs == sorted(macs)
    assert family.classes == ("stripe", "<b>dot</b>", "ring")
    for member, network in zip(family.members, family.values(), strict=True):
        assert member.parameters == sum(parameter.numel() for parameter in network.parameters())


def test_the_flip_table_and_top1_are_those_of_the_recorded_predictions(finished_run):
    family = regnas.load_family(finished_run / "family")
    predictions = [load_predictions(finished_run / "predictions" / f"{name}.npz") for name in family]
    expected = flip_table(predictions)
    assert family.flip_table.models == ("small", "medium", "large")
    np.testing.assert_array_equal(family.flip_table.nfr, expected.nfr)
    assert [member.top1 for member in family.members] == [each.accuracy for each in predictions]


def test_smaller_members_are_leading_slices_of_larger_ones_in_the_files(finished_run):
    family = regnas.load_family(finished_run / "family")
    members = family.members
    for small, large in [(0, 1), (1, 2), (0, 2)]:
        assert contains(members[large].architecture, members[small].architecture)
        wide = load_file(finished_run / "family" / members[large].file)
        for name, tensor in load_file(finished_run / "family" / members[small].file).items():
            if "running" in name or "num_batches" in name:
                continue
            assert torch.equal(wide[name][tuple(slice(size) for size in tensor.shape)], tensor)


@pytest.mark.slow
def test_loading_needs_neither_supernet_nor_training_nor_search(finished_run):
    """Built from the files alone: none of that code is imported."""
    program = (
        "import sys, regnas; family = regnas.load_family(sys.argv[1]); family['small'];"
        "print([name for name in sys.modules if name.startswith(('regnas.training', 'regnas.search', 'optuna'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, finished_run / "family"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["manifest.json", "small.safetensors", "medium.safetensors", "large.safetensors"])
@pytest.mark.parametrize("place", [0.1, 0.5, 0.999])
def test_one_flipped_bit_anywhere_is_found(family_folder, name, place):
    path = family_folder / name
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 1
    path.write_bytes(content)
    with pytest.raises(ArtifactError, match=name):
        regnas.load_family(family_folder)


def test_a_missing_file_is_named(family_folder):
    (family_folder / "medium.safetensors").unlink()
    with pytest.raises(ArtifactError, match=r"medium\.safetensors is missing"):
        regnas.load_family(family_folder)


def test_a_folder_without_a_manifest_is_not_a_family(tmp_path):
    with pytest.raises(ArtifactError, match=r"must have manifest\.json or family/manifest\.json or .* it has none"):
        regnas.load_family(tmp_path)
    with pytest.raises(ArtifactError, match=r"none must be a folder with manifest\.json, .* there is no such folder"):
        regnas.load_family(tmp_path / "none")


def test_a_run_folder_is_as_good_as_the_folder_of_its_family(finished_run):
    assert regnas.load_family(finished_run).folder == finished_run / "family"
    assert regnas.load_family(str(finished_run / "family")).folder == finished_run / "family"


@pytest.mark.parametrize("file", ["../outside.safetensors", "/etc/passwd", "sub/x.safetensors"])
def test_a_manifest_cannot_reach_outside_its_folder(family_folder, file):
    change_manifest(family_folder, lambda manifest: manifest["members"][0].update(file=file))
    with pytest.raises(ArtifactError, match="must name files in its own folder"):
        regnas.load_family(family_folder)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda manifest: manifest.pop("classes"), "lacks classes"),
        (lambda manifest: manifest["members"][0].pop("macs"), "lacks macs"),
        (lambda manifest: manifest.update(format=99), "must have format 2, got 99$"),
        (
            lambda manifest: manifest.update(format=1),
            r"got 1\. Write it again with `regnas export RUN`\.$",
        ),
        (lambda manifest: manifest["members"][0].update(sha256=5), "sha256 of a member must be a text, got '5'"),
        (lambda manifest: manifest["members"].__setitem__(0, 5), "a member must be a table"),
    ],
)
def test_a_foreign_manifest_is_refused_with_what_it_lacks(family_folder, change, problem):
    change_manifest(family_folder, change)
    with pytest.raises(ArtifactError, match=problem):
        regnas.load_family(family_folder)


@pytest.mark.parametrize("name", ["manifest.json", "small.safetensors"])
def test_a_link_out_of_the_folder_is_refused(family_folder, name):
    (family_folder / name).rename(family_folder.parent / "elsewhere")
    (family_folder / name).symlink_to(family_folder.parent / "elsewhere")
    with pytest.raises(ArtifactError, match=f"{name} must be in its folder, got a link that leaves it"):
        regnas.load_family(family_folder)


def test_a_network_larger_than_its_file_is_not_built(family_folder):
    """One of petabytes, which the manifest describes and nothing could fill."""

    def enlarge(manifest):
        manifest["supernet"]["widths"] = [[10**7], [10**7]]
        for blocks in manifest["members"][0]["architecture"]["stages"]:
            for block in blocks:
                block["width"] = 10**7

    change_manifest(family_folder, enlarge)
    with pytest.raises(ArtifactError, match=r"small\.safetensors belongs to another network: .* do not fit into it"):
        regnas.load_family(family_folder)["small"]


def test_weights_of_another_architecture_are_refused_with_what_differs(family_folder):
    def swap(manifest):
        small, large = manifest["members"][0], manifest["members"][2]
        small["file"], small["sha256"] = large["file"], large["sha256"]

    change_manifest(family_folder, swap)
    with pytest.raises(ArtifactError, match="belongs to another network: "):
        regnas.load_family(family_folder)["small"]


def test_a_family_is_a_mapping_that_builds_nothing_to_say_what_it_holds(finished_run, monkeypatch):
    family = regnas.load_family(finished_run)
    monkeypatch.setattr("regnas.family.family.build_member", lambda *_: pytest.fail("a network was built"))
    assert "small" in family
    assert "larg" not in family
    assert family.get("larg") is None
    with pytest.raises(KeyError):
        family["larg"]
    with pytest.raises(ConfigurationError, match=r'^\S+ has no member "larg"; did you mean "large"\? \(members: s'):
        family["larg"]


def test_the_run_s_own_images_are_predicted_as_the_run_recorded(finished_run):
    """Bytes [N, H, W] against the logits on record, the largest member by default."""
    family = regnas.load_family(finished_run)
    images = np.load(finished_run.parent / "data.npz")["test_images"]
    for name, member in (("large", None), ("small", "small")):
        recorded = load_predictions(finished_run / "predictions" / f"{name}.npz")
        predicted = family.predict(images, member)
        expected = torch.from_numpy(recorded.logits).softmax(1).numpy()
        np.testing.assert_allclose(predicted.probabilities, expected, atol=1e-4)
        assert predicted.member == name
        assert predicted.names == tuple(family.classes[number] for number in recorded.predicted)


def test_for_the_name_of_a_run_without_its_folder_the_message_names_the_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "digits").mkdir(parents=True)
    (tmp_path / "runs" / "digits" / "run.json").touch()
    with pytest.raises(ArtifactError, match=r"there is no such folder\. Did you mean runs/digits\?"):
        regnas.load_family("digits")
    with pytest.raises(ArtifactError, match=r"there is no such folder$"):
        regnas.load_family("other")
