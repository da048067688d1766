import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayespa import _native
from bayespa.native import linalg
from bayespa.reference import linalg as reference

# Sizes around the blocks of four that the kernels work in, and the topic models' own.
SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 40]


def positive_definite(n, k, seed=0):
    """Matrices whose eigenvalues span six orders of magnitude."""
    rng = np.random.default_rng([seed, k])
    basis = np.linalg.qr(rng.standard_normal((n, k, k)))[0]
    matrices = (basis * np.geomspace(1e-3, 1e3, k)) @ basis.swapaxes(1, 2)
    return (matrices + matrices.swapaxes(1, 2)) / 2


def everything(module, matrices, x, **options):
    factors, failed = module.cholesky(matrices, **options)
    return {
        "factors": factors,
        "failed": failed,
        "log_determinant": module.log_determinant(factors),
        "solve": module.solve(factors, x[: len(factors)], **options),
        "quadratic": module.quadratic(factors, x, **options),
        "inverse": module.inverse(factors, **options),
        "weighted_squares": module.weighted_squares(x, matrices[0], **options),
        **dict(
            zip(
                ("shift", "precision"),
                module.regression_sums(np.maximum(x, 0.0), x[:, ::2], x[:, ::-2], **options),
                strict=True,
            )
        ),
    }


@pytest.mark.parametrize("k", SIZES)
def test_native_equals_reference_on_every_isa(k, isa):
    matrices, x = positive_definite(3, k), np.random.default_rng(k).standard_normal((5, k))
    native, twin = everything(linalg, matrices, x), everything(reference, matrices, x)
    for name in native:
        assert_array_equal(native[name], twin[name], err_msg=name)


@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("n_threads", [1, 3])
def test_moments_equal_reference_on_every_isa(k, n_threads, isa):
    precision, shift = positive_definite(3, k), np.random.default_rng(k).standard_normal((3, k))
    mean, covariance, failed = np.empty((3, k)), np.empty((3, k, k)), np.empty(3, np.int64)
    _native.moments(shift, precision, mean, covariance, failed, n_threads)
    for found, expected in zip((mean, covariance), reference.moments(shift, precision), strict=True):
        assert_array_equal(found, expected)
    assert_array_equal(failed, -1)
    precision[1, k - 1, k - 1] = -1.0
    _native.moments(shift, precision, mean, covariance, failed, n_threads)
    assert_array_equal(failed, [-1, k - 1, -1])


class Updated:
    """An array that is added to, and the ledger of that."""

    def __init__(self, module, array):
        self.module, self.array, self.ledger = module, array.copy(), linalg.new_ledger(array.shape[1])

    def add_rows(self, *args, **options):
        self.module.add_rows(self.array, *args, **{"ledger": self.ledger, "turn": 0, **options})

    def add_counts(self, *args, **options):
        self.module.add_counts(self.array, *args, **{"ledger": self.ledger, "turn": 0, **options})


