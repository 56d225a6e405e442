"""JUnit XML, which build servers show with the tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from regnas.runtime.printable import printable


@dataclass(frozen=True)
class Case:
    """One test of a report; it passed if ``failure`` and ``skipped`` are empty."""

    name: str
    output: str
    failure: str = ""
    skipped: str = ""


def junit_text(suite: str, cases: Sequence[Case]) -> str:
    """Return the test cases of a suite as JUnit XML."""
    root = ElementTree.Element(
        "testsuite",
        name=suite,
        tests=str(len(cases)),
        failures=str(sum(bool(case.failure) for case in cases)),
        skipped=str(sum(bool(case.skipped) for case in cases)),
        errors="0",
    )
    for case in cases:
        element = ElementTree.SubElement(root, "testcase", classname=suite, name=printable(case.name))
        for kind, message in (("failure", case.failure), ("skipped", case.skipped)):
            if message:
                ElementTree.SubElement(element, kind, message=printable(message))
        ElementTree.SubElement(element, "system-out").text = printable(case.output)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'
