"""Keys and signatures."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from benchmarks.reliability.artifacts import Artifacts
from benchmarks.reliability.inputs.target import Target, text_ways
from benchmarks.reliability.mutations import mutate_bytes


def keys(made: Artifacts, folder: Path) -> Iterable[Target]:
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key

    from regnas.family.manifest.signing import check_signature, read_private_key, read_public_key

    public, private = made.key.with_suffix(".pub").read_bytes(), made.key.read_bytes()
    path = folder / "key.pub"
    words = (
        "ssh-ed25519 ",
        "-----BEGIN PUBLIC KEY-----\n",
        "-----END PUBLIC KEY-----\n",
        "AAAAC3NzaC1",
        "=",
        "\n",
        "A" * 64,
    )
    yield Target("public key", path, public, text_ways(public, private, words), partial(read_public_key, path))
    own = folder / "key"
    words = tuple(
        word.replace("PUBLIC", "PRIVATE").replace("ssh-ed25519", "-----BEGIN OPENSSH PRIVATE KEY-----\n")
        for word in words
    )
    yield Target("private key", own, private, text_ways(private, public, words), partial(read_private_key, own))
    if not (made.run / "family" / "manifest.json.sig").exists():
        return
    signed = folder / "signed"
    signed.mkdir()
    shutil.copy(made.run / "family" / "manifest.json", signed)
    good = (made.run / "family" / "manifest.json.sig").read_bytes()
    key = load_ssh_public_key(public)
    ways = (lambda random: mutate_bytes(good, random, public),)
    yield Target("signature", signed / "manifest.json.sig", good, ways, partial(check_signature, signed, key))  # type: ignore[arg-type]
