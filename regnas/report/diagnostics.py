"""Which samples flip, for both reports: the numbers of all methods, and a description of the first one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from regnas.flips.diagnostics import BINS, MARGIN_EDGES, QUANTILES, Diagnostics, Margins, Mistakes, Uncertainty
from regnas.report.kit.json_values import Text
from regnas.report.kit.markdown import markdown_table, plain

LOWEST_RANK = 5  # this rank and all below it are shown together

HEADER = (
    "Method",
    "negative flips",
    "in the most uncertain tenth (%)",
    "AUROC, reference",
    "AUROC, new",
    "wrong class second in the reference (%)",
    "among its first 3 (%)",
    "median margin, reference",
    "median margin, new",
)


@dataclass(frozen=True)
class MethodDiagnostics:
    """``flips.Diagnostics`` of one method, with the bin edges and the quantiles of its margins."""

    name: Text
    title: Text
    margin_edges: tuple[float, ...]
    margin_quantiles: tuple[float, ...]
    samples: int
    negative_flips: int
    reference_uncertainty: Uncertainty
    new_uncertainty: Uncertainty
    flips: Mistakes
    common_errors: Mistakes

    @classmethod
    def of(cls, name: str, title: str, found: Diagnostics) -> MethodDiagnostics:
        return cls(
            name=name,
            title=title,
            margin_edges=MARGIN_EDGES,
            margin_quantiles=QUANTILES,
            samples=found.samples,
            negative_flips=found.negative_flips,
            reference_uncertainty=found.reference_uncertainty,
            new_uncertainty=found.new_uncertainty,
            flips=found.flips,
            common_errors=found.common_errors,
        )


@dataclass(frozen=True)
class FlipDiagnostics:
    """The flips of every method from one model to another."""

    reference: Text
    new: Text
    methods: tuple[MethodDiagnostics, ...]


def diagnostics_of(
    reference: str, new: str, methods: Sequence[tuple[str, str, Diagnostics | None]]
) -> FlipDiagnostics | None:
    """Collect the diagnostics of methods, each given as name, title and the result of ``diagnose``.

    Methods without logits are left out.
    """
    found = tuple(
        MethodDiagnostics.of(name, title, diagnosed) for name, title, diagnosed in methods if diagnosed is not None
    )
    return FlipDiagnostics(reference, new, found) if found else None


def share_by_rank(mistakes: Mistakes) -> list[float]:
    """Return the share of mistakes by the rank of the wrong class in the reference; all 0 without mistakes.

    The entries are the ranks 1 to 4, the ranks from 5 on together, and classes that the reference does not know.
    """
    ranks = mistakes.wrong_class_in_reference
    counts = [*ranks.counts[: LOWEST_RANK - 1], sum(ranks.counts[LOWEST_RANK - 1 :]) + ranks.beyond]
    return [count / max(1, mistakes.samples) for count in (*counts, ranks.unknown)]


def summary(diagnostics: FlipDiagnostics) -> str:
    """Describe the flips of the first method."""
    method = diagnostics.methods[0]
    old, new = diagnostics.reference, diagnostics.new
    if not method.negative_flips:
        return f"{method.title}: no sample flips from {old} to {new}."
    last, auroc = method.reference_uncertainty.most_uncertain, method.reference_uncertainty.auroc
    where = "tenth of the samples" if len(method.reference_uncertainty.bins) == BINS else f"{last.samples:,} samples"
    certain = f"{100 * last.share_of_flips:.0f} % are among the {where} that {old} is least certain about"
    if auroc is not None:
        certain += f" (in {100 * auroc:.0f} % of all pairs of a flip and another sample, the flip is less certain)"
    shares, common = share_by_rank(method.flips), share_by_rank(method.common_errors)
    second = f"The wrong class that {new} predicts ranks second in {old} for {100 * shares[1]:.0f} % of the flips"
    margins = _margins(method.flips)
    sentences = [f"{method.title}: of {method.negative_flips:,} negative flips from {old} to {new}, {certain}."]
    sentences += [f"{second} and below third for {100 * sum(shares[3:]):.0f} %."]
    sentences += [f"The median of p(true class) − p(wrong class) is {margins[0]} in {old} and {margins[1]} in {new}."]
    if method.common_errors.samples:
        errors = f"the {method.common_errors.samples:,} samples that both models get wrong"
        sentences.append(f"Of {errors}, {100 * common[0]:.0f} % have the same wrong class in both.")
    return " ".join(sentences)


def rows(diagnostics: FlipDiagnostics) -> list[list[str]]:
    """Return one row of ``HEADER`` per method."""
    return [_row(method) for method in diagnostics.methods]


def diagnostics_markdown(diagnostics: FlipDiagnostics | None) -> str:
    """Return a section of Markdown; empty without diagnostics."""
    if diagnostics is None:
        return ""
    pair = f"From {diagnostics.reference} to {diagnostics.new}."
    table = markdown_table(HEADER, rows(diagnostics))
    return "\n".join(["", "## Which samples flip", "", f"{plain(pair)} {plain(summary(diagnostics))}", "", table, ""])


def for_page(diagnostics: FlipDiagnostics | None, pooled: int = 1) -> dict[str, Any] | None:
    """Return the values for the template of a page.

    ``pooled`` is the number of pairs of models behind each number, one per seed.
    """
    if diagnostics is None:
        return None
    return {
        "reference": diagnostics.reference,
        "new": diagnostics.new,
        "summary": summary(diagnostics),
        "header": HEADER,
        "rows": rows(diagnostics),
        "pooled": pooled,
    }


def _row(method: MethodDiagnostics) -> list[str]:
    if not method.negative_flips:
        return [method.title, "0", *["–"] * (len(HEADER) - 2)]
    shares = share_by_rank(method.flips)
    return [
        method.title,
        f"{method.negative_flips:,}",
        f"{100 * method.reference_uncertainty.most_uncertain.share_of_flips:.0f}",
        *(_rate(model.auroc) for model in (method.reference_uncertainty, method.new_uncertainty)),
        f"{100 * shares[1]:.0f}",
        f"{100 * sum(shares[:3]):.0f}",
        *_margins(method.flips),
    ]


def _rate(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _margins(mistakes: Mistakes) -> list[str]:
    """Return the median margin in the reference and in the new model."""
    return [_signed(margins) for margins in (mistakes.margin_in_reference, mistakes.margin_in_new)]


def _signed(margins: Margins) -> str:
    return "–" if margins.median is None else f"{margins.median + 0.0:+.2f}".replace("-", "−")
