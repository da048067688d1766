"""Probabilities of labels: sigmoids of margins whose temperature is learned from progressive predictions.

Every label is a question of its own to a max-margin loss, with σ(2f/t) for the probability of a yes; where
one answer has to be yes, these are shares. The loss says nothing about the temperature t. But an online
learner meets every document before its label, and how the margins it would have predicted compare with the
labels it then sees is honest evidence, of which a temperature needs little. Its posterior over a few values
is another sum of statistics: replayed, forgotten and merged like the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bayespa.learning import Before
from bayespa.native.elementary import exp, log
from bayespa.posteriors import Categorical, Joint, Tally

Floats = NDArray[np.float64]
# A document has one label of many, one of two, or any number of many.
Kind = Literal["exclusive", "binary", "labels"]

_QUARTERS = [1.0, 1.189207115002721, 1.4142135623730951, 1.681792830507429]  # 2^(i/4)
TEMPERATURES: Floats = np.ldexp(np.tile(_QUARTERS, 9), np.repeat(np.arange(-6, 3), 4))[:33]  # 2^-6 to 4, of ε
FARTHEST, WIDTH = 2.0, 2.0**-5  # margins counted beyond it count there; of a bin: likewise
BINS: Floats = np.arange(-FARTHEST, FARTHEST, WIDTH)  # where each begins


def evidence(margin: Floats, labels: NDArray[np.float32], *, exclusive: bool) -> Floats:
    """Return the log likelihood of labels at each temperature.

    Parameters
    ----------
    margin : (n, T)
        Predictions in units of ε, made before the labels were learned.
    labels : (n, T)
        ±1, NaN where missing; if some of a document's exclusive labels are missing, none counts.
    exclusive : bool
        Whether a document has one of the T labels, or each label is a question of its own.

    Examples
    --------
    A sure and wrong prediction speaks for high temperatures:

    >>> found = evidence(np.array([[1.0]]), np.array([[-1]], np.float32), exclusive=False)
    >>> int(found.argmax()) == len(TEMPERATURES) - 1
    True
    """
    t = TEMPERATURES[:, None]
    found: Floats
    if exclusive:
        known = ~np.isnan(labels).any(axis=1)
        said = log_sigmoid(2.0 * margin[known] / t[:, :, None])
        right = said[:, np.arange(said.shape[1]), labels[known].argmax(axis=1)]
        top = said.max(axis=2, initial=-np.inf)
        found = (right - top - log(exp(said - top[:, :, None]).sum(axis=2))).sum(axis=1)
        return found
    known = ~np.isnan(labels)
    found = log_sigmoid(2.0 * labels[known].astype(np.float64) * margin[known] / t).sum(axis=1)
    return found


def log_sigmoid(x: Floats) -> Floats:
    """Return log σ(x), also far out.

    >>> log_sigmoid(np.array([-1000.0, 0.0, 1000.0])).round(3)
    array([-1.00e+03, -6.93e-01,  0.00e+00])
    """
    logarithm: Floats = np.minimum(x, 0.0) - log(1.0 + exp(-np.abs(x)))
    return logarithm


# As if one document had been wrong by a whole margin: few documents without a mistake prove little.
ONE_MISTAKE = evidence(np.ones((1, 1)), np.full((1, 1), -1, np.float32), exclusive=False)
ONE_MISTAKE.flags.writeable = False  # every prior has this array
SURPRISING = 0.01  # share of documents to come that are as wrong, whatever was seen: documents change


def margin_counts(margin: Floats, labels: NDArray[np.float32]) -> Tally:
    """Count the margins of all pairs of a document and a label, and of those that belong together.

    A hinge loss wants both answers alike, and where few are yes all margins are too small. The counts tell
    how many labels would be given above each margin, and how many of them rightly: see `offset`.

    Parameters
    ----------
    margin, labels : (n, T)
        As for `evidence`.

    Returns
    -------
    Tally
        (2, bins).
    """
    place = np.floor(np.clip(margin, -FARTHEST, np.nextafter(FARTHEST, 0.0)) / WIDTH).astype(np.int64)
    place += len(BINS) // 2
    counts = [np.bincount(place[which], minlength=len(BINS)) for which in (~np.isnan(labels), labels > 0)]
    return Tally(np.array(counts, np.float64))


def offset(posterior: Joint) -> float:
    """Return the margin, in units of ε, above which a label is given: where micro-averaged F1 was best.

    >>> prior = Joint(**Calibration("labels").prior())
    >>> offset(prior)
    0.0
    >>> offset(prior + Joint(labels=margin_counts(np.full((99, 1), -0.5), np.ones((99, 1), np.float32))))
    -0.5
    """
    if "labels" not in posterior:
        return 0.0
    given, right = np.cumsum(posterior["labels"].counts[:, ::-1], axis=1)[:, ::-1]
    return float(BINS[(right / (given + right[0])).argmax()])


@dataclass(frozen=True)
class Calibration:
    """What is learned of margins: their temperature and, of many labels, an offset."""

    kind: Kind
    enough: int = 128  # documents of a mini-batch that are evidence of the temperature: they cost time

    def prior(self) -> dict[str, Any]:
        """Return the prior of all that is learned."""
        prior: dict[str, Any] = {"temperature": Categorical(ONE_MISTAKE)}
        if self.kind == "labels":  # as if a few labels were known, for which a margin above 0 is best
            counts = np.repeat([[2.0**-20], [2.0**-22]], len(BINS), axis=1)
            counts[:, BINS == 0.0] = [[5.0], [4.0]]
            prior["labels"] = Tally(counts)
        return prior

    def propose(
        self,
        posterior: Joint,
        margin: Floats,
        labels: NDArray[np.float32],
        index: int,
        before: Before[Joint] | None = None,
    ) -> dict[str, Any]:
        """Return what progressive predictions say of the temperature and of the offset.

        An eighth of a mini-batch is evidence of the temperature, or `enough` documents if that is more. A
        mini-batch counts by the fourth power of its `index`, and of the offset by the square: margins grow
        while a model learns, and the first of all, when nothing is learned, say nothing. Documents that come
        later are less like those learned than these are like each other: hence some surprises.
        """
        if before is not None and not before.kept and "labels" in before.statistics:
            posterior = Joint(labels=posterior["labels"] - before.statistics["labels"])
        n = min(len(margin), max(self.enough, len(margin) // 8))
        found = evidence(margin[:n] - offset(posterior), labels[:n], exclusive=self.kind == "exclusive")
        found += SURPRISING * (~np.isnan(labels[:n]).all(axis=1)).sum() * ONE_MISTAKE
        learned: dict[str, Any] = {"temperature": Categorical(float(index**4) * found)}
        if self.kind == "labels":
            learned["labels"] = float(index**2) * margin_counts(margin, labels)
        return learned


def temperature(posterior: Joint) -> float:
    """Return the temperature, in units of ε: the mean of its logarithm, brought back.

    Much evidence would leave one of `TEMPERATURES`; cubic splines (Catmull-Rom) say what is between them.
    """
    known = posterior["temperature"].log_weights[:, None]
    before, low, high, after = (known[i : len(known) - 3 + i] for i in range(4))
    x = np.arange(8.0) / 8.0  # of the way from `low` to `high`
    curve = 2.0 * before - 5.0 * low + 4.0 * high - after + x * (3.0 * (low - high) + after - before)
    weights = low + 0.5 * x * (high - before + x * curve)
    between = TEMPERATURES[1:-2, None] * exp(0.25 * log(2.0) * x)
    return float(exp(Categorical(weights.ravel()).mean(log(between.ravel())))[0])


def probabilities(margin: Floats, temperature: float, *, exclusive: bool) -> Floats:
    """Return the probability of each label (n, T) given margins in units of ε.

    >>> probabilities(np.array([[0.0, 0.0]]), 1.0, exclusive=True)
    array([[0.5, 0.5]])
    """
    said = log_sigmoid(2.0 * margin / temperature)
    if exclusive:
        said = exp(said - said.max(axis=1, keepdims=True))
        shares: Floats = said / said.sum(axis=1, keepdims=True)
        return shares
    return exp(said)
