"""The tables of an update, for the terminal and in Markdown."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from regnas.report.update.results import UpdateResult
from regnas.report.update.tables import update_markdown, update_terminal_table

from .update_helpers import difference, method, noise_floor, none, realistic, sweep, update

EVIL = "a | b\n<b>[red]c[/red]</b> `x` *y* _z_"


def printed(results: UpdateResult, width: int = 110) -> str:
    sink = io.StringIO()
    Console(file=sink, width=width, color_system=None).print(update_terminal_table(results))
    return sink.getvalue()


def tables(text: str) -> list[list[list[str]]]:
    """The cells of each Markdown table, header first and without its rule."""
    blocks = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    cells = [[[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in block] for block in blocks]
    return [[rows[0], *rows[2:]] for rows in cells]


def two_methods() -> UpdateResult:
    elodi = method(
        "elodi",
        [(0.20, 0.22), (0.11, 0.11)],
        [(0.010, 0.012)],
        difference(-0.031),
        difference(0.0),
        parameters=49_380,
        training_cost=3.04,
        on_front=True,
    )
    return update(none(on_front=True), elodi, method("other", [(0.2, 0.2), (0.3, 0.3)], [(0.5, 0.5)], difference(0.4)))


def with_fine_tuning() -> UpdateResult:
    """Method bcwi is compared with fine-tuning."""
    errors = [(0.20, 0.22), (0.11, 0.11)]
    tuned = method("fine_tuning", errors, [(0.030, 0.030)], difference(-0.012), difference(0.0), title="Fine-tuning")
    bcwi = method("bcwi", errors, [(0.010, 0.010)], difference(-0.020), difference(0.0), counterpart="fine_tuning")
    return update(none(), tuned, bcwi)


def test_methods_that_start_from_the_old_weights_are_marked() -> None:
    text = update_markdown(with_fine_tuning())
    [rows] = tables(text)
    assert "NFR - counterpart [95 %]" in rows[0]
    assert [row[0] for row in rows[1:]] == ["No treatment", "Fine-tuning", "bcwi †"]
    assert "†: starts from the old weights and is compared with fine-tuning; all other methods are compared" in text
    assert "difference in points, with its paired 95 % interval over seeds and clusters of samples" in text
    assert "bcwi †" in printed(with_fine_tuning())
    assert "†" not in update_markdown(two_methods())
    assert "NFR - no treatment [95 %]" in tables(update_markdown(two_methods()))[0][0]


def chain() -> UpdateResult:
    models = ("small", "medium", "large")
    errors = [(0.3, 0.3), (0.2, 0.2), (0.1, 0.1)]
    flips = [(0.01, 0.02), (0.03, 0.03), (0.05, 0.07)]  # small -> medium, small -> large, medium -> large
    return update(method("none", errors, flips, models=models, on_front=True), models=models)


def test_every_number_stands_in_its_column() -> None:
    [rows] = tables(update_markdown(two_methods()))
    assert rows[0] == [
        "Method",
        "ER old (%)",
        "ER new (%)",
        "NFR (%)",
        "relative NFR (%)",
        "NFR - no treatment [95 %]",
        "parameters",
        "training cost",
    ]
    assert rows[1] == [
        "★ No treatment",
        "21.00 ± 1.41",
        "11.00 ± 1.41",
        "4.20 ± 0.28",
        "42.00 ± 2.83",
        "–",
        "12,345",
        "1.0x",
    ]
    assert rows[2][:2] == ["★ elodi", "21.00 ± 1.41"]
    assert rows[2][2:] == [
        "11.00 ± 0.00",
        "1.10 ± 0.14",
        "11.00 ± 1.41",
        "-3.10 [-3.30, -2.90]",
        "49,380",
        "3.0x",
    ]
    assert rows[3][0] == "other"  # not on the front


def test_noise_floor_and_the_meaning_of_the_columns_stand_below() -> None:
    for text in (update_markdown(two_methods()), printed(two_methods(), 500)):
        assert "two trainings of the same recipe (new) is 3.05 ± 0.07 %. These flips are due to chance" in text
        assert "★: on the Pareto front" in text
        assert "including teachers and ensembles" in text
        assert "report split (4,768 samples), mean ± standard deviation over 2 seeds" in text


def test_one_seed_has_no_spread() -> None:
    results = update(method("none", [(0.2,), (0.1,)], [(0.04,)]))
    for text in (update_markdown(results), printed(results)):
        assert "±" not in text
        assert "of one seed" in text
    [rows] = tables(update_markdown(results))
    assert rows[1][1:5] == ["20.00", "10.00", "4.00", "40.00"]


def test_terminal_has_the_same_numbers_and_fits() -> None:
    shown = printed(two_methods(), 100)
    row = next(line for line in shown.splitlines() if line.startswith("★ elodi"))
    assert row.split() == [
        "★",
        "elodi",
        "21.00±1.41",
        "11.00±0.00",
        "1.10±0.14",
        "11.00±1.41",
        "-3.10",
        "[-3.30,-2.90]",
        "49,380",
        "3.0x",
    ]
    assert "…" not in printed(realistic(), 100)


def test_chain_has_an_error_rate_a_model_and_the_mean_over_pairs() -> None:
    methods, pairs = tables(update_markdown(chain()))
    assert methods == [
        [
            *("Method", "ER small (%)", "ER medium (%)", "ER large (%)", "mean NFR (%)"),
            *("mean NFR - no treatment [95 %]", "training cost"),
        ],
        # the mean over pairs is 3 % in the first seed and 4 % in the second
        ["★ No treatment", "30.00 ± 0.00", "20.00 ± 0.00", "10.00 ± 0.00", "3.50 ± 0.71", "–", "1.0x"],
    ]
    assert pairs == [
        ["Method", "reference", "medium", "large"],
        ["No treatment", "small", "1.50 ± 0.71", "3.00 ± 0.00"],
        ["", "medium", "", "6.00 ± 1.41"],
    ]
    lines = [line.split() for line in printed(chain()).splitlines()]
    assert ["No", "treatment", "small", "1.50±0.71", "3.00±0.00"] in lines
    assert ["medium", "6.00±1.41"] in lines


@pytest.mark.parametrize("chosen", [0.5, None])
def test_sweep_is_a_table_with_the_chosen_value_marked(chosen: float | None) -> None:
    results = update(none(), sweeps=(sweep(chosen),))
    rows = tables(update_markdown(results))[1]
    assert rows[0] == ["alpha", "ER (%)", "NFR (%)", "relative NFR (%)", "search split ER (%)", "search split NFR (%)"]
    assert [row[0] for row in rows[1:]] == ["0", "0.5" if chosen is None else "0.5 (chosen)", "1"]
    assert rows[2][1:] == ["12.00 ± 1.41", "2.20 ± 0.28", "22.00 ± 2.83", "13.34", "2.56"]
    assert printed(results).count("(chosen)") == (chosen is not None)


def test_methods_with_the_same_title_are_distinguished_by_their_labels() -> None:
    twice = [method("elodi", [(0.2,), (0.1,)], [(0.04,)], title="ELODI", label=label) for label in ("m2", "m4")]
    [rows] = tables(update_markdown(update(*twice)))
    assert [row[0] for row in rows[1:]] == ["ELODI (m2)", "ELODI (m4)"]


@pytest.mark.parametrize("models", [(EVIL, "new"), (EVIL, "b", "c")])
def test_names_are_not_markup(models: tuple[str, ...]) -> None:
    pairs = len(models) * (len(models) - 1) // 2
    evil = method("none", [(0.1, 0.1)] * len(models), [(0.1, 0.1)] * pairs, models=models, title=EVIL, description=EVIL)
    results = update(
        evil,
        models=models,
        title=f"{EVIL}\n# two",
        scenario=EVIL,
        noise_floor=noise_floor(model=EVIL),
        sweeps=(sweep(title=EVIL, key=EVIL),),
        facts={EVIL: EVIL},
    )
    text = update_markdown(results)
    assert "<b>" not in text
    assert len([line for line in text.splitlines() if line.startswith("# ")]) == 1
    for rows in tables(text):
        assert len({len(row) for row in rows}) == 1
    assert "[red]c[/red]" in printed(results, 300)
