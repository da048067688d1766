"""The history of learning, with a bounded number of points for any length of stream."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

MOST = 128  # largest number of points; with more, neighbours are merged


@dataclass(frozen=True)
class HistoryPoint:
    """What is known about some consecutive mini-batches.

    Attributes
    ----------
    seen : int
        Documents learned before them.
    score : float
        Mean score of predictions made before learning; 0 if there are none.
    n : int
        Number of these predictions.
    topics : mapping of str to float
        The topics before these mini-batches, and how many words each had learned.
    """

    seen: int
    score: float
    n: int
    topics: Mapping[str, float]

    def joined(self, score: float, n: int) -> HistoryPoint:
        """Return this point with n further predictions."""
        both = self.n + n
        mean = (self.score * self.n + score * n) / both if both else 0.0
        return HistoryPoint(self.seen, mean, both, self.topics)


class History:
    """Points of a stream; each covers as many mini-batches as needed to have at most `MOST` points.

    Examples
    --------
    >>> history = History()
    >>> for batch in range(1000):
    ...     if history.due:
    ...         history.begin()
    ...     history.add(score=batch / 1000, n=32, learned=256)
    >>> len(history.points), history.seen, history.points[1]
    (125, 256000, HistoryPoint(seen=2048, score=0.0115, n=256, topics={}))
    """

    def __init__(self) -> None:
        self.points: list[HistoryPoint] = []
        self.seen = 0  # documents learned
        self._stride = 1  # mini-batches per point
        self._missing = 0  # mini-batches that the last point still lacks

    def copy(self) -> History:
        """Return a copy."""
        history = History()
        history.__dict__.update(vars(self), points=list(self.points))
        return history

    @property
    def due(self) -> bool:
        """Whether the next mini-batch begins a point."""
        return self._missing == 0

    def begin(self, topics: Mapping[str, float] | None = None) -> None:
        """Begin a point, with the present topics."""
        if len(self.points) == MOST:
            pairs = zip(self.points[::2], self.points[1::2], strict=True)
            self.points = [first.joined(second.score, second.n) for first, second in pairs]
            self._stride *= 2
        self.points.append(HistoryPoint(self.seen, 0.0, 0, dict(topics or {})))
        self._missing = self._stride

    def add(self, score: float | None, n: int, learned: int) -> None:
        """Add a mini-batch to the last point: the score of n predictions, and documents learned."""
        if score is not None:
            self.points[-1] = self.points[-1].joined(score, n)
        self.seen += learned
        self._missing -= 1

    def to_state(self) -> dict[str, Any]:
        """Return plain data for `from_state`."""
        points = [[point.seen, point.score, point.n, dict(point.topics)] for point in self.points]
        return {"seen": self.seen, "stride": self._stride, "missing": self._missing, "points": points}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Restore the history that `to_state` described."""
        history = cls()
        history.seen, history._stride, history._missing = (
            _count(state[name]) for name in ("seen", "stride", "missing")
        )
        history.points = [
            HistoryPoint(
                _count(seen),
                _number(score),
                _count(n),
                {name: _number(size) for name, size in topics.items()},
            )
            for seen, score, n, topics in state["points"]
        ]
        most = history._stride if history.points else 0
        if len(history.points) > MOST or history._missing > most:
            raise ValueError("the state of History has other points than it counts")
        return history


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**53:
        raise ValueError(f"the state of History has {value!r} instead of a count")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"the state of History has {value!r} instead of a number")
    return float(value)
