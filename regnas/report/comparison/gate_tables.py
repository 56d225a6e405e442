"""A verdict as tables for the terminal, as a comment on a pull request, and as test cases."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group
from rich.text import Text

from regnas.comparison.gating import Check, Finding, Verdict
from regnas.report.comparison.junit import Case
from regnas.report.comparison.tables import titled_table
from regnas.report.kit.formatting import percent, percent_interval, signed_percent
from regnas.report.kit.markdown import markdown_table, plain
from regnas.runtime.printable import printable

LIMITS = ("Limit", "Found (%)", "Interval", "Verdict", "Further samples")
CLASSES = ("Class", "Samples", "Flips", "NFR (%)", "Interval", "Verdict", "Further samples")
SIGNS = {"pass": "✅", "unresolved": "❔", "fail": "❌"}

MOST_CLASSES = 10
FOLDING = (0, 4)  # the limit and the further samples are texts


def gate_terminal(verdict: Verdict) -> Group:
    """Return the limits, the classes that do not pass, and notes, for the terminal."""
    parts = titled_table(gate_headline(verdict), LIMITS, limit_rows(verdict.checks), folding=FOLDING)
    for check in verdict.checks:
        rows = class_rows(check)
        if rows:
            parts += titled_table(classes_title(check, rows), CLASSES, rows[:MOST_CLASSES], folding=(0, 6))
    return Group(*parts, *(Text(note) for note in gate_notes(verdict)))


def gate_markdown(verdict: Verdict) -> str:
    """Return Markdown that is short enough for a comment."""
    sections = [
        f"### {SIGNS[verdict.status]} {plain(gate_headline(verdict))}",
        markdown_table(LIMITS, limit_rows(verdict.checks)),
    ]
    for check in verdict.checks:
        rows = class_rows(check)
        if rows:
            sections += [classes_title(check, rows), markdown_table(CLASSES, rows[:MOST_CLASSES])]
    return "\n\n".join([*sections, *map(plain, gate_notes(verdict))]) + "\n"


def gate_cases(verdict: Verdict, allow_unresolved: bool) -> list[Case]:
    """Return one test per limit; an unresolved limit fails, or is skipped if that is allowed."""
    cases = []
    for check, row in zip(verdict.checks, limit_rows(verdict.checks), strict=True):
        limit, found, interval, status, further = row
        said = f"{status}: {found} % {interval}" + (f", further samples: {further}" if further else "")
        skipped = check.status == "unresolved" and allow_unresolved
        failed = check.status != "pass" and not skipped
        name = f"{verdict.reference} → {verdict.new}: {limit}"
        cases.append(Case(name, said, failure=said if failed else "", skipped=said if skipped else ""))
    return cases


def gate_headline(verdict: Verdict) -> str:
    """Return the status, the models and the number of samples in one line."""
    return (
        f"{verdict.status.capitalize()}: {printable(verdict.reference)} → {printable(verdict.new)} on "
        f"{verdict.samples:,} samples"
    )


def limit_rows(checks: Sequence[Check]) -> list[list[str]]:
    """Return one row of ``LIMITS`` per check."""
    return [
        [
            limit_text(check),
            (signed_percent if check.limit == "min_accuracy_gain" else percent)(check.finding.estimate),
            percent_interval(check.finding.interval),
            check.status,
            further_text(check),
        ]
        for check in checks
    ]


def limit_text(check: Check) -> str:
    """Return the limit in words."""
    if check.limit == "min_accuracy_gain":
        return f"accuracy gains at least {100 * check.bound:g} points"
    of = " of every class" if check.limit == "max_class_nfr" else ""
    return f"NFR{of} at most {100 * check.bound:g} %"


def further_text(found: Check | Finding) -> str:
    """Return how many further samples would resolve the limit; empty if it is resolved."""
    if found.status != "unresolved":
        return ""
    return "cannot be resolved at this rate" if found.further_samples is None else f"about {found.further_samples:,}"


def classes_title(check: Check, rows: Sequence[Sequence[str]]) -> str:
    """Return the title of the table of classes that do not pass."""
    shown = f", the worst {MOST_CLASSES}" if len(rows) > MOST_CLASSES else ""
    return f"Classes that do not pass: {len(rows):,} of {len(check.classes):,}{shown}"


def class_rows(check: Check) -> list[list[str]]:
    """Return one row of ``CLASSES`` per class that does not pass."""
    return [
        [
            printable(str(each.value)),
            f"{each.samples:,}",
            f"{each.negative_flips:,}",
            percent(each.estimate),
            percent_interval(each.interval),
            each.status,
            further_text(each),
        ]
        for each in check.classes
        if each.status != "pass"
    ]


def gate_notes(verdict: Verdict) -> list[str]:
    """Explain the intervals and the further samples."""
    lines = [
        "A limit passes or fails if the whole 95 % interval is on one side of it. Further samples: how many would "
        "resolve it if the rates stay the same."
    ]
    lines += [
        f"Intervals of classes are at the {100 * check.interval_level:.6g} % level, so that all "
        f"{len(check.classes):,} hold together with 95 % (Bonferroni). Their further samples are of the class."
        for check in verdict.checks
        if check.classes
    ]
    if verdict.clusters < verdict.samples:
        lines.append(
            f"The samples come in {verdict.clusters:,} clusters (column group); the intervals account for them."
        )
    return lines
