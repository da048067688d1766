"""The native linear steps: the bits of their twins, for any instruction set and number of threads."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from bayespa import _native
from bayespa.native.linalg import new_ledger
from bayespa.native.linear import Rows, Wanted, Zones
from bayespa.reference import linear as reference


def example_rows(rng, n=9, n_columns=7, bias=0.5):
    X = sparse.random(n, n_columns, density=0.4, random_state=rng, data_rvs=rng.standard_normal, format="csr")
    rows = Rows.of(X)
    return Rows(rows.indptr, rows.indices, rows.values, n_columns, bias)


def example_targets(rng, n, kind, n_tasks=5):
    cost = rng.integers(0, 3, n).astype(float)  # some examples have weight 0
    if kind == "regression":
        return Wanted(None, rng.standard_normal((n, n_tasks)), cost, n_tasks, 0.1)
    if kind == "zones":
        lower, width = rng.standard_normal((n, n_tasks)), rng.uniform(0, 1, (n, n_tasks))
        open_below, open_above = rng.random((2, n, n_tasks)) < 0.5
        return Zones(np.where(open_below, -np.inf, lower), np.where(open_above, np.inf, lower + width), cost)
    return Wanted(rng.integers(-1, n_tasks, n).astype(np.int32), None, cost, n_tasks, 1.0)


def precisions(rng, n_tasks, dim):
    root = rng.standard_normal((n_tasks, dim, dim))
    return root @ root.swapaxes(1, 2) + np.eye(dim)


def cases(kind, bias, method):
    """Arguments of each step: name, what it reads, and the arrays that it writes."""
    rng = np.random.default_rng([kind == "regression", int(bias * 10), method == "moments"])
    rows = example_rows(rng, bias=bias)
    y = example_targets(rng, rows.n, kind)
    dim, n_tasks = rows.n_columns + 1, y.n_tasks
    weights = rng.standard_normal((dim, n_tasks))
    order, zeros = rng.permutation(rows.n), np.zeros(n_tasks)
    yield "decide", (rows, weights), [np.empty((rows.n, n_tasks))]
    for squared in (False, True):
        for C in (0.3, np.inf):
            scalars = (rows, y, order, C, squared, 0.7)
            dual, drift = rng.uniform(-0.3, 0.3, (rows.n, n_tasks)), rng.standard_normal((dim, n_tasks))
            yield "aggressive", scalars, [weights, dual, None, 0, zeros, zeros]
            yield "aggressive", scalars, [weights, None, drift, 11, zeros, zeros]
    shape = (rows, y, 0.8, method)
    yield "gibbs_diagonal", shape, [weights, rng.uniform(0.5, 2, (dim, n_tasks)), zeros]
    yield "gibbs_isotropic", shape, [weights, rng.uniform(0.5, 2, n_tasks), zeros]
    covariance, statistics = precisions(rng, n_tasks, dim), np.zeros((n_tasks, dim))
    yield (
        "gibbs_full",
        shape,
        [weights.T.copy(), covariance, statistics, np.zeros((n_tasks, dim, dim)), zeros],
    )


def run(module, name, read, written, *n_threads):
    written = [array.copy() if isinstance(array, np.ndarray) else array for array in written]
    getattr(module, name)(*read, *written, *n_threads)
    return [array for array in written if isinstance(array, np.ndarray)]


every_setting = pytest.mark.parametrize(
    ("kind", "bias", "method"),
    [
        ("classification", 0.5, "moments"),
        ("regression", 0.5, "moments"),
        ("zones", 0.0, "moments"),
        ("zones", 0.5, "augmented"),
        ("classification", 0.0, "augmented"),
        ("regression", 0.0, "augmented"),
        ("zones", 0.5, "squared"),
        ("regression", 0.5, "squared"),
    ],
)


@every_setting
def test_native_repeats_the_twin_bit_for_bit(isa, kind, bias, method):
    for name, read, written in cases(kind, bias, method):
        for native, twin in zip(
            run(_native, name, read, written), run(reference, name, read, written), strict=True
        ):
            assert_array_equal(native, twin, err_msg=name)
            assert np.isfinite(native).all()


@every_setting
@pytest.mark.parametrize("n_threads", [2, 3, 7])
def test_threads_do_not_change_the_bits(kind, bias, method, n_threads):
    for name, read, written in cases(kind, bias, method):
        one, many = run(_native, name, read, written), run(_native, name, read, written, n_threads)
        for a, b in zip(one, many, strict=True):
            assert_array_equal(a, b, err_msg=name)


def test_every_native_function_has_a_twin_in_these_tests():
    assert {name for name, *_ in cases("regression", 0.0, "moments")} == {
        "decide",
        "aggressive",
        "gibbs_diagonal",
        "gibbs_isotropic",
        "gibbs_full",
    }


def test_examples_far_inside_the_margin_change_nothing():
    rng = np.random.default_rng(0)
    rows = example_rows(rng)
    y = Wanted(np.zeros(rows.n, np.int32), None, np.ones(rows.n), 1, 1.0)
    weights = np.zeros((8, 1))
    weights[-1] = 1e6  # the intercept alone meets the margin
    for name, arrays in {
        "gibbs_diagonal": [weights, np.full((8, 1), 0.5), np.zeros(1)],
        "gibbs_isotropic": [weights, np.full(1, 0.5), np.zeros(1)],
        "gibbs_full": [weights.T.copy(), np.eye(8)[None], np.zeros((1, 8)), np.zeros((1, 8, 8)), np.zeros(1)],
    }.items():
        for before, after in zip(arrays, run(_native, name, (rows, y, 1.0, "moments"), arrays), strict=True):
            assert_array_equal(before, after)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indptr": np.array([0, 2, 1, 3])}, "must not decrease"),
        ({"indptr": np.array([0, 1, 2, 4])}, "end at the number of entries"),
        ({"indptr": np.array([1, 1, 2, 3])}, "start at 0"),
        ({"indices": np.array([0, 1, 7], np.int32)}, "column index is out of range"),
        ({"indices": np.array([0, -1, 1], np.int32)}, "column index is out of range"),
        ({"n_columns": 3}, "weights must be"),
    ],
)
def test_malformed_rows_never_reach_a_kernel(change, message):
    fields = {
        "indptr": np.array([0, 1, 2, 3]),
        "indices": np.array([0, 1, 1], np.int32),
        "values": np.ones(3),
        "n_columns": 2,
        "bias": 1.0,
    }
    with pytest.raises(ValueError, match=message):
        _native.decide(Rows(**(fields | change)), np.zeros((3, 1)), np.empty((3, 1)))


def test_arrays_of_the_wrong_shape_are_refused():
    rng = np.random.default_rng(0)
    rows = example_rows(rng)
    y = example_targets(rng, rows.n, "classification", n_tasks=2)
    weights, two = np.zeros((8, 2)), np.zeros(2)
    order = np.arange(rows.n)
    arguments = {
        "order": order,
        "aggressiveness": 1.0,
        "squared": False,
        "variance": 1.0,
        "weights": weights,
        "dual": None,
        "drift": None,
        "seen": 0,
        "loss": two,
        "change": two,
    }
    for name, wrong in {
        "weights": np.zeros((7, 2)),
        "order": order + 1,
        "dual": np.zeros((3, 2)),
        "drift": np.zeros((8, 3)),
        "loss": np.zeros(3),
    }.items():
        with pytest.raises(ValueError, match="must"):
            _native.aggressive(rows, y, **(arguments | {name: wrong}))
    with pytest.raises(ValueError, match="n_threads must be at least 1"):
        _native.aggressive(rows, y, **arguments, n_threads=0)
    with pytest.raises(ValueError, match="method must be"):
        _native.gibbs_diagonal(rows, y, 1.0, "exact", weights, weights, two)
    with pytest.raises(ValueError, match="mean and shift"):
        _native.gibbs_full(rows, y, 1.0, "moments", *2 * [np.zeros((2, 8, 8))[0], np.zeros((2, 8, 8))], two)
    with pytest.raises(ValueError, match="labels must be"):
        _native.aggressive(rows, Wanted(y.labels[1:], None, y.cost, 2, 1.0), **arguments)


def test_passes_with_a_ledger_are_made_once_and_in_their_turn():
    rng = np.random.default_rng(0)
    rows = example_rows(rng)
    y = example_targets(rng, rows.n, "classification", n_tasks=2)
    ledger, weights, plain = new_ledger(2), np.zeros((8, 2)), np.zeros((8, 2))

    def show(weights, **options):
        arrays = {"dual": None, "drift": None, "loss": np.zeros(2), "change": np.zeros(2)}
        values = {"aggressiveness": 0.1, "squared": False, "variance": 1.0, "seen": 0}
        _native.aggressive(rows, y, np.arange(rows.n), weights=weights, **arrays, **values, **options)

    for turn, made in ((1, 0), (0, 1), (0, 1), (2, 1), (1, 2)):
        show(weights, ledger=ledger, turn=turn)
        assert ledger[0] == made
    for _ in range(2):
        show(plain)
    assert plain.any()
    assert_array_equal(weights, plain)
    with pytest.raises(ValueError, match="ledger must"):
        show(weights, ledger=np.empty(0), turn=0)


def test_rows_of_any_matrix_leave_it_as_it_was():
    dense = np.array([[0.0, 3.0, 0.0], [1.0, 0.0, 2.0]])
    messy = sparse.csr_matrix(  # unsorted, a duplicate, a stored zero
        (np.array([2.0, 1.0, 0.0, 2.0, 1.0]), np.array([1, 1, 0, 2, 0]), np.array([0, 3, 5])), shape=(2, 3)
    )
    data, indices, indptr = messy.data.copy(), messy.indices.copy(), messy.indptr.copy()
    for array in (messy.data, messy.indices, messy.indptr):
        array.flags.writeable = False
    for X in (dense, sparse.csr_array(dense), sparse.coo_matrix(dense), messy):
        rows = Rows.of(X)
        assert_array_equal(rows.dense()[:, :-1], dense)
        assert rows.indices.tolist() == [1, 0, 2]
        assert rows.length() == np.sqrt(14 / 2)
    for before, after in ((data, messy.data), (indices, messy.indices), (indptr, messy.indptr)):
        assert_array_equal(before, after)


def test_rows_slice_take_and_compact():
    rng = np.random.default_rng(1)
    rows = example_rows(rng, n=6, n_columns=20)
    dense = rows.dense()
    assert_array_equal(rows.slice(1, 4).dense(), dense[1:4])
    assert_array_equal(rows.take(np.array([5, 0, 3])).dense(), dense[[5, 0, 3]])
    columns, compact = rows.compact()
    assert_array_equal(compact.dense(), dense[:, columns])
    assert columns[-1] == 20
    assert not np.delete(dense, columns, axis=1).any()
    weights = rng.standard_normal((21, 3))
    np.testing.assert_allclose(rows.decide(weights), dense @ weights, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(rows.squared().decide(weights), dense**2 @ weights, rtol=1e-13, atol=1e-13)
