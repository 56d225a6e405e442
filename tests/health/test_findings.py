from __future__ import annotations

import getpass
import socket
import tempfile
from pathlib import Path

import pytest

from regnas.health import Diagnosis, Finding
from regnas.health.findings import anonymous


@pytest.fixture
def ann(monkeypatch, tmp_path):
    """A user and a machine whose names must not be shown."""
    monkeypatch.setattr(getpass, "getuser", lambda: "ann")
    monkeypatch.setattr(socket, "gethostname", lambda: "ann-laptop")
    monkeypatch.setattr(Path, "home", lambda: Path("/home/ann.smith"))
    monkeypatch.setattr(Path, "cwd", lambda: Path("/home/ann.smith/photos of ann"))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/scratch/ann")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[Errno 13] /home/ann.smith/photos of ann/a.png", "[Errno 13] ./a.png"),
        ("cannot read /home/ann.smith/.netrc", "cannot read ~/.netrc"),
        ("'/scratch/ann/x' of ann on ann-laptop", "'TMP/x' of USER on HOST"),
        ("see /opt/company/lib/python/torch.so", "see .../torch.so"),
        ("/etc/company/settings.toml: broken", ".../settings.toml: broken"),
        ("postgresql://bob:secret@host failed", "postgresql://bob:***@host failed"),
        ("two\nlines and \x1b[31mcolor", r"two lines and \x1b[31mcolor"),
        ("annual report by ann.smith", "annual report by USER"),
    ],
)
def test_private_names_are_not_shown(ann, text, shown):
    assert anonymous(text) == shown
    assert "secret@" not in anonymous(text)


def test_an_account_without_a_name_is_no_problem(monkeypatch):
    def nobody():
        raise KeyError("getpwuid(): uid not found: 1234")

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert anonymous("fine") == "fine"


def test_the_text_has_every_finding_under_its_section_and_the_json_the_same():
    findings = (
        Finding("machine", "cores", "2"),
        Finding("disk", "locks", "OSError: no locks", "failed", "Work elsewhere: https://host/a/b."),
        Finding("disk", "mapped files", "works"),
    )
    diagnosis = Diagnosis(findings)
    assert str(diagnosis).splitlines() == [
        "machine",
        "  ok      cores         2",
        "",
        "disk",
        "  failed  locks         OSError: no locks",
        "                        Work elsewhere: https://host/a/b.",
        "  ok      mapped files  works",
        "",
        "1 of 3 failed: locks.",
    ]
    table = diagnosis.to_json()
    assert not diagnosis.works and table["works"] is False
    assert table["findings"][1] == {
        "section": "disk",
        "name": "locks",
        "status": "failed",
        "found": "OSError: no locks",
        "remedy": "Work elsewhere: https://host/a/b.",
    }
    assert Diagnosis(findings[::2]).works
