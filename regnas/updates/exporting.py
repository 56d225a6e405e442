"""Write the new models of an update in further formats."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regnas.errors import ArtifactError
from regnas.family.export import export_formats, missing_formats, refresh, require_packages
from regnas.family.family import Family, load_family
from regnas.family.verifying import sign
from regnas.runs.folder import RunFolder
from regnas.runs.session import continuable
from regnas.runtime.lock import exclusive
from regnas.updates.config import parse_update
from regnas.updates.job import UpdateJob, load_splits

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def export_models(
    run: str | Path,
    formats: Sequence[str] = (),
    *,
    weights_license: str = "",
    key: Ed25519PrivateKey | None = None,
) -> Family:
    """Write every model of a finished update in further formats; run and compare each file before it is listed.

    Args:
        run: The run folder of the update.
        formats: "onnx", "onnx-int8", "torch-export". The weights are always written as safetensors.
        weights_license: The license of the weights, for the model cards; by default it stays as it is.
        key: The private key that signs the manifest.

    Returns:
        The models by method and seed.
    """
    require_packages(formats)
    path = Path(run)
    with exclusive(path), continuable(path):
        family = _export(path, formats, weights_license)
        if key is not None:
            sign(family.folder, key)
        return family


def _export(path: Path, formats: Sequence[str], weights_license: str) -> Family:
    folder = RunFolder.open(path)
    family = load_family(path / "models")
    family = refresh(family, weights_license or family.manifest.weights_license)
    missing = missing_formats(family, formats)
    if not missing:
        return family
    config = parse_update(folder.facts["name"], folder.facts["configuration"], folder.anchors)
    splits = load_splits(config.values)
    folder.check_data(splits.summary())
    report = UpdateJob(config, folder, splits, {}, config.values.chain).on_old_classes(splits.report)
    if report.digest != family.manifest.data.get("report"):
        raise ArtifactError(f"{family.folder} was measured on other samples. Run `regnas update {path}` again.")
    with folder.timed("export"):
        return export_formats(family, splits, missing, report)
