"""Files that are either complete or absent, and the folder of the cache.

Every file is written under a temporary name in the same folder, flushed to the disk and renamed. A process that is
killed at any moment leaves the old file or the new one, never a part of either.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import operator
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from regnas.errors import ArtifactError, ConfigurationError, EnvironmentProblem, first_line
from regnas.runtime.environment import environment_cause, environment_problem
from regnas.runtime.printable import json_escapes
from regnas.runtime.temporary import remove_abandoned, temporary_beside

WITHOUT_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}  # errors of file systems without hard links
JSON_LIMIT = 64 * 2**20  # bytes
DEPTH_LIMIT = 100
DIGITS_LIMIT = 20  # of an integer, with its sign
ENTRIES = "entries"  # the key of a list in a sealed table
TOO_DEEP = f"it must be nested at most {DEPTH_LIMIT} deep"
SEAL = "content_sha256"  # the key of a table that holds the digest of all other keys


def write_bytes(path: Path, content: bytes, replace: bool = True) -> None:
    """Write a file, complete or not at all; see ``write_through``."""
    write_through(path, lambda temporary: _ignore(temporary.write_bytes(content)), replace)


def write_text(path: Path, content: str) -> None:
    """Write a text file in UTF-8, complete or not at all."""
    write_bytes(path, content.encode("utf-8", "backslashreplace"))


def write_or_return(content: str, path: str | Path | None) -> str | None:
    """Write a text to a file; without a path, return it."""
    if path is None:
        return content
    write_text(Path(path), content)
    return None


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file, complete or not at all."""
    write_text(path, json_text(value))


def json_text(value: Any) -> str:
    """Return readable JSON; characters that could control a terminal, and lone surrogates, are escapes."""
    return json_escapes(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)) + "\n"


def write_through(path: Path, write: Callable[[Path], None], replace: bool = True) -> None:
    """Let ``write`` fill a temporary file beside ``path``, then rename it to ``path``.

    Temporary files of this file that a killed process left behind are removed.

    Args:
        path: the file.
        write: gets the temporary file.
        replace: whether an existing file is replaced; if not, it stays unchanged, also if it appears meanwhile.
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
    """Check that an output file can be written, before the work that makes it.

    Refuse another suffix, an existing file, and a folder that cannot be written.
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
    except (FileNotFoundError, NotADirectoryError):
        raise ArtifactError(f"{path} is missing") from None
    except (IsADirectoryError, ValueError):  # a zero character is a ValueError
        raise ArtifactError(f"{path} must be a file") from None


def check_sha256(path: Path, expected: str) -> None:
    """Refuse a file whose content differs from the recorded one, before anything parses it."""
    found = sha256_of(path)
    if found != expected:
        raise ArtifactError(f"{path} is damaged: its sha256 must be {expected[:12]}…, got {found[:12]}…")


def read_json(path: Path) -> Any:
    """Read a JSON file of bounded size and depth."""
    try:
        size = path.stat().st_size
        if size > JSON_LIMIT:
            raise ArtifactError(f"{path} has {size:,} bytes, over the limit of {JSON_LIMIT:,} for JSON")
        return parse_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise ArtifactError(f"{path} is missing") from None
    except IsADirectoryError:
        raise ArtifactError(f"{path} must be a file") from None
    except ValueError as error:
        raise ArtifactError(f"{path} is damaged: it is not JSON ({first_line(error)})") from None


def parse_json(content: str | bytes) -> Any:
    """Parse JSON in UTF-8; raise a ``ValueError`` if it is not JSON.

    JSON that is nested more than ``DEPTH_LIMIT`` deep, and numbers that 64 bits cannot hold, also raise it, because no
    later code expects NaN, infinity or integers without bound.
    """
    try:
        value = json.loads(
            content.decode("utf-8") if isinstance(content, bytes) else content,
            parse_constant=_refuse_number,
            parse_float=_finite,
            parse_int=_bounded,
        )
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    if is_deeper(value, DEPTH_LIMIT):
        raise ValueError(TOO_DEEP)
    return value


def _refuse_number(text: str) -> NoReturn:
    raise ValueError(f"numbers must fit into 64 bits, got {text[:40]}")


def _finite(text: str) -> float:
    return value if math.isfinite(value := float(text)) else _refuse_number(text)


def _bounded(text: str) -> int:
    return value if len(text) <= DIGITS_LIMIT and abs(value := int(text)) < 2**63 else _refuse_number(text)


def is_deeper(value: Any, limit: int) -> bool:
    """Whether tables and lists are nested more than ``limit`` deep; computed without recursion."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limit):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, dict | list)
        ]
    return bool(level)


def sealed(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON table with its own digest, which ``unsealed`` checks."""
    plain = json.loads(json.dumps(table))  # numbers as keys become texts before the keys are sorted
    plain.pop(SEAL, None)
    return {**plain, SEAL: digest_of(plain)}


def write_sealed_json(path: Path, table: Mapping[str, Any]) -> None:
    """Write a table with its own digest."""
    write_json(path, sealed(table))


def write_sealed_list(path: Path, entries: Sequence[Any]) -> None:
    """Write a list as a table with its own digest."""
    write_sealed_json(path, {ENTRIES: list(entries)})


def read_sealed_json(path: Path) -> dict[str, Any]:
    """Read a table, and check it against its own digest; files of earlier versions have none."""
    return unsealed(read_json(path), path)


def read_sealed_list(path: Path, kind: type, word: str) -> list[Any]:
    """Read a list whose entries are all of one kind; files of earlier versions hold the bare list."""
    content = read_json(path)
    entries = content if isinstance(content, list) else unsealed(content, path).get(ENTRIES)
    if not isinstance(entries, list) or not all(isinstance(entry, kind) for entry in entries):
        raise ArtifactError(f"{path} is damaged: it must hold a list of {word}")
    return entries


def unsealed(content: Any, path: object) -> dict[str, Any]:
    """Check a table from a file against its own digest; return the table without the digest."""
    if not isinstance(content, dict):
        raise ArtifactError(f"{path} is damaged: it must hold a table, got {type(content).__name__}")
    table = dict(content)
    recorded = table.pop(SEAL, None)
    if recorded is None and any(_is_flipped_seal(key) for key in table):
        raise ArtifactError(f"{path} is damaged: the name of its digest is misspelled")
    if recorded is not None and recorded != digest_of(table):
        raise ArtifactError(f"{path} is damaged: its content does not match its own digest")
    return table


def _is_flipped_seal(key: str) -> bool:
    """Whether one character of the name is wrong: a flipped bit would turn the file into one without a digest."""
    return len(key) == len(SEAL) and sum(map(operator.ne, key, SEAL)) == 1


def digest_of(value: Any) -> str:
    """Return the sha256 of a JSON value, independent of the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def require_keys(table: Mapping[str, Any], keys: tuple[str, ...], where: Path) -> None:
    """Refuse a table that lacks one of the keys."""
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
