import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, special, stats

from bayespa.posteriors import Dirichlet
from bayespa.reference import elementary as reference


def learned(n_topics=4, n_words=50, seed=0, eta=0.3):
    counts = np.random.default_rng(seed).gamma(0.2, 20.0, (n_topics, n_words))
    return Dirichlet.prior(n_topics, n_words, eta) + Dirichlet(counts)


def test_prior():
    prior = Dirichlet.prior(2, 3, eta=0.5)
    assert_array_equal(prior.concentration, np.full((2, 3), 0.5))
    assert_array_equal(prior.totals(), [1.5, 1.5])
    assert_allclose(prior.mean(), np.full((2, 3), 1 / 3), rtol=1e-15)
    assert repr(prior) == "<Dirichlet: 2 topics, 3 words>"
    for eta in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match=f"eta is {eta}; it must be positive and finite"):
            Dirichlet.prior(2, 3, eta)


def test_expectations_against_mpmath():
    topics = Dirichlet([[0.01, 0.45, 1.0, 2.5], [30.0, 0.45, 1e3, 1e6]])
    for k, row in enumerate(topics.concentration):
        total = mpmath.fsum(row)
        mean_log = [mpmath.digamma(a) - mpmath.digamma(total) for a in row]
        assert_allclose(topics.mean()[k], [float(a / total) for a in row], rtol=1e-15)
        assert_allclose(topics.mean_log()[k], np.array(mean_log, dtype=float), rtol=1e-14, atol=1e-15)
        exact = np.array([mpmath.exp(m) for m in mean_log], dtype=float)
        assert_allclose(topics.exp_mean_log()[k], exact, rtol=1e-12)


def test_expectations_are_the_operations_of_the_reference():
    topics = learned()
    delta, totals = topics.concentration, topics.totals()[:, None]
    digamma, exp_digamma = reference.digamma, reference.exp_digamma
    assert_array_equal(topics.mean_log(), digamma(delta) - digamma(totals))
    assert_array_equal(topics.exp_mean_log(), exp_digamma(delta) / exp_digamma(totals))


def test_expectations_of_some_words():
    topics, words = learned(), np.array([7, 3, 3, 49])
    for expectation in (topics.mean, topics.mean_log, topics.exp_mean_log):
        assert_array_equal(expectation(words), expectation()[:, words])
        assert expectation(words).T.flags.c_contiguous
        assert expectation().T.flags.c_contiguous


@pytest.mark.parametrize("n_threads", [1, 2, 7])
def test_any_isa_and_thread_count_gives_the_same_bits(n_threads, isa, monkeypatch):
    topics = learned(7, 3000)
    result = [f(n_threads=n_threads) for f in (topics.mean_log, topics.exp_mean_log)]
    monkeypatch.delenv("BAYESPA_ISA")
    assert_array_equal(result, [topics.mean_log(), topics.exp_mean_log()])


def kl_closed_form(a, b):
    def log_beta(x):
        return special.gammaln(x).sum(axis=1) - special.gammaln(x.sum(axis=1))

    mean_log = special.digamma(a) - special.digamma(a.sum(axis=1, keepdims=True))
    return log_beta(b) - log_beta(a) + ((a - b) * mean_log).sum(axis=1)


def test_kl_is_the_closed_form():
    a, b = learned(seed=1), learned(seed=2, eta=0.7)
    assert_allclose(a.kl(b), kl_closed_form(a.concentration, b.concentration), rtol=1e-11)


def test_kl_is_the_integral():
    a, b = Dirichlet([[1.5, 3.0]]), Dirichlet([[2.0, 1.2]])
    p, q = stats.beta(1.5, 3.0), stats.beta(2.0, 1.2)
    integral, _ = integrate.quad(lambda x: p.pdf(x) * (p.logpdf(x) - q.logpdf(x)), 0, 1, epsabs=1e-12)
    assert_allclose(a.kl(b), [integral], rtol=1e-8)


def test_kl_is_the_mean_log_ratio_of_draws():
    a, b = np.array([0.8, 2.0, 5.0, 1.0]), np.array([2.0, 1.0, 3.0, 0.5])
    phi = stats.dirichlet(a).rvs(100_000, random_state=0).T
    ratio = stats.dirichlet(a).logpdf(phi) - stats.dirichlet(b).logpdf(phi)
    assert abs(ratio.mean() - Dirichlet([a]).kl(Dirichlet([b]))[0]) < 4 * ratio.std() / np.sqrt(len(ratio))


concentrations = hnp.arrays(np.float64, (2, 5), elements=st.floats(1e-2, 1e4))


@settings(derandomize=True, deadline=None)
@given(concentrations, concentrations)
def test_kl_is_positive_unless_equal(a, b):
    p, q = Dirichlet(a), Dirichlet(b)
    assert_array_equal(p.kl(p), 0.0)
    kl = p.kl(q)
    assert (kl >= 0.0).all()
    assert (kl[(np.abs(a / b - 1) > 1e-2).any(axis=1)] > 0.0).all()


def test_new_words_are_as_the_prior_says():
    prior = Dirichlet.prior(4, 60, eta=0.3)
    topics = learned().extended(prior)
    assert_array_equal(topics.concentration[:, 50:], 0.3)
    more = Dirichlet(np.ones((4, 60)))
    assert topics + more == (prior + (learned().extended(prior) - prior)) + more


def test_improper_concentrations_have_no_expectations():
    topics = learned()
    assert topics.require_proper() is topics
    concentration = topics.concentration.copy()
    concentration[2, 7] = 0.0
    topics = Dirichlet(concentration)
    message = "concentration of word 7 in topic 2 is 0.0, not positive; add statistics to a prior"
    for call in (
        topics.require_proper,
        topics.mean,
        lambda: topics.mean_log([9, 7]),
        topics.exp_mean_log,
        lambda: topics.kl(learned()),
        lambda: learned().kl(topics),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(ValueError, match=r"concentration has shape \(3,\); it must be \(topics, words\)"):
        Dirichlet([1.0, 2.0, 3.0])
