"""Tables are values: whoever holds one has it for ever, and memory is taken over if nobody does."""

import copy
import itertools
import pickle
import threading
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from bayespa.posteriors import Columns, Dirichlet, Gaussian, Joint, dirichlet
from bayespa.posteriors.table import Table

ROWS = np.array([2, 0])


def place(table):
    """Where the array lies in memory; nobody holds it afterwards."""
    return table.array.__array_interface__["data"][0]


def zeros():
    return Table(np.zeros((4, 3)), own=True)


def with_rows(table, value):
    return table.with_rows(ROWS, np.full((2, 3), float(value)))


def filled(value):
    array = np.zeros((4, 3))
    array[ROWS] = value
    return array


def test_memory_is_taken_over_if_nobody_holds_the_table():
    table = zeros()
    at = place(table)
    for value in range(1, 5):
        table = with_rows(table, value)
        assert_array_equal(table.array, filled(value))
        assert place(table) == at


@pytest.mark.parametrize(
    "part",
    [lambda a: a, lambda a: a[2], lambda a: a[1:, 1:].view(), lambda a: a.T],
    ids=["array", "row", "view", "transposed"],
)
def test_memory_is_copied_if_somebody_holds_the_table_or_a_part_of_it(part):
    table = with_rows(zeros(), 1)
    for hold in (lambda t: t, lambda t: part(t.array)):
        at, held, before = place(table), hold(table), np.array(table.array)
        table = with_rows(table, before[2, 0] + 1)
        assert_array_equal(table.array, filled(before[2, 0] + 1))
        assert place(table) != at
        assert_array_equal(part(held.array) if isinstance(held, Table) else held, part(before))
    del held
    at = place(table)  # the copy is its own
    table = with_rows(table, 3)
    assert place(table) == at


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_two_descendants_of_one_value(keep, order):
    """Read in any order, with the first one alive or not."""
    first = with_rows(zeros(), 1)
    tables = [with_rows(first, 2), with_rows(first, 3), with_rows(first, 4)]
    if not keep:
        del first
    for i in order:
        assert_array_equal(tables[i].array, filled(2 + i))
    for i in order:
        assert_array_equal(tables[i].array, filled(2 + i))
    if keep:
        assert_array_equal(first.array, filled(1))


def test_a_descendant_that_nobody_wants_costs_a_copy_at_most():
    first = with_rows(zeros(), 1)
    with_rows(first, 2)
    second = with_rows(first, 3)
    assert_array_equal(second.array, filled(3))
    assert_array_equal(first.array, filled(1))


def test_arrays_cannot_be_written_to():
    table = zeros()
    for array in (table.array, with_rows(table, 1).array, np.asarray(table)):
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1.0
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True


def test_borrowed_memory_is_never_written_to():
    lent = np.zeros((4, 3))
    lent.flags.writeable = False
    for table in (Table(lent), Table(np.zeros((4, 3))), Table(np.broadcast_to(0.0, (4, 3)))):
        at = place(table)
        after = with_rows(table, 1)
        del table
        assert place(after) != at
        assert_array_equal(after.array, filled(1))
    assert not lent.any()


def test_cleared_columns():
    table = Table(np.ones((4, 3)), own=True)
    after = table.with_rows(np.array([1]), np.array([[5.0, 6.0, 7.0]]), cleared=np.array([0, 2]))
    assert_array_equal(after.array, [[0, 1, 0], [5, 6, 7], [0, 1, 0], [0, 1, 0]])


def test_copies_are_the_table_and_pickles_own_their_memory():
    table = with_rows(zeros(), 1)
    assert copy.copy(table) is table
    assert copy.deepcopy(table) is table
    loaded = pickle.loads(pickle.dumps(table))
    assert_array_equal(loaded.array, filled(1))
    assert loaded.shape == table.shape == (4, 3)
    at = place(loaded)
    loaded = with_rows(loaded, 2)
    assert place(loaded) == at
    assert_array_equal(table.array, filled(1))


