"""An alarm that is rarely false, as often as it says, and quick where losses grow."""

import json

import numpy as np
import pytest

from bayespa.serve.drift import BETS, BINS, Drift, Reference


def losses(random, n, errors):
    """Losses of a classifier that errs so often, less sure where it errs."""
    wrong = random.random(n) < errors
    return np.where(wrong, random.beta(5, 2, n), random.beta(1, 6, n))


def test_ranks_are_uniform_whatever_losses_are():
    """Ties included: most losses of a sure classifier are the same."""
    random = np.random.default_rng(0)
    ranks = []
    for _ in range(300):
        counts, reference = np.zeros(BINS), Reference()
        for place in random.choice([0, 0, 0, 100, 200], 20):
            tie = random.random()
            reference.add(int(place), tie)
            counts[place] += 1
        ranks.append((counts[place + 1 :].sum() + tie * counts[place]) / counts.sum())
    expected = (np.arange(300) + 0.5) / 300
    assert np.abs(np.sort(ranks) - expected).max() < 1.63 / np.sqrt(300)  # Kolmogorov and Smirnov, 1 %


def test_bets_are_fair():
    """The mean of what is won over uniform ranks is 1, so evidence grows by 1 a document on average."""
    p = (np.arange(1000) + 0.5) / 1000
    won = (1.0 + BETS[:, None] * (1.0 - 2.0 * p)).mean(axis=1)
    np.testing.assert_allclose(won, 1.0, rtol=1e-12)
    assert (1.0 + BETS * (1.0 - 2.0)).min() >= 0.0


def test_false_alarms_are_as_rare_as_stated():
    """Within n documents the probability is at most n * rate, 0.25 here, but for three deviations."""
    n, rate, tries = 250, 1e-3, 120
    alarms = 0
    for seed in range(tries):
        drift = Drift(rate, span=100, key=seed)
        alarms += any([drift.add(float(loss)) for loss in losses(np.random.default_rng(seed), n, 0.2)])
    bound = n * rate
    assert alarms / tries <= bound + 3 * np.sqrt(bound * (1 - bound) / tries)
    assert alarms  # the bound is no promise of silence


def test_a_model_that_learns_raises_no_alarm():
    n, alarms = 600, 0
    for seed in range(30):
        drift = Drift(1e-3, span=200, key=seed)
        errors = 0.6 * np.exp(-np.arange(n) / 150) + 0.1
        alarms += any([drift.add(float(loss)) for loss in losses(np.random.default_rng(seed), n, errors)])
    assert alarms <= 6  # of a bound of 18


@pytest.mark.parametrize(("errors", "within"), [(0.6, 120), (0.4, 320)])
def test_drift_is_noticed(errors, within):
    """At the default rate, after 800 documents of which a fifth is wrong."""
    for seed in range(8):
        random = np.random.default_rng(100 + seed)
        drift = Drift(key=seed)
        for loss in [*losses(random, 800, 0.2), *losses(random, within, errors)]:
            drift.add(float(loss))
        assert drift.alarms
        assert drift.alarms[0] > 800


def test_it_goes_on_from_its_state():
    random = np.random.default_rng(5)
    values = [float(loss) for loss in losses(random, 500, np.linspace(0.1, 0.6, 500))]
    one, other = Drift(span=50), Drift(span=50)
    for value in values:
        one.add(value)
    for value in values[:321]:
        other.add(value)
    other = Drift.from_state(json.loads(json.dumps(other.to_state())))
    for value in values[321:]:
        other.add(value)
    assert one.to_state() == other.to_state()


def test_losses_are_checked():
    with pytest.raises(ValueError, match="loss"):
        Drift().add(1.5)
