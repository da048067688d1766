"""The regret of BayesPA on adversarial streams. [PA-6]."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from bayespa import BayesPAClassifier


def hinge(mean, x, y):
    return np.maximum(0.0, 1.0 - y * (x @ mean))


def adversarial(n, dim, rng, **parameters):
    """Return examples whose labels are always those that the model does not expect, and its posteriors."""
    model = BayesPAClassifier(batch_size=1, fit_intercept=False, margin=1.0, **parameters)
    X = rng.standard_normal((n, dim)) * rng.choice([0.1, 1.0, 3.0], size=(n, 1))
    y, posteriors = np.ones(n), []
    for i in range(n):
        if i and X[i] @ model.coef_[0] >= 0.0:
            y[i] = -1.0
        posteriors.append(model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[-1.0, 1.0]).posterior_)
    return X, y, posteriors


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    dim=st.integers(1, 4),
    cost=st.sampled_from([0.02, 0.3, 5.0]),
    scale=st.sampled_from([0.5, 2.0]),
)
def test_averaging_keeps_the_bound_against_every_comparator(seed, dim, cost, scale):
    rng = np.random.default_rng(seed)
    x, y, posteriors = adversarial(40, dim, rng, rule="averaging", cost=cost, weight_scale=scale)
    after = np.array([posterior.mean()[0, :dim] for posterior in posteriors])
    before = np.vstack([np.zeros(dim), after[:-1]])
    paid_after = sum(map(hinge, after, x, y))
    paid_before = sum(map(hinge, before, x, y))
    moved = ((after - before) ** 2).sum() / (2 * scale**2)
    price = cost * scale**2 * (x**2).sum()
    for spread in (0.0, 0.1, 1.0, 10.0):
        w = spread * rng.standard_normal(dim)
        divergence = ((w**2).sum() - ((w - after[-1]) ** 2).sum()) / (2 * scale**2)
        bound = hinge(w, x, y).sum() + (divergence - moved) / (2 * cost)
        assert paid_after <= bound + 1e-9 * max(1.0, abs(bound))
        bound = hinge(w, x, y).sum() + (w**2).sum() / (4 * cost * scale**2) + price
        assert paid_before <= bound + 1e-9 * bound


class Exact:
    """The exact posterior of one weight, on a grid."""

    def __init__(self, cost, scale):
        self.cost, self.w = cost, np.linspace(-12 * scale, 12 * scale, 5_001)
        self.q = norm.pdf(self.w, 0.0, scale)
        self.q /= self.q.sum()

    def step(self, x, y):
        """Return the loss before and after, and -log Z."""
        loss = np.maximum(0.0, 1.0 - y * x * self.w)
        before = self.q @ loss
        tilted = self.q * np.exp(-2 * self.cost * loss)
        z = tilted.sum()
        self.q = tilted / z
        return before, self.q @ loss, -np.log(z)


def expected_hinge(mean, variance, x, y):
    """Return the expected loss of a Gaussian weight."""
    sd = abs(x) * np.sqrt(variance)
    gap = (1.0 - y * x * mean) / sd
    return sd * (gap * norm.cdf(gap) + norm.pdf(gap))


@pytest.mark.parametrize("cost", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_gibbs_keeps_the_bound_where_it_is_exact_and_nearly_as_a_gaussian(cost, seed):
    x, y, posteriors = adversarial(
        100, 1, np.random.default_rng(seed), cost=cost, weight_scale=1.0, covariance="full"
    )
    exact = Exact(cost, 1.0)
    steps = [exact.step(*example) for example in zip(x[:, 0], y, strict=True)]
    before, after, evidence = np.sum(steps, axis=0)
    # -log Z is the least of 2c loss + KL[q || q_0] that any q in hindsight has.
    assert 2 * cost * after <= evidence
    assert before <= evidence / (2 * cost) + cost * (x**2).sum()
    gaussian = sum(
        expected_hinge(q.mean()[0, 0], q.covariance()[0, 0, 0], *example)
        for q, example in zip(posteriors, zip(x[:, 0], y, strict=True), strict=True)
    )
    assert abs(gaussian - after) <= 0.02 * after  # at most 0.018 was seen
    assert 2 * cost * gaussian <= evidence  # not a theorem
