"""The changelog has the form of Keep a Changelog."""

from __future__ import annotations

import re

from tests.docs.markdown import ROOT

KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def test_every_release_has_a_date_and_known_kinds_of_changes_once_each():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    assert releases[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}", release) for release in releases[1:])
    for section in re.split(r"^## .+$", text, flags=re.MULTILINE)[1:]:
        kinds = re.findall(r"^### (.+)$", section, flags=re.MULTILINE)
        assert set(kinds) <= set(KINDS)
        assert len(set(kinds)) == len(kinds)
