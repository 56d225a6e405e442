"""Names of files that a manifest may give, and the files that they may be."""

from __future__ import annotations

from pathlib import Path

from regnas.errors import ArtifactError


def plain_name(file: str, manifest: Path) -> str:
    """The name of a file in the manifest's own folder, and of nothing else."""
    if not file.isprintable() or file in ("", ".", "..") or "/" in file or "\\" in file:
        raise ArtifactError(f"{manifest} names a file outside its folder: {file!r}")
    return file


def file_in(folder: Path, file: str) -> Path:
    """The regular file of this name, which no link takes out of the folder; anything else is refused unopened."""
    path = folder / plain_name(file, folder)
    try:
        target, home = path.resolve(strict=True), folder.resolve(strict=True)
        if not target.is_relative_to(home):
            raise ArtifactError(f"{path} is a link that leaves the folder: refused")
        if not target.is_file():
            raise ArtifactError(f"{path} is not a file")
    except FileNotFoundError:
        raise ArtifactError(f"{path} is missing") from None
    except (OSError, RuntimeError) as error:  # RuntimeError: links that go round in circles
        raise ArtifactError(f"{path} cannot be read: {error}") from None
    return path
