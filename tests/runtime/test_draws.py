from __future__ import annotations

import numpy as np

from regnas.runtime.draws import Draws, integers_of, stream


def test_a_stream_is_splitmix64():
    """The published outputs for the seed 1234567."""
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert stream(np.array([1234567], dtype=np.uint64), 4).tolist() == [published]


def test_the_numbers_of_a_sample_do_not_depend_on_the_others_nor_on_how_many_are_drawn():
    samples = np.array([5, 0, 70_000, 3])
    whole = Draws(42, 9, samples).uniform(6)
    for place, sample in enumerate(samples):
        alone = Draws(42, 9, np.array([sample]))
        assert np.array_equal(alone.uniform(6)[0], whole[place])
        assert np.array_equal(alone.uniform(2)[0], whole[place, :2])


def test_numbers_are_uniform_and_independent_between_keys_epochs_samples_and_positions():
    samples = np.arange(50_000)
    whole = Draws(2**62 + 1, 3, samples).uniform(3)
    assert whole.min() >= 0
    assert whole.max() < 1
    for column in whole.T:
        counts, _ = np.histogram(column, bins=20, range=(0, 1))
        chi2 = ((counts - 2500) ** 2 / 2500).sum()
        assert chi2 < 43.8  # 19 degrees of freedom, one in a thousand
    others = {
        "position": whole[:, 1],
        "sample": np.roll(whole[:, 0], 1),
        "epoch": Draws(2**62 + 1, 4, samples).uniform(1)[:, 0],
        "key": Draws(2**62 + 2, 3, samples).uniform(1)[:, 0],
    }
    for name, other in others.items():
        assert abs(np.corrcoef(whole[:, 0], other)[0, 1]) < 4 / np.sqrt(len(samples)), name


def test_integers_take_every_value_below_the_bound_equally_often():
    drawn = integers_of(Draws(1, 0, np.arange(30_000)).uniform(1)[:, 0], 5)
    counts = np.bincount(drawn, minlength=5)
    assert len(counts) == 5
    assert abs(counts - 6000).max() < 4 * np.sqrt(6000)


def test_numbers_within_bounds():
    drawn = Draws(1, 0, np.arange(2000)).within(-2.0, 3.0, 2)
    assert drawn.shape == (2000, 2)
    assert -2 <= drawn.min() < -1.9
    assert 2.9 < drawn.max() < 3
