"""The models of an update on disk: the same manifest, loading and verification as for a family."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch

import regnas
from regnas.cli import exit_code
from regnas.errors import ArtifactError, ConfigurationError
from regnas.family.family import load_family
from regnas.family.manifest import read_manifest, write_manifest
from regnas.family.manifest.manifest import canonical
from regnas.family.verifying import verify
from regnas.runtime.files import digest_of
from tests.family.made import CLASSES, predictions, write_models


@pytest.fixture
def run(tmp_path):
    write_models(tmp_path)
    return tmp_path


def forge(run, change):
    """Change the manifest and renew its digest, as an attacker would."""
    path = run / "models" / "manifest.json"
    content = json.loads(path.read_text())
    del content["digest"]
    change(content)
    path.write_text(canonical(content | {"digest": digest_of(content)}))


def test_every_model_computes_what_was_written(tmp_path):
    written = write_models(tmp_path)
    family = load_family(tmp_path)
    images = torch.randint(0, 256, (5, 1, 8, 8), dtype=torch.uint8)
    prepared = (images / 255 - 0.5) / 0.25
    assert list(family) == ["none-seed-0", "elodi-seed-0", "elodi-seed-1"]
    for name, network in family.items():
        torch.testing.assert_close(network(family.preprocess(images)), written[name](prepared))
        assert not network.training
    assert family.classes == CLASSES


def test_the_manifest_has_the_numbers_of_the_predictions(run):
    family = load_family(run)
    assert [(member.method, member.seed) for member in family.members] == [("none", 0), ("elodi", 0), ("elodi", 1)]
    assert [member.top1 for member in family.members] == [predictions(seed).accuracy for seed in range(3)]
    old, new = predictions(0), predictions(2)
    flips = (old.correct & ~new.correct).mean()
    assert family.flip_table.pair("none-seed-0", "elodi-seed-1").nfr == flips
    assert family.manifest.data == {"digest": "0" * 64, "report": "1" * 64}
    parameters = sum(each.numel() for each in family["none-seed-0"].parameters())
    assert {member.parameters for member in family.members} == {parameters}


def test_a_method_names_its_model_of_the_first_seed(run):
    family = load_family(run)
    assert family.member("elodi").name == "elodi-seed-0"
    assert family.member("elodi-seed-1").seed == 1
    images = torch.zeros(1, 1, 8, 8, dtype=torch.uint8)
    assert family.predict(images, "elodi").member == "elodi-seed-0"
    with pytest.raises(ConfigurationError, match="a model must be named, one of none-seed-0, elodi-seed-0, elodi-s"):
        family.predict(images)
    with pytest.raises(ConfigurationError, match='has no member "elod"; did you mean "elodi"'):
        family.member("elod")


def test_the_only_model_needs_no_name(tmp_path):
    write_models(tmp_path, models=(("elodi", 3),))
    assert load_family(tmp_path).member().name == "elodi-seed-3"


@pytest.mark.parametrize("part", ["", "models"])
def test_a_whole_folder_passes_with_every_file_named(run, capsys, part):
    verification = regnas.verify(run / part)
    assert verification.passed, verification.problems
    names = {path.name for path in (run / "models").iterdir()}
    assert {each.file for each in verification.files} == names - {"manifest.json"}
    assert len(verification.files) == 6  # weights and a card for each
    assert verification.notes == ("MACs and parameters are those of the networks",)
    assert exit_code(["verify", str(run / part)]) == 0
    assert "passed: all 6 files" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["manifest.json", "elodi-seed-1.safetensors", "none-seed-0.md"])
def test_one_flipped_bit_is_found(run, name):
    path = run / "models" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    verification = verify(run)
    assert not verification.passed
    with pytest.raises(ArtifactError, match=name):
        verification.check()
    if not name.endswith(".md"):
        with pytest.raises(ArtifactError, match=name):
            load_family(run)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda content: content["members"][0].update(macs=1), " MACs, got 1"),
        (lambda content: content["members"][0].update(file="../x.safetensors"), "must name files in its own folder"),
        (lambda content: content["members"][0].pop("seed"), "lacks seed"),
        (lambda content: content["members"][0].update(top1=0.99), "flip_table contradicts the members' Top-1"),
        (lambda content: content.update(network={}), "network of the manifest must be the table of a network"),
        (lambda content: content.update(network={"name": "nothing"}), "the manifest's network cannot be built"),
        (lambda content: content.update(input_shape=[1, 2**62, 2**62]), "the manifest's network cannot be built"),
        (lambda content: content.update(classes=["a", "b", "c"]), "metadata contradicts the manifest: regnas.classes"),
    ],
)
def test_a_forged_manifest_is_found(run, change, problem):
    forge(run, change)
    assert any(problem in line for line in verify(run).problems), verify(run).problems


def test_a_network_larger_than_its_file_is_not_built(run):
    forge(run, lambda content: content["network"].update(widths=[10**7, 10**7]))
    with pytest.raises(ArtifactError, match=r"none-seed-0\.safetensors belongs to another network: .* do not fit"):
        load_family(run)["none-seed-0"]


def test_a_folder_of_an_older_version_says_to_update_again(run):
    (run / "models" / "manifest.json").write_text('{"network": {}, "data": {}, "models": []}')
    with pytest.raises(ArtifactError, match=r"must have format 2, got an older one\. Run `regnas update RUN` again\."):
        load_family(run)
    write_models(run)  # and updating again is enough
    assert verify(run).passed


def test_writing_the_same_models_again_leaves_everything_alone(run):
    """Also what was added since: a license, files in other formats."""
    folder = run / "models"
    manifest = read_manifest(folder)
    object.__setattr__(manifest, "weights_license", "MIT")
    write_manifest(folder, manifest)
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    write_models(run)
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()} == before


def test_other_models_replace_the_old_ones_and_keep_the_license(run):
    folder = run / "models"
    manifest = read_manifest(folder)
    object.__setattr__(manifest, "weights_license", "MIT")
    write_manifest(folder, manifest)
    write_models(run, models=(("bcwi", 0), ("elodi", 0)))
    verification = verify(run)
    assert verification.passed, verification.problems
    assert list(load_family(run)) == ["bcwi-seed-0", "elodi-seed-0"]
    assert read_manifest(folder).weights_license == "MIT"


def test_a_kill_between_the_files_leaves_no_manifest(run, monkeypatch):
    """The old manifest is removed too, because it lists files that no longer exist."""
    monkeypatch.setattr("regnas.family.updated.write_bytes", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_models(run, models=(("bcwi", 0), ("elodi", 0)))
    assert not (run / "models" / "manifest.json").exists()


def test_without_a_network_to_ship_there_is_no_manifest(run):
    write_models(run, models=())
    with pytest.raises(ArtifactError, match="it has none"):
        load_family(run)


def test_verifying_needs_no_torch(run):
    program = (
        "import sys\n"
        "for name in ('torch', 'torchvision', 'safetensors'): sys.modules[name] = None\n"
        "import regnas\n"
        "found = regnas.verify(sys.argv[1])\n"
        "print(found.passed, len(found.files), *found.notes)"
    )
    done = subprocess.run([sys.executable, "-c", program, run], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("True 6 MACs and parameters were not checked: ")
