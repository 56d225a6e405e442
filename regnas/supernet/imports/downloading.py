"""Download one file, completely or not at all; without a network, say what to do by hand."""

from __future__ import annotations

import math
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError, URLError

from regnas.errors import EnvironmentProblem, first_line
from regnas.runtime.files import write_through
from regnas.runtime.progress import Bar
from regnas.supernet.imports.reading import SIZE_LIMIT

TIMEOUT = 30.0  # seconds without an answer
CHUNK = 2**20


def download(url: str, path: Path) -> None:
    """Download a file to ``path``."""

    def write(temporary: Path) -> None:
        with temporary.open("wb") as sink:
            for chunk in _chunks(url, path):
                sink.write(chunk)

    write_through(path, write)


def _chunks(url: str, path: Path) -> Iterator[bytes]:
    """Yield the content of the file; catch problems of the network, but not those of the disk."""
    request = urllib.request.Request(url, headers={"User-Agent": "regnas"})
    try:
        # A new opener: the global one keeps the proxies that were set when it was made.
        with urllib.request.build_opener().open(request, timeout=TIMEOUT) as response:
            yield from _checked(response, url, path)
    except HTTPError as error:
        error.close()  # the error is also the response
        raise _by_hand(url, path, f"answers {error.code} {error.reason}") from None
    except URLError as error:
        raise _by_hand(url, path, f"cannot be reached ({_reason(error.reason)})") from None
    except (HTTPException, OSError) as error:
        raise _by_hand(url, path, f"stopped ({_reason(error)})") from None


def _checked(response: HTTPResponse, url: str, path: Path) -> Iterator[bytes]:
    if response.headers.get_content_type() == "text/html":  # a page to log in, or one with a button
        raise _by_hand(url, path, "returned a web page instead of the file")
    length = response.length or 0
    received = 0
    with Bar(f"download {path.name} (MiB)" if length else "", math.ceil(length / CHUNK)) as bar:
        while chunk := response.read(CHUNK):
            received += len(chunk)
            if max(received, length) > SIZE_LIMIT:
                raise _by_hand(url, path, f"has more than {SIZE_LIMIT:,} bytes, too many for a supernet")
            yield chunk
            bar.advance()
    if received < length:
        raise _by_hand(url, path, f"stopped after {received:,} of {length:,} bytes")


def _reason(error: object) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer for {TIMEOUT:g} s"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return first_line(error) if isinstance(error, BaseException) else str(error)


def _by_hand(url: str, path: Path, problem: str) -> EnvironmentProblem:
    return EnvironmentProblem(f"{url} {problem}. Download it on another machine, put it at {path}, and try again.")
