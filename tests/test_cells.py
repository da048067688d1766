"""Arrays of a model file that are packed: the same bits again, and nothing that a hostile file could gain."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import bayespa
from bayespa.datasets import load_arxiv_sample
from bayespa.posteriors.posterior import GRID
from bayespa.text.cells import OFF_GRID, Packed, deflated, inflated, packed, unpacked

NUMBERS = st.one_of(
    st.integers(-(2**40), 2**40).map(lambda n: n * GRID),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 5e-324, 1e308, -(2.0**11), 2.0**11 - GRID, GRID]),
)


def bits(array):
    return np.ascontiguousarray(array).view(np.int64)


@given(fill=st.sampled_from([0.0, -0.0, 1.0, 0.02, 1e300]), cells=st.lists(NUMBERS, max_size=40))
def test_packed_cells_come_back_bit_for_bit(fill, cells):
    array = np.full((500, 3), fill)
    array.reshape(-1)[7 :: 1500 // 41][: len(cells)] = cells
    found = packed(array)
    assert found is not None
    assert_array_equal(bits(unpacked(found, array.shape)), bits(array))


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((0, 4)),
        np.random.default_rng(0).random((100, 100)),
        np.full((100, 100), np.nan),
        np.full((100, 100), np.inf),
    ],
)
def test_arrays_are_not_packed_where_that_saves_nothing(array):
    assert packed(array) is None


@given(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=40))
def test_deflated_units_come_back(values):
    units = np.array(values, np.int32)
    assert_array_equal(inflated(deflated(units), len(units)), units)


UNITS = np.array([5, OFF_GRID], np.int32)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"differ": np.zeros(3, np.uint8)}, "3 bytes do not say which of 30 cells differ"),
        ({"differ": np.full(4, 255, np.uint8)}, "units of 30 cells have 8 bytes or more, not 120"),
        ({"units": deflated(UNITS[:1])}, "units of 2 cells have 4 bytes or more, not 8"),
        ({"units": deflated(np.repeat(UNITS, 10**5))}, "units of 2 cells have 9 bytes or more, not 8"),
        ({"units": np.append(deflated(UNITS), np.uint8(0))}, "units of 2 cells have 8 bytes or more"),
        ({"units": deflated(UNITS)[:-1]}, "units of 2 cells have 8 bytes or more"),
        ({"units": UNITS.view(np.uint8)}, "units of cells are damaged"),
        ({"units": UNITS[:1]}, r"\(2, 0\) cells need values, and have \(1, 1\)"),
        ({"units": np.array([1, 2], np.int32)}, r"\(2, 0\) cells need values, and have \(2, 1\)"),
        ({"units": np.array([1.0, 2.0])}, "units have shape .* and type float64"),
        ({"others": np.zeros((1, 1))}, "others have shape"),
    ],
)
def test_pieces_that_do_not_fit_are_refused(change, message):
    for units in (deflated(UNITS), UNITS):  # as in files of version 4
        sound = Packed(1.0, np.array([0, 3, 0, 0], np.uint8), units, np.array([0.1]))
        assert unpacked(sound, (10, 3))[4].tolist() == [1.0, 1.0, 1.0 + 5 * GRID]
    sound = sound._replace(units=deflated(UNITS))
    with pytest.raises(ValueError, match=message):
        unpacked(sound._replace(**change), (10, 3))


def test_weights_of_words_are_on_the_grid_and_take_two_bytes_in_a_file(tmp_path):
    papers = load_arxiv_sample(subset="train")
    labels = [own[0] for own in papers.labels]
    model = bayespa.TextModel("linear", random_state=0).learn(papers.data, labels).settle()
    words = model.estimator.posterior_["words"]
    for array in words.to_arrays().values():
        assert_array_equal(array, np.rint(array / GRID) * GRID)
    bayespa.save(model, tmp_path / "model.bayespa")
    assert (tmp_path / "model.bayespa").stat().st_size < 0.4 * 16 * words.shift.size
    again = bayespa.load(tmp_path / "model.bayespa")
    assert again.estimator.posterior_["words"] == words
    bayespa.save(again, tmp_path / "again.bayespa")
    assert (tmp_path / "model.bayespa").read_bytes() == (tmp_path / "again.bayespa").read_bytes()
