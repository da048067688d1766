"""Columns, statistics of a part of a posterior, and Joint, several posteriors as one."""

import numpy as np
import pytest

from bayespa.posteriors import Columns, Dirichlet, Gaussian, Joint, Sticks


def dense(columns, dim, statistics):
    """The same statistics over all columns."""
    arrays = {}
    for name, array in statistics.to_arrays().items():
        arrays[name] = np.zeros((*array.shape[:-1], dim))
        arrays[name][..., columns] = array
    return type(statistics)(**arrays)


@pytest.mark.parametrize(
    ("prior", "part"),
    [
        (Dirichlet.prior(2, 5, eta=0.5), Dirichlet([[1.0, 2.0], [3.0, 0.5]])),
        (
            Gaussian.prior(2, 5, structure="diagonal"),
            Gaussian([[1.0, -2.0], [3.0, 0.5]], [[1.0, 2.0], [0.0, 4.0]]),
        ),
    ],
    ids=["Dirichlet", "Gaussian"],
)
def test_columns_are_the_dense_statistics(prior, part):
    columns, others = np.array([4, 1]), np.array([1, 2])
    learned = prior + Columns(columns, part)
    assert learned == prior + dense(columns, 5, part)
    assert learned - Columns(columns, part) == prior != learned
    assert learned.changed(plus=Columns(others, part), minus=Columns(columns, part)) == prior + dense(
        others, 5, part
    )
    both = [Columns(columns, part), Columns(others, part)]
    assert prior.changed(plus=both) == learned + dense(others, 5, part)
    nothing = type(part)(**{name: array[..., :0] for name, array in part.to_arrays().items()})
    assert learned + Columns(np.array([], np.int64), nothing) == learned
    assert prior.near(columns) + Columns(columns, part).near() == learned.near(columns)


def test_columns_that_do_not_fit_are_refused():
    posterior = Dirichlet.prior(2, 5, eta=0.5)
    for statistics in (Dirichlet([[1.0], [2.0]]), Dirichlet([[1.0, 2.0]])):
        with pytest.raises(
            ValueError, match=r"concentration of shape .* does not fit 2 columns of shape \(2, 5\)"
        ):
            posterior + Columns(np.array([0, 1]), statistics)
    with pytest.raises(TypeError, match="cannot combine Dirichlet with Sticks"):
        posterior + Columns(np.array([0]), Sticks([1.0], [1.0]))
    sticks = Sticks.prior(2, gamma=2.0)
    full, isotropic = (Gaussian.prior(2, 2, structure=structure) for structure in ("full", "isotropic"))
    for other in (sticks, full, isotropic):  # not all of their arrays have columns
        with pytest.raises(ValueError, match="as in a Dirichlet or a diagonal Gaussian"):
            other + Columns(np.array([0, 1]), other)


def joint(eta=0.5):
    return Joint(topics=Dirichlet.prior(2, 3, eta=eta), weights=Gaussian.prior(1, 2, structure="diagonal"))


STATISTICS = Joint(
    topics=Columns(np.array([0, 2]), Dirichlet([[1.0, 2.0], [3.0, 4.0]])),
    weights=Gaussian([[1.0, 2.0]], [[0.5, 0.0]]),
)


def test_a_joint_adds_part_by_part():
    posterior = joint()
    posterior += STATISTICS
    assert posterior["topics"] == Dirichlet([[1.5, 0.5, 2.5], [3.5, 0.5, 4.5]])
    assert posterior["weights"] == Gaussian([[1.0, 2.0]], [[1.5, 1.0]])
    assert posterior != joint()
    posterior -= STATISTICS
    assert posterior == joint()
    posterior += Joint(weights=STATISTICS["weights"])  # parts without news stay
    assert posterior["topics"] == joint()["topics"]
    assert joint() != "joint"
    with pytest.raises(KeyError, match="sticks"):
        posterior += Joint(sticks=Sticks([1.0], [1.0]))


def test_a_joint_forgets_merges_and_grows_as_its_parts_do():
    prior = joint()
    left, right = prior + STATISTICS, prior + Joint(weights=Gaussian([[4.0, 0.0]], [[2.0, 2.0]]))
    assert left != left + STATISTICS
    forgotten, merged = left.discounted(0.5, prior), left.merge(right, prior)
    larger = Joint(topics=Dirichlet.prior(2, 4, eta=1.0), weights=Gaussian.prior(2, 2, structure="diagonal"))
    grown = left.extended(larger)
    for name in ("topics", "weights"):
        assert forgotten[name] == left[name].discounted(0.5, prior[name])
        assert merged[name] == left[name].merge(right[name], prior[name])
        assert grown[name] == left[name].extended(larger[name])


def test_a_joint_makes_the_round_trip_through_arrays():
    posterior = joint()
    posterior += STATISTICS
    arrays = posterior.to_arrays()
    assert set(arrays) == {"topics.concentration", "weights.shift", "weights.precision"}
    types = {"topics": Dirichlet, "weights": Gaussian}
    assert Joint.from_arrays(types, arrays) == posterior
    del arrays["weights.shift"]
    with pytest.raises(
        ValueError, match=r"Gaussian needs the arrays \['shift', 'precision'\], not \['precision'\]"
    ):
        Joint.from_arrays(types, arrays)


def test_a_joint_has_no_hash():
    with pytest.raises(TypeError, match="unhashable"):
        hash(joint())
