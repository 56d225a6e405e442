"""The page as text: well formed, without foreign scripts, and with complete data."""

from __future__ import annotations

import base64
import hashlib
import json
import re

from hypothesis import given
from hypothesis import strategies as st

from regnas.comparison.gallery import gallery_of, render
from regnas.comparison.gallery.page import script_json
from tests.comparison.gallery.making import answers, samples
from tests.report.helpers import Page

HOSTILE = ('</script><img src=x onerror="document.title=1">', "\"'&lt;\u2028", "<!-- <script>")


def example(**changes):
    names = {"old": "<b>old</b>", "new": "new", "other": "</title>"} | changes
    old = answers(names["old"], [0, 1, 0], [0.9] * 3)
    new = answers(names["new"], [1, 2, 0], [0.7, 0.8, 0.9])
    return gallery_of([old, new, answers(names["other"], [1, 0, 0], [0.9] * 3)], samples(3, HOSTILE), most=10)


def scripts(text):
    return re.findall(r"<script([^>]*)>(.*?)</script>", text, re.DOTALL)


def test_only_our_own_script_may_run():
    text = render(example())
    (kind, data), (plain, script) = scripts(text)
    assert (kind, plain) == (' type="application/json" id="data"', "")
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    fingerprint = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    rules = dict(rule.strip().split(" ", 1) for rule in policy.replace("&#39;", "'").split(";"))
    assert rules == {
        "default-src": "'none'",
        "img-src": "data:",
        "style-src": "'unsafe-inline'",
        "script-src": f"'sha256-{fingerprint}'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert json.loads(data)["flips"]


def test_names_of_classes_models_and_files_stay_text():
    page = Page(render(example()))
    assert page.problems == []
    assert [tag for tag, _ in page.elements if tag in ("img", "b")] == []
    assert len(page.attributes("script")) == 2
    assert "<b>old</b> → new" in page.text
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]


def test_the_data_hold_what_the_page_shows():
    values = json.loads(scripts(render(example()))[0][1])
    assert values["models"] == ["<b>old</b>", "new", "</title>"]
    assert values["classes"] == {str(index): name for index, name in enumerate(HOSTILE)}
    first = values["flips"][0]
    assert (first["id"], first["label"], first["suspect"]) == ("s01", 1, False)
    assert first["answers"] == [[1, 0.9], [2, 0.8], [0, 0.9]]
    assert [flip["suspect"] for flip in values["flips"]] == [False, True]


def test_the_page_says_how_many_there_are_and_what_suspect_means():
    text = Page(render(example())).text
    assert "2 of 3 samples (66.67 %) are right with <b>old</b> and wrong with new." in text
    assert "1 of the 2 are." in text
    old, new = answers("old", [0, 1, 0]), answers("new", [1, 0, 0])
    few = Page(render(gallery_of([old, new], samples(3), most=1))).text
    assert "The worst 1 are shown" not in few and "1 of them are shown, in the order of their ids" in few
    assert "No label is marked as suspect: this needs a third model." in few


def test_a_page_without_flips_says_so():
    same = answers("old", [0, 1, 0])
    text = render(gallery_of([same, answers("new", [0, 1, 0])], samples(3), most=10))
    assert "There is none: all that old has right, new has right too." in Page(text).text
    assert scripts(text) == []


JSON_VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=8)


@given(JSON_VALUES)
def test_data_in_a_script_are_read_back_unchanged_and_cannot_end_it(value):
    text = script_json(value)
    assert json.loads(text) == value
    assert not set(text) & set("<>&\u2028\u2029")


@given(st.sampled_from(["</script>", "<!--", "]]>", "&lt;/script&gt;", "\u2028alert(1)"]), st.text())
def test_a_page_has_two_scripts_for_every_sample_name(hostile, text):
    page = Page(render(example(old=f"a{hostile}{text}")))
    assert len(page.attributes("script")) == 2
