from __future__ import annotations

from regnas.runtime.randomness import chooser, generator, key_to_int


def test_the_same_key_draws_the_same_and_any_other_key_something_else():
    keys = [(0,), (1,), (0, "order"), (0, "order", 1), ("0",), (0, "orde", "r1"), (0, "order1")]
    draws = [tuple(generator(*key).integers(0, 2**60, 3)) for key in keys]
    assert len(set(draws)) == len(keys)
    assert draws == [tuple(generator(*key).integers(0, 2**60, 3)) for key in keys]
    assert chooser(0, "x").random() == chooser(0, "x").random() != chooser(0, "y").random()


def test_keys_mean_the_same_in_every_process_and_version():
    """The first 63 bits of the sha256 of "int:0\\x1fstr:supernet\\x1fint:7", by sha256sum; a change breaks resuming."""
    assert key_to_int(0, "supernet", 7) == 2930027045684051087
