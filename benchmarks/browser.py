"""A real browser: Debian's chromium without a window, controlled through a pipe.

It uses the devtools protocol over ``--remote-debugging-pipe``: JSON messages that end in a zero byte, written to
descriptor 3 of the browser and read from its descriptor 4. This needs no package beside Python.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
PATIENCE = 60.0


def find_browser() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """A running browser: ``with Browser() as browser: browser.open(path); browser.evaluate("document.title")``."""

    def __init__(self, width: int = 1280, height: int = 900) -> None:
        self._size = f"--window-size={width},{height}"
        self.events: list[dict[str, Any]] = []  # since the last page was opened
        self._number = 0
        self._received = b""

    def __enter__(self) -> Self:
        program = find_browser()
        assert program is not None, "there is no chromium on the PATH"
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        redirected = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        command = ["bash", "-c", redirected, "bash", program, *FLAGS, self._size]
        self._process = subprocess.Popen(
            [*command, f"--user-data-dir={self._profile.name}", "about:blank"],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._session: str | None = None
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._write)  # the browser ends when its pipe does
        os.close(self._read)
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._profile.cleanup()

    def open(self, page: Path) -> None:
        """Open a page in a new tab, and wait until it is loaded; ``events`` records what happens there."""
        self.events = []
        self._session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=page.resolve().as_uri())
        self._until(lambda: any(event["method"] == "Page.loadEventFired" for event in self.events))

    def evaluate(self, script: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, script: str) -> None:
        """Wait until an expression is true."""
        self._until(lambda: self.evaluate(script) is True)

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def requests(self) -> list[str]:
        """Return the addresses that the page requested, except itself and pictures inside it."""
        sent = [event["params"]["request"]["url"] for event in self._of("Network.requestWillBeSent")]
        return [url for url in sent[1:] if not url.startswith("data:")]

    def problems(self) -> list[str]:
        """Return errors of scripts, dialogs that opened, and requests that the policy of the page refused."""
        thrown = [event["params"]["exceptionDetails"]["text"] for event in self._of("Runtime.exceptionThrown")]
        dialogs = [event["params"]["message"] for event in self._of("Page.javascriptDialogOpening")]
        entries = [event["params"]["entry"] for event in self._of("Log.entryAdded")]
        return [*thrown, *dialogs, *(entry["text"] for entry in entries if entry["level"] == "error")]

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._next(deadline)
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                return dict(answer["result"])

    def _of(self, method: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["method"] == method]

    def _until(self, condition: Any) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, "the page never came to that"
            self.call("Runtime.evaluate", expression="0")  # takes in what has happened since

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "the browser does not answer"
            part = os.read(self._read, 2**20)
            assert part, "the browser has ended"
            self._received += part
        line, _, self._received = self._received.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        if "method" in message:
            self.events.append(message)
        return message
