"""Sparse matrices whose arrays do not fit together: refused wherever they come in, before SciPy crashes."""

import numpy as np
import pytest
from scipy import sparse

from bayespa import BayesPAClassifier, MedHDPClassifier, MedLDAClassifier, PassiveAggressiveRegressor
from bayespa.checks import require_sound
from bayespa.inspect import npmi, pyldavis_data, write_report
from bayespa.topics.documents import Corpus

X = np.random.default_rng(0).poisson(1.0, (12, 6)) + np.eye(12, 6, dtype=int)
Y = np.arange(12) % 2
FORMATS = ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"]
FAR = 10**9


def broken(kind, array, place, value):
    matrix = sparse.coo_matrix(X).asformat(kind)
    if kind == "bsr":
        matrix = sparse.bsr_matrix(X, blocksize=(2, 3))
    getattr(matrix, array)[place] = value
    return matrix


BROKEN = [
    ("csr", "indptr", -1, FAR, rf"indptr\[12\] is {FAR}, but there are"),
    ("csr", "indptr", 0, 2, r"indptr\[0\] is 2, not 0"),
    ("csr", "indptr", 3, FAR, r"indptr\[4\] is \d+, less than 1000000000 before it"),
    ("csr", "indptr", 3, -FAR, r"indptr\[3\] is -1000000000, less than"),
    ("csr", "indices", 5, FAR, rf"indices\[5\] is {FAR}, not in \[0, 6\)"),
    ("csr", "indices", 5, 6, r"indices\[5\] is 6, not in \[0, 6\)"),
    ("csr", "indices", 5, -FAR, r"indices\[5\] is -1000000000, not in \[0, 6\)"),
    ("csc", "indptr", -1, FAR, rf"indptr\[6\] is {FAR}, but there are"),
    ("csc", "indices", 5, 12, r"indices\[5\] is 12, not in \[0, 12\)"),
    ("bsr", "indptr", -1, FAR, rf"indptr\[6\] is {FAR}, but there are"),
    ("bsr", "indices", 1, 2, r"indices\[1\] is 2, not in \[0, 2\)"),
    ("coo", "row", 4, FAR, rf"coords\[0\]\[4\] is {FAR}, not in \[0, 12\)"),
    ("coo", "col", 4, -1, r"coords\[1\]\[4\] is -1, not in \[0, 6\)"),
    ("lil", "rows", 0, [FAR] * np.count_nonzero(X[0]), rf"indices\[0\] is {FAR}, not in \[0, 6\)"),
]
CALLS = {
    "topics": lambda matrix: Corpus.of(matrix, name="test"),
    "weights": lambda matrix: BayesPAClassifier().fit(matrix, Y),
    "npmi": lambda matrix: npmi([["0", "1"]], matrix, feature_names=np.arange(6)),
    "pyldavis": lambda matrix: pyldavis_data(None, matrix, np.arange(6)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(("kind", "array", "place", "value", "message"), BROKEN)
def test_is_refused(call, kind, array, place, value, message):
    with pytest.raises(ValueError, match=rf"\w+\.{message}.*build it anew"):
        call(broken(kind, array, place, value))


def test_lengths_that_differ_are_refused():
    matrix = sparse.csr_matrix(X)
    matrix.indptr = matrix.indptr[:-1]
    with pytest.raises(ValueError, match=r"X\.indptr has length 12, not 13"):
        require_sound("X", matrix)
    matrix = sparse.csr_matrix(X)
    matrix.data = matrix.data[:-1]
    with pytest.raises(ValueError, match=rf"X\.indptr\[12\] is {np.count_nonzero(X)}, but there are"):
        require_sound("X", matrix)


@pytest.mark.parametrize("model", [MedLDAClassifier(n_topics=2), MedHDPClassifier(), BayesPAClassifier()])
@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_estimators_refuse_it_in_every_call(model, kind, tmp_path):
    bad = broken(kind, "indptr", -1, FAR)
    model.fit(X, Y)
    for call in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="build it anew"):
            call(bad, Y)
    with pytest.raises(ValueError, match="build it anew"):
        model.predict(bad)
    with pytest.raises(ValueError, match="build it anew"):
        write_report(tmp_path / "report.html", model, bad, Y)
    assert len(model.predict(X)) == 12


def test_regressors_refuse_it_too():
    with pytest.raises(ValueError, match="build it anew"):
        PassiveAggressiveRegressor().fit(broken("csr", "indices", 3, FAR), Y)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("container", [sparse.coo_matrix, sparse.coo_array])
def test_a_sound_one_of_any_format_passes(kind, container):
    for matrix in (container(X), container((0, 3)), container((3, 0))):
        require_sound("X", matrix.asformat(kind))


def test_room_behind_the_entries_is_no_fault():
    matrix = sparse.csr_matrix(X)
    before = matrix.toarray()
    matrix.data, matrix.indices = np.append(matrix.data, 7), np.append(matrix.indices, FAR)
    assert (Corpus.of(matrix, name="test").counts.to_scipy().toarray() == before).all()


def test_what_is_not_sparse_passes():
    for other in (X, X.tolist(), ["a text"], None):
        require_sound("X", other)
