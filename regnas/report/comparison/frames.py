"""A comparison as a data frame of pandas, polars or pyarrow."""

from __future__ import annotations

from typing import Any

from regnas.comparison.breakdowns import Breakdown
from regnas.comparison.comparison import Comparison, Pair
from regnas.components.registry import nearest
from regnas.errors import ConfigurationError
from regnas.report.kit.frames import frame_of


def to_frame(comparison: Comparison, by: str | None, library: str) -> Any:
    """Return one row per ordered pair, or per pair and part of a breakdown."""
    if by is None:
        rows = [pair_values(pair) for pair in comparison.pairs]
    else:
        rows = [row for pair in comparison.pairs for row in _part_rows(pair, by)]
    return frame_of(rows, library)


def pair_values(pair: Pair) -> dict[str, Any]:
    """Return the numbers of a pair, with the ends of its intervals in separate columns."""
    return {
        "reference": pair.reference,
        "new": pair.new,
        "reference_error_rate": pair.reference_error_rate,
        "new_error_rate": pair.new_error_rate,
        "negative_flips": pair.negative_flips,
        "positive_flips": pair.positive_flips,
        "nfr": pair.nfr,
        "nfr_low": pair.nfr_interval[0],
        "nfr_high": pair.nfr_interval[1],
        "pfr": pair.pfr,
        "relative_nfr": pair.relative_nfr,
        "accuracy_difference": pair.accuracy_difference,
        "accuracy_difference_low": pair.accuracy_difference_interval[0],
        "accuracy_difference_high": pair.accuracy_difference_interval[1],
        "mcnemar_p": pair.mcnemar_p,
        "mcnemar_p_corrected": pair.mcnemar_p_corrected,
    }


def _part_rows(pair: Pair, by: str) -> list[dict[str, Any]]:
    return [
        {
            "reference": pair.reference,
            "new": pair.new,
            "value": part.value,
            "samples": part.samples,
            "negative_flips": part.negative_flips,
            "positive_flips": part.positive_flips,
            "nfr": part.nfr,
            "nfr_low": part.nfr_interval[0],
            "nfr_high": part.nfr_interval[1],
            "pfr": part.pfr,
        }
        for part in _breakdown(pair, by).parts
    ]


def _breakdown(pair: Pair, by: str) -> Breakdown:
    known = dict(pair.slices) | {"class": pair.classes}
    if by not in known:
        names = list(known)
        raise ConfigurationError(f'by must be one of {", ".join(names)}, got "{by}"{nearest(by, names)}')
    return known[by]
