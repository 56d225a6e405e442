"""The numbers of flips.json, checked by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from regnas.errors import ArtifactError
from regnas.report.family.comparison import compare
from regnas.report.family.results import MethodResult
from regnas.report.family.verdicts import verdict

from .helpers import answers, contents, method

#          samples:        0123456789
FAMILY = ("1111110000", "1111111000", "1111111100")  # nothing flips
BASELINE = ("1111110000", "0111111100", "1100111111")


def test_family_without_flips_has_rates_of_exactly_zero_and_no_differences() -> None:
    family = compare(contents(method("family", FAMILY))).methods[0]
    assert [model.top1 for model in family.models] == [0.6, 0.7, 0.8]
    assert [pair.nfr for pair in family.pairs] == [0, 0, 0]
    assert family.mean_nfr == 0
    none_of_ten = 1 - 0.025**0.1  # Clopper and Pearson: (1 - high)^10 = 0.025
    assert family.mean_nfr_interval == (0, pytest.approx(none_of_ten))
    assert [pair.nfr_interval for pair in family.pairs] == [(0, pytest.approx(none_of_ten))] * 3
    assert family.mean_nfr_difference is None
    assert family.mean_nfr_difference_interval is None
    assert [model.top1_difference for model in family.models] == [None, None, None]
    assert family.verdict is None


def test_pairs_go_from_smaller_reference_to_larger_new() -> None:
    pairs = compare(contents(method("family", FAMILY), method("b", BASELINE))).methods[1].pairs
    assert [(pair.reference, pair.new) for pair in pairs] == [
        ("small", "medium"),
        ("small", "large"),
        ("medium", "large"),
    ]
    # small -> medium loses sample 0; small -> large and medium -> large lose samples 2 and 3
    assert [pair.nfr for pair in pairs] == [0.1, 0.2, 0.2]
    assert [pair.pfr for pair in pairs] == [0.2, 0.4, 0.3]
    assert pairs[1].relative_nfr == pytest.approx(0.2 / (0.6 * 0.2))
    assert pairs[1].btc == pytest.approx(4 / 6)
    assert pairs[1].bec == 0


def test_differences_are_method_minus_family() -> None:
    baseline = compare(contents(method("family", FAMILY), method("b", BASELINE))).methods[1]
    assert [round(model.top1_difference, 10) for model in baseline.models] == [0, 0, 0]
    assert baseline.mean_nfr_difference == pytest.approx(0.5 / 3)
    low, high = baseline.mean_nfr_difference_interval
    assert low < 0.5 / 3 < high
    worse = compare(contents(method("family", FAMILY), method("b", ("0000000000",) * 3))).methods[1]
    assert [model.top1_difference for model in worse.models] == [-0.6, -0.7, -0.8]


def test_matrix_holds_both_directions() -> None:
    matrix = compare(contents(method("family", FAMILY), method("b", BASELINE))).methods[1].nfr_matrix
    assert matrix == ((0, 0.1, 0.2), (0.2, 0, 0.2), (0.4, 0.3, 0))


def test_methods_in_another_order_of_samples_are_aligned() -> None:
    shuffled = method("b", BASELINE)
    first = shuffled.predictions[0]
    turned = type(first)("b/0", first.ids[::-1], first.targets[::-1], first.predicted[::-1])
    other = method("b", BASELINE, predictions=(turned, *shuffled.predictions[1:]))
    expected = compare(contents(method("family", FAMILY), shuffled))
    assert compare(contents(method("family", FAMILY), other)) == expected


def test_methods_on_other_samples_are_refused() -> None:
    with pytest.raises(ArtifactError, match="same samples"):
        compare(contents(method("family", FAMILY), method("b", tuple(pattern[:9] for pattern in BASELINE))))


def test_single_member_has_no_pairs_and_no_mean() -> None:
    comparison = compare(contents(method("family", FAMILY[:1]), method("b", BASELINE[1:2])))
    for each in comparison.methods:
        assert each.pairs == ()
        assert each.mean_nfr is each.mean_nfr_interval is each.mean_nfr_difference is None
    assert "nothing to flip against" in comparison.summary
    assert comparison.methods[1].verdict.startswith("b: Top-1 cannot be told apart (largest difference: small +10.00")


def test_clusters_are_counted_and_have_one_vote_each() -> None:
    groups = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    clustered = tuple(answers(pattern, groups=groups) for pattern in FAMILY)
    comparison = compare(contents(method("family", FAMILY, predictions=clustered)))
    assert (comparison.samples, comparison.clusters) == (10, 5)
    pairs = comparison.methods[0].pairs
    # small -> medium gains in one cluster, small -> large in the same one, medium -> large too: always 1 against 0
    assert [pair.mcnemar_p for pair in pairs] == [1.0] * 3
    independent = compare(contents(method("family", FAMILY)))
    assert independent.clusters == 10
    pair = independent.methods[0].pairs[1]
    assert pair.mcnemar_p == 0.5  # two positive flips, no negative one: 2 / 2**2
    assert pair.mcnemar_p_corrected == 1.0  # 3 pairs
    assert pair.accuracy_difference == 0.2


def test_comparison_is_json() -> None:
    comparison = compare(contents(method("family", FAMILY), method("b", BASELINE)))
    content = comparison.to_dict()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert list(content) == [
        "title", "samples", "clusters", "members", "budgets", "interval_level", "methods", "tuning", "summary",
        "diagnostics", "polishing",
    ]  # fmt: skip
    baseline = content["methods"][1]
    assert baseline["mean_nfr"] == pytest.approx(0.5 / 3)
    assert baseline["pairs"][0]["reference"] == "small"
    assert baseline["verdict"] == comparison.methods[1].verdict


def entry(nfr: tuple[float, float, float], *top1: tuple[float, float, float]) -> MethodResult:
    """A baseline with (difference, low, high) of the mean NFR and of the Top-1 of each member."""
    made = compare(contents(method("family", FAMILY[:2]), method("b", BASELINE[:2], "Baseline"))).methods[1]
    models = tuple(
        replace(model, name=name, top1_difference=value, top1_difference_interval=(low, high))
        for model, name, (value, low, high) in zip(made.models, ("small", "large"), top1, strict=True)
    )
    return replace(made, mean_nfr_difference=nfr[0], mean_nfr_difference_interval=nfr[1:], models=models)


def test_verdict_says_more_only_when_the_interval_excludes_zero() -> None:
    alike = ((0.004, -0.003, 0.011), (-0.001, -0.01, 0.008))
    same = "; Top-1 cannot be told apart (largest difference: small +0.40 [-0.30, 1.10])."
    assert verdict(entry((0.031, 0.025, 0.037), *alike)) == (
        f"Baseline flips 3.10 points more than the family [2.50, 3.70]{same}"
    )
    assert verdict(entry((-0.02, -0.03, -0.01), *alike)) == (
        f"Baseline flips 2.00 points less than the family [1.00, 3.00]{same}"
    )
    assert verdict(entry((0.001, -0.002, 0.004), *alike)) == (
        f"Baseline cannot be told apart from the family in flips (+0.10 points [-0.20, 0.40]){same}"
    )


def test_verdict_names_the_members_whose_accuracy_differs() -> None:
    found = verdict(entry((0.031, 0.025, 0.037), (0.02, 0.01, 0.03), (-0.02, -0.03, -0.01)))
    assert found.endswith("; Top-1 is higher for small +2.00 [1.00, 3.00] and lower for large -2.00 [-3.00, -1.00].")


def test_contents_that_are_not_parallel_are_refused() -> None:
    with pytest.raises(ValueError, match='predictions of method "b" must be one per member, 3, got 2'):
        contents(method("family", FAMILY), method("b", BASELINE[:2]))
    with pytest.raises(ValueError, match="names of members must differ"):
        contents(method("family", FAMILY), members=("small", "small", "large"))
    with pytest.raises(ValueError, match="must have a family"):
        contents(method("family", FAMILY), methods=())