@pytest.mark.parametrize("held", [False, True])
def test_a_change_that_is_cut_short_anywhere(held, cut_short):
    """At every bytecode, in memory that is taken over or copied: as before or as after, never between."""
    part = Dirichlet([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    values = [Dirichlet(np.ones((3, 4))) + Columns(ROWS, n * part) for n in range(4)]
    for at in itertools.count():
        now = [pickle.loads(pickle.dumps(values[1]))]
        other = now[0].concentration if held else None

        def learn(now=now):
            now[0] = now[0].changed(plus=Columns(ROWS, 2.0 * part), minus=Columns(ROWS, part))
            now[0].concentration  # noqa: B018  # writes

        cut = cut_short(learn, at, bytecodes=True)
        assert now[0] == values[2] or (cut and now[0] == values[1])
        if held:
            assert_array_equal(other, values[1].concentration)
        assert now[0] + Columns(ROWS, part) == values[3 if now[0] == values[2] else 2]
        if not cut:
            break
    assert at > 100


def test_readers_in_other_threads_have_values():
    """Every row of a table holds the number of its version."""
    table, stop, wrong = [with_rows(zeros(), 0)], threading.Event(), []

    def read():
        while not stop.is_set():
            array = table[0].array
            seen = array[ROWS].copy()
            if (seen != seen[0, 0]).any() or (array[ROWS] != seen).any():
                wrong.append(seen)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for value in range(3000):
        table[0] = with_rows(table[0], value)
    stop.set()
    for reader in readers:
        reader.join()
    assert not wrong
    assert_array_equal(table[0].array, filled(2999))


def test_a_stream_of_columns_allocates_nothing_of_the_size_of_the_posterior():
    rng = np.random.default_rng(0)
    posterior = Joint(
        topics=Dirichlet(rng.random((20, 5000))),
        weights=Gaussian(np.zeros((20, 5000)), np.ones((20, 5000))),
    )
    columns = np.arange(0, 5000, 500)
    statistics = Joint(
        topics=Columns(columns, Dirichlet(np.ones((20, 10)))),
        weights=Columns(columns, Gaussian(np.ones((20, 10)), np.ones((20, 10)))),
    )
    posterior += statistics
    expected = posterior["weights"].shift[:, 500] + 10.0
    tracemalloc.start()
    for _ in range(10):
        posterior += statistics
        assert posterior["topics"].concentration.shape == posterior["weights"].precision.shape
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * 5000 * 8 / 10
    assert_array_equal(posterior["weights"].shift[:, 500], expected)


def test_a_table_that_has_grown_grows_on_in_its_memory():
    table = with_rows(zeros(), 1).grown(np.full((2, 3), 7.0))
    at, held = place(table), table
    grown = table.grown(np.full((2, 3), 8.0))
    assert place(grown) == at  # rows that nobody before it reads
    assert_array_equal(grown.array, np.vstack([filled(1), np.full((2, 3), 7.0), np.full((2, 3), 8.0)]))
    assert_array_equal(held.array, grown.array[:6])


def test_what_a_table_has_grown_from_is_held_like_any_other():
    table = with_rows(zeros(), 1).grown(np.zeros((2, 3)))
    grown, other = (table.grown(np.full((1, 3), value)) for value in (7.0, 8.0))
    assert [float(one.array[6, 0]) for one in (grown, other)] == [7.0, 8.0]
    before, at = np.array(table.array), place(grown)
    after = with_rows(grown, 5)
    del grown, other
    assert_array_equal(after.array[:4], filled(5))  # copied: the first is still read
    assert_array_equal(table.array, before)
    assert place(after) != at
    grown = after.grown(np.zeros((1, 3)))
    del after, table
    at = place(grown)
    grown = with_rows(grown, 6)
    assert place(grown) == at


def test_totals_of_versions_that_nobody_asks_for_lead_to_those_of_the_next(monkeypatch):
    posterior = Dirichlet.prior(2, 5, eta=0.5)
    posterior.totals()
    monkeypatch.setattr(dirichlet, "_on_grid", None)  # nothing is summed again
    for word in range(3):
        posterior = posterior + Columns(np.array([word, 4]), Dirichlet([[1.0, 0.25], [2.0, word]]))
    assert_array_equal(posterior.totals(), posterior.concentration.sum(axis=1))


def test_growing_keeps_exact_totals():
    prior = Dirichlet.prior(2, 5, eta=0.5)
    small = Dirichlet.prior(2, 3, eta=0.5) + Columns(np.array([1]), Dirichlet([[3.0], [4.0]]))
    grown = small.extended(prior)
    assert grown._totals is not None
    assert_array_equal(grown.totals(), grown.concentration.sum(axis=1))


def test_a_table_that_is_held_keeps_its_memory_for_the_next_when_another_was_made_aside():
    """As predictions do with documents that wait: what they compute is a copy, and is dropped."""
    table = with_rows(zeros(), 1)
    table.settle()
    at = place(table)
    for _ in range(3):
        aside = with_rows(table, 5)
        assert place(aside) != at
        del aside
    table = with_rows(table, 2)
    assert place(table) == at
