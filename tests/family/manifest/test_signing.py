"""Signed manifests, with keys of ssh-keygen and openssl."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from regnas.errors import ArtifactError, ConfigurationError, RegnasError
from regnas.family.manifest import SIGNATURE, read_private_key, read_public_key
from regnas.family.manifest.signing import PASSPHRASE, check_signature, fingerprint, write_signature

TOOLS = ("ssh-keygen", "openssl")
pytestmark = pytest.mark.skipif(not all(map(shutil.which, TOOLS)), reason="needs ssh-keygen and openssl")


def call(*words):
    return subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout


def make_ssh(folder, kind="ed25519", passphrase=""):
    call("ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "somebody@somewhere", "-f", folder / "ssh")
    return folder / "ssh", folder / "ssh.pub"


def make_pem(folder, *kind):
    call("openssl", "genpkey", "-algorithm", *(kind or ["ed25519"]), "-out", folder / "pem")
    call("openssl", "pkey", "-in", folder / "pem", "-pubout", "-out", folder / "pem.pub")
    return folder / "pem", folder / "pem.pub"


@pytest.fixture(params=[make_ssh, make_pem], ids=TOOLS)
def keys(request, tmp_path):
    return request.param(tmp_path)


@pytest.fixture
def folder(tmp_path):
    """Any bytes can be signed; the signature does not interpret them."""
    made = tmp_path / "family"
    made.mkdir()
    (made / "manifest.json").write_text('{"members": []}\n')
    return made


def flips(content):
    for place in range(len(content)):
        for bit in (0, 3, 7):
            yield content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :]


def test_a_signature_verifies_only_with_its_own_key(keys, folder, tmp_path):
    private, public = keys
    write_signature(folder, read_private_key(private))
    assert check_signature(folder, read_public_key(public)) == fingerprint(read_public_key(public))
    (tmp_path / "other").mkdir()
    _, other = make_ssh(tmp_path / "other")
    with pytest.raises(ArtifactError, match="another key signed it, or one of the two files was changed"):
        check_signature(folder, read_public_key(other))


def test_openssl_confirms_the_signature(folder, tmp_path):
    private, public = make_pem(tmp_path)
    write_signature(folder, read_private_key(private))
    files = ("-in", folder / "manifest.json", "-sigfile", folder / SIGNATURE)
    assert "Verified Successfully" in call(
        "openssl", "pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin", *files
    )


def test_the_fingerprint_is_that_of_ssh_keygen(tmp_path):
    _, public = make_ssh(tmp_path)
    assert call("ssh-keygen", "-lf", public).split()[1] == fingerprint(read_public_key(public))


@pytest.mark.parametrize("file", ["manifest.json", SIGNATURE])
def test_every_flipped_bit_is_found(keys, folder, file):
    private, public = keys
    write_signature(folder, read_private_key(private))
    key, whole = read_public_key(public), (folder / file).read_bytes()
    for changed in [*flips(whole), whole[:-1], whole + b"\n", b""]:
        (folder / file).write_bytes(changed)
        with pytest.raises(ArtifactError):
            check_signature(folder, key)
    (folder / file).write_bytes(whole)
    check_signature(folder, key)


def test_a_damaged_public_key_is_refused_or_confirms_nothing(keys, folder):
    private, public = keys
    write_signature(folder, read_private_key(private))
    good, whole = fingerprint(read_public_key(public)), public.read_bytes()
    for changed in [*flips(whole), whole[: len(whole) // 2], b""]:
        public.write_bytes(changed)
        try:
            assert check_signature(folder, read_public_key(public)) == good  # a flip in the comment
        except RegnasError as error:
            assert len(error.problems) == 1 and "\n" not in str(error)


def test_a_damaged_private_key_is_refused_or_its_signature_does_not_verify(keys, folder):
    private, public = keys
    right, whole = read_public_key(public), private.read_bytes()
    private.chmod(0o600)
    for changed in [*flips(whole), whole[: len(whole) // 2], b""]:
        private.write_bytes(changed)
        try:
            key = read_private_key(private)
        except RegnasError as error:
            assert len(error.problems) == 1 and "\n" not in str(error)
            continue
        write_signature(folder, key)
        if fingerprint(key.public_key()) != fingerprint(right):
            with pytest.raises(ArtifactError):
                check_signature(folder, right)


def test_keys_of_the_wrong_kind_are_refused_with_the_kind(tmp_path):
    private, public = make_ssh(tmp_path)
    with pytest.raises(ConfigurationError, match="must be a private key to sign with, got a public key"):
        read_private_key(public)
    with pytest.raises(ConfigurationError, match="must be a public key, got a private key"):
        read_public_key(private)
    private, public = make_pem(tmp_path, "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
    for read, path in ((read_private_key, private), (read_public_key, public)):
        with pytest.raises(ConfigurationError, match=r"must be an Ed25519 key, got EC\. Make one with"):
            read(path)


@pytest.mark.parametrize("read", [read_private_key, read_public_key])
def test_a_file_that_is_not_a_key_is_refused_in_one_line(read, tmp_path):
    (tmp_path / "text").write_text("not a key")
    (tmp_path / "large").write_bytes(b"a" * 2**20)
    os.mkfifo(tmp_path / "pipe")
    for name in ("text", "large", "pipe", "missing", "."):
        with pytest.raises(ArtifactError) as caught:
            read(tmp_path / name)
        assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("tool", TOOLS)
def test_an_encrypted_key_needs_its_passphrase_from_the_environment(tool, folder, tmp_path, monkeypatch):
    monkeypatch.delenv(PASSPHRASE, raising=False)
    if tool == "ssh-keygen":
        pytest.importorskip("bcrypt", reason="encrypted OpenSSH keys need bcrypt")
        private, public = make_ssh(tmp_path, passphrase="open sesame")
    else:
        plain, public = make_pem(tmp_path)
        private = tmp_path / "encrypted"
        call("openssl", "pkey", "-in", plain, "-aes256", "-passout", "pass:open sesame", "-out", private)
    with pytest.raises(ConfigurationError, match=f"is encrypted. Set the environment variable {PASSPHRASE}"):
        read_private_key(private)
    monkeypatch.setenv(PASSPHRASE, "something else")
    with pytest.raises(ArtifactError, match=f"or {PASSPHRASE} is not its passphrase") as caught:
        read_private_key(private)
    assert "something else" not in str(caught.value)
    monkeypatch.setenv(PASSPHRASE, "open sesame")
    write_signature(folder, read_private_key(private))
    check_signature(folder, read_public_key(public))


def test_a_signature_is_a_file_of_the_folder(folder, tmp_path):
    private, public = make_ssh(tmp_path)
    write_signature(folder, read_private_key(private))
    (folder / SIGNATURE).rename(tmp_path / "elsewhere")
    (folder / SIGNATURE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ArtifactError, match="got a link that leaves it"):
        check_signature(folder, read_public_key(public))
