"""Slopes of numbers: predictions that vary too much are shrunk, by what was said before numbers were seen."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayespa import MedLDARegressor
from bayespa.datasets import make_topic_corpus
from bayespa.learning import Before
from bayespa.posteriors import Joint
from bayespa.topics.slope import RIGHT, Slope

RNG = np.random.default_rng(0)
MARGIN = RNG.normal(size=(256, 2))
NUMBERS = (MARGIN * [0.5, 0.25] + 0.1 * RNG.normal(size=(256, 2))).astype(np.float32)


def learned(*steps):
    slope = Slope(2)
    posterior = Joint(**slope.prior())
    for step in steps:
        posterior += Joint(**slope.propose(*step))
    return slope.of(posterior)


def test_it_is_that_of_least_squares_with_some_documents_that_were_right():
    index, own = 7, (MARGIN**2).sum(axis=0)
    right = 4.0 * index**3 * RIGHT * own / len(MARGIN)
    together = (index**4 * (MARGIN * NUMBERS).sum(axis=0) + right) / (index**4 * own + right)
    assert_allclose(learned((MARGIN, NUMBERS, index)), together, rtol=1e-8)


def test_it_converges_to_that_of_least_squares_and_later_mini_batches_count_more():
    wanted = (MARGIN * NUMBERS).sum(axis=0) / (MARGIN**2).sum(axis=0)
    steps = [(MARGIN, NUMBERS, index) for index in range(60)]
    assert_allclose(learned(*steps), wanted, atol=0.02)
    exact = [(MARGIN, MARGIN.astype(np.float32), index) for index in range(20)]
    assert_allclose(learned(*exact, *steps[20:]), learned(*steps), atol=0.01)


def test_it_is_between_0_and_1_and_1_without_evidence():
    assert_array_equal(learned(), [1.0, 1.0])
    assert_array_equal(learned((MARGIN, NUMBERS, 0)), [1.0, 1.0])  # the first predictions say nothing
    assert_array_equal(learned((MARGIN, np.full_like(NUMBERS, np.nan), 9)), [1.0, 1.0])
    assert_array_equal(learned((MARGIN, (3.0 * MARGIN).astype(np.float32), 9)), [1.0, 1.0])
    assert_array_equal(learned((MARGIN, (-3.0 * MARGIN).astype(np.float32), 900)), [0.0, 0.0])


def test_unknown_numbers_do_not_count():
    some = NUMBERS.copy()
    some[100:, 1] = np.nan
    both = learned((MARGIN, some, 50))
    assert both[0] == learned((MARGIN, NUMBERS, 50))[0]
    assert both[1] == learned((MARGIN[:100], NUMBERS[:100], 50))[1]


def test_a_repeated_mini_batch_keeps_what_it_said_first():
    slope = Slope(2)
    first = slope.propose(MARGIN, NUMBERS, 5)
    again = slope.propose(9.0 * MARGIN, NUMBERS, 50, Before(type("S", (), {"statistics": first}), kept=False))
    assert again["slope"] is first["slope"]


@pytest.fixture(scope="module")
def noisy():
    """Documents with numbers that are nearly all noise."""
    bunch = make_topic_corpus(
        3000, n_words=800, n_topics=6, n_labels=2, tokens_per_document=20, random_state=1
    )
    y = 0.2 * bunch.target + np.random.default_rng(1).normal(size=3000)
    return bunch.data[:2000], y[:2000], bunch.data[2000:], y[2000:]


@pytest.mark.parametrize("decides", ["words", "topics+words"])
def test_where_numbers_are_noise_predictions_are_near_the_mean(noisy, decides):
    X, y, X_test, y_test = noisy
    model = MedLDARegressor(6, decides=decides, random_state=0).fit(X, y)
    assert 0.0 <= model.slope_[0] < 0.6
    raw = (model.predict(X_test) - y[:2000].mean()) / max(model.slope_[0], 1e-9) + y[:2000].mean()
    assert model.score(X_test, y_test) > -0.03
    assert np.mean((raw - y_test) ** 2) > np.mean((model.predict(X_test) - y_test) ** 2)
    explanation = model.explain(X_test[:1])
    assert explanation.decision == pytest.approx(model.predict(X_test[:1])[0])


def test_where_words_tell_numbers_nothing_is_lost(noisy):
    X, _, X_test, _ = noisy
    clear = X[:, :400].sum(axis=1).A1 / 20.0, X_test[:, :400].sum(axis=1).A1 / 20.0
    model = MedLDARegressor(6, random_state=0).fit(X, clear[0])
    assert model.slope_[0] > 0.95
    assert model.score(X_test, clear[1]) > 0.5


def test_topics_alone_have_none(noisy):
    model = MedLDARegressor(6, decides="topics", random_state=0).fit(*noisy[:2])
    assert_array_equal(model.slope_, [1.0])
    assert "slope" not in model.posterior_


def test_copies_that_learned_apart_are_merged(noisy):
    X, y, _, _ = noisy
    base = MedLDARegressor(6, random_state=0).partial_fit(X[:500], y[:500]).settle()
    left, right = (
        copy.deepcopy(base).partial_fit(X[a:b], y[a:b]).settle() for a, b in ((500, 1200), (1200, 2000))
    )
    counts = [model.posterior_["slope"].counts for model in (left, right, base)]
    left.merge(right, ancestor=base)
    assert_allclose(left.posterior_["slope"].counts, counts[0] + counts[1] - counts[2])
