"""Verify a family or the models of an update in one call, and sign a folder that passes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from regnas.errors import explain_missing_packages
from regnas.family.manifest import (
    Manifest,
    Verification,
    family_folder,
    read_public_key,
    verify_family,
    write_signature,
)
from regnas.space import Cost

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def verify(path: str | Path, *, key: str | Path | None = None) -> Verification:
    """Check every file of a family, or of an update, against its manifest, and the manifest against itself.

    Nothing in the files is run, and no network is needed. Without torch the MACs and parameters are not counted again.

    Args:
        path: the folder of the manifest, or the run folder.
        key: a file with the public key of the expected signer, Ed25519 in PEM or OpenSSH format. The signature is
            checked first. If it is missing or wrong, this is the only problem, and no other file is read.

    Returns:
        The files, problems, notes and the signer; ``check()`` raises if there are problems.

    Example:
        >>> regnas.verify("runs/digits").passed  # doctest: +SKIP
        True
    """
    public = None if key is None else read_public_key(Path(key).expanduser())
    return verify_family(family_folder(Path(path).expanduser()), _count_costs, public)


def sign(folder: Path, key: Ed25519PrivateKey) -> None:
    """Sign the manifest of a folder if every file agrees with it."""
    verify_family(folder, _count_costs).check()
    write_signature(folder, key)


def _count_costs(manifest: Manifest) -> Mapping[str, Cost]:
    with explain_missing_packages("counting them"):
        from regnas.family.networks import member_costs  # here: only counting needs torch

        return member_costs(manifest)
