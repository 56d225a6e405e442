"""`regnas gallery`: from files of predictions and their data to a page."""

from __future__ import annotations

import json
import os
import re
import signal
import threading

import numpy as np
import pytest

from regnas.comparison.gallery import contents
from regnas.flips import load_predictions
from tests.comparison.gallery.making import answers, save
from tests.prediction.folders import write_folder


@pytest.fixture
def photos(tmp_path):
    """Nine pictures, and two models of which the new one breaks two."""
    write_folder(tmp_path / "photos")
    ids = np.array([f"{name}/{index}.png" for name in ("dark", "gray", "light") for index in range(3)])
    targets = np.repeat([0, 1, 2], 3)
    broken = targets.copy()
    broken[[1, 8]] = [2, 0]
    old = answers("old", targets, [0.8] * 9, ids=ids, targets=targets)
    new = answers("new", broken, [0.9] * 8 + [0.95], ids=ids, targets=targets)
    more = answers("more", broken, [0.9] * 9, ids=ids, targets=targets)
    save(tmp_path, old, new, more)
    return tmp_path


def data_of(path):
    return json.loads(re.search(r'id="data">(.*?)</script>', path.read_text(), re.DOTALL)[1])


def test_a_page_of_what_the_new_model_broke(command, photos):
    out = photos / "deep" / "page.html"
    files = [photos / f"{name}.npz" for name in ("old", "new", "more")]
    outcome = command("gallery", *files, "--data", photos / "photos", "--out", out)
    assert outcome.code == 0, outcome.stderr
    assert outcome.stdout == f"{out}: 2 negative flips, 2 with suspect labels; the page shows all of them\n"
    values = data_of(out)
    assert [(flip["id"], flip["label"], flip["suspect"]) for flip in values["flips"]] == [
        ("light/2.png", 2, True),
        ("dark/1.png", 0, True),
    ]
    assert values["classes"] == {"0": "dark", "2": "light"}
    outcome = command("gallery", *files[:2], "--data", photos / "photos", "--out", out, "--most", 1, "--overwrite")
    assert outcome.stdout == f"{out}: 2 negative flips; the page shows the worst 1 of them\n"
    assert len(data_of(out)["flips"]) == 1


def test_a_gallery_of_a_runs_own_predictions(command, finished_run, tmp_path):
    small, large = (finished_run / "predictions" / f"{member}.npz" for member in ("small", "large"))
    outcome = command("gallery", small, large, "--data", finished_run, "--out", tmp_path / "page.html")
    assert outcome.code == 0, outcome.stderr
    flipped = np.count_nonzero(load_predictions(small).correct & ~load_predictions(large).correct)
    assert flipped > 0
    assert len(data_of(tmp_path / "page.html")["flips"]) == flipped


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (["{tmp}/old.npz", "{tmp}/none.npz"], 3, "none.npz is missing"),
        (["{tmp}/old.npz", "{tmp}/old.npz"], 2, "must differ, got one of them twice"),
        (["{tmp}/old.npz", "{run}/predictions/small.npz"], 3, "were not evaluated on the same samples"),
        (
            ["{tmp}/old.npz", "{tmp}/new.npz", "--split", "train"],
            2,
            "the train split must be one of a",
        ),
        (["{run}/predictions/small.npz", "{run}/predictions/large.npz"], 3, "got 100 of 100 that are not, such as"),
    ],
)
def test_refusals_are_one_line_and_write_nothing(refusal, photos, finished_run, arguments, code, problem):
    given = [each.format(tmp=photos, run=finished_run) for each in arguments]
    found = refusal("gallery", *given, "--data", photos / "photos", "--out", photos / "page.html")
    assert found[0] == code
    assert len(found[1]) == 1
    assert problem in found[1][0]
    assert not (photos / "page.html").exists()


def test_a_page_that_is_there_is_left_alone_without_overwrite(refusal, photos):
    page = photos / "page.html"
    page.write_text("precious")
    code, lines = refusal("gallery", photos / "old.npz", photos / "new.npz", "--data", photos / "photos", "--out", page)
    assert (code, page.read_text()) == (2, "precious")
    assert "page.html exists. Choose another file, or replace it with --overwrite." in lines[0]


def test_an_interrupt_leaves_nothing_behind(command, photos, monkeypatch):
    shrink, first = contents.shrink, threading.Lock()

    def interrupting(*arguments):
        if first.acquire(blocking=False):  # pictures are made by threads, and a second signal would end this process
            os.kill(os.getpid(), signal.SIGINT)
        return shrink(*arguments)

    monkeypatch.setattr(contents, "shrink", interrupting)
    out = photos / "pages" / "page.html"
    out.parent.mkdir()
    arguments = ("--data", photos / "photos", "--out", out)
    outcome = command("gallery", photos / "old.npz", photos / "new.npz", *arguments)
    assert (outcome.code, outcome.stderr) == (130, "regnas: interrupted by SIGINT; nothing was written\n")
    assert list(out.parent.iterdir()) == []
