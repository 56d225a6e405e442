"""Errors are readable lines, even if a damaged file has unreadable content."""

from __future__ import annotations

from regnas.errors import LONGEST_PROBLEM, MOST_PROBLEMS, ConfigurationError


def test_the_middle_of_a_very_long_problem_is_left_out():
    (problem,) = ConfigurationError("a" * 100_000 + "b").problems
    assert len(problem) <= LONGEST_PROBLEM + 3
    assert problem.startswith("aaa") and problem.endswith("aab")


def test_very_many_problems_are_counted():
    problems = ConfigurationError(*(f"problem {number}" for number in range(MOST_PROBLEMS + 1234))).problems
    assert problems[:MOST_PROBLEMS] == tuple(f"problem {number}" for number in range(MOST_PROBLEMS))
    assert problems[MOST_PROBLEMS:] == ("1,234 more problems",)
