"""Every link of the documentation to a file of the repository resolves, to the heading that it names."""

from __future__ import annotations

import re

import pytest

from tests.docs.markdown import PAGES, anchors_of, name_of, prose_of


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_resolves(page):
    problems = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose_of(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        if linked.is_dir() or not linked.exists():
            problems.append(f"{target}: there is no such file")
        elif anchor and linked.suffix == ".md" and anchor not in anchors_of(linked):
            problems.append(f"{target}: the page has no such heading")
    assert not problems
