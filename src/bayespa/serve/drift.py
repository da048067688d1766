"""An alarm for streams that drift: losses of predictions against those before them, as a sequential test.

Each loss is ranked among those before it. Without drift the losses are exchangeable, so ranks (with ties
broken at random) are independent and uniform, whatever the distribution of losses: p_t is the share of
losses that are larger. A bet f(p) = 1 + b (1 - 2p) wins where losses grow, and has mean 1 otherwise. The
winnings add up as in the statistic of Shiryaev and Roberts, R_t = f(p_t) (R_{t-1} + 1). Without drift
E R_t = t, and by the maximal inequality for submartingales P(R reaches c within n documents) <= n / c.

Old losses say little about a model that has learned since. So there are two references, each restarted
every 2 * `span` documents, one `span` after the other. With c = 2 / `rate` for each, the probability of a
false alarm within n documents is at most n * `rate`. Bets are one-sided: a model that gets better loses them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespa.checks import require_number
from bayespa.native.random import uniform

BINS = 256  # losses are rounded to so many values, to bound the memory
BETS = np.array([0.25, 0.5, 1.0])  # from small drifts to large ones


@dataclass
class Reference:
    """Losses since a restart, and the evidence that they grow."""

    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(BINS, np.int64))
    evidence: NDArray[np.float64] = field(default_factory=lambda: np.zeros(len(BETS)))

    def add(self, place: int, tie: float) -> float:
        """Add a loss and return the evidence; `tie` in (0, 1) breaks ties with other losses."""
        self.counts[place] += 1
        above = int(self.counts[place + 1 :].sum())
        p = (above + tie * int(self.counts[place])) / int(self.counts.sum())
        self.evidence = (1.0 + BETS * (1.0 - 2.0 * p)) * (self.evidence + 1.0)
        return float(self.evidence.sum()) / len(BETS)


class Drift:
    """Raises an alarm when losses grow.

    Parameters
    ----------
    rate : float, default=1e-4
        Bound on false alarms: within n documents there is one with probability at most n * rate.
    span : int, default=1000
        Documents between two restarts.
    key : int, default=0
        Key of the random numbers that break ties.

    Attributes
    ----------
    n : int
        Number of losses so far.
    alarms : list of int
        Number of losses at each alarm; an alarm restarts the test.

    Examples
    --------
    >>> drift = Drift()
    >>> alarms = [drift.add(0.2 + 0.001 * (t % 7)) for t in range(500)]
    >>> alarms += [drift.add(0.7) for t in range(100)]
    >>> drift.alarms
    [514]
    """

    def __init__(self, rate: float = 1e-4, span: int = 1000, key: int = 0) -> None:
        require_number("rate", rate, 1e-12, 1.0)
        require_number("span", span, 1, whole=True)
        self.rate, self.span, self.key = rate, span, key
        self.n = 0
        self.alarms: list[int] = []
        self._references = [Reference(), Reference()]
        self._started = [0, -span]  # each restarts 2 * span later
        self.evidence = 0.0

    @property
    def threshold(self) -> float:
        """The evidence that raises an alarm."""
        return 2.0 / self.rate

    def add(self, loss: float) -> bool:
        """Add the loss of a prediction, in [0, 1]; return whether it raises an alarm."""
        require_number("loss", loss, 0.0, 1.0)
        for i, started in enumerate(self._started):
            if self.n - started == 2 * self.span:
                self._references[i], self._started[i] = Reference(), self.n
        ties = uniform(self.key, np.array([[self.n % 2**32, i, 0] for i in (0, 1)], np.uint32))
        place = min(int(loss * BINS), BINS - 1)
        self.evidence = max(
            reference.add(place, float(tie)) for reference, tie in zip(self._references, ties, strict=True)
        )
        self.n += 1
        if self.evidence < self.threshold:
            return False
        self.alarms.append(self.n)
        self._references, self._started = [Reference(), Reference()], [self.n, self.n - self.span]
        return True

    def to_state(self) -> dict[str, Any]:
        """Return plain data, which `from_state` restores."""
        return {
            "rate": self.rate,
            "span": self.span,
            "key": self.key,
            "n": self.n,
            "alarms": list(self.alarms),
            "started": list(self._started),
            "references": [[r.counts.tolist(), r.evidence.tolist()] for r in self._references],
            "evidence": self.evidence,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Drift:
        """Restore what `to_state` returned."""
        drift = cls(state["rate"], state["span"], state["key"])
        drift.n, drift.evidence = state["n"], state["evidence"]
        drift.alarms, drift._started = list(state["alarms"]), list(state["started"])
        drift._references = [
            Reference(np.array(counts, np.int64), np.array(evidence, np.float64))
            for counts, evidence in state["references"]
        ]
        return drift
