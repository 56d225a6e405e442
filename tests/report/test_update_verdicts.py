"""The sentences of the report must follow from the intervals, the seeds and the noise floor."""

from __future__ import annotations

from dataclasses import replace

from regnas.report.update.measures import Difference
from regnas.report.update.methods import MethodResult
from regnas.report.update.verdicts import update_verdict

from .update_helpers import difference, method, noise_floor, none, update, with_pairs

ERRORS = [(0.20, 0.22), (0.11, 0.11)]


def treated(
    name: str, flips: tuple[float, ...], gap: Difference, error_gap: Difference | None = None, **changes: object
) -> MethodResult:
    errors = [values[: len(flips)] for values in ERRORS]
    return method(name, errors, [flips], gap, error_gap or difference(0.001), **changes)


def test_clear_winner_has_the_fewest_flips_among_those_that_do_not_err_more() -> None:
    verdict = update_verdict(
        update(
            none(),
            treated("good", (0.030, 0.030), difference(-0.012)),
            treated("better", (0.010, 0.012), difference(-0.031), training_cost=3.0, parameters=24_690),
            treated("keep_old", (0.0, 0.0), difference(-0.042), difference(0.1)),
            treated("useless", (0.043, 0.043), difference(0.001)),
        )
    )
    assert verdict == [
        "better has the fewest negative flips of all methods whose error rate is not significantly higher than that of "
        "no treatment. Its NFR is 1.10 ± 0.14 %, 3.10 [2.90, 3.30] points lower than no treatment. Its error rate is "
        "11.00 ± 0.00 % (+0.10 [-0.10, 0.30] points).",
        "2 of 4 methods have significantly fewer flips than no treatment without a significantly higher error rate. "
        "The training of better costs 3.0x that of no treatment, and the model has 2.0x the parameters at inference.",
        "keep_old has even fewer flips (NFR 0.00 ± 0.00 %), but a significantly higher error rate (+10.00 [9.80, "
        "10.20] points).",
        "The noise floor, the NFR between two trainings of the same recipe, is 3.05 ± 0.07 %. No treatment "
        "(4.20 ± 0.28 %) is 1.15 points above it, and better (1.10 ± 0.14 %) is 1.95 points below it.",
        "better has fewer flips than no treatment in 2 of 2 seeds.",
        "The intervals are over seeds and clusters of samples (2 seeds).",
    ]


def test_if_no_method_is_better_the_closest_is_named() -> None:
    headline, floor, seeds = update_verdict(
        update(
            none(),
            treated("close", (0.041, 0.042), difference(-0.001)),
            treated("worse", (0.060, 0.060), difference(0.02)),
        )
    )
    assert headline == (
        "No method has significantly fewer negative flips than no treatment without a significantly higher error rate. "
        "The closest is close: -0.10 [-0.30, 0.10] points."
    )
    assert "better" not in floor
    assert seeds == "The intervals are over seeds and clusters of samples (2 seeds)."


def test_fewer_flips_at_a_higher_error_rate_do_not_win() -> None:
    headline, price, *_ = update_verdict(
        update(none(), treated("keep_old", (0.0, 0.0), difference(-0.042), difference(0.1)))
    )
    assert headline.endswith(
        "without a significantly higher error rate. All methods have significantly higher error rates."
    )
    assert price.startswith(
        "keep_old has fewer flips (NFR 0.00 ± 0.00 %), but a significantly higher error rate (+10.00"
    )


def test_one_seed_says_that_training_is_not_covered() -> None:
    base = method("none", [(0.2,), (0.1,)], [(0.04,)])
    verdict = update_verdict(update(base, treated("elodi", (0.01,), difference(-0.03))))
    assert verdict[0].startswith("elodi has the fewest negative flips")
    assert "NFR is 1.00 %, 3.00 [2.80, 3.20] points lower" in verdict[0]
    assert verdict[-1] == (
        "All numbers come from one seed. The intervals are over clusters of samples; they do not show how much another "
        "training would change the numbers."
    )
    assert not any("±" in sentence for sentence in verdict)


