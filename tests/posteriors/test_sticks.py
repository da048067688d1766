import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, special, stats

from bayespa.posteriors import Sticks

parameters = hnp.arrays(np.float64, 5, elements=st.floats(1e-2, 1e4))


def test_prior_shares_fall_geometrically():
    gamma, k = 3.0, np.arange(6)
    prior = Sticks.prior(6, gamma)
    assert_allclose(prior.mean(), (gamma / (1 + gamma)) ** k / (1 + gamma), rtol=1e-14)
    assert_allclose(prior.remaining(), (gamma / (1 + gamma)) ** 6, rtol=1e-14)
    # E log π̄ = ψ(1) - ψ(1 + γ) = -(1 + 1/2 + 1/3), E log (1 - π̄) = -1/γ
    assert_allclose(prior.mean_log(), -(1 + 1 / 2 + 1 / 3) - k / gamma, rtol=1e-14)
    assert repr(prior) == "<Sticks: 6 topics>"
    for bad in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match=f"gamma is {bad}; it must be positive and finite"):
            Sticks.prior(6, bad)


@settings(derandomize=True, deadline=None)
@given(parameters, parameters)
def test_shares_sum_to_one(u, v):
    sticks = Sticks(u, v)
    assert_allclose(sticks.mean().sum() + sticks.remaining(), 1.0, rtol=1e-13)
    assert (sticks.mean_log() < np.log(sticks.mean())).all()  # Jensen


def test_expectations_are_the_closed_forms():
    rng = np.random.default_rng(0)
    u, v = rng.gamma(1.0, 3.0, (2, 6))
    sticks = Sticks(u, v)
    for k in range(6):
        share = u[k] / (u[k] + v[k]) * np.prod(v[:k] / (u[:k] + v[:k]))
        log_share = special.digamma(u[k]) - special.digamma(u[k] + v[k])
        log_share += (special.digamma(v[:k]) - special.digamma(u[:k] + v[:k])).sum()
        assert_allclose(sticks.mean()[k], share, rtol=1e-14)
        assert_allclose(sticks.mean_log()[k], log_share, rtol=1e-12)


def test_expectations_are_the_means_of_draws():
    u, v = np.array([2.0, 1.0, 4.0]), np.array([3.0, 2.0, 1.5])
    broken = np.random.default_rng(0).beta(u, v, (200_000, 3))
    left = np.cumprod(1 - broken, axis=1)
    shares = broken * np.concatenate([np.ones((len(left), 1)), left[:, :-1]], axis=1)
    sticks = Sticks(u, v)
    for expectation, draws in [
        (sticks.mean(), shares),
        (sticks.mean_log(), np.log(shares)),
        (sticks.remaining(), left[:, -1]),
    ]:
        assert (abs(draws.mean(axis=0) - expectation) < 4 * draws.std(axis=0) / np.sqrt(len(draws))).all()


def test_statistics_count_what_stays_and_what_goes_on():
    tables = np.array([[3, 0, 2, 1], [0, 5, 1, 1]])
    total = sum((Sticks.statistics(s) for s in tables), Sticks.prior(4, 2.0))
    assert_array_equal(total.u, [4, 6, 4, 3])
    assert_array_equal(total.v, [12, 7, 4, 2])
    tables[0] = 9
    assert_array_equal(Sticks.statistics(np.array([0.5])).v, [0.0])


def test_statistics_are_not_a_view_of_the_counts():
    tables = np.ones(3)
    statistics = Sticks.statistics(tables)
    statistics += statistics
    assert_array_equal(tables, np.ones(3))


def test_no_sticks_leave_everything():
    sticks = Sticks.prior(0, gamma=2.0) + Sticks.statistics([])
    assert sticks.remaining() == 1.0
    assert sticks.mean().shape == sticks.mean_log().shape == sticks.kl(sticks).shape == (0,)


def test_expectations_have_the_same_bits_on_every_isa(isa, monkeypatch):
    u, v = np.random.default_rng(0).gamma(1.0, 3.0, (2, 100))
    here = Sticks(u, v).mean_log()
    monkeypatch.delenv("BAYESPA_ISA")
    assert_array_equal(here, Sticks(u, v).mean_log())


def test_kl_is_the_integral():
    a, b = Sticks([1.5, 4.0], [3.0, 2.0]), Sticks([2.0, 1.0], [1.2, 1.0])
    for k, kl in enumerate(a.kl(b)):
        p, q = (stats.beta(s.u[k], s.v[k]) for s in (a, b))
        integral, _ = integrate.quad(lambda x, p=p, q=q: p.pdf(x) * (p.logpdf(x) - q.logpdf(x)), 0, 1)
        assert_allclose(kl, integral, rtol=1e-7)


@settings(derandomize=True, deadline=None)
@given(parameters, parameters, parameters)
def test_kl_is_positive_unless_equal(u, v, w):
    a, b = Sticks(u, v), Sticks(u, w)
    assert_array_equal(a.kl(a), 0.0)
    assert (a.kl(b) >= 0.0).all()
    assert (a.kl(b)[np.abs(v / w - 1) > 1e-2] > 0.0).all()


def test_improper_sticks_have_no_expectations():
    statistics = Sticks.statistics([2, 1])
    for call in (statistics.require_proper, statistics.mean, statistics.mean_log, statistics.remaining):
        with pytest.raises(ValueError, match=r"v of stick 1 is 0.0, not positive; add statistics to a prior"):
            call()
    with pytest.raises(ValueError, match=r"u has shape \(2,\) and v \(3,\); both must be \(topics,\)"):
        Sticks([1, 1], [1, 1, 1])
