"""The files of a report, and the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from regnas.report.family.contents import ReportContents
from regnas.report.family.report import write_report
from regnas.runtime.files import read_sealed_json

from .helpers import Page, answers, architecture, contents, history, method, pictures

FAMILY = ("1111110001", "1111111000", "1111111100")
BASELINE = ("1111110000", "0111111100", "1100111111")
EVIL = "\"><script>alert(1)</script><img src=x onerror='alert(2)'>"
OF_PAIRS = pictures("error_against_flips", "flip_heat_maps")
OF_SEARCHES = pictures("search_progress")
OF_ALL = pictures("architectures", "top1_against_macs")
FILES = {"flips.json", "flips.md", "index.html"} | OF_ALL | OF_PAIRS | OF_SEARCHES


@pytest.fixture(scope="module")
def ordinary() -> ReportContents:
    broken = (architecture([(8, 1)], [(16, 1)]), architecture([(6, 2)], [(16, 2)]), architecture([(12, 2)], [(24, 2)]))
    return contents(
        method("family", FAMILY, "REG-NAS family"),
        method("independent", BASELINE, "Independent training"),
        method("accuracy_only", BASELINE, "Accuracy only", networks=broken),
        searches=(history("family/small"), history("family/large")),
    )


@pytest.fixture(scope="module")
def folder(ordinary: ReportContents, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "of" / "a run"
    write_report(ordinary, folder)
    return folder


def page_of(made: ReportContents, folder: Path) -> Page:
    write_report(made, folder)
    return Page((folder / "index.html").read_text())


def test_all_files_are_written_and_the_json_is_what_was_returned(ordinary: ReportContents, folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == FILES
    assert read_sealed_json(folder / "flips.json") == write_report(ordinary, folder).to_dict()


def test_page_is_written_last(ordinary: ReportContents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    for module in ("regnas.report.kit.documents", "regnas.report.kit.figures"):
        monkeypatch.setattr(f"{module}.write_bytes", lambda path, value: written.append(path.name))
    write_report(ordinary, tmp_path)
    assert set(written) == FILES
    assert written[-1] == "index.html"


def test_same_contents_give_the_same_bytes(ordinary: ReportContents, folder: Path, tmp_path: Path) -> None:
    write_report(ordinary, tmp_path)
    assert all((tmp_path / name).read_bytes() == (folder / name).read_bytes() for name in FILES)


def test_page_is_well_formed_and_in_the_agreed_order(folder: Path) -> None:
    page = Page((folder / "index.html").read_text())
    assert page.problems == []
    assert page.attributes("html") == [{"lang": "en"}]
    headings = ["summary", "accuracy", "flips", "details", "networks", "search", "worst", "facts", "reading"]
    assert [attributes["id"] for attributes in page.attributes("h2")] == headings
    identifiers = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))
    assert len(page.attributes("svg")) == 5
    assert all(attributes["aria-label"] for attributes in page.attributes("figure"))
    assert all(attributes["alt"] for attributes in page.attributes("img"))
    assert "Independent training cannot be told apart from the family in flips" in page.text


def test_references_inside_the_figures_lead_somewhere(folder: Path) -> None:
    text = (folder / "index.html").read_text()
    identifiers = {attributes.get("id") for _, attributes in Page(text).elements}
    targets = re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', text)
    assert targets
    assert {first or second for first, second in targets} <= identifiers


def test_page_needs_nothing_from_elsewhere(folder: Path) -> None:
    page = Page((folder / "index.html").read_text())
    assert not {"script", "link", "iframe", "object", "embed", "base", "form"} & {tag for tag, _ in page.elements}
    for _, attributes in page.elements:
        for name in ("src", "href", "xlink:href", "action", "srcset"):
            value = attributes.get(name) or "#"
            assert value.startswith(("#", "data:image/png;base64,"))
        assert not any(name.startswith("on") for name in attributes)
    policy = next(each for each in page.attributes("meta") if each.get("http-equiv") == "Content-Security-Policy")
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert "@import" not in page.text and "url(http" not in page.text


def test_names_cannot_inject_markup(tmp_path: Path) -> None:
    stored = answers("1111110001")
    ids = stored.ids.astype("U80")
    ids[6:9] = [f"{EVIL}{index}" for index in range(3)]
    predictions = tuple(
        type(stored)(EVIL, ids, stored.targets, answers(pattern).predicted)
        for pattern in ("1111111111", "1111110001", "1111111000")
    )
    made = contents(method("family", FAMILY, title=EVIL, description=EVIL, predictions=predictions))
    split = type(made.report_split)(
        EVIL, made.report_split.images, made.report_split.targets, ids, made.report_split.groups
    )
    page = page_of(
        contents(
            *made.methods,
            title=EVIL,
            members=(f"1{EVIL}", f"2{EVIL}", f"3{EVIL}"),
            budgets=(EVIL,) * 3,
            classes=(EVIL, f"{EVIL}1", f"{EVIL}2"),
            facts={EVIL: EVIL},
            searches=(history(EVIL),),
            report_split=split,
        ),
        tmp_path,
    )
    assert page.problems == []
    assert "script" not in {tag for tag, _ in page.elements}
    assert not any("onerror" in attributes for _, attributes in page.elements)
    assert all((attributes["src"] or "").startswith("data:") for attributes in page.attributes("img"))
    assert page.text.count(EVIL) > 10  # shown, as text


def test_single_member_without_baselines_and_searches_has_a_page(tmp_path: Path) -> None:
    page = page_of(contents(method("family", FAMILY[:1]), searches=(), facts={}), tmp_path)
    assert page.problems == []
    assert "nothing to flip against" in page.text
    assert [attributes["id"] for attributes in page.attributes("h2")] == [
        "summary",
        "accuracy",
        "details",
        "networks",
        "reading",
    ]
    assert {path.name for path in tmp_path.iterdir()} == FILES - OF_PAIRS - OF_SEARCHES


def test_family_without_flips_says_so(tmp_path: Path) -> None:
    page = page_of(contents(method("family", ("1100", "1110", "1111"))), tmp_path)
    assert "There is none: every sample that a smaller member gets right" in page.text
    assert page.attributes("img") == []


def test_a_report_is_written_if_sample_names_are_not_valid_unicode(tmp_path: Path) -> None:
    made = contents(method("family", FAMILY), facts={"Folder": "caf\udce9"})
    write_report(made, tmp_path)
    assert r"caf\udce9" in (tmp_path / "index.html").read_text()
