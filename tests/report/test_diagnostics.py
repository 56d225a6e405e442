"""Which samples flip, as the reports describe and draw it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from regnas.flips import Predictions, diagnose
from regnas.flips.diagnostics import Margins, Mistakes, Ranks
from regnas.report.diagnostics import diagnostics_markdown, diagnostics_of, rows, share_by_rank, summary
from regnas.report.family.report import write_report
from regnas.report.update.curves import FlipsByEpoch, SplitRates
from regnas.report.update.epoch_plots import flips_by_epoch_in_words
from regnas.report.update.report import write_update_report

from .helpers import Page, contents, method, pictures, sample_ids
from .update_helpers import none, update

EVIL = '"><script>alert(1)</script>'


def answered(chances, model):
    """Return logits with these softmax values; class 0 is the label of every sample."""
    logits = np.log(np.array(chances, dtype=np.float32))
    targets = np.zeros(len(logits), dtype=np.int64)
    return Predictions(model, sample_ids(len(logits)), targets, logits.argmax(axis=1), logits)


# Sample 0 flips: the wrong class was second. Sample 1 stays right, sample 2 wrong, with the same answer.
OLD = answered([(0.5, 0.4, 0.1), (0.98, 0.01, 0.01), (0.3, 0.1, 0.6)], "old")
NEW = answered([(0.2, 0.7, 0.1), (0.9, 0.05, 0.05), (0.2, 0.1, 0.7)], "new")


@pytest.fixture(scope="module")
def diagnostics():
    return diagnostics_of(
        "old", "new", [("none", "No treatment", diagnose([(OLD, NEW)])), ("same", "Same", diagnose([(OLD, OLD)]))]
    )


def test_the_findings_are_described_in_sentences(diagnostics):
    text = summary(diagnostics)
    # the entropy of sample 0 is between those of 2 (larger, as 0.3 and 0.6 are more even with 0.1) and 1
    assert text.startswith("No treatment: of 1 negative flips from old to new, ")
    assert "class that new predicts ranks second in old for 100 % of the flips and below third for 0 %." in text
    assert "The median of p(true class) − p(wrong class) is +0.10 in old and −0.50 in new." in text
    assert text.endswith("Of the 1 samples that both models get wrong, 100 % have the same wrong class in both.")


def test_the_table_has_a_row_a_method_and_dashes_without_flips(diagnostics):
    first, second = rows(diagnostics)
    assert first[:2] == ["No treatment", "1"]
    assert first[-4:] == ["100", "100", "+0.10", "−0.50"]
    assert second == ["Same", "0", *["–"] * 7]
    assert summary(replace(diagnostics, methods=diagnostics.methods[1:])) == "Same: no sample flips from old to new."


def test_ranks_from_five_on_are_shown_together():
    ranks = Ranks(counts=(0, 4, 1, 1, 1, 0, 0, 0, 0, 1), beyond=1, unknown=1, median=2.5)
    margins = Margins(None, (0,) * 20)
    assert share_by_rank(Mistakes(10, ranks, ranks, margins, margins)) == [0, 0.4, 0.1, 0.1, 0.3, 0.1]


def test_without_logits_no_findings_are_described():
    bare = OLD.answered_by("bare", OLD.predicted)
    assert diagnostics_of("old", "new", [("none", "No treatment", diagnose([(bare, NEW)]))]) is None
    assert diagnostics_markdown(None) == ""


def test_the_report_of_a_run_compares_the_smallest_with_the_largest(tmp_path):
    family = method("family", ("100", "110", "110"), "Family", predictions=(OLD, OLD, NEW))
    other = method("other", ("100", "110", "110"), EVIL, predictions=(OLD, NEW, OLD))
    made = write_report(contents(family, other), tmp_path)
    found = json.loads((tmp_path / "flips.json").read_text())["diagnostics"]
    assert found == made.to_dict()["diagnostics"]
    assert (found["reference"], found["new"]) == ("small", "large")
    assert [each["negative_flips"] for each in found["methods"]] == [1, 0]
    assert pictures("flip_diagnostics", "diagnostics_by_method") <= {path.name for path in tmp_path.iterdir()}
    page = Page((tmp_path / "index.html").read_text())
    assert page.problems == []
    assert "Family: of 1 negative flips from small to large" in page.text
    assert not page.attributes("script")
    identifiers = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))
    assert "## Which samples flip" in (tmp_path / "flips.md").read_text()


def course(label, *train):
    on_train = SplitRates(4096, error_rate=(0.3, 0.2), nfr=train, relative_nfr=(0.5, 0.4), by_seed=())
    on_report = replace(on_train, nfr=(0.08, 0.0456))
    return FlipsByEpoch(label, label, "old", "new", on_train, on_report, epochs=(1, 2))


def test_the_report_of_an_update_shows_the_diagnostics_and_the_epochs(diagnostics, tmp_path):
    courses = (course("none", 0.05, 0.0123), course(EVIL, 0.05, 0.01))
    write_update_report(update(none(), diagnostics=diagnostics, by_epoch=courses), tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert pictures("flip-diagnostics", "diagnostics-by-method", "by-epoch") <= names
    page = Page((tmp_path / "index.html").read_text())
    assert page.problems == []
    assert [each["id"] for each in page.attributes("h2")][2:4] == ["diagnostics", "epochs"]
    assert "none 1.23 % of the 4,096 training samples and 4.56 % of the report split" in page.text
    assert "2 seeds pooled" in page.text
    assert not page.attributes("script")


def test_of_many_methods_only_a_few_are_described_in_sentences():
    text = flips_by_epoch_in_words([course(f"method {number}", 0.1, 0.05) for number in range(9)])
    assert "method 3" in text
    assert "method 4" not in text


def test_an_update_without_logits_and_courses_has_none_of_it(tmp_path):
    write_update_report(update(none()), tmp_path)
    headings = [each["id"] for each in Page((tmp_path / "index.html").read_text()).attributes("h2")]
    assert "diagnostics" not in headings
    assert "epochs" not in headings