@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize(("part", "on_grid"), [("whole", True), ("fractions", False), ("large", False)])
def test_adding_rows_equals_reference_on_every_isa(k, part, on_grid, isa):
    rng = np.random.default_rng(k)
    parts = {"whole": rng.integers(-9, 9, (20, k)) / 4, "fractions": rng.standard_normal((20, k))}
    parts["large"] = parts["whole"] * 2.0**60
    a, rows = rng.standard_normal((50, k)), rng.permutation(50)[:20]
    ours, theirs = (Updated(module, a) for module in (_native, reference))
    for one in (ours, theirs):
        one.add_rows(rows, parts[part], sign=-1.0, grid=0.25)
    assert_array_equal(ours.array, theirs.array)
    assert_array_equal(ours.ledger, theirs.ledger)
    assert ours.ledger[1] == on_grid
    assert_array_equal(ours.array[rows], a[rows] - parts[part])
    assert_allclose(ours.ledger[2:], -parts[part].sum(axis=0), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("weight", [0.5, -1.0 / 3.0])
def test_adding_counts_equals_reference_on_every_isa(k, weight, isa):
    rng = np.random.default_rng(k)
    a, rows = rng.standard_normal((50, k)), rng.permutation(50)[:20]
    counts = rng.integers(0, 2**31, (20, k), dtype=np.int32)
    ours, theirs = (Updated(module, a) for module in (_native, reference))
    for one in (ours, theirs):
        one.add_counts(rows, counts, weight=weight, grid=2.0**-20)
    assert_array_equal(ours.array, theirs.array)
    assert_array_equal(ours.ledger, theirs.ledger)


@pytest.mark.parametrize("module", [_native, reference], ids=["native", "reference"])
def test_an_update_is_made_once_and_in_its_turn(module):
    rng = np.random.default_rng(0)
    updated, rows = Updated(module, rng.integers(0, 9, (6, 3)).astype(float)), np.array([4, 1])
    part, counts = rng.integers(0, 9, (2, 3)).astype(float), rng.integers(0, 9, (2, 3), dtype=np.int32)
    before = updated.array.copy()
    for turn, made in ((1, 0), (0, 1), (0, 1), (2, 1), (1, 2), (0, 2), (1, 2)):  # turns, and updates by then
        updated.add_rows(rows, part, sign=1.0, grid=1.0, turn=turn)
        assert updated.ledger[0] == made
        assert_array_equal(updated.array[rows], before[rows] + made * part)
    for turn, made in ((3, 0), (2, 1), (2, 1)):
        updated.add_counts(rows, counts, weight=0.5, grid=0.25, turn=turn)
        assert updated.ledger[0] == 2 + made
        assert_array_equal(updated.array[rows], before[rows] + 2 * part + made * 0.5 * counts)
    assert_array_equal(updated.ledger[1:], [1.0, *(2 * part + 0.5 * counts).sum(axis=0)])
    assert_array_equal(np.delete(updated.array, rows, axis=0), np.delete(before, rows, axis=0))


@pytest.mark.parametrize("n_threads", [2, 3, 7])
def test_threads_change_no_bit(n_threads):
    matrices, x = positive_definite(11, 13), np.random.default_rng(1).standard_normal((17, 13))
    one, many = everything(linalg, matrices, x), everything(linalg, matrices, x, n_threads=n_threads)
    for name in one:
        assert_array_equal(one[name], many[name], err_msg=name)


@pytest.mark.parametrize("k", [*SIZES, 150])
def test_against_numpy(k):
    matrices, x = positive_definite(3, k), np.random.default_rng(k).standard_normal((3, k))
    ours = everything(linalg, matrices, x)
    upper = np.triu(ours["factors"])
    assert (ours["failed"] == -1).all()
    assert_allclose(upper.swapaxes(1, 2) @ upper, matrices, rtol=0, atol=1e-11)
    assert_allclose(ours["log_determinant"], np.linalg.slogdet(matrices)[1], rtol=1e-9, atol=1e-9)
    assert_allclose(np.einsum("tij,tj->ti", matrices, ours["solve"]), x, rtol=0, atol=1e-8)
    assert_allclose(matrices @ ours["inverse"], np.broadcast_to(np.eye(k), matrices.shape), atol=1e-8)
    exact = np.einsum("ni,tij,nj->tn", x, np.linalg.inv(matrices), x)
    assert_allclose(ours["quadratic"], exact, rtol=1e-8)
    assert_allclose(ours["weighted_squares"], x**2 @ matrices[0], rtol=1e-12, atol=1e-9)
    rows = np.maximum(x, 0.0)
    assert_allclose(ours["shift"], x[:, ::-2].T @ rows, rtol=1e-12, atol=1e-12)
    exact = np.einsum("nt,ni,nj->tij", x[:, ::2], rows, rows)
    assert_allclose(ours["precision"], exact, rtol=1e-12, atol=1e-12)


def test_factor_and_inverse_are_exactly_symmetric():
    factors, _ = linalg.cholesky(positive_definite(2, 11))
    for result in (factors, linalg.inverse(factors)):
        assert_array_equal(result, result.swapaxes(1, 2))


def test_hilbert_matrix_has_a_known_determinant():
    k = 6
    hilbert = 1.0 / (np.arange(k)[:, None] + np.arange(k) + 1.0)
    factors, _ = linalg.cholesky(hilbert[None])
    assert_allclose(linalg.log_determinant(factors), -np.log(186313420339200000.0), rtol=1e-9)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("pivot", [0, 3, 4, 8])
def test_the_failing_pivot_is_named(bad, pivot):
    matrices = np.array([np.eye(9)] * 3)
    matrices[1, pivot, pivot] = bad
    with np.errstate(invalid="ignore"):
        assert_array_equal(reference.cholesky(matrices)[1], [-1, pivot, -1])
    assert_array_equal(linalg.cholesky(matrices)[1], [-1, pivot, -1])


def test_only_the_upper_triangle_is_read():
    matrices = positive_definite(2, 6)
    assert_array_equal(linalg.cholesky(np.triu(matrices))[0], linalg.cholesky(matrices)[0])


def test_inputs_may_have_any_layout():
    matrices = positive_definite(1, 6)
    same = np.broadcast_to(matrices[0], (4, 6, 6))
    factors, _ = linalg.cholesky(same)
    assert_array_equal(factors, np.repeat(linalg.cholesky(matrices)[0], 4, axis=0))
    x = np.asfortranarray(np.random.default_rng(0).standard_normal((4, 6)))
    assert_array_equal(linalg.solve(factors, x), linalg.solve(factors, np.ascontiguousarray(x)))


def test_native_functions_refuse_wrong_shapes_and_outputs_they_would_have_to_copy():
    square = np.ones((2, 3, 3))
    adding = Updated(_native, np.ones((4, 3)))
    for call in (
        lambda: _native.cholesky(np.ones((2, 3, 4)), square, np.empty(2, np.int64)),
        lambda: _native.cholesky(square, square, np.empty(3, np.int64)),
        lambda: _native.log_determinant(square, np.empty(3)),
        lambda: _native.solve(square, np.empty((2, 4))),
        lambda: _native.quadratic(square, np.ones((5, 2)), np.empty((2, 5))),
        lambda: _native.inverse(square, np.empty((3, 3, 3))),
        lambda: _native.moments(np.ones((2, 4)), square, np.ones((2, 4)), square, np.empty(2, np.int64)),
        lambda: _native.weighted_squares(np.ones((4, 3)), np.ones((2, 6)), np.empty((4, 6))),
        lambda: linalg.regression_sums(np.ones((4, 3)), np.ones((4, 2)), np.ones((3, 2))),
        lambda: adding.add_rows(np.array([0, 4]), np.ones((2, 3)), sign=1.0, grid=1.0),
        lambda: adding.add_rows(np.array([-1, 0]), np.ones((2, 3)), sign=1.0, grid=1.0),
        lambda: adding.add_rows(np.array([0, 1]), np.ones((2, 2)), sign=1.0, grid=1.0),
        lambda: adding.add_counts(np.array([0, 4]), np.ones((2, 3), np.int32), weight=1.0, grid=1.0),
        lambda: _native.add_rows(np.ones((4, 3)), np.array([0]), np.ones((1, 3)), 1.0, 1.0, np.ones(4), 0),
    ):
        with pytest.raises(ValueError, match="must be"):
            call()
    assert_array_equal(adding.array, 1.0)
    assert_array_equal(adding.ledger, linalg.new_ledger(3))
    with pytest.raises(ValueError, match="n_threads"):
        linalg.inverse(square, n_threads=0)
    with pytest.raises(TypeError):
        _native.inverse(square, np.empty((2, 3, 3), np.float32))
    with pytest.raises(TypeError):
        _native.solve(square, np.asfortranarray(np.empty((2, 3))))
