"""Which documents people review: the most uncertain first, and a fixed share drawn at random.

Whether a document belongs to the random sample is drawn from its number when it arrives, whatever it says
and whatever the model thinks of it. Documents of the sample are never chosen for their uncertainty. So those
that are reviewed are a fair sample of the stream, and accuracy on them is accuracy on the stream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bayespa.checks import require_number
from bayespa.native.random import uniform

ARRIVAL, HANDED = 0, 1  # purposes of random numbers


def uncertainty(probabilities: NDArray[np.float64], several: bool = False) -> NDArray[np.float64]:
    """Return how unsure a model is of each of n documents: 1 minus the lead of its best class.

    Parameters
    ----------
    probabilities : array of shape (n, n_classes)
    several : bool
        Whether a document may have several classes. Then each class is a decision between yes and no, and the
        closest decision counts.

    Returns
    -------
    array of shape (n,)
        From 0, sure, to 1, undecided.

    Examples
    --------
    >>> uncertainty(np.array([[1.0, 0.0, 0.0], [0.5, 0.25, 0.25]])).tolist()
    [0.0, 0.75]
    >>> uncertainty(np.array([[1.0, 0.0], [0.75, 1.0]]), several=True).tolist()
    [0.0, 0.5]
    """
    if several:
        found: NDArray[np.float64] = 1.0 - np.abs(2.0 * probabilities - 1.0).min(axis=1)
        return found
    if probabilities.shape[1] < 2:
        return np.zeros(len(probabilities))
    ordered = np.sort(probabilities, axis=1)
    return 1.0 - (ordered[:, -1] - ordered[:, -2])


@dataclass(frozen=True)
class Waiting:
    """A document that waits for its review."""

    id: str
    number: int  # of its arrival
    unsure: float
    at_random: bool
    person: str = ""  # to whom it is leased,
    until: float = 0.0  # when the lease ends, in seconds
    turn: int = -1  # its place among the documents handed out


class ReviewQueue:
    """Documents that wait for review, and who has leased which.

    A document is leased to one person for some time, so that two people get different documents. If
    too many wait, the oldest are dropped.

    Parameters
    ----------
    share : float, default=0.2
        Share of the documents that are drawn at random.
    most : int, default=1000
        How many documents may wait.
    lease : float, default=300.0
        Seconds that a lease lasts.
    key : int, default=0
        Key of the random numbers.
    handed : int, default=0
        Documents that an earlier queue has handed out.

    Examples
    --------
    >>> queue = ReviewQueue(share=0.0)
    >>> for number, unsure in enumerate([0.1, 0.9, 0.5]):
    ...     queue.add(f"document {number}", number, unsure)
    >>> [item.id for item in queue.next("Ann", 2, now=0.0)]
    ['document 1', 'document 2']
    >>> [item.id for item in queue.next("Bob", 2, now=0.0)]
    ['document 0']
    >>> queue.remove("document 1")
    >>> [item.id for item in queue.next("Bob", 2, now=1000.0)]  # all leases are over
    ['document 2', 'document 0']
    """

    def __init__(
        self, share: float = 0.2, most: int = 1000, lease: float = 300.0, key: int = 0, handed: int = 0
    ) -> None:
        require_number("share", share, 0.0, 1.0)
        require_number("most", most, 1, whole=True)
        require_number("lease", lease, 0.0)
        self.share, self.most, self.lease, self.key = share, most, lease, key
        self.handed = handed
        self.items: dict[str, Waiting] = {}  # in the order of arrival

    def _draw(self, purpose: int, number: int) -> bool:
        """Return True with probability `share`."""
        address = np.array([[number % 2**32, number >> 32, purpose]], np.uint32)
        return bool(uniform(self.key, address)[0] < self.share)

    def add(self, id: str, number: int, unsure: float) -> None:
        """Add a document: its id, the number of its arrival, and how unsure the model is of it."""
        self.items[id] = Waiting(id, number, unsure, self._draw(ARRIVAL, number))
        if len(self.items) > self.most:
            free = (item.id for item in self.items.values() if not item.person)
            del self.items[next(free, next(iter(self.items)))]

    def remove(self, id: str) -> None:
        """Remove a document: it was reviewed, skipped, or learned in another way."""
        self.items.pop(id, None)

    def back(self, id: str, number: int, person: str, until: float, turn: int = -1) -> None:
        """Give a document back to a person who had it; one without a turn comes first."""
        self.items[id] = Waiting(id, number, 0.0, self._draw(ARRIVAL, number), person, until, turn)

    def rescore(self, unsure: Mapping[str, float]) -> None:
        """Update how unsure the model is of documents that wait."""
        for id, value in unsure.items():
            if id in self.items:
                self.items[id] = replace(self.items[id], unsure=value)

    def next(self, person: str, n: int, now: float) -> list[Waiting]:
        """Lease n documents to a person, first those that they already have; fewer if fewer wait."""
        mine = [item for item in self.items.values() if item.person == person and item.until > now]
        mine = sorted(mine, key=lambda item: item.turn)[:n]
        while len(mine) < n:
            taken = {item.id for item in mine}
            free = [item for item in self.items.values() if item.until <= now and item.id not in taken]
            if not free:
                break
            mine.append(replace(self._choose(free), turn=self.handed))
            self.handed += 1
        mine = [replace(item, person=person, until=now + self.lease) for item in mine]
        self.items.update((item.id, item) for item in mine)
        return mine

    def _choose(self, free: Sequence[Waiting]) -> Waiting:
        """Choose one without a lease: the newest of the sample, or the most uncertain of the others."""
        sample = [item for item in free if item.at_random]
        rest = [item for item in free if not item.at_random]
        if sample and (self._draw(HANDED, self.handed) or not rest):
            return max(sample, key=lambda item: item.number)
        return max(rest, key=lambda item: (item.unsure, -item.number))
