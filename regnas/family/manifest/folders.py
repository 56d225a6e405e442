"""Find the folder of a manifest, and check the file names that it lists."""

from __future__ import annotations

from pathlib import Path

from regnas.errors import ArtifactError

MANIFEST = "manifest.json"
SIGNATURE = f"{MANIFEST}.sig"
PARTS = ("", "family", "models")  # of a run folder: a family, or the models of an update


def family_folder(path: Path) -> Path:
    """Find the folder of the manifest: the given one, or ``family`` or ``models`` in a run folder."""
    for folder in (path / part for part in PARTS):
        if (folder / MANIFEST).is_symlink() or (folder / MANIFEST).exists():
            return folder
    if not path.is_dir():
        raise ArtifactError(f"{path} must be a folder with {MANIFEST}, or a run folder; there is no such folder")
    raise ArtifactError(
        f"{path} must have {' or '.join(str(Path(part) / MANIFEST) for part in PARTS)}; it has none. `regnas export "
        "RUN` writes a family, `regnas update RUN` the models of an update."
    )


def plain_name(file: str, manifest: Path) -> str:
    """Return a file name; refuse names outside the manifest's own folder."""
    if not file.isprintable() or file in ("", ".", "..") or "/" in file or "\\" in file:
        raise ArtifactError(f"{manifest} must name files in its own folder, got {file!r}")
    return file


def file_in(folder: Path, file: str) -> Path:
    """Return the path of a regular file in the folder; refuse links that leave it and anything else, unopened."""
    path = folder / plain_name(file, folder)
    try:
        target, home = path.resolve(strict=True), folder.resolve(strict=True)
        if not target.is_relative_to(home):
            raise ArtifactError(f"{path} must be in its folder, got a link that leaves it")
        if not target.is_file():
            raise ArtifactError(f"{path} is not a file")
    except FileNotFoundError:
        raise ArtifactError(f"{path} is missing") from None
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        raise ArtifactError(f"{path} cannot be read: {error}") from None
    return path
