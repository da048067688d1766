"""The native words beside topics against their twin in NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix

from bayespa import _native
from bayespa.native import words
from bayespa.native.linear import Zones
from bayespa.native.medlda import Documents
from bayespa.reference import words as reference

N_DOCUMENTS, N_WORDS, N_TASKS = 9, 40, 11


def case(seed=0):
    """Documents, one of them empty, over some of the words of a larger table."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.4, (N_DOCUMENTS, N_WORDS))
    counts[3] = 0
    documents = Documents.from_csr(csr_matrix(counts))
    u = len(documents.vocabulary)
    places = np.append(1 + rng.permutation(90)[:u], 0)
    precision = 1.0 + rng.integers(1, 2**20, (91, N_TASKS)) * 2.0**-18
    shift = rng.integers(-(2**20), 2**20, (91, N_TASKS)) * 2.0**-19
    tables = words.WordTables(places, shift, precision)
    taught = tuple(rng.integers(0, 9, (u + 1, N_TASKS)) * 2.0**-10 for _ in range(2))
    ends = rng.choice([0.3, 1.0], (N_DOCUMENTS, N_TASKS))
    lower, upper = (np.where(rng.random(ends.shape) < 0.4, end, ends) for end in (-np.inf, np.inf))
    seen = np.append(rng.integers(1, 9, u), 10).astype(np.float64)
    zones = Zones(lower, upper, rng.choice([0.5, 1.0, 4.0], N_DOCUMENTS))
    return documents, seen, rng.random(u) < 0.3, tables, taught, zones


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("with_runs", [True, False])
def test_features_equal_the_twin(isa, with_runs, n_threads):
    documents, seen, runs, *_ = case()
    found, expected = (
        module.features(documents, seen, runs if with_runs else None, 0.5, 0.5, n_threads)
        for module in (words, reference)
    )
    assert_array_equal(found.values, expected.values)
    assert (found.n_columns, found.bias) == (expected.n_columns, expected.bias)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("again", [False, True])
def test_what_words_learn_and_decide_equals_the_twin(isa, again, n_threads):
    documents, seen, runs, tables, taught, zones = case(1)
    rows = reference.features(documents, seen, runs, 0.5, 0.5)
    found, expected = (
        module.learn_words(rows, zones, tables, taught if again else None, 0.5, 2.0**-20, n_threads)
        for module in (words, reference)
    )
    for name in found._fields:
        assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    assert found.shift.any()
    assert_array_equal(
        words.decide_by_words(rows, tables, n_threads), reference.decide_by_words(rows, tables, n_threads)
    )


def test_what_does_not_fit_is_refused():
    documents, seen, runs, tables, taught, zones = case()
    rows = words.features(documents, seen, runs, 0.5, 0.5)
    with pytest.raises(ValueError, match="a word is out of range"):
        words.features(documents, seen[-2:], None, 0.5, 0.5)
    with pytest.raises(ValueError, match="runs must be"):
        words.features(documents, seen, runs[1:], 0.5, 0.5)
    with pytest.raises(ValueError, match="indptr must not decrease"):
        _native.features(
            np.array([0, 2, 1, 2]), *np.zeros((2, 2), np.int32), np.ones(2), None, 0.5, np.ones(2)
        )
    with pytest.raises(ValueError, match="a place is out of range"):
        words.decide_by_words(rows, words.WordTables(tables.places, tables.shift[:9], tables.precision[:9]))
    with pytest.raises(ValueError, match="one shape"):
        words.decide_by_words(rows, words.WordTables(tables.places, tables.shift[1:], tables.precision))
    with pytest.raises(ValueError, match="what was taught"):
        words.learn_words(rows, zones, tables, (taught[0][1:], taught[1]), 0.5, 2.0**-20)
    fewer = Zones(zones.lower[:, 1:].copy(), zones.upper[:, 1:].copy(), zones.cost)
    with pytest.raises(ValueError, match="guess must be"):
        words.learn_words(rows, fewer, tables, None, 0.5, 2.0**-20)
