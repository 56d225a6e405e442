"""The figures of an update: what they draw, and that labels can be read and names break nothing."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from regnas.report.kit.figures import shown, svg
from regnas.report.update.front_plot import error_against_flips
from regnas.report.update.labels import HEIGHT, WIDTH, label_offsets
from regnas.report.update.pair_maps import pairwise_maps
from regnas.report.update.sweep_plot import sweep_curve

from .update_helpers import measure, method, noise_floor, none, realistic, sweep, update

CHAIN = ("small", "medium", "large")


def texts(document: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(document).iter("{http://www.w3.org/2000/svg}text")]


def line(figure: Figure, name: str) -> Line2D:
    [found] = [each for axes in figure.axes for each in axes.lines if each.get_gid() == name]
    return found


@pytest.mark.parametrize("models", [("old", "new"), CHAIN])
def test_front_drawn_is_the_front_flagged(models: tuple[str, ...]) -> None:
    results = realistic(22, models)
    figure = error_against_flips(results)
    drawn = line(figure, "pareto-front").get_xydata()
    expected = [
        (100 * each.error_rates[-1].mean, 100 * np.mean([pair.nfr.mean for pair in each.pairs]))
        for each in results.methods
        if each.on_front
    ]
    assert len(expected) > 2
    np.testing.assert_allclose(drawn, sorted(expected))
    assert np.all(np.diff(np.asarray(drawn)[:, 1]) < 0)
    for index, each in enumerate(results.methods):
        filled = line(figure, f"method-{index + 1}").get_markerfacecolor() != "white"
        assert filled == each.on_front


def test_every_method_is_numbered_and_listed_and_the_floor_is_at_its_height() -> None:
    results = realistic(22)
    written = texts(svg(lambda: error_against_flips(results)))
    for number, each in enumerate(results.methods, 1):
        assert str(number) in written
        assert f"{number}  {shown(each.title, 34)}" in written
    assert any(text.startswith("noise floor") for text in written)
    height = line(error_against_flips(results), "noise-floor").get_ydata()
    assert set(np.asarray(height)) == {100 * results.noise_floor.nfr.mean}


def test_looks_differ_in_gray_or_by_their_number() -> None:
    figure = error_against_flips(realistic(22))
    looks = {
        (each.get_marker(), each.get_color())
        for each in figure.axes[0].lines
        if str(each.get_gid()).startswith("method-")
    }
    assert len(looks) == 22
    assert len({marker for marker, _ in looks}) >= 7


def test_a_sweep_far_away_does_not_squeeze_the_methods() -> None:
    *near, last = sweep().points
    far = sweep(points=(*near, replace(last, error_rate=measure(0.9))))
    axes = error_against_flips(update(none(), sweeps=(far,))).axes[0]
    assert axes.get_xlim()[1] < 20


def test_labels_meet_neither_points_nor_each_other() -> None:
    points = [(100 + 4.0 * (index % 5), 100 + 4.0 * (index // 5)) for index in range(10)] + [(1.0, 1.0), (200.0, 200.0)]
    names = [str(number) for number in range(1, 13)]
    offsets = label_offsets(points, names, 200, 200)
    centers = [(x + dx, y + dy) for (x, y), (dx, dy) in zip(points, offsets, strict=True)]
    for index, (x, y) in enumerate(centers):
        assert 0 < x < 200 and 0 < y < 200
        for other in range(index):
            apart = abs(x - centers[other][0]) >= WIDTH or abs(y - centers[other][1]) >= HEIGHT
            assert apart
        assert all(np.hypot(x - px, y - py) > 4 for px, py in points)


def test_sweep_marks_the_chosen_value_in_both_panels() -> None:
    figure = sweep_curve(sweep(0.5))
    assert len(figure.axes) == 2
    np.testing.assert_allclose(line(figure, "chosen-error_rate").get_xydata(), [[0.5, 12.0]])
    np.testing.assert_allclose(line(figure, "chosen-nfr").get_xydata(), [[0.5, 2.2]])
    assert figure.axes[0].get_xlim() == figure.axes[1].get_xlim()
    assert "chosen on the search split: 0.5" in texts(svg(lambda: sweep_curve(sweep(0.5))))


def test_sweep_without_a_choice_marks_nothing() -> None:
    assert len(np.asarray(line(sweep_curve(sweep(None)), "chosen-nfr").get_xydata())) == 0
    assert not any("chosen" in text for text in texts(svg(lambda: sweep_curve(sweep(None)))))


def test_sweep_over_orders_of_magnitude_is_logarithmic() -> None:
    assert sweep_curve(sweep(None, (0.01, 0.1, 1.0, 10.0))).axes[0].get_xscale() == "log"
    assert sweep_curve(sweep(None, (0.0, 0.1, 1.0, 10.0))).axes[0].get_xscale() == "linear"


def test_maps_write_every_pair_above_the_diagonal() -> None:
    flips = [(0.01, 0.02), (0.03, 0.03), (0.05, 0.07)]
    made = method("none", [(0.1, 0.1)] * 3, flips, models=CHAIN)
    written = texts(svg(lambda: pairwise_maps(update(made, models=CHAIN))))
    assert {"1.50", "± 0.71", "3.00", "± 0.00", "6.00", "± 1.41"} <= set(written)
    assert sum(text.startswith("±") for text in written) == 3


def test_maps_share_one_scale() -> None:
    figure = pairwise_maps(realistic(6, CHAIN))
    scales = {axes.collections[0].get_clim() for axes in figure.axes[:6]}
    assert len(scales) == 1


def test_one_seed_one_method_and_no_flips_can_be_drawn() -> None:
    made = method("none", [(0.0,), (0.0,)], [(0.0,)], on_front=True)
    floor = noise_floor(nfr=measure(0.0), error_rate=measure(0.0))
    assert "1" in texts(svg(lambda: error_against_flips(update(made, noise_floor=floor))))
    chained = method("none", [(0.0,)] * 3, [(0.0,)] * 3, models=CHAIN)
    assert texts(svg(lambda: pairwise_maps(update(chained, models=CHAIN)))).count("0.00") >= 3


def test_any_name_can_be_drawn_and_drawing_is_repeatable() -> None:
    evil = "<script>$\\frac{ _x"
    made = method("none", [(0.1, 0.1)] * 3, [(0.1, 0.1)] * 3, models=(evil, "数字", "a\x00b"), title=evil)
    results = update(made, models=(evil, "数字", "a\x00b"), sweeps=(sweep(key=evil, title=evil),))
    for draw in (
        lambda: error_against_flips(results),
        lambda: pairwise_maps(results),
        lambda: sweep_curve(results.sweeps[0]),
    ):
        document = svg(draw)
        assert "<script" not in document
        assert any("<script>" in text for text in texts(document))
        assert svg(draw) == document
