import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats

from bayespa.posteriors import Gaussian

STRUCTURES = ["full", "diagonal", "isotropic"]


def learned(structure, n_tasks=3, dim=5, seed=0, scale=0.7):
    """A posterior of some random data."""
    rng = np.random.default_rng(seed)
    prior = Gaussian.prior(n_tasks, dim, scale, structure=structure)
    x = rng.standard_normal((n_tasks, 8, dim))
    precision = {
        "full": sum(x[:, i, :, None] * x[:, i, None, :] for i in range(8)),
        "diagonal": (x**2).sum(axis=1),
        "isotropic": (x**2).sum(axis=(1, 2)),
    }[structure]
    return prior + Gaussian(rng.standard_normal((n_tasks, dim)), precision)


def as_full(gaussian):
    """The same distribution with its precision written out."""
    dim, precision = gaussian.shift.shape[1], gaussian.precision
    if gaussian.structure == "isotropic":
        precision = np.repeat(precision[:, None], dim, axis=1)
    if gaussian.structure != "full":
        precision = precision[:, :, None] * np.eye(dim)
    return Gaussian(gaussian.shift, precision)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_prior(structure):
    prior = Gaussian.prior(2, 3, scale=0.5, structure=structure)
    assert prior.structure == structure
    assert_array_equal(prior.mean(), np.zeros((2, 3)))
    assert_allclose(prior.variance(), np.full((2, 3), 0.25), rtol=1e-15)
    assert repr(prior) == f"<Gaussian: 2 tasks, 3 dimensions, {structure}>"


@pytest.mark.parametrize(("scale", "bias_scale"), [(1.0, 0.0), (0.1, 3.0), (10.0, 0.5), (1e-3, 1.0)])
def test_a_bias_is_a_correlated_prior(scale, bias_scale):
    prior = Gaussian.prior(2, 6, scale, bias_scale)
    expected = scale**2 * np.eye(6) + bias_scale**2 * np.ones((6, 6))
    assert_allclose(prior.covariance(), np.array([expected] * 2), rtol=1e-9)
    simplex = np.random.default_rng(0).dirichlet(np.ones(6), size=4)  # features that sum to one
    margin = scale**2 * (simplex**2).sum(axis=1) + bias_scale**2
    assert_allclose(prior.quadratic(simplex)[:, 1], margin, rtol=1e-9)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_moments_are_those_of_the_written_out_precision(structure):
    gaussian = learned(structure)
    full = as_full(gaussian)
    covariance = np.linalg.inv(full.precision)
    mean = np.einsum("tij,tj->ti", covariance, gaussian.shift)
    assert_allclose(full.covariance(), covariance, rtol=1e-10, atol=1e-12)
    assert_allclose(gaussian.mean(), mean, rtol=1e-10, atol=1e-12)
    assert_allclose(gaussian.variance(), np.diagonal(covariance, axis1=1, axis2=2), rtol=1e-10)
    assert gaussian.covariance().shape == gaussian.precision.shape
    for part, whole in zip((gaussian.mean(), gaussian.covariance()), gaussian.moments(), strict=True):
        assert_array_equal(part, whole)
    some = np.array([3, 0])
    assert_array_equal(gaussian.variance(some), gaussian.variance()[:, some])
    for own, known in zip(gaussian.new_moments(), gaussian.moments(), strict=True):
        assert_array_equal(own, known)
        assert own.flags.writeable
    if structure == "diagonal":
        assert_array_equal(gaussian.near(some).mean(), gaussian.mean()[:, some])
    x = np.random.default_rng(1).standard_normal((7, 5))
    assert_allclose(gaussian.quadratic(x), np.einsum("ni,tij,nj->nt", x, covariance, x), rtol=1e-10)


def test_learning_in_any_order_is_ridge_regression():
    rng = np.random.default_rng(0)
    x, y, scale, noise = rng.standard_normal((30, 4)), rng.standard_normal(30), 2.0, 0.3
    posterior = Gaussian.prior(1, 4, scale)
    for i in rng.permutation(30):
        posterior += Gaussian(x[None, i] * y[i] / noise**2, x[None, i, :, None] * x[i] / noise**2)
    ridge = np.linalg.solve(x.T @ x + noise**2 / scale**2 * np.eye(4), x.T @ y)
    assert_allclose(posterior.mean()[0], ridge, rtol=1e-10)