def test_flips_no_more_than_chance_brings_are_called_so() -> None:
    floor = noise_floor(nfr=none().pairs[0].nfr)
    verdict = update_verdict(update(none(), treated("good", (0.030, 0.030), difference(-0.012)), noise_floor=floor))
    expected = "No treatment (4.20 ± 0.28 %) is within its spread, and good (3.00 ± 0.00 %) is 1.20 points below it."
    assert expected in " ".join(verdict)


def test_seeds_that_disagree_are_counted() -> None:
    verdict = update_verdict(update(none(), treated("shaky", (0.010, 0.045), difference(-0.014))))
    assert verdict[-2] == "shaky has fewer flips than no treatment in 1 of 2 seeds."


def test_chain_wins_by_pairs_and_loses_when_one_pair_is_worse() -> None:
    models = ("small", "medium", "large")
    base = method("none", [(0.3,), (0.2,), (0.1,)], [(0.03,), (0.03,), (0.03,)], models=models)
    better = method("b", [(0.3,), (0.2,), (0.1,)], [(0.03,), (0.01,), (0.01,)], None, difference(0), models)

    def headline(*gaps: float) -> str:
        changes = [{"nfr_difference": difference(gap), "nfr_difference_to_none": difference(gap)} for gap in gaps]
        return update_verdict(update(base, with_pairs(better, *changes), models=models))[0]

    won = "Its mean NFR is 1.67 %, 1.33 points lower than no treatment (significantly lower in 2 of 3 pairs)."
    assert won in headline(0.0, -0.02, -0.02)
    lost = headline(0.01, -0.02, -0.02)
    assert lost.endswith("The closest is b: -1.00 points, significantly lower in 2 of 3 pairs.")


def fine_tuned(name: str, flips: float, to_tuned: float, error_gap: Difference | None = None) -> MethodResult:
    """A method that starts from the old weights; no treatment flips 4.2 %."""
    made = treated(name, (flips, flips), difference(to_tuned), error_gap, counterpart="fine_tuning")
    return with_pairs(made, {"nfr_difference_to_none": difference(flips - 0.042)})


def test_fine_tuning_methods_must_also_beat_fine_tuning() -> None:
    tuning = treated("tuning", (0.020, 0.020), difference(-0.022))
    better, same = fine_tuned("better", 0.010, -0.010), fine_tuned("same", 0.019, -0.001)
    headline, field, *_ = update_verdict(update(none(), tuning, better, same))
    assert headline.startswith("better has the fewest negative flips of all methods whose error rate is not signif")
    assert (
        "NFR is 1.00 ± 0.00 %, 3.20 [3.00, 3.40] points lower than no treatment and 1.00 [0.80, 1.20] points lower "
        "than fine-tuning. Its error rate" in headline
    )
    assert field.startswith("2 of 3 methods have significantly fewer flips than their counterparts without a signif")
    # "same" flips least of all here, but no less than fine-tuning: the gain is due to fine-tuning
    assert update_verdict(update(none(), tuning, same))[0].startswith("tuning has the fewest negative flips")


def test_errors_are_compared_with_no_treatment_for_every_counterpart() -> None:
    price = fine_tuned("price", 0.010, -0.010, error_gap=difference(0.0))  # no more errors than fine-tuning has
    price = replace(price, error_rate_difference_to_none=difference(0.02))
    headline, sentence, *_ = update_verdict(update(none(), price))
    assert headline.startswith("No method has significantly fewer negative flips than its counterpart without")
    assert sentence == (
        "price has fewer flips (NFR 1.00 ± 0.00 %), but a significantly higher error rate (+2.00 [1.80, 2.20] points)."
    )


def test_without_a_comparison_nothing_is_claimed() -> None:
    assert update_verdict(update(none()))[0] == (
        "No treatment has an NFR of 4.20 ± 0.28 % at an error rate of 11.00 ± 1.41 %. There is no other method to "
        "compare it with."
    )
    two = [method(name, ERRORS, [(flips, flips)]) for name, flips in (("a", 0.02), ("b", 0.01))]
    assert update_verdict(update(*two))[0].startswith("b has the fewest negative flips: an NFR of 1.00 ± 0.00 %")
