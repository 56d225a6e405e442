"""The figures: what they mark, and that no name can break them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import matplotlib
import pytest
from PIL import Image

from regnas.report.family.architecture_plot import architectures, containment, gene_names, uncovered
from regnas.report.family.comparison import compare
from regnas.report.family.plots import flip_heat_maps, pairs_error_against_flips, search_progress, top1_against_macs
from regnas.report.kit.figures import picture, shown, svg, write_picture
from regnas.space import Architecture, Block

from .helpers import NESTED, architecture, contents, history, method

FAMILY = ("1111110000", "1111111000", "1111111100")
BASELINE = ("1111110000", "0111111100", "1100111111")
# the medium one loses width in the block of stage 1, and the large one the second block of stage 2
BROKEN = (
    architecture([(8, 1)], [(16, 1)]),
    architecture([(6, 2)], [(16, 2), (16, 1)]),
    architecture([(12, 2)], [(24, 2)]),
)


def marks(document: str) -> list[str]:
    found = [element.get("id", "") for element in ET.fromstring(document).iter()]
    return [name for name in found if name.startswith("not-contained")]


def texts(document: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(document).iter("{http://www.w3.org/2000/svg}text")]


def test_architecture_plot_marks_the_blocks_and_genes_that_are_not_contained() -> None:
    baseline = method("accuracy_only", BASELINE, networks=BROKEN)
    document = svg(lambda: architectures(contents(method("family", FAMILY), baseline)))
    assert marks(document) == [
        "not-contained-panel2-1-stage1-block1",  # width; its expansion grows
        "not-contained-panel2-1-stage2-block2",  # a block that is gone is gone in every gene
        "not-contained-panel2-2-stage2-block2",
    ]
    assert "not contained in the next larger" in texts(document)


def test_architecture_plot_of_a_nested_family_marks_nothing_and_repeats_nothing() -> None:
    document = svg(lambda: architectures(contents(method("family", FAMILY), method("independent", BASELINE))))
    assert marks(document) == []
    assert "family: each contains the smaller one" in texts(document)
    assert not any("independent" in text for text in texts(document))


def test_uncovered_blocks_and_their_words() -> None:
    assert uncovered(BROKEN[0], BROKEN[1]) == [(0, 0)]
    assert uncovered(BROKEN[1], BROKEN[2]) == [(1, 1)]
    assert uncovered(NESTED[0], NESTED[1]) == []
    assert containment(method("a", BASELINE, networks=BROKEN)) == "2 of 2 steps break containment"
    assert containment(method("a", BASELINE[:1])) == "a single network"


def test_genes_are_generic_and_width_comes_first() -> None:
    assert gene_names(NESTED) == ["width", "expansion"]
    kernels = Architecture("mobile", ((Block.of(kernel=3, expansion=6),), (Block.of(kernel=5, expansion=3),)))
    assert gene_names([kernels]) == ["expansion", "kernel"]
    family = method("family", FAMILY[:1], networks=[kernels])
    assert {"expansion", "kernel"} <= set(texts(svg(lambda: architectures(contents(family)))))


def test_heat_maps_write_rate_and_interval_of_every_pair() -> None:
    comparison = compare(contents(method("family", FAMILY), method("b", BASELINE)))
    written = texts(svg(lambda: flip_heat_maps(comparison)))
    assert written.count("0.00") == 3 and written.count("20.00") == 2 and written.count("10.00") == 1
    assert sum(text.startswith("[") for text in written) == 6


def test_search_panels_show_every_search_even_an_empty_one() -> None:
    searches = [history("family/small"), history("family/large", ()), history("x/large", [0.1] * 2500)]
    written = texts(svg(lambda: search_progress(searches)))
    assert {"family/small", "family/large", "x/large", "no candidate on record", "chosen"} <= set(written)


def test_any_name_can_be_drawn() -> None:
    members = ("<script>alert(1)</script>", "$\\frac{", "a\x00b\x1b[0m")
    titles = ("_hidden & <b>", "数字 ${")
    made = contents(
        method("family", FAMILY, title=titles[0]),
        method("b", BASELINE, title=titles[1], networks=BROKEN),
        members=members,
        searches=tuple(history(name) for name in (*members, *titles)),
    )
    comparison = compare(made)
    drawn = {
        svg(lambda: top1_against_macs(comparison)): titles,
        svg(lambda: pairs_error_against_flips(comparison)): members + titles,
        svg(lambda: flip_heat_maps(comparison)): members + titles,
        svg(lambda: search_progress(made.searches)): members + titles,
        svg(lambda: architectures(made)): members + titles,
    }
    for document, names in drawn.items():
        assert "<script" not in document
        assert all(any(shown(name, 12)[:8] in text for text in texts(document)) for name in names)


def test_every_pair_is_a_numbered_point_and_the_numbers_are_explained() -> None:
    comparison = compare(contents(method("family", FAMILY), method("independent", BASELINE)))
    written = texts(svg(lambda: pairs_error_against_flips(comparison)))
    members = comparison.members
    pairs = [(small, large) for place, small in enumerate(members) for large in members[place + 1 :]]
    assert all(written.count(str(number)) >= 2 for number in range(1, len(pairs) + 1))  # a point for each method
    for number, (small, large) in enumerate(pairs, 1):
        assert f"{number}  {small} to {large}" in written


def test_a_picture_is_the_figure_as_svg_and_as_png_of_the_same_shape(tmp_path: Path) -> None:
    comparison = compare(contents(method("family", FAMILY)))
    drawn = picture(lambda: top1_against_macs(comparison))
    assert drawn.svg == svg(lambda: top1_against_macs(comparison))
    assert drawn == picture(lambda: top1_against_macs(comparison))
    write_picture(tmp_path / "a.b", drawn)
    assert {path.name for path in tmp_path.iterdir()} == {"a.b.svg", "a.b.png"}
    with Image.open(tmp_path / "a.b.png") as opened:
        width, height = opened.size
    sides = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawn.svg)
    assert sides is not None
    assert width / height == pytest.approx(float(sides[1]) / float(sides[2]), rel=0.01)


def test_drawing_leaves_the_style_of_others_alone_and_is_repeatable() -> None:
    before = dict(matplotlib.rcParams)
    comparison = compare(contents(method("family", FAMILY)))
    first, second = (svg(lambda: top1_against_macs(comparison)) for _ in range(2))
    assert first == second
    assert dict(matplotlib.rcParams) == before
