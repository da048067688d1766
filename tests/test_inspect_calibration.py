import re

import numpy as np
import pytest

from bayespa.inspect import reliability


def test_reliability_by_hand():
    probability = [[0.9, 0.1], [0.8, 0.2], [0.35, 0.65], [0.4, 0.6]]
    found = reliability([0, 1, 1, 1], probability, [0, 1], n_bins=2)
    np.testing.assert_array_equal(found.count, [0, 4])
    np.testing.assert_allclose(found.confidence, [np.nan, (0.9 + 0.8 + 0.65 + 0.6) / 4])
    np.testing.assert_allclose(found.accuracy, [np.nan, 3 / 4])
    assert found.error == pytest.approx(0.75 - 0.7375)


def test_a_calibrated_model_has_no_calibration_error():
    y = np.repeat([0, 1], [30, 70])
    assert reliability(y, np.tile([0.3, 0.7], (100, 1)), [0, 1]).error == pytest.approx(0)


def test_certainty_is_in_the_last_bin():
    assert reliability([0], [[1.0, 0.0]], [0, 1]).count[-1] == 1


@pytest.mark.parametrize(
    ("y", "probability"), [([], np.empty((0, 2))), ([0], [[0.2, 0.3, 0.5]]), ([0, 1], [[0.5, 0.5]])]
)
def test_shapes_that_do_not_fit_are_named(y, probability):
    with pytest.raises(ValueError, match=re.escape(f"probability {np.shape(probability)}")):
        reliability(y, probability, [0, 1])
