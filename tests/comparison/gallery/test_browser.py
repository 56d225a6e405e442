"""The page in a real browser: filters, marks, scrolling, and names that contain scripts."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.browser import Browser, find_browser
from regnas.comparison.gallery import gallery_of, render
from tests.comparison.gallery.making import answers, samples

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(
        find_browser() is None, reason="there is no chromium on the PATH (Debian: apt-get install chromium)"
    ),
]

HOSTILE = (
    "<img src=x onerror=\"window.ran='class'\">",
    "</script><script>window.ran='script'</script>",
    "quotes \"'` & &amp; \u2028 </select>",
)
COUNT = 200


@pytest.fixture(scope="module")
def browser():
    with Browser() as running:
        yield running


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """200 flips. Labels alternate between 0 and 1; the new model answers 2 on every fourth, else the other of the two.

    The third model agrees with the new one on the first fifty, so that these are suspects.
    """
    numbers = np.arange(COUNT)
    labels = numbers % 2
    said = np.where(numbers % 4 == 0, 2, 1 - labels)
    doubted = np.where(numbers < 50, said, labels)
    ids = np.array([f"<svg onload=alert({number})>/{number:03d}.png" for number in numbers])
    old = answers("<i>old</i>", labels, [0.5] * COUNT, ids=ids)
    new = answers("new", said, (0.9 - numbers / 1000).tolist(), ids=ids)
    other = answers("other", doubted, [0.9] * COUNT, ids=ids)
    gallery = gallery_of([old, new, other], samples(COUNT, HOSTILE, ids=ids.tolist()), most=COUNT)
    path = tmp_path_factory.mktemp("gallery") / "gallery.html"
    path.write_text(render(gallery), encoding="utf-8")
    return path


def cards(browser):
    return browser.evaluate("document.querySelectorAll('#flips li').length")


def choose(browser, select, value):
    """Set a value as a person does, with the event that the browser then sends."""
    browser.evaluate(
        f"(() => {{ const box = document.getElementById({json.dumps(select)}); box.value = {json.dumps(value)}; "
        "box.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )


def shown(browser):
    return browser.evaluate("document.getElementById('shown').textContent")


def column(browser, number):
    """Return the entry at this place of the description list of every card that exists."""
    script = "[...document.querySelectorAll('#flips li')].map((card) => card.querySelectorAll('dd')[{}].textContent)"
    return browser.evaluate(script.format(number))


def test_the_worst_come_first_with_both_answers_and_confidences(browser, page):
    browser.open(page)
    assert shown(browser) == "200 of 200 shown"
    texts = "[...document.querySelectorAll('#flips li:first-child {}')].map((each) => each.textContent)"
    assert browser.evaluate(texts.format("dt")) == ["label", "<i>old</i>", "new", "other"]
    assert browser.evaluate(texts.format("dd")) == [
        HOSTILE[0], "", HOSTILE[0], "50 %", HOSTILE[2], "90 %", HOSTILE[2], "90 %"
    ]  # fmt: skip
    assert browser.evaluate(texts.format(".wrong")) == [HOSTILE[2], "90 %"] * 2
    assert browser.evaluate(texts.format("p")) == ["label suspect", "<svg onload=alert(0)>/000.png"]
    loaded = browser.evaluate("document.querySelector('#flips img').decode().then(() => true)")
    assert loaded is True
    assert browser.evaluate("document.querySelector('#flips img').naturalWidth") == 6


def test_cards_are_made_when_they_are_scrolled_to(browser, page):
    browser.open(page)
    assert cards(browser) < COUNT
    for _ in range(4):
        before = cards(browser)
        browser.evaluate("window.scrollTo(0, document.body.scrollHeight)")
        if before < COUNT:
            browser.wait_for(f"document.querySelectorAll('#flips li').length > {before}")
    assert cards(browser) == COUNT
    last = browser.evaluate("document.querySelector('#flips li:last-child .id').textContent")
    assert last.endswith("199.png")


def test_the_label_and_the_answer_filter(browser, page):
    browser.open(page)
    choose(browser, "label", "0")
    assert shown(browser) == "100 of 200 shown"
    assert set(column(browser, 0)) == {HOSTILE[0]}
    choose(browser, "answer", "2")
    assert shown(browser) == "50 of 200 shown"
    choose(browser, "label", "1")
    assert (shown(browser), cards(browser)) == ("0 of 200 shown", 0)
    choose(browser, "label", "")
    assert shown(browser) == "50 of 200 shown"
    options = browser.evaluate("[...document.getElementById('answer').options].map((each) => each.value)")
    assert options == ["", "0", "1", "2"]


def test_suspects_are_marked_and_can_be_shown_alone_or_hidden(browser, page):
    browser.open(page)
    marks = "[...document.querySelectorAll('#flips li')].map((card) => card.textContent.includes('label suspect'))"
    assert browser.evaluate(marks)[:60] == [True] * 50 + [False] * 10
    choose(browser, "suspects", "only")
    assert shown(browser) == "50 of 200 shown"
    assert set(browser.evaluate(marks)) == {True}
    choose(browser, "suspects", "hide")
    assert shown(browser) == "150 of 200 shown"
    assert set(browser.evaluate(marks)) == {False}
    choose(browser, "label", "1")
    assert shown(browser) == "75 of 200 shown"


def test_names_neither_run_nor_break_the_page_nor_ask_the_network(browser, page):
    browser.open(page)
    browser.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    browser.wait_for("document.querySelectorAll('#flips li').length > 60")
    assert browser.problems() == []
    assert browser.requests() == []
    assert browser.evaluate("window.ran") is None
    assert browser.evaluate("document.querySelectorAll('i, svg, script').length") == 2  # the data and our own script
    assert browser.evaluate("document.querySelector('h1').textContent") == "<i>old</i> → new"
    names = browser.evaluate("[...document.getElementById('label').options].map((each) => each.textContent)")
    assert names == ["all classes", f"{HOSTILE[0]} (100)", f"{HOSTILE[1]} (100)"]


def test_the_page_policy_blocks_injected_markup(browser, page):
    browser.open(page)
    markup = "<img src=x onerror='window.ran=1'><b onclick='window.ran=2'>"
    browser.evaluate(f"document.body.insertAdjacentHTML('beforeend', {json.dumps(markup)})")
    browser.evaluate("document.querySelector('b').click()")
    browser.evaluate(
        "(() => { const script = document.createElement('script'); script.textContent = 'window.ran = 3';"
        "document.body.append(script); })()"
    )
    browser.evaluate("new Promise((done) => setTimeout(() => done(true), 200))")
    assert browser.evaluate("window.ran") is None
    assert any("Content Security Policy" in problem for problem in browser.problems())
