"""Files that are either whole or absent.

Every file is written under a temporary name in the same folder, flushed to the disk and renamed. A process that is
killed at any moment leaves the old file or the new one, never a part of one.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from regnas.errors import ArtifactError, EnvironmentProblem


def write_bytes(path: Path, content: bytes) -> None:
    write_through(path, lambda temporary: _ignore(temporary.write_bytes(content)))


def write_text(path: Path, content: str) -> None:
    write_bytes(path, content.encode())


def write_or_return(content: str, path: str | Path | None) -> str | None:
    """Write a text to a file; without a path, return it."""
    if path is None:
        return content
    write_text(Path(path), content)
    return None


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_through(path: Path, write: Callable[[Path], None]) -> None:
    """Let ``write`` fill a temporary file beside ``path``, then rename it to ``path``."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.parent / f".{path.name}.{secrets.token_hex(4)}"
        temporary.touch(exist_ok=False)
        try:
            allowed_by_umask = stat.S_IMODE(temporary.stat().st_mode)
            write(temporary)
            temporary.chmod(allowed_by_umask)  # safetensors makes a file of its own, for its owner alone
            with temporary.open("rb") as written:
                os.fsync(written.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise environment_problem(error, path) from error


def environment_problem(error: OSError, path: Path) -> EnvironmentProblem:
    """Describe in one line a disk that is full or a folder that cannot be written."""
    remedy = {
        errno.ENOSPC: "free some space and start again with --resume",
        errno.EDQUOT: "free some of the quota and start again with --resume",
        errno.EACCES: "choose a folder that you may write with --out",
        errno.EPERM: "choose a folder that you may write with --out",
        errno.EROFS: "choose a folder that is not read-only with --out",
    }.get(error.errno or 0, "check that the folder exists and can be written")
    return EnvironmentProblem(f"cannot write {path}: {error.strerror or error}; {remedy}")


def sha256_of(path: Path) -> str:
    try:
        with path.open("rb") as source:
            return hashlib.file_digest(source, "sha256").hexdigest()
    except FileNotFoundError:
        raise ArtifactError(f"{path} is missing") from None


def check_sha256(path: Path, expected: str) -> None:
    """Refuse a file whose content differs from what was recorded, before anything parses it."""
    found = sha256_of(path)
    if found != expected:
        raise ArtifactError(f"{path} is damaged: its sha256 is {found[:12]}…, recorded was {expected[:12]}…")


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


def _ignore(_: object) -> None:
    return None
