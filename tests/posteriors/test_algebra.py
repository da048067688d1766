"""The laws that every posterior obeys, whatever its type."""

import copy
import io
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose

from bayespa.posteriors import Dirichlet, Gaussian, Posterior, Sticks

PRIORS = {
    "full": Gaussian.prior(2, 3, scale=0.5),
    "bias": Gaussian.prior(2, 3, scale=0.5, bias_scale=2.0),
    "diagonal": Gaussian.prior(2, 3, scale=0.5, structure="diagonal"),
    "isotropic": Gaussian.prior(2, 3, scale=0.5, structure="isotropic"),
    "dirichlet": Dirichlet.prior(2, 4, eta=0.25),
    "sticks": Sticks.prior(4, gamma=2.0),
}
every_kind = pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)


def filled(prior, draw_array):
    """Statistics in the shape of a prior, of arrays that `draw_array(shape)` makes."""
    arrays = {name: draw_array(array.shape) for name, array in prior.to_arrays().items()}
    if isinstance(prior, Gaussian) and prior.structure == "full":
        arrays["precision"] = arrays["precision"] + arrays["precision"].swapaxes(1, 2)
    return type(prior)(**arrays)


def statistics(prior, seed):
    """Statistics that add without rounding: multiples of 1/8, as are all priors above but "bias"."""
    rng = np.random.default_rng(seed)
    return filled(prior, lambda shape: rng.integers(0, 80, shape) / 8)


@st.composite
def priors_and_statistics(draw, n):
    prior = draw(st.sampled_from(list(PRIORS.values())))
    numbers = st.floats(-1e6, 1e6, allow_subnormal=False)
    return prior, [
        filled(prior, lambda shape: draw(hnp.arrays(np.float64, shape, elements=numbers))) for _ in range(n)
    ]


def assert_close(a: Posterior, b: Posterior):
    for x, y in zip(a.to_arrays().values(), b.to_arrays().values(), strict=True):
        assert_allclose(x, y, rtol=1e-12, atol=1e-8)


@settings(derandomize=True, deadline=None)
@given(priors_and_statistics(3))
def test_addition_is_commutative_and_associative(case):
    prior, (a, b, c) = case
    assert a + b == b + a
    assert_close((a + b) + c, a + (b + c))
    assert_close(sum([a, b, c], prior), prior + (c + b + a))


@settings(derandomize=True, deadline=None)
@given(priors_and_statistics(2))
def test_subtraction_undoes_addition(case):
    prior, (a, b) = case
    posterior = prior + a
    assert_close(posterior + b - b, posterior)
    assert posterior - b == posterior + -1.0 * b


@settings(derandomize=True, deadline=None)
@given(priors_and_statistics(1), st.floats(0.0, 1.0))
def test_discounting_moves_towards_the_prior(case, rho):
    prior, (a,) = case
    posterior = prior + a
    assert posterior.discounted(1.0, prior) == posterior
    assert posterior.discounted(0.0, prior) == prior
    assert_close(posterior.discounted(rho, prior), prior + rho * (posterior - prior))


@settings(derandomize=True, deadline=None)
@given(priors_and_statistics(2))
def test_merging_two_halves_is_learning_both(case):
    prior, (a, b) = case
    assert_close((prior + a).merge(prior + b, prior), prior + a + b)


@every_kind
def test_the_laws_are_exact_where_numbers_are(prior):
    prior = prior if prior is not PRIORS["bias"] else statistics(prior, 9)
    a, b, c = (statistics(prior, seed) for seed in range(3))
    assert (a + b) + c == a + (b + c)
    assert prior + a + b - a == prior + b
    assert (prior + a).merge(prior + b, prior) == prior + a + b
    assert (prior + a).discounted(0.5, prior) == prior + 0.5 * a


@every_kind
def test_learning_makes_another_posterior_and_leaves_the_first(prior):
    a, b = statistics(prior, 0), statistics(prior, 1)
    first = posterior = prior + a
    posterior += b
    assert posterior == prior + a + b
    posterior -= a
    assert posterior == prior + a + b - a == (prior + a + b).changed(minus=a)
    assert first == prior + a
    assert first.changed() is first


@every_kind
def test_what_was_learned_is_replaced_in_one_step(prior):
    a, b, c = (statistics(prior, seed) for seed in range(3))
    assert (prior + a + b).changed(plus=c, minus=a) == prior + a + b - a + c


@every_kind
def test_memory_order_survives_every_operation(prior):
    a = statistics(prior, 0)
    order = "c_contiguous" if isinstance(a, Gaussian) and a.structure == "full" else "f_contiguous"
    results = [
        prior + prior,
        prior + a,
        a - prior,
        2.0 * prior,
        a.discounted(0.5, prior),
        a.merge(prior, a),
        a.extended(prior),
        copy.deepcopy(a),
        type(a)(**{name: np.array(array, order="C") for name, array in a.to_arrays().items()}),
    ]
    for result in results:
        for array in result.to_arrays().values():
            assert getattr(array.flags, order)
            assert not array.flags.writeable


