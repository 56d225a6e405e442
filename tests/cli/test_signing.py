"""`regnas export --sign` and `regnas verify --key`, and the same from Python."""

from __future__ import annotations

import shutil

import pytest

import regnas
from regnas.cli import exit_code
from regnas.errors import ArtifactError
from regnas.family.manifest import SIGNATURE, read_manifest, read_public_key, write_manifest
from regnas.family.manifest.signing import fingerprint
from tests.family.manifest.test_signing import make_ssh

pytestmark = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="needs ssh-keygen")


@pytest.mark.parametrize("run", ["exported_run", "finished_update"])
def test_families_and_models_of_updates_are_signed_from_python(run, request, tmp_path):
    copied = shutil.copytree(request.getfixturevalue(run), tmp_path / "run")
    private, public = make_ssh(tmp_path)
    assert regnas.verify(copied, key=public).problems[0].endswith(f"is not signed: {SIGNATURE} is missing")
    family = regnas.export(copied, sign=private, allow_inexact=True)
    verification = regnas.verify(copied, key=public).check()
    assert verification.signer == fingerprint(read_public_key(public))
    assert "signed, not checked: this needs the public key of the signer" in regnas.verify(copied).notes
    assert regnas.verify(copied).signer == ""
    secret = private.read_bytes()[60:120]
    assert not any(secret in path.read_bytes() for path in copied.rglob("*") if path.is_file())
    write_manifest(family.folder, read_manifest(family.folder))  # every command that writes a manifest
    assert not regnas.verify(copied, key=public).passed
    assert regnas.verify(copied).passed


def test_files_that_contradict_their_manifest_are_not_signed(exported_run, tmp_path):
    copied = shutil.copytree(exported_run, tmp_path / "run")
    private, _ = make_ssh(tmp_path)
    export = next(each for each in read_manifest(copied / "family").exports if each.format == "onnx")
    (copied / "family" / export.file).write_bytes(b"another network")
    with pytest.raises(ArtifactError, match="is damaged"):
        regnas.export(copied, sign=private, allow_inexact=True)
    assert not (copied / "family" / SIGNATURE).exists()


def test_the_command_line_signs_and_checks(exported_run, tmp_path):
    copied = shutil.copytree(exported_run, tmp_path / "run")
    private, public = make_ssh(tmp_path)
    assert exit_code(["verify", str(copied), "--key", str(public)]) == 3
    assert exit_code(["export", str(copied), "--sign", str(private), "--allow-inexact"]) == 0
    assert exit_code(["verify", str(copied), "--key", str(public)]) == 0
    assert exit_code(["verify", str(copied), "--key", str(private)]) == 2
    changed = ["export", str(copied), "--weights-license", "MIT", "--allow-inexact"]
    assert exit_code(changed) == 0
    assert exit_code(["verify", str(copied), "--key", str(public)]) == 3
