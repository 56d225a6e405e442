"""Files that are either complete or absent, and the folder of the cache.

Every file is written under a temporary name in the same folder, flushed to the disk and renamed. A process that is
killed at any moment leaves the old file or the new one, never a part of either.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from regnas.errors import ArtifactError, ConfigurationError, EnvironmentProblem
from regnas.runtime.environment import environment_cause, environment_problem
from regnas.runtime.printable import json_escapes
from regnas.runtime.temporary import remove_abandoned, temporary_beside

WITHOUT_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}  # errors of file systems without hard links


def write_bytes(path: Path, content: bytes, replace: bool = True) -> None:
    write_through(path, lambda temporary: _ignore(temporary.write_bytes(content)), replace)


def write_text(path: Path, content: str) -> None:
    write_bytes(path, content.encode("utf-8", "backslashreplace"))


def write_or_return(content: str, path: str | Path | None) -> str | None:
    """Write a text to a file; without a path, return it."""
    if path is None:
        return content
    write_text(Path(path), content)
    return None


def write_json(path: Path, value: Any) -> None:
    write_text(path, json_text(value))


def json_text(value: Any) -> str:
    """Return readable JSON; characters that could control a terminal, and lone surrogates, are escapes."""
    return json_escapes(json.dumps(value, indent=2, ensure_ascii=False)) + "\n"


def write_through(path: Path, write: Callable[[Path], None], replace: bool = True) -> None:
    """Let ``write`` fill a temporary file beside ``path``, then rename it to ``path``.

    Temporary files of this file that a killed process left behind are removed.

    Args:
        path: the file.
        write: gets the temporary file.
        replace: whether an existing file is replaced; if not, it stays as it is, also if it appears meanwhile.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(path.parent, of=path.name)
        with temporary_beside(path) as temporary:
            allowed_by_umask = stat.S_IMODE(temporary.stat().st_mode)
            write(temporary)
            temporary.chmod(allowed_by_umask)  # safetensors creates a file that only its owner can read
            with temporary.open("rb") as written:
                os.fsync(written.fileno())
            _publish(temporary, path, replace)
    except OSError as error:
        raise environment_problem(error, path) from error
    except Exception as error:
        if found := environment_cause(error):
            raise environment_problem(found, path) from error
        raise


def _publish(temporary: Path, path: Path, replace: bool) -> None:
    if replace:
        temporary.replace(path)
        return
    try:
        path.hardlink_to(temporary)  # unlike a renamed file, a link never replaces one
    except FileExistsError:
        return
    except OSError as error:
        if error.errno not in WITHOUT_LINKS:
            raise
        if not path.exists():
            temporary.replace(path)


def check_output(path: Path, suffix: str, overwrite: bool) -> None:
    """Check before the work whether its file can be written.

    Refuse another suffix, a file that exists, and a folder that cannot be written.
    """
    if path.suffix != suffix:
        raise ConfigurationError(f"`out` must end in {suffix}, got {path}")
    if path.is_dir():
        raise ConfigurationError(f"`out` must be a file, got the folder {path}")
    if path.exists() and not overwrite:
        raise ConfigurationError(f"{path} exists. Choose another file, or replace it with `overwrite=True`.")
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise EnvironmentProblem(f"cannot write {path}: {above} must be a folder that you may write to")


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file, in hexadecimal digits."""
    try:
        with path.open("rb") as source:
            return hashlib.file_digest(source, "sha256").hexdigest()
    except FileNotFoundError:
        raise ArtifactError(f"{path} is missing") from None


def check_sha256(path: Path, expected: str) -> None:
    """Refuse a file whose content differs from the recorded one, before anything parses it."""
    found = sha256_of(path)
    if found != expected:
        raise ArtifactError(f"{path} is damaged: its sha256 must be {expected[:12]}…, got {found[:12]}…")


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ArtifactError(f"{path} is missing") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ArtifactError(f"{path} is damaged: it is not JSON ({error})") from None


def digest_of(value: Any) -> str:
    """Return the sha256 of a JSON value, independent of the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def require_keys(table: Mapping[str, Any], keys: tuple[str, ...], where: Path) -> None:
    missing = [key for key in keys if key not in table]
    if missing:
        raise ArtifactError(f"{where} lacks {', '.join(missing)}: it was not written by this version of regnas")


def cache_folder() -> Path:
    """Return ``$XDG_CACHE_HOME/regnas``, by default ``~/.cache/regnas``, for what can be made or downloaded again.

    A relative ``XDG_CACHE_HOME`` is ignored, as the XDG Base Directory Specification requires.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path("~/.cache").expanduser()) / "regnas"  # noqa: PTH117


def _ignore(_: object) -> None:
    return None
