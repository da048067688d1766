"""How much of a predicted number is right: predictions that vary too much are shrunk. [MED-13].

Words learn numbers with a prior of one width. Where numbers depend little on words, noise moves the weights,
and predictions vary more than they should. An online learner meets every document before its number. So it
learns the slope b of the numbers y on its predictions m: that of least squares, Σ m y / Σ m².
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespa.learning import Before
from bayespa.posteriors import Joint, Tally

Floats = NDArray[np.float64]
RIGHT = 64.0  # it is as if so many documents of the last mini-batch had been predicted exactly
LITTLE = 2.0**-20


@dataclass(frozen=True)
class Slope:
    """What is learned of the predictions of T numbers: Σ m², Σ (m + y)² and Σ (m - y)², all positive."""

    n_tasks: int

    def prior(self) -> dict[str, Any]:
        """Return the prior: a little evidence for a slope of exactly 1."""
        column = [[LITTLE], [4.0 * LITTLE + LITTLE * LITTLE], [LITTLE * LITTLE]]
        return {"slope": Tally(np.repeat(column, self.n_tasks, axis=1))}

    def propose(
        self, margin: Floats, labels: NDArray[np.float32], index: int, before: Before[Joint] | None = None
    ) -> dict[str, Any]:
        """Return what predictions (n, T) of numbers (n, T) say, where these are known.

        A mini-batch counts with the fourth power of its `index`, as in `Calibration`. If it is repeated, it
        keeps what it said first: later predictions come from a model that has seen its numbers.
        """
        if before is not None and "slope" in before.statistics:
            return {"slope": before.statistics["slope"]}
        known = ~np.isnan(labels)
        m, y = np.where(known, margin, 0.0), np.where(known, labels, 0.0).astype(np.float64)
        own = (m * m).sum(axis=0)
        sums = float(index**4) * np.array([own, ((m + y) ** 2).sum(axis=0), ((m - y) ** 2).sum(axis=0)])
        right = float(4 * index**3) * RIGHT * own / np.maximum(known.sum(axis=0), 1)
        return {"slope": Tally(sums + right * np.array([[1.0], [4.0], [0.0]]))}

    def of(self, posterior: Joint) -> Floats:
        """Return the slope of each number, (T,), at most 1.

        >>> slope = Slope(1)
        >>> found = Joint(**slope.prior()) + Joint(**slope.propose(np.array([[2.0], [-2.0]] * 400),
        ...     np.array([[1.0], [-1.0]] * 400, np.float32), 100))
        >>> slope.of(Joint(**slope.prior())), slope.of(found).round(3)
        (array([1.]), array([0.502]))
        """
        own, both, apart = posterior["slope"].counts
        found: Floats = np.clip((both - apart) / (4.0 * own), 0.0, 1.0)  # [MED-13]
        return found
