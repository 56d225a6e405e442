"""The files of the report of an update, and its page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from regnas.report.update.report import write_update_report
from regnas.report.update.results import UpdateResult
from regnas.report.update.tables import update_markdown

from .helpers import Page, pictures
from .update_helpers import difference, method, noise_floor, none, realistic, sweep, update

EVIL = "\"><script>alert(1)</script><img src=x onerror='alert(2)'>"
FILES = {"update.json", "update.md", "index.html", *pictures("error-against-flips")}


@pytest.fixture(scope="module")
def results() -> UpdateResult:
    return realistic()


@pytest.fixture(scope="module")
def folder(results: UpdateResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("update") / "of" / "a run"
    write_update_report(results, folder)
    return folder


def page_of(results: UpdateResult, folder: Path) -> Page:
    write_update_report(results, folder)
    return Page((folder / "index.html").read_text())


def rows(page: str) -> list[list[str]]:
    """The texts of the cells of every table row."""
    found = re.findall(r"<tr[^>]*>(.*?)</tr>", page, re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in found]
    return [[" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in row] for row in cells]


def test_all_files_are_written_and_the_json_comes_back(results: UpdateResult, folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == FILES | pictures("sweep-bcwi.alpha")
    assert UpdateResult.read(folder / "update.json", "") == results
    assert (folder / "update.md").read_text() == update_markdown(results)


def test_page_is_written_last_and_through_whole_files(
    results: UpdateResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    for module in ("regnas.report.kit.documents", "regnas.report.kit.figures"):
        monkeypatch.setattr(f"{module}.write_bytes", lambda path, _: written.append(path.name))
    write_update_report(results, tmp_path)
    assert set(written) == FILES | pictures("sweep-bcwi.alpha")
    assert written[-1] == "index.html"
    assert not list(tmp_path.iterdir())


def test_same_results_give_the_same_bytes(results: UpdateResult, folder: Path, tmp_path: Path) -> None:
    write_update_report(results, tmp_path)
    assert all(path.read_bytes() == (folder / path.name).read_bytes() for path in tmp_path.iterdir())


def test_page_is_well_formed_and_needs_nothing_from_elsewhere(folder: Path) -> None:
    text = (folder / "index.html").read_text()
    page = Page(text)
    assert page.problems == []
    assert [each["id"] for each in page.attributes("h2")] == [
        "methods",
        "front",
        "sweeps",
        "details",
        "facts",
        "reading",
    ]
    identifiers = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))
    assert len(page.attributes("svg")) == 2
    targets = {first or second for first, second in re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', text)}
    assert targets and targets <= set(identifiers)
    assert not {"script", "link", "iframe", "object", "embed", "base", "form"} & {tag for tag, _ in page.elements}
    for _, attributes in page.elements:
        for name in ("src", "href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#")
    policy = next(each for each in page.attributes("meta") if each.get("http-equiv") == "Content-Security-Policy")
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def test_page_has_the_verdict_and_the_numbers_in_their_cells(tmp_path: Path) -> None:
    elodi = method("elodi", [(0.2, 0.22), (0.11, 0.11)], [(0.01, 0.012)], difference(-0.031), difference(0.0))
    made = update(none(on_front=True), elodi, sweeps=(sweep(),))
    page = page_of(made, tmp_path)
    assert "elodi has the fewest negative flips of all methods" in page.text
    assert "elodi has fewer flips than no treatment in 2 of 2 seeds." in page.text
    assert "The intervals are over seeds and clusters of samples (2 seeds)." in page.text
    assert "These flips are due to chance alone." in page.text
    found = rows((tmp_path / "index.html").read_text())
    first = ["1 No treatment&nbsp; ★", "21.00 ± 1.41", "11.00 ± 1.41", "4.20 ± 0.28", "42.00 ± 2.83", "–"]
    assert [*first, "12,345", "1.0x"] in found
    second = ["2 elodi", "21.00 ± 1.41", "11.00 ± 0.00", "1.10 ± 0.14", "11.00 ± 1.41", "-3.10 [-3.30, -2.90]"]
    assert [*second, "12,345", "1.0x"] in found
    assert ["2 elodi", "+0.00 [-0.20, 0.20]", "2.10 ± 0.14", "What elodi does."] in found
    assert ["0.5 (chosen)", "12.00 ± 1.41", "2.20 ± 0.28", "22.00 ± 2.83", "13.34", "2.56"] in found
    assert ["Data", "digits"] in found


def test_one_seed_has_no_spread_on_the_page(tmp_path: Path) -> None:
    page = page_of(update(method("none", [(0.2,), (0.1,)], [(0.04,)]), facts={}), tmp_path)
    assert "±" not in page.text
    assert "facts" not in [each["id"] for each in page.attributes("h2")]


def test_chain_has_maps_of_its_pairs(tmp_path: Path) -> None:
    made = realistic(5, ("small", "medium", "large"))
    page = page_of(made, tmp_path)
    assert page.problems == []
    assert {path.name for path in tmp_path.iterdir()} == FILES | pictures("sweep-bcwi.alpha", "pairwise")
    assert "pairs" in [each["id"] for each in page.attributes("h2")]
    header = ["Method", "ER small %", "ER medium %", "ER large %", "Mean NFR %"]
    assert [*header, "Mean NFR − no treatment points [95 %]", "Training cost"] in rows(
        (tmp_path / "index.html").read_text()
    )


def test_names_cannot_inject_markup_nor_lead_out_of_the_folder(tmp_path: Path) -> None:
    models = (f"1{EVIL}", f"2{EVIL}")
    made = update(
        method("none", [(0.2, 0.2), (0.1, 0.1)], [(0.04, 0.04)], models=models, title=EVIL, description=EVIL),
        title=EVIL,
        scenario=EVIL,
        models=models,
        noise_floor=noise_floor(model=EVIL),
        sweeps=(sweep(method="../../bcwi", key=f"alpha\\1/{EVIL}", title=EVIL),),
        facts={EVIL: EVIL},
    )
    page = page_of(made, tmp_path / "report")
    assert page.problems == []
    assert not {"script", "img"} & {tag for tag, _ in page.elements}
    assert page.text.count(EVIL) > 10  # shown, as text
    assert [path.name for path in tmp_path.iterdir()] == ["report"]
    assert len(list((tmp_path / "report").iterdir())) == len(FILES) + 2  # the curve of the sweep, twice


def test_a_report_is_written_if_names_are_not_valid_unicode(tmp_path: Path) -> None:
    write_update_report(update(none(), facts={"Folder": "caf\udce9"}), tmp_path)
    assert r"caf\udce9" in (tmp_path / "index.html").read_text()
    assert json.loads((tmp_path / "update.json").read_text())["facts"] == {"Folder": "caf\udce9"}
