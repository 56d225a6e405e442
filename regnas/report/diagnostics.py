"""Which samples flip, for both reports: the numbers of all methods, and what one sees in them.

The value is JSON: the pair of models, and for each method ``flips.Diagnostics`` with its name and title. The first
method is the one that is told in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from regnas.flips.diagnostics import BINS, Diagnostics
from regnas.report.kit.markdown import markdown_table, plain

Values = Mapping[str, Any]

LOWEST_RANK = 5  # and all below it are shown together

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


def diagnostics_of(
    reference: str, new: str, methods: Sequence[tuple[str, str, Diagnostics | None]]
) -> dict[str, Any] | None:
    """Of methods (name, title, what ``diagnose`` found); those without logits are left out."""
    told = [
        {"name": name, "title": title, **diagnosed.to_json()}
        for name, title, diagnosed in methods
        if diagnosed is not None
    ]
    return {"reference": reference, "new": new, "methods": told} if told else None


def share_by_rank(mistakes: Values) -> list[float]:
    """Of the wrong class in the reference: rank 1 to 4, 5 and below, and unknown to the reference; all 0 for none."""
    ranks = mistakes["wrong_class_in_reference"]
    counts = [*ranks["counts"][: LOWEST_RANK - 1], sum(ranks["counts"][LOWEST_RANK - 1 :]) + ranks["beyond"]]
    return [count / max(1, mistakes["samples"]) for count in (*counts, ranks["unknown"])]


def summary(diagnostics: Values) -> str:
    """What one sees, for the first method."""
    method = diagnostics["methods"][0]
    old, new, flips = diagnostics["reference"], diagnostics["new"], method["flips"]
    if not method["negative_flips"]:
        return f"{method['title']}: no sample flips from {old} to {new}."
    last, auroc = method["reference_uncertainty"]["bins"][-1], method["reference_uncertainty"]["auroc"]
    where = "tenth" if len(method["reference_uncertainty"]["bins"]) == BINS else f"{last['samples']:,} samples"
    certain = f"{100 * last['share_of_flips']:.0f} % are among the {where} that {old} is least certain of"
    if auroc is not None:
        certain += f" (a flip is less certain than another sample in {100 * auroc:.0f} % of all such pairs)"
    shares, common = share_by_rank(flips), share_by_rank(method["common_errors"])
    second = f"The class that {new} answers wrongly ranks second in {old} for {100 * shares[1]:.0f} % of the flips"
    margins = _margins(flips)
    sentences = [f"{method['title']}: of {method['negative_flips']:,} negative flips from {old} to {new}, {certain}."]
    sentences += [f"{second} and below the third for {100 * sum(shares[3:]):.0f} %."]
    sentences += [f"p(true class) − p(wrong class) is {margins[0]} in {old} and {margins[1]} in {new} (median)."]
    if method["common_errors"]["samples"]:
        own = f"On the {method['common_errors']['samples']:,} errors of both models {old} answers the same wrong class"
        sentences.append(f"{own} in {100 * common[0]:.0f} %.")
    return " ".join(sentences)


def rows(diagnostics: Values) -> list[list[str]]:
    """The table below ``HEADER``."""
    return [_row(method) for method in diagnostics["methods"]]


def diagnostics_markdown(diagnostics: Values | None) -> str:
    """A section of its own, or nothing."""
    if diagnostics is None:
        return ""
    pair = f"From {diagnostics['reference']} to {diagnostics['new']}."
    table = markdown_table(HEADER, rows(diagnostics))
    return "\n".join(["", "## Which samples flip", "", f"{plain(pair)} {plain(summary(diagnostics))}", "", table, ""])


def for_page(diagnostics: Values | None, pooled: int = 1) -> dict[str, Any] | None:
    """What the template shows beside the figures; ``pooled`` pairs of models are behind each number."""
    if diagnostics is None:
        return None
    return {
        "reference": diagnostics["reference"],
        "new": diagnostics["new"],
        "summary": summary(diagnostics),
        "header": HEADER,
        "rows": rows(diagnostics),
        "pooled": pooled,
    }


def _row(method: Values) -> list[str]:
    if not method["negative_flips"]:
        return [method["title"], "0", *["–"] * (len(HEADER) - 2)]
    shares = share_by_rank(method["flips"])
    return [
        method["title"],
        f"{method['negative_flips']:,}",
        f"{100 * method['reference_uncertainty']['bins'][-1]['share_of_flips']:.0f}",
        *(_rate(method[f"{model}_uncertainty"]["auroc"]) for model in ("reference", "new")),
        f"{100 * shares[1]:.0f}",
        f"{100 * sum(shares[:3]):.0f}",
        *_margins(method["flips"]),
    ]


def _rate(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _margins(mistakes: Values) -> list[str]:
    quantiles = [mistakes[f"margin_in_{model}"]["quantiles"] for model in ("reference", "new")]
    return ["–" if known is None else f"{known[2] + 0.0:+.2f}".replace("-", "−") for known in quantiles]
