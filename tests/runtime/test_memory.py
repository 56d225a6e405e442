from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regnas.runtime.files import cache_folder
from regnas.runtime.memory import BoundedCache, LazyMapping


def test_the_least_recently_used_value_is_dropped_first():
    made = []

    def take(name):
        return cache.get(name, lambda: made.append(name) or name * 3)

    cache = BoundedCache(limit=9, size_of=len)
    for name in "abc":
        take(name)
    take("a")  # used again: b is now the oldest
    take("d")
    assert [name in cache for name in "abcd"] == [True, False, True, True]
    assert take("b") == "bbb"
    assert made == ["a", "b", "c", "d", "b"]


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 12)), max_size=40), st.integers(0, 20))
def test_kept_values_never_exceed_the_limit_except_a_single_value(asked, limit):
    cache = BoundedCache(limit, size_of=len)
    sizes = {}
    for key, size in asked:
        size = sizes.setdefault(key, size)
        assert cache.get(key, lambda size=size: b"x" * size) == b"x" * size
        assert key in cache
        kept = [sizes[each] for each in sizes if each in cache]
        assert cache.bytes == sum(kept)
        assert cache.bytes <= limit or len(kept) == 1


def test_making_a_value_may_use_the_cache():
    cache = BoundedCache(limit=4, size_of=len)
    assert cache.get("outer", lambda: cache.get("inner", lambda: "ab") + "c") == "abc"
    assert "outer" in cache
    assert "inner" not in cache


def test_a_lazy_mapping_makes_only_what_is_asked_for():
    made = []
    squares = LazyMapping([1, 2, 3], lambda key: made.append(key) or key * key)
    assert list(squares) == [1, 2, 3]
    assert (len(squares), made) == (3, [])
    assert squares[2] == 4
    assert made == [2]
    with pytest.raises(KeyError):
        squares[4]


@pytest.mark.parametrize(("variable", "found"), [("/elsewhere", "/elsewhere/regnas"), ("", "/home/me/.cache/regnas")])
def test_the_cache_folder_follows_the_environment_of_the_user(monkeypatch, variable, found):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("XDG_CACHE_HOME", variable)
    assert str(cache_folder()) == found


def test_a_relative_cache_folder_is_ignored_as_the_standard_asks(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("XDG_CACHE_HOME", "caches")
    assert str(cache_folder()) == "/home/me/.cache/regnas"
