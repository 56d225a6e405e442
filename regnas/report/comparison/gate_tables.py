"""A verdict for the terminal, for a comment on a pull request, and as tests."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group
from rich.text import Text

from regnas.comparison.gating import Check, Finding, GateResult, Verdict
from regnas.report.comparison.junit import Case
from regnas.report.comparison.tables import titled_table
from regnas.report.kit.formatting import percent, percent_interval, printable, signed_percent
from regnas.report.kit.markdown import markdown_table, plain

LIMITS = ("Limit", "Found (%)", "Interval", "Verdict", "Further samples")
CLASSES = ("Class", "Samples", "Flips", "NFR (%)", "Interval", "Verdict", "Further samples")
SIGNS = {Verdict.PASS: "✅", Verdict.UNRESOLVED: "❔", Verdict.FAIL: "❌"}

MOST_CLASSES = 10


def gate_terminal(result: GateResult) -> Group:
    parts = titled_table(gate_headline(result), LIMITS, limit_rows(result.checks))
    for check in result.checks:
        rows = class_rows(check)
        if rows:
            parts += titled_table(classes_title(check, rows), CLASSES, rows[:MOST_CLASSES])
    return Group(*parts, *(Text(note) for note in gate_notes(result)))


def gate_markdown(result: GateResult) -> str:
    """Short enough for a comment."""
    sections = [
        f"### {SIGNS[result.verdict]} {plain(gate_headline(result))}",
        markdown_table(LIMITS, limit_rows(result.checks)),
    ]
    for check in result.checks:
        rows = class_rows(check)
        if rows:
            sections += [classes_title(check, rows), markdown_table(CLASSES, rows[:MOST_CLASSES])]
    return "\n\n".join([*sections, *map(plain, gate_notes(result))]) + "\n"


def gate_cases(result: GateResult, allow_unresolved: bool) -> list[Case]:
    """One test a limit; an unresolved one fails, or is skipped where it is allowed."""
    cases = []
    for check, row in zip(result.checks, limit_rows(result.checks), strict=True):
        limit, found, interval, verdict, further = row
        said = f"{verdict}: {found} % {interval}" + (f", further samples: {further}" if further else "")
        skipped = check.verdict == Verdict.UNRESOLVED and allow_unresolved
        failed = check.verdict != Verdict.PASS and not skipped
        name = f"{result.reference} → {result.new}: {limit}"
        cases.append(Case(name, said, failure=said if failed else "", skipped=said if skipped else ""))
    return cases


def gate_headline(result: GateResult) -> str:
    return (
        f"{str(result.verdict).capitalize()}: {printable(result.reference)} → {printable(result.new)} on "
        f"{result.samples:,} samples"
    )


def limit_rows(checks: Sequence[Check]) -> list[list[str]]:
    return [
        [
            limit_text(check),
            (signed_percent if check.limit == "min_accuracy_gain" else percent)(check.finding.estimate),
            percent_interval(check.finding.interval),
            str(check.verdict),
            further_text(check),
        ]
        for check in checks
    ]


def limit_text(check: Check) -> str:
    if check.limit == "min_accuracy_gain":
        return f"accuracy gains at least {100 * check.bound:g} points"
    of = " of every class" if check.limit == "max_class_nfr" else ""
    return f"NFR{of} at most {100 * check.bound:g} %"


def further_text(found: Check | Finding) -> str:
    if found.verdict != Verdict.UNRESOLVED:
        return ""
    return "cannot be settled at this rate" if found.further_samples is None else f"about {found.further_samples:,}"


def classes_title(check: Check, rows: Sequence[Sequence[str]]) -> str:
    shown = f", the worst {MOST_CLASSES}" if len(rows) > MOST_CLASSES else ""
    return f"Classes that do not pass: {len(rows):,} of {len(check.classes):,}{shown}"


def class_rows(check: Check) -> list[list[str]]:
    return [
        [
            printable(str(each.value)),
            f"{each.samples:,}",
            f"{each.negative_flips:,}",
            percent(each.estimate),
            percent_interval(each.interval),
            str(each.verdict),
            further_text(each),
        ]
        for each in check.classes
        if each.verdict != Verdict.PASS
    ]


def gate_notes(result: GateResult) -> list[str]:
    lines = [
        "A limit passes or fails when the whole 95 % interval is on one side of it. Further samples are those that "
        "would settle it if the rates stay what they are."
    ]
    lines += [
        f"Intervals of classes are {100 * check.interval_level:.6g} % ones, so that all {len(check.classes):,} of them "
        "hold together with 95 % (Bonferroni); their further samples are of the class."
        for check in result.checks
        if check.classes
    ]
    if result.clusters < result.samples:
        lines.append(f"The samples come in {result.clusters:,} clusters (column group), which the intervals allow for.")
    return lines
