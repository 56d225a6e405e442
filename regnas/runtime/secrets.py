"""Hide passwords in addresses such as ``postgresql://ann:secret@host/runs``; no message or file has them."""

from __future__ import annotations

import re

_SCHEME = re.compile(r"[\w+.-]+://")
_IN_TEXT = re.compile(r"(:/{1,2}[^:/@\s]*):\S*@")  # up to the last @: an unescaped one may belong to the password
_IN_ADDRESS = re.compile(r"(?s)(://[^:/@]*):.*@")
_KEY = re.compile(r"(?i)((?:ssl)?password=)[^&\s]*")


def hide_passwords(text: str) -> str:
    """Return a text with the passwords of all addresses in it hidden.

    Example:
        >>> hide_passwords("cannot reach postgresql://ann:a@b/c@host/runs?sslpassword=x")
        'cannot reach postgresql://ann:***@host/runs?sslpassword=***'
    """
    return _KEY.sub(r"\1***", _IN_TEXT.sub(r"\1:***@", text))


def without_password(address: str) -> str:
    """Return the address of a database with its passwords hidden, which may contain spaces.

    Example:
        >>> without_password("postgresql://ann:a b/c@host:99x/runs?password=x&ssl=1")
        'postgresql://ann:***@host:99x/runs?password=***&ssl=1'
    """
    if "@" in address and not _SCHEME.match(address):  # malformed: keep only what cannot be a password
        address = f"***@{address.rpartition('@')[2]}"
    return hide_passwords(_IN_ADDRESS.sub(r"\1:***@", address))


def recorded_address(address: str) -> str:
    """Return the address without its passwords, for the run folder.

    A run that is continued from its folder finds the password like every client of the database: in the variable
    ``PGPASSWORD`` or in the file ``~/.pgpass``.

    Example:
        >>> recorded_address("postgresql://ann:secret@host/runs?password=x&sslmode=require")
        'postgresql://ann@host/runs?sslmode=require'
    """
    without = _IN_ADDRESS.sub(r"\1@", address) if _SCHEME.match(address) else without_password(address)
    kept = re.sub(r"(?i)(?<=[?&])(?:ssl)?password=[^&]*&?", "", without)
    return kept.rstrip("?&") if kept != without else kept
