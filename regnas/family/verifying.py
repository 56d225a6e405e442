"""Verify a family, or the models of an update, in one call."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from regnas.errors import explain_missing_packages
from regnas.family.manifest import Manifest, Verification, family_folder, verify_family
from regnas.space import Cost


def verify(path: str | Path) -> Verification:
    """Check every file of a family, or of an update, against its manifest, and the manifest against itself.

    Nothing in the files is run, and no network is needed. Without torch the MACs and parameters are not counted again.

    Args:
        path: the folder of the manifest, or the run folder.

    Returns:
        files, problems and notes; ``check()`` raises if there are problems.

    Example:
        >>> regnas.verify("runs/digits").passed  # doctest: +SKIP
        True
    """
    return verify_family(family_folder(Path(path).expanduser()), _count_costs)


def _count_costs(manifest: Manifest) -> Mapping[str, Cost]:
    with explain_missing_packages("counting them"):
        from regnas.family.networks import member_costs  # here: only counting needs torch

        return member_costs(manifest)