@pytest.mark.parametrize("n_threads", [1, 2, 7])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_any_isa_and_thread_count_gives_the_same_bits(structure, n_threads, isa, monkeypatch):
    gaussian, other = learned(structure), learned(structure, seed=1)
    x = np.random.default_rng(1).standard_normal((7, 5))

    def results(n_threads):
        return [
            *gaussian.moments(n_threads=n_threads),
            gaussian.mean(n_threads=n_threads),
            gaussian.variance(n_threads=n_threads),
            gaussian.quadratic(x, n_threads=n_threads),
            gaussian.kl(other, n_threads=n_threads),
        ]

    here = results(n_threads)
    monkeypatch.delenv("BAYESPA_ISA")
    for result, expected in zip(here, results(1), strict=True):
        assert_array_equal(result, expected)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_kl_is_the_closed_form(structure):
    a, b = learned(structure, seed=1), learned(structure, seed=2, scale=0.3)
    for t, kl in enumerate(a.kl(b)):
        (m, s), (n, q) = ((g.mean()[t], g.covariance()[t]) for g in (as_full(a), as_full(b)))
        trace = np.trace(np.linalg.solve(q, s))
        distance = (n - m) @ np.linalg.solve(q, n - m)
        log_ratio = np.linalg.slogdet(q)[1] - np.linalg.slogdet(s)[1]
        assert_allclose(kl, 0.5 * (trace - 5 + distance + log_ratio), rtol=1e-10)


def test_kl_is_the_integral():
    a, b = Gaussian([[1.0]], [[[2.0]]]), Gaussian([[-0.5]], [[[0.7]]])
    p, q = (stats.norm(g.mean()[0, 0], np.sqrt(g.variance()[0, 0])) for g in (a, b))
    integral, _ = integrate.quad(lambda w: p.pdf(w) * (p.logpdf(w) - q.logpdf(w)), -10, 10, epsabs=1e-12)
    assert_allclose(a.kl(b), [integral], rtol=1e-9)


def test_kl_is_the_mean_log_ratio_of_draws():
    a, b = learned("full", 1, seed=1), learned("full", 1, seed=2, scale=0.3)
    p, q = (stats.multivariate_normal(g.mean()[0], g.covariance()[0]) for g in (a, b))
    w = p.rvs(200_000, random_state=0)
    ratio = p.logpdf(w) - q.logpdf(w)
    assert abs(ratio.mean() - a.kl(b)[0]) < 4 * ratio.std() / np.sqrt(len(ratio))


@settings(derandomize=True, deadline=None)
@given(st.sampled_from(STRUCTURES), st.integers(0, 10**6), st.integers(0, 10**6))
def test_kl_is_positive_unless_equal(structure, seed, other_seed):
    a, b = learned(structure, seed=seed), learned(structure, seed=other_seed)
    assert_allclose(a.kl(a), 0.0, atol=1e-13)
    if seed != other_seed:
        assert (a.kl(b) > 1e-6).all()


def test_kl_of_nearby_posteriors_is_the_squared_distance():
    a = learned("full", 1)
    step = np.full((1, 5), 1e-4)
    moved = Gaussian(a.shift + step, a.precision)
    assert_allclose(a.kl(moved), 0.5 * a.quadratic(step)[0], rtol=1e-3)


