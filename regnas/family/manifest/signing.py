"""Sign a manifest and check its signature, which shows who made the files. Needs the extra ``sign``.

``manifest.json.sig`` has the 64 bytes of an Ed25519 signature (RFC 8032) of the exact bytes of ``manifest.json``, which
has the sha256 of every other file. ``openssl pkeyutl -verify -rawin`` checks the same file.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regnas.errors import ArtifactError, ConfigurationError, explain_missing_packages
from regnas.family.manifest.folders import MANIFEST, SIGNATURE, file_in
from regnas.runtime.files import write_bytes

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

PASSPHRASE = "REGNAS_KEY_PASSPHRASE"
SIGNATURE_BYTES = 64
KEY_LIMIT = 64 * 2**10  # bytes; a key file of Ed25519 has a few hundred
_OPENSSH_PRIVATE = b"-----BEGIN OPENSSH PRIVATE KEY-----"
_HOW_TO_MAKE = "Make one with `ssh-keygen -t ed25519` or `openssl genpkey -algorithm ed25519`."

log = logging.getLogger("regnas")


def read_private_key(path: Path) -> Ed25519PrivateKey:
    """Read a private key that ssh-keygen or openssl wrote.

    The passphrase of an encrypted key comes from the environment variable ``REGNAS_KEY_PASSPHRASE``.
    """
    content = _key_content(path)
    if _is_public(content):
        raise ConfigurationError(f"{path} must be a private key to sign with, got a public key")
    with explain_missing_packages("signing a manifest"):
        from cryptography.exceptions import InternalError, UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        try:
            key = _load_private(content)
        except _Encrypted:
            raise ConfigurationError(
                f"{path} is encrypted. Set the environment variable {PASSPHRASE} to its passphrase."
            ) from None
        except UnsupportedAlgorithm as error:
            raise ConfigurationError(f"{path} cannot be used: {error}") from None
        except (ValueError, TypeError, InternalError):
            reason = f", or {PASSPHRASE} is not its passphrase" if PASSPHRASE in os.environ else ""
            raise ArtifactError(f"{path} is not a private key in PEM or OpenSSH format, is damaged{reason}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigurationError(f"{path} must be an Ed25519 key, got {_kind(key)}. {_HOW_TO_MAKE}")
    return key


def read_public_key(path: Path) -> Ed25519PublicKey:
    """Read a public key that ssh-keygen or openssl wrote."""
    content = _key_content(path)
    if b"PRIVATE KEY-----" in content:
        raise ConfigurationError(
            f"{path} must be a public key, got a private key, which its owner keeps secret. `ssh-keygen -y` and "
            "`openssl pkey -pubout` print the public key of a private key."
        )
    with explain_missing_packages("checking a signature"):
        from cryptography.exceptions import InternalError, UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key, load_ssh_public_key

        try:
            is_pem = content.lstrip().startswith(b"-----BEGIN")
            key = load_pem_public_key(content) if is_pem else load_ssh_public_key(content)
        except (ValueError, TypeError, UnsupportedAlgorithm, InternalError):
            raise ArtifactError(f"{path} is not a public key in PEM or OpenSSH format, or is damaged") from None
    if not isinstance(key, Ed25519PublicKey):
        raise ConfigurationError(f"{path} must be an Ed25519 key, got {_kind(key)}. {_HOW_TO_MAKE}")
    return key


def fingerprint(key: Ed25519PublicKey) -> str:
    """Return the fingerprint that ``ssh-keygen -lf`` prints: "SHA256:" and 43 characters."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    line = key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    digest = hashlib.sha256(base64.b64decode(line.split()[1])).digest()
    return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"


def write_signature(folder: Path, key: Ed25519PrivateKey) -> None:
    """Sign the manifest on disk."""
    write_bytes(folder / SIGNATURE, key.sign(file_in(folder, MANIFEST).read_bytes()))
    log.info("signed %s with the key %s", folder / MANIFEST, fingerprint(key.public_key()))


def remove_signature(folder: Path) -> None:
    """Remove the signature of a manifest that is about to change."""
    path = folder / SIGNATURE
    if path.is_symlink() or path.exists():
        path.unlink()
        log.warning(
            "%s was removed, because the manifest changes. Sign again with `regnas export RUN --sign KEY`.", path
        )


def check_signature(folder: Path, key: Ed25519PublicKey) -> str:
    """Check the manifest against its signature before anything is parsed; return the fingerprint of the key."""
    from cryptography.exceptions import InvalidSignature

    if not is_signed(folder):
        raise ArtifactError(f"{folder / MANIFEST} is not signed: {SIGNATURE} is missing")
    path = file_in(folder, SIGNATURE)
    size = path.stat().st_size
    if size != SIGNATURE_BYTES:
        raise ArtifactError(f"{path} must have {SIGNATURE_BYTES} bytes, got {size:,}")
    try:
        key.verify(path.read_bytes(), file_in(folder, MANIFEST).read_bytes())
    except InvalidSignature:
        raise ArtifactError(
            f"{path} is not a signature of {MANIFEST} by the key {fingerprint(key)}: another key signed it, or one of "
            "the two files was changed"
        ) from None
    return fingerprint(key)


def is_signed(folder: Path) -> bool:
    """Whether there is a signature, valid or not."""
    return (folder / SIGNATURE).is_symlink() or (folder / SIGNATURE).exists()


class _Encrypted(Exception):
    """A private key is encrypted and no passphrase is set."""


def _load_private(content: bytes) -> Any:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

    load = load_ssh_private_key if content.lstrip().startswith(_OPENSSH_PRIVATE) else load_pem_private_key
    try:
        return load(content, None)
    except TypeError:  # of an encrypted key without a passphrase
        if PASSPHRASE not in os.environ:
            raise _Encrypted from None
    return load(content, os.environ[PASSPHRASE].encode())


def _key_content(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise ArtifactError(
                f"{path} must be a key file; {'it is not a file' if path.exists() else 'it is missing'}"
            )
        with path.open("rb") as source:
            content = source.read(KEY_LIMIT + 1)
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror or error}") from None
    if len(content) > KEY_LIMIT:
        raise ArtifactError(f"{path} is not a key: it has more than {KEY_LIMIT:,} bytes")
    return content


def _is_public(content: bytes) -> bool:
    return content.lstrip().startswith((b"-----BEGIN PUBLIC KEY", b"ssh-", b"ecdsa-", b"sk-"))


def _kind(key: object) -> str:
    """Return the kind of a key in words: "RSA"."""
    return type(key).__name__.removesuffix("PrivateKey").removesuffix("PublicKey").lstrip("_")
