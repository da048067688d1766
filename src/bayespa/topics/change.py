"""Forgetting that finds itself: what was learned of a class is forgotten when it turns out wrong. [MED-14].

If a stream changes what belongs to a class, the old evidence speaks against the new documents. An online
learner meets every document before its label, so it knows how often it is wrong on each class. A run of
mistakes that is far more probable if this share had moved half-way to 1 shows a change: Page's cumulative sum
of log likelihood ratios. What a model learns slowly, noise, and slow drift show none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespa.learning import Before
from bayespa.native.elementary import exp, log
from bayespa.posteriors import Joint, Tally
from bayespa.topics.calibration import Kind, continued

Floats = NDArray[np.float64]
SURE = 17.0  # the log likelihood ratio, of a change of any classes, at which there is one
SUSPECT = 3.0  # that of a class, at least, if it has changed then
AT_ONCE = 6.0  # what a mini-batch adds to it, at most: its documents may all be of one event
ENOUGH = 32.0  # documents of a class before its mistakes are judged
MET = 256.0  # documents since a class appeared, from which on it competes: margins of a new one mean nothing
USUAL = 4.0  # a class that is more times as frequent as so far comes in a run, which proves nothing
BEST = 8  # of many classes, one of the best eighth is no mistake
FEWEST = 0.125  # the least share of mistakes: where they are rarer, a few may come together by chance
GRID = 2.0**-10  # of log likelihood ratios, so that their sums are exact
_BEGIN = np.array([2.0, 1.0, GRID, 2.0, 1.0, GRID, 1.0])[:, None]  # the counts of a task, see `Change`
_LOG_2 = 0.6931471805599453


@dataclass(frozen=True)
class Change:
    """What is counted for each of T tasks.

    These are documents, mistakes and the log likelihood ratio of those that belong to the task, the same of
    those that do not, and how often it has changed. Of more than two exclusive classes only documents that
    belong to it are judged; in place of those that do not, all documents since it appeared are counted.
    """

    kind: Kind
    n_tasks: int = 1  # T

    def prior(self) -> dict[str, Any]:
        """Return the prior: as if one of two documents had been a mistake."""
        return {"change": Tally(np.repeat(_BEGIN, self.n_tasks, axis=1))}

    def propose(
        self,
        posterior: Joint,
        margin: Floats,
        labels: NDArray[np.float32],
        index: int,
        before: Before[Joint] | None = None,
    ) -> dict[str, Any]:
        """Count the mistakes of margins (n, T), made before the labels (n, T) were seen.

        Documents count with the `index` of their mini-batch, because a model makes fewer mistakes as it
        learns. A repeated mini-batch keeps what it said first.

        Examples
        --------
        Three documents of a class of which a quarter was wrong, and now all are. Each adds log(1.25 / 0.5):

        >>> from bayespa.posteriors import Joint, Tally
        >>> known = Joint(change=Tally([[1000.0], [250.0], [0.0], [1000.0], [250.0], [0.0], [1.0]]))
        >>> change, labels = Change("binary"), np.ones((3, 1), np.float32)
        >>> change.propose(known, -labels, labels, 0)["change"].counts[:3].round(2)
        array([[3.  ],
               [3.  ],
               [2.75]])
        """
        if before is not None and "change" in before.statistics:
            return {"change": before.statistics["change"]}
        weight, counts = float(index + 1), posterior["change"].counts
        known, wrong = self._mistakes(margin, labels, counts[3] >= MET)
        sides = len(known)
        n, w = known.sum(axis=1).astype(np.float64), (known & wrong).sum(axis=1).astype(np.float64)
        seen, missed, ratio = counts[:6].reshape(2, 3, -1)[:sides].swapaxes(0, 1)
        share = np.clip(missed / seen, FEWEST, 1.0 - GRID)
        more = w * log((1.0 + share) / (2.0 * share)) - (n - w) * _LOG_2
        more = np.rint(np.minimum(more, AT_ONCE) / GRID) * GRID
        axes = (0, 1) if self.kind == "exclusive" else 0
        in_a_run = n * seen.sum(axis=axes) > USUAL * seen * n.sum(axis=axes)
        judged = ~in_a_run & (seen >= ENOUGH * weight)
        added = np.zeros((7, self.n_tasks))
        added[:6].reshape(2, 3, -1)[:sides] = np.stack(
            [weight * n, weight * w, np.where(judged, np.maximum(ratio + more, GRID) - ratio, 0.0)], axis=1
        )
        if self.kind == "exclusive":
            added[3] = np.count_nonzero((labels > 0.0).any(axis=1))
        return {"change": Tally(added)}

    def _mistakes(
        self, margin: Floats, labels: NDArray[np.float32], competes: NDArray[np.bool_]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which documents are known to have a label, (1, n, T), or not to have it, and the mistakes.

        Of exclusive classes only some (T,) compete, and documents of others are left out. If more and more
        classes competed while they are counted, there would be more and more mistakes.
        """
        if self.kind != "exclusive":
            return np.stack([labels > 0.0, labels < 0.0]), np.stack([margin <= 0.0, margin > 0.0])
        known = (labels > 0.0) & competes
        right = np.where(known, margin, -np.inf).max(axis=1, keepdims=True)
        better = ((margin > right) & competes).sum(axis=1, keepdims=True)
        return known[None], (better >= max(1, self.n_tasks // BEST))[None]

    def found(self, posterior: Joint) -> NDArray[np.bool_]:
        """Return which tasks have changed, (T,)."""
        counts = posterior["change"].counts
        ratio, n = counts[2] + counts[5], float(self.n_tasks)
        # One class is expected among those that change. Without that, many classes would be sure by chance.
        together = np.rint(log(1.0 + (exp(ratio) - 1.0) / n) / GRID) * GRID
        suspects: NDArray[np.bool_] = ratio >= max(SUSPECT, float(log([n])[0]))
        return suspects & bool(together.sum() >= SURE)

    def begun(self, posterior: Joint, tasks: NDArray[np.bool_], *, all_anew: bool = False) -> dict[str, Any]:
        """Count that some tasks (T,) have changed, and count the mistakes of these, or of all, anew."""
        counts = np.where(tasks | all_anew, _BEGIN, posterior["change"].counts)
        counts[6] = posterior["change"].counts[6] + tasks
        return {"change": Tally(counts)}

    def times(self, posterior: Joint) -> NDArray[np.int64]:
        """Return how often each task has changed, (T,)."""
        found: NDArray[np.int64] = (posterior["change"].counts[6] - _BEGIN[6]).astype(np.int64)
        return found

    def grown(self, posterior: Joint, source: NDArray[np.int64], sign: Floats) -> dict[str, Any]:
        """Make room for new tasks: task t continues task source[t] (-1: a new one), with its sign."""
        known = posterior["change"]
        grown = continued(known, [3, 4, 5, 0, 1, 2, 6], _BEGIN, source, sign)
        return {} if grown is known else {"change": grown}