def test_a_prior_costs_no_memory():
    for prior in (Dirichlet.prior(1000, 10**9, 0.1), Gaussian.prior(1000, 10**9, structure="diagonal")):
        assert all(array.strides == (0, 0) for array in prior.to_arrays().values())


@every_kind
def test_arrays_round_trip_through_a_file(prior):
    posterior, file = prior + statistics(prior, 0), io.BytesIO()
    np.savez(file, **posterior.to_arrays())
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        assert type(posterior).from_arrays(arrays) == posterior


@every_kind
def test_pickles(prior):
    assert pickle.loads(pickle.dumps(prior)) == prior


@every_kind
def test_equality_is_exact(prior):
    a, b = statistics(prior, 0), statistics(prior, 0)
    assert a == b
    arrays = {name: array.copy() for name, array in b.to_arrays().items()}
    first = next(iter(arrays.values()))
    first.flat[0] = np.nextafter(first.flat[0], np.inf)
    assert a != type(a)(**arrays)
    assert a != "a"
    assert all(prior is other or prior != other for other in PRIORS.values())


@every_kind
def test_extending_by_nothing_changes_nothing(prior):
    a = statistics(prior, 0)
    assert a.extended(prior) == a


@pytest.mark.parametrize(
    ("small", "large"),
    [
        (Gaussian.prior(2, 3, bias_scale=1.0), Gaussian.prior(4, 3, bias_scale=1.0)),
        (Gaussian.prior(2, 3), Gaussian.prior(4, 5)),
        (Gaussian.prior(2, 3, structure="diagonal"), Gaussian.prior(4, 5, structure="diagonal")),
        (Gaussian.prior(2, 3, structure="isotropic"), Gaussian.prior(4, 5, structure="isotropic")),
        (Dirichlet.prior(2, 3, 0.5), Dirichlet.prior(4, 5, 0.5)),
        (Sticks.prior(2, 3.0), Sticks.prior(5, 3.0)),
    ],
    ids=lambda prior: repr(prior),
)
def test_extending_adds_entries_of_the_prior(small, large):
    assert small.extended(large) == large
    learned = small + statistics(small, 0)
    grown = learned.extended(large)
    for old, new, prior in zip(learned._arrays, grown._arrays, large._arrays, strict=True):
        known = tuple(slice(n) for n in old.shape)
        assert (new[known] == old).all()
        unknown = np.ones(new.shape, dtype=bool)
        unknown[known] = False
        assert (new[unknown] == prior[unknown]).all()


def test_what_does_not_fit_is_refused():
    dirichlet, sticks = PRIORS["dirichlet"], PRIORS["sticks"]
    for call in (
        lambda: dirichlet + sticks,
        lambda: dirichlet.merge(dirichlet, sticks),
        lambda: dirichlet.extended(sticks),
        lambda: dirichlet.kl(sticks),
        lambda: dirichlet + 1,
    ):
        with pytest.raises(TypeError, match="cannot combine Dirichlet with"):
            call()
    shapes = r"concentration has shape \(2, 4\) in one Dirichlet and \(2, 5\) in the other.*extended\(prior\)"
    larger = Dirichlet.prior(2, 5, eta=0.5)
    for operation in (dirichlet.__add__, dirichlet.__sub__, dirichlet.kl):
        with pytest.raises(ValueError, match=shapes):
            operation(larger)
    with pytest.raises(ValueError, match=r"precision has shape \(2, 3, 3\) in one Gaussian and \(2,\)"):
        PRIORS["full"] + PRIORS["isotropic"]
    with pytest.raises(ValueError, match=r"concentration of shape \(2, 5\) does not fit in a prior of"):
        larger.extended(dirichlet)
    with pytest.raises(
        ValueError, match=r"precision of shape \(2, 3, 3\) does not fit in a prior of shape \(2,\)"
    ):
        PRIORS["full"].extended(PRIORS["isotropic"])


@pytest.mark.parametrize("rho", [-0.1, 1.1, np.nan])
def test_rho_is_a_share(rho):
    prior = PRIORS["sticks"]
    with pytest.raises(ValueError, match=f"rho is {rho}; it must lie between 0"):
        prior.discounted(rho, prior)


def test_arrays_are_checked_on_the_way_in():
    with pytest.raises(ValueError, match=r"Sticks needs the arrays \['u', 'v'\], not \['u'\]"):
        Sticks.from_arrays({"u": [1.0]})
    with pytest.raises(ValueError, match=r"v\[1\] is nan; every entry must be finite"):
        Sticks.from_arrays({"u": [1.0, 1.0], "v": [1.0, np.nan]})
    with pytest.raises(ValueError, match=r"concentration\[0, 2\] is -inf"):
        Dirichlet([[1.0, 1.0, -np.inf]])
    for not_numbers in (["a"], [None], [1j]):
        with pytest.raises(TypeError, match="u must hold real numbers, not"):
            Sticks(not_numbers, [1.0])
