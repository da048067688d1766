"""What margins say about their meaning: the native sums are those of the twin, to the bit."""

import numpy as np
import pytest

from bayespa.native import evidence as native
from bayespa.reference import evidence as reference
from bayespa.topics.calibration import NOISES, TEMPERATURES


@pytest.mark.parametrize("scale", [1e-9, 0.3, 3.0, 1e4])
@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 70])
def test_native_and_twin_agree(isa, n, scale):
    rng = np.random.default_rng(n)
    for n_classes, shift in ((1, 0.0), (2, 0.0), (3, -scale), (20, scale)):
        margin = scale * rng.normal(size=(n, n_classes)) + shift
        right = rng.integers(n_classes, size=n)
        sign, one = rng.choice([-1.0, 1.0], size=n), margin[:, 0].copy()
        for name, arguments in (
            ("of_classes", (margin, right, TEMPERATURES, NOISES)),
            ("of_classes", (margin, right, TEMPERATURES[:8], NOISES[:1])),
            ("of_answers", (one, sign, TEMPERATURES, NOISES)),
            ("of_labels", (one, sign, TEMPERATURES)),
        ):
            found = getattr(native, name)(*arguments)
            np.testing.assert_array_equal(found, getattr(reference, name)(*arguments))
            assert np.isfinite(found[..., 1:]).all()


def test_shares_of_two_classes_are_those_of_the_definition():
    """exp(evidence) is σ(2f/t)^g, normalised and with the noise."""
    margin, t = np.array([[0.7, -0.2]]), 0.5
    sigmoid = 1.0 / (1.0 + np.exp(-2.0 * margin[0] / t))
    found = native.of_classes(margin, np.array([1]), np.array([t]), np.array([0.0, 0.25]))
    for row, power in zip(found, native.POWERS, strict=True):
        share = sigmoid[1] ** power / (sigmoid**power).sum()
        np.testing.assert_allclose(np.exp(row[0]), [share, 0.75 * share + 0.125], rtol=1e-13)


def test_wrong_arguments_are_refused():
    margin, right = np.zeros((2, 3)), np.array([0, 2])
    for wrong in (
        (margin, np.array([0, 3]), TEMPERATURES, NOISES),
        (margin, right[:1], TEMPERATURES, NOISES),
        (margin, right, np.ones(41), NOISES),
        (margin, right, TEMPERATURES, NOISES[1:]),
    ):
        with pytest.raises(ValueError, match=r"must|can|out of range|is 0"):
            native.of_classes(*wrong)
