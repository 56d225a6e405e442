"""The results on the pages are those that the benchmarks wrote, rounded."""

from __future__ import annotations

import re

import pytest

from tests.docs.markdown import ROOT, rows_of, sections_of

CIFAR10 = {
    "independent training": "Independent training",
    "focal distillation (FD-KL)": "FD-KL chain, weight 1",
    "focal distillation (FD-LM), weight 0.1": "FD-LM chain, weight 0.1",
    "ELODI (m = 4)": "ELODI (m = 4, alpha 0.8)",
    "ensembles of four (the paragon: four times the inference)": "Ensemble paragon (m = 4)",
    "REG-NAS: plain supernet, R2 and containment": "R2 and containment (REG-NAS)",
    "+ congruence lesson in the training of the supernet": "PC-aware training of the supernet",
    "REG-NAS, polished without the congruence term": "Polished without congruence",
    "**polished**, as the search split chose (alpha 0.75)": "Polished, alpha 0.75",
    "**polished**, alpha 1": "Polished",
}
DIGITS = {
    "Churn distillation": "Churn distillation (a = 0.5)",
    "Old + new (both models run)": "★ Old + new (mean logits)",
    "BU-CR (both models run)": "★ BU-CR (inference)",
    "Ensemble paragon (m = 3)": "★ Ensemble paragon (m = 3)",
    "ELODI (m = 3)": "ELODI (m = 3, K = 10)",
    "BCWI (α = 0.7) †": "★ BCWI (α = 0.7) †",
}


def numbers(cell: str) -> list[float]:
    return [float(number) for number in re.findall(r"[-+]?\d+(?:\.\d+)?", cell.replace(",", ""))]


def test_the_families_on_cifar10():
    study = sections_of(ROOT / "benchmarks" / "cifar10" / "README.md")
    top1 = {row[0]: row[1:] for row in rows_of(study["Accuracy"])}
    flips = {row[0]: row[1:] for row in rows_of(study["Flips"]) if row[0] in top1 and "[" in row[4]}
    cost = {row[0]: row[1:] for row in rows_of(study["Cost"])}
    rows = list(rows_of(sections_of(ROOT / "docs" / "searching.md")["Results on CIFAR-10"]))
    assert [row[0] for row in rows] == list(CIFAR10)
    for label, *members, nfr, training, seeds in rows:
        name = CIFAR10[label]
        for shown, measured in zip(members, top1[name], strict=False):
            assert float(shown) == pytest.approx(numbers(measured)[0], abs=0.051)
        mean, *_, low, high = numbers(flips[name][3].replace(", ", " "))
        assert numbers(nfr.replace(", ", " ")) == [mean, low, high]
        assert float(training.strip("x")) == pytest.approx(numbers(cost[name][4])[0], abs=0.051)
        assert int(seeds) == len(cost[name][7].split(","))


def test_the_methods_on_digits():
    text = (ROOT / "benchmarks" / "update_cifar10.md").read_text(encoding="utf-8")
    study = text.split("## update\\_digits\n")[1].split("\n## ")[0]
    measured = {row[0]: row[1:] for row in rows_of(study)}
    rows = list(rows_of(sections_of(ROOT / "docs" / "updating.md")["Results on digits"]))
    floor = rows.pop()
    assert len(rows) == 11
    for label, *cells in rows:
        old, new, nfr, _, difference, parameters, cost = measured[DIGITS.get(label, label)]
        for shown, exact in zip(cells[:2], (old, new), strict=True):
            assert numbers(shown) == pytest.approx(numbers(exact), abs=0.051)
        assert cells[2] == nfr
        assert cells[3] == ("" if difference == "–" else difference)
        assert numbers(cells[4])[0] == pytest.approx(numbers(parameters)[0] / 1000, abs=0.51)
        assert cells[5] == cost
    assert floor[3] == "5.20 ± 0.18"
    assert "Noise floor: the NFR between two trainings of the same recipe (new) is 5.20 ± 0.18 %" in study
