"""The functions of special.py against scipy, exact integers and each other."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaincinv, ndtri, stdtrit

from regnas.flips.special import beta_quantile, binomial_tail, normal_quantile, student_t_quantile

SHAPES = np.geomspace(0.1, 1e6, 41)


@pytest.mark.parametrize("probability", [0.0005, 0.005, 0.025, 0.5, 0.975, 0.9995])
def test_beta_quantiles_are_those_of_scipy_for_counts_from_a_tenth_to_a_million(probability):
    a, b = np.meshgrid(SHAPES, SHAPES)
    np.testing.assert_allclose(beta_quantile(a, b, probability), betaincinv(a, b, probability), rtol=1e-9)


@pytest.mark.parametrize("probability", [0.6, 0.9, 0.975, 0.9995])
def test_t_quantiles_are_those_of_scipy_from_one_degree_of_freedom_to_a_million(probability):
    freedom = np.concatenate([np.arange(1.0, 50.0), np.geomspace(50, 1e6, 100)])
    np.testing.assert_allclose(student_t_quantile(freedom, probability), stdtrit(freedom, probability), rtol=1e-9)


def test_t_quantiles_of_one_and_two_degrees_of_freedom_have_closed_forms():
    one, two = student_t_quantile([1, 2], 0.975)
    assert one == pytest.approx(np.tan(np.pi * 0.475), rel=1e-13)  # the Cauchy distribution
    assert two == pytest.approx(0.95 * np.sqrt(2 / (4 * 0.975 * 0.025)), rel=1e-13)
    assert student_t_quantile([7.0], 0.5) == [0.0]


def test_quantiles_of_a_single_trial_are_powers():
    # I_x(a, 1) = x^a and I_x(1, b) = 1 - (1 - x)^b
    assert beta_quantile(3, 1, 0.125) == pytest.approx(0.5, rel=1e-14)
    assert beta_quantile(1, 1000, 0.975) == pytest.approx(1 - 0.025 ** (1 / 1000), rel=1e-12)


def test_normal_quantile_is_that_of_scipy():
    assert normal_quantile(0.975) == pytest.approx(ndtri(0.975), rel=1e-15)


@given(st.integers(0, 600), st.integers(0, 600))
def test_the_binomial_tail_is_the_exact_sum(count, further):
    trials = count + further
    exact = sum(comb(trials, each) for each in range(count + 1)) / 2**trials  # whole numbers, rounded once
    assert binomial_tail(count, trials) == pytest.approx(exact, rel=1e-12, abs=1e-300)


def test_shapes_are_kept_and_nothing_is_an_empty_array():
    assert beta_quantile(np.ones((2, 3)), 2.0, 0.5).shape == (2, 3)
    assert beta_quantile(np.ones(0), np.ones(0), 0.5).shape == (0,)
