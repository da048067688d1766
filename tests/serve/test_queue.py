"""Who is asked about what: uncertain ones first, a fair sample at random, never two people about one."""

import numpy as np
import pytest

from bayespa.serve.queue import ReviewQueue, uncertainty


def filled(n=100, **options):
    queue = ReviewQueue(**options)
    for number in range(n):
        queue.add(f"d{number}", number, (number * 37 % n) / n)
    return queue


def test_uncertainty_is_what_the_best_class_does_not_lead_by():
    P = np.array([[0.6, 0.3, 0.1], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(uncertainty(P), [0.7, 1.0, 0.0])
    assert uncertainty(np.ones((2, 1))).tolist() == [0.0, 0.0]
    several = np.array([[1.0, 0.5, 0.0], [0.9, 0.2, 1.0], [0.0, 1.0, 1.0]])
    np.testing.assert_allclose(uncertainty(several, several=True), [1.0, 0.4, 0.0])


def test_the_most_uncertain_come_first_and_ties_in_the_order_of_arrival():
    queue = ReviewQueue(share=0.0)
    for number, unsure in enumerate([0.5, 0.9, 0.5, 0.9]):
        queue.add(str(number), number, unsure)
    assert [item.id for item in queue.next("Ann", 4, now=0.0)] == ["1", "3", "0", "2"]


def test_the_share_at_random_is_the_share_that_is_stated():
    queue = filled(4000, most=4000, share=0.2)
    drawn = [item.at_random for item in queue.next("Ann", 1000, now=0.0)]
    assert abs(np.mean(drawn) - 0.2) < 4 * np.sqrt(0.2 * 0.8 / 1000)


def test_the_sample_does_not_depend_on_what_the_model_thinks():
    """Uncertain documents go first: a sample of those that are left would not be fair."""
    share = []
    for key in range(40):
        queue = ReviewQueue(0.2, most=500, key=key)
        for number in range(500):
            queue.add(str(number), number, float(number % 2))  # every other document is uncertain
        items = queue.next("Ann", 250, now=0.0)
        share += [item.number % 2 for item in items if item.at_random]
        assert sum(item.number % 2 for item in items if not item.at_random) > 150
    assert abs(np.mean(share) - 0.5) < 4 * 0.5 / np.sqrt(len(share))


def test_what_is_drawn_is_addressed_and_not_a_matter_of_who_came_before():
    one, other = filled(50, key=3), ReviewQueue(key=3)
    for number in reversed(range(50)):
        other.add(f"d{number}", number, 0.0)
    assert {i.id for i in one.items.values() if i.at_random} == {
        i.id for i in other.items.values() if i.at_random
    }


def test_two_people_have_different_documents_and_a_lease_ends():
    queue = filled(lease=300.0)
    ann, bob = queue.next("Ann", 5, now=0.0), queue.next("Bob", 5, now=0.0)
    assert not {i.id for i in ann} & {i.id for i in bob}
    assert [i.id for i in queue.next("Ann", 5, now=100.0)] == [i.id for i in ann]  # a reload
    assert [i.id for i in queue.next("Ann", 5, now=390.0)] == [i.id for i in ann]  # it was renewed
    late = queue.next("Cleo", 90, now=400.0)
    assert {i.id for i in bob} <= {i.id for i in late}  # Bob has gone
    assert not {i.id for i in ann} & {i.id for i in late}


def test_what_is_given_back_comes_first():
    queue = filled()
    first, *_ = queue.next("Ann", 3, now=0.0)
    queue.remove(first.id)
    assert first.id not in [i.id for i in queue.next("Ann", 3, now=0.0)]
    queue.back(first.id, first.number, "Ann", until=300.0)
    assert queue.next("Ann", 3, now=0.0)[0].id == first.id


def test_the_oldest_gives_way_unless_somebody_has_it():
    queue = ReviewQueue(share=0.0, most=3)
    for number in range(3):
        queue.add(str(number), number, 1.0 - number / 10)
    queue.next("Ann", 1, now=0.0)
    queue.add("3", 3, 0.0)
    assert list(queue.items) == ["0", "2", "3"]


@pytest.mark.parametrize(("option", "value"), [("share", 1.1), ("most", 0), ("lease", -1.0)])
def test_options_are_checked(option, value):
    with pytest.raises(ValueError, match=option):
        ReviewQueue(**{option: value})