def test_a_million_updates_leave_the_precision_positive_definite():
    """Rank-one updates, replays (subtract and add) and forgetting, in a direction less than full.

    The data never reach the direction (1, ..., 1), where only the prior keeps the precision positive while it
    grows ten-million-fold elsewhere: whatever rounding leaks there shows. Chunks are applied by a cumulative
    sum, one update after the other; the first chunk shows that this is what += and -= do.
    """
    rng = np.random.default_rng(0)
    n_tasks, dim, n_chunks, n_batches = 2, 6, 100, 2000
    prior = Gaussian.prior(n_tasks, dim)
    posterior, expected, n_updates = prior, prior, 0
    for chunk in range(n_chunks):
        x = rng.standard_normal((n_batches, n_tasks, dim)) * 10
        x -= x.mean(axis=2, keepdims=True)
        outer = x[:, :, :, None] * x[:, :, None, :]
        weights = rng.uniform(
            0, 2, (3, n_batches, 1, 1, 1)
        )  # three passes: what a batch adds differs each time
        first, second, third = weights * outer
        replays = np.stack([-first, second, -second, third], axis=1)[rng.permutation(n_batches)]
        updates = np.concatenate([first, replays.reshape(-1, n_tasks, dim, dim)])
        running = np.add.accumulate(np.concatenate([posterior.precision[None], updates]))
        if chunk == 0:
            one_by_one = posterior
            for i, update in enumerate(updates):
                if i < n_batches or i % 2:
                    one_by_one += Gaussian(np.zeros((n_tasks, dim)), update)
                else:
                    one_by_one -= Gaussian(np.zeros((n_tasks, dim)), -update)
            assert_array_equal(one_by_one.precision, running[-1])
        posterior = Gaussian(posterior.shift, running[-1])
        expected = Gaussian(expected.shift, expected.precision + third.sum(axis=0))
        n_updates += len(updates)
        if chunk % 10 == 0:
            posterior, expected = (g.discounted(0.999, prior) for g in (posterior, expected))
    assert n_updates == 1_000_000
    assert_array_equal(posterior.precision, posterior.precision.swapaxes(1, 2))
    posterior.require_proper()
    eigenvalues = np.linalg.eigvalsh(posterior.precision)
    assert (eigenvalues[:, 1:] > 1e7).all()
    assert_allclose(eigenvalues[:, 0], 1.0, atol=1e-5)
    assert_allclose(posterior.precision, expected.precision, rtol=1e-11)


def test_arrays_must_fit():
    for shift, precision, message in [
        ([1.0], [1.0], r"shift has shape \(1,\); it must be \(tasks, dimensions\)"),
        (
            [[1.0, 2.0]],
            [1.0, 2.0],
            r"precision has shape \(2,\); .* needs \(1, 2, 2\) \(full\), \(1, 2\) \(diag",
        ),
        ([[1.0, np.nan]], [1.0], r"shift\[0, 1\] is nan"),
        (
            [[0.0, 0.0]] * 2,
            [np.eye(2), [[1, 2], [3, 4]]],
            r"of task 1 is not symmetric: \[0, 1\] is 2.0 and \[1",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            Gaussian(shift, precision)
    with pytest.raises(ValueError, match=r"x has shape \(4, 2\); it must be \(N, 3\)"):
        Gaussian.prior(1, 3).quadratic(np.ones((4, 2)))


def test_prior_must_make_sense():
    for options, message in [
        ({"scale": 0.0}, "scale is 0.0; it must be positive"),
        ({"scale": np.nan}, "scale is nan"),
        ({"bias_scale": np.inf}, "bias_scale is inf; it must be finite"),
        ({"bias_scale": 1.0, "structure": "diagonal"}, "needs structure 'full', not 'diagonal'"),
        ({"structure": "banded"}, "structure is 'banded'; use one of full, diagonal, isotropic"),
    ]:
        with pytest.raises(ValueError, match=message):
            Gaussian.prior(2, 3, **options)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_improper_gaussians_have_no_expectations(structure):
    prior = Gaussian.prior(3, 4, structure=structure)
    assert prior.require_proper() is prior
    precision = prior.precision.copy()
    precision[1] *= -1.0
    improper = Gaussian(prior.shift, precision)
    for call in (
        improper.require_proper,
        improper.mean,
        improper.moments,
        improper.variance,
        lambda: improper.quadratic(np.ones((1, 4))),
        lambda: improper.kl(prior),
        lambda: prior.kl(improper),
    ):
        with pytest.raises(
            ValueError, match=r"precision of task 1 is not positive.* add statistics to a prior"
        ):
            call()


def test_correlated_dimensions_cannot_be_extended():
    prior = Gaussian.prior(1, 2, bias_scale=1.0)
    with pytest.raises(ValueError, match=r"correlates new dimensions with the first 2.*use bias_scale=0"):
        prior.extended(Gaussian.prior(1, 3, bias_scale=1.0))
