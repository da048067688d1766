"""Probabilities of labels: what margins mean is learned from progressive predictions.

To a max-margin loss every label is a separate question, and the probability of a yes is σ(2f/t)^g. If exactly
one answer must be yes, these values are normalised to sum to one, and a part e is shared equally by all
classes: however large a margin is, a label may be wrong. The loss says nothing about the temperature t, the
power g and the noise e. But an online learner meets every document before its label. So it can compare the
margins that it would have predicted with the labels that it then sees. This is honest evidence, and three
numbers need little of it. Their posterior over a grid is another sum of statistics: replayed, forgotten and
merged like the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bayespa.learning import Before
from bayespa.native.elementary import exp, log
from bayespa.native.evidence import POWERS, of_answers, of_classes, of_labels
from bayespa.posteriors import Categorical, Joint, Tally

Floats = NDArray[np.float64]
# A document has one label of many, one of two, or any number of many.
Kind = Literal["exclusive", "binary", "labels"]

_QUARTERS = [1.0, 1.189207115002721, 1.4142135623730951, 1.681792830507429]  # 2^(i/4)
TEMPERATURES: Floats = np.ldexp(np.tile(_QUARTERS, 9), np.repeat(np.arange(-6, 3), 4))[:33]  # 2^-6 to 4, of ε
_BETWEEN = np.arange(8.0) / 8.0  # fractions of the way from one temperature to the next
_LOG_BETWEEN: Floats = log((TEMPERATURES[1:-2, None] * exp(0.25 * log(2.0) * _BETWEEN)).ravel())
NOISES: Floats = np.array([0.0, 1, 2, 4, 8, 12, 16, 24, 32, 48, 64]) / 128.0
UNLIKELY = 2.0**20  # log weight against what a model of an earlier version did not know
FARTHEST, WIDTH = 2.0, 2.0**-5  # margins beyond it count as it; the width of a bin
BINS: Floats = np.arange(-FARTHEST, FARTHEST, WIDTH)  # where each bin begins
OFTEN = 4.0  # as how many documents a document of a rare class counts, at most
RARITY = 0.3  # with more than two classes, one of n documents counts as if it had n^0.3 times fewer


@dataclass(frozen=True)
class Meaning:
    """What margins mean: probabilities, given margins in units of ε."""

    temperature: float
    power: int = 1
    noise: float = 0.0

    def probabilities(self, margin: Floats, kind: Kind) -> Floats:
        """Return the probability of each label (n, T), or of the second of two classes (n, 1).

        >>> Meaning(1.0, noise=0.5).probabilities(np.array([[0.0, 0.0, -9.0]]), "exclusive").round(3)
        array([[0.417, 0.417, 0.167]])
        """
        said = log_sigmoid(2.0 * margin / self.temperature)
        if kind == "exclusive":
            said = exp(self.power * (said - said.max(axis=1, keepdims=True)))
            found: Floats = said / said.sum(axis=1, keepdims=True)
        else:
            found = exp(self.power * said)
        return (1.0 - self.noise) * found + self.noise / (found.shape[1] if kind == "exclusive" else 2)


def shape(kind: Kind) -> tuple[int, int, int]:
    """Return how many powers, temperatures and noises there are to choose from.

    Several labels have no noise: it would give every label to every document.
    """
    return len(POWERS), len(TEMPERATURES), 1 if kind == "labels" else len(NOISES)


def evidence(margin: Floats, labels: NDArray[np.float32], kind: Kind) -> Floats:
    """Return the log likelihood of labels for each power, temperature and noise; its shape is `shape`.

    Parameters
    ----------
    margin : (n, T)
        Predictions in units of ε, made before the labels were learned.
    labels : (n, T)
        ±1, NaN where missing; if some of a document's exclusive labels are missing, none counts.
    kind : Kind

    Examples
    --------
    A prediction that was sure and wrong speaks for high temperatures and much noise:

    >>> found = evidence(np.array([[1.0]]), np.array([[-1]], np.float32), "binary")[0]
    >>> bool(found.argmax() == found.size - 1)
    True
    """
    if kind == "exclusive":
        known = ~np.isnan(labels).any(axis=1)
        return of_classes(margin[known], labels[known].argmax(axis=1), TEMPERATURES, NOISES)
    known = ~np.isnan(labels)
    sign = labels[known].astype(np.float64)
    if kind == "binary":
        return of_answers(margin[known], sign, TEMPERATURES, NOISES)
    return of_labels(margin[known], sign, TEMPERATURES)[:, :, None]


def log_sigmoid(x: Floats) -> Floats:
    """Return log σ(x), for large |x| too.

    >>> log_sigmoid(np.array([-1000.0, 0.0, 1000.0])).round(3)
    array([-1.00e+03, -6.93e-01,  0.00e+00])
    """
    logarithm: Floats = np.minimum(x, 0.0) - log(1.0 + exp(-np.abs(x)))
    return logarithm


# As if one document had been wrong by a whole margin, for every power.
ONE_MISTAKE = evidence(np.ones((1, 1)), np.full((1, 1), -1, np.float32), "binary")


def margin_counts(margin: Floats, labels: NDArray[np.float32], *, one_at_least: bool = False) -> Tally:
    """Count the margins of all pairs of a document and a label, and of the pairs that belong together.

    A hinge loss treats both answers alike, so where few answers are yes, all margins are too small. The
    counts say how many labels a threshold would give, and how many of these would be right: see `offset`.

    Parameters
    ----------
    margin, labels : (n, T)
        As for `evidence`.
    one_at_least : bool
        Whether a document always gets its best label. Then the margin of that label counts as the largest.

    Returns
    -------
    Tally
        (2, bins).
    """
    place = np.floor(np.clip(margin, -FARTHEST, np.nextafter(FARTHEST, 0.0)) / WIDTH).astype(np.int64)
    place += len(BINS) // 2
    if one_at_least:
        best = np.where(np.isnan(labels), -np.inf, margin).argmax(axis=1)
        place[np.arange(len(place)), best] = len(BINS) - 1
    counts = [np.bincount(place[which], minlength=len(BINS)) for which in (~np.isnan(labels), labels > 0)]
    return Tally(np.array(counts, np.float64))


def offset(posterior: Joint) -> float:
    """Return the threshold for margins, in units of ε: the one with the best micro-averaged F1.

    If each document gets its best label, the threshold is at most 0: a positive margin is always a yes.

    >>> prior = Joint(**Calibration("labels").prior())
    >>> offset(prior)
    0.0
    >>> offset(prior + Joint(labels=margin_counts(np.full((99, 1), -0.5), np.ones((99, 1), np.float32))))
    -0.5
    """
    if "labels" not in posterior:
        return 0.0
    given, right = np.cumsum(posterior["labels"].counts[:, ::-1], axis=1)[:, ::-1]
    most = 0.0 if one_at_least(posterior) else FARTHEST
    return float(BINS[(right / (given + right[0]))[most >= BINS].argmax()])


def one_at_least(posterior: Joint) -> bool:
    """Return whether every document has a label, as all learned ones had."""
    return "without" in posterior and bool(posterior["without"].counts[0, 0] < 0.5)


def continued(
    known: Tally, mirrored: list[int], new: Floats, source: NDArray[np.int64], sign: NDArray[np.float64]
) -> Tally:
    """Return counts (R, T) of tasks: task t continues task source[t], or is `new` (R, 1) if that is -1.

    If its sign is negative, yes and no change places: `mirrored` is the order of the rows then. The same
    counts are returned if nothing changes.
    """
    counts = known.counts
    if np.array_equal(source, np.arange(counts.shape[1])) and (sign > 0.0).all():
        return known
    own = np.where(sign > 0.0, counts[:, source], counts[mirrored][:, source])
    return Tally(np.where(source < 0, new, own))


@dataclass(frozen=True)
class Calibration:
    """What is learned about margins: their meaning, frequencies of classes, an offset for several labels."""

    kind: Kind
    n_tasks: int = 1  # T
    enough: int = 128  # documents of a mini-batch that serve as evidence of the meaning: each costs time
    balanced: bool = False  # whether classes count as if all were equally frequent;
    weights: tuple[float, ...] = ()  # otherwise factors for the odds of each task; (): all 1

    @property
    def _one_mistake(self) -> Floats:
        return ONE_MISTAKE[:, :, : shape(self.kind)[2]]

    def prior(self) -> dict[str, Any]:
        """Return the prior of everything that is learned: one mistake, so that few documents prove little."""
        prior: dict[str, Any] = {
            "temperature": Categorical(self._one_mistake.ravel()),
            "classes": Tally(np.ones((2, self.n_tasks))),
        }
        if self.kind == "labels":  # as if a few labels were known, for which a margin above 0 is best
            counts = np.repeat([[2.0**-20], [2.0**-22]], len(BINS), axis=1)
            counts[:, BINS == 0.0] = [[5.0], [4.0]]
            prior["labels"] = Tally(counts)
            prior["without"] = Tally(np.full((1, 1), 2.0**-20))  # documents without a label
        return prior

    def propose(
        self,
        posterior: Joint,
        margin: Floats,
        labels: NDArray[np.float32],
        index: int,
        before: Before[Joint] | None = None,
    ) -> dict[str, Any]:
        """Return what progressive predictions say about the meaning of margins, and about the offset.

        Evidence of the meaning is an eighth of a mini-batch, or `enough` documents if that is more; fewer if
        each has many labels, since every label is a question. Margins grow while a model learns, and the very
        first ones say nothing. So a mini-batch counts with the fourth power of its `index`, for the offset
        with the square. In total it is as if one document of the last mini-batch had been a mistake.
        """
        if before is not None and not before.kept and "labels" in before.statistics:
            posterior = Joint(posterior, labels=posterior["labels"] - before.statistics["labels"])
        n_questions = margin.shape[1] if self.kind == "labels" else 1
        enough = max(self.enough, len(margin) // 8)
        n = min(len(margin), max(8 * enough // n_questions, enough // 8, 1), enough)
        found = float(index**4) * evidence(margin[:n] - offset(posterior), labels[:n], self.kind)
        if not np.isnan(labels[:n]).all():
            found += float(4 * index**3) * self._one_mistake
        counts = np.array([(labels > 0).sum(axis=0), (labels < 0).sum(axis=0)], np.float64)
        learned: dict[str, Any] = {"temperature": Categorical(found.ravel()), "classes": Tally(counts)}
        if self.kind == "labels":
            without = np.count_nonzero((labels < 0).all(axis=1))
            lifted = without == 0 and one_at_least(posterior)
            learned["labels"] = float(index**2) * margin_counts(margin, labels, one_at_least=lifted)
            learned["without"] = Tally(np.full((1, 1), float(without)))
        return learned

    def often(self, posterior: Joint, labels: NDArray[np.float32]) -> Floats:
        """Return as how many documents each counts for words, (n,).

        With more than two classes this is √r, at most OFTEN, if its class is r times rarer than the average
        class. All others count once.
        """
        if self.kind != "exclusive":
            return np.ones(len(labels))
        seen = posterior["classes"].counts[0]
        of_class = np.sqrt(np.clip(seen.sum() / (len(seen) * seen), 1.0, OFTEN * OFTEN))
        found: Floats = np.where(labels > 0.0, of_class, 1.0).max(axis=1)
        return found

    def meaning(self, posterior: Joint) -> Meaning:
        """Return what margins mean: the most probable power, with its mean log temperature and mean noise.

        Much evidence would select one of `TEMPERATURES`; cubic splines (Catmull-Rom) go between them.
        """
        by_power = posterior["temperature"].to_arrays()["log_weights"].reshape(shape(self.kind))
        place = int(by_power.max(axis=(1, 2)).argmax())
        top = by_power[place].max(axis=1, keepdims=True)
        by_noise = exp(by_power[place] - top)
        known = top + log(by_noise.sum(axis=1, keepdims=True))
        before, low, high, after = (known[i : len(known) - 3 + i] for i in range(4))
        x = _BETWEEN
        curve = 2.0 * before - 5.0 * low + 4.0 * high - after + x * (3.0 * (low - high) + after - before)
        log_weights = (low + 0.5 * x * (high - before + x * curve)).ravel()
        weights = exp(log_weights - log_weights.max())
        temperature = float(exp((weights / weights.sum() * _LOG_BETWEEN).sum(keepdims=True))[0])
        likely = by_noise[int(known.argmax())]
        noise = float((likely * NOISES[: len(likely)]).sum() / likely.sum())
        return Meaning(temperature, POWERS[place], noise)

    def offsets(self, posterior: Joint, meaning: Meaning) -> Floats:
        """Return what to subtract from the margins of each task (T,), in units of ε.

        One-vs-rest margins of rare classes are too small: their weights are learned from few documents.
        A class with weight w gets the odds that it would have in a stream where it is w times as frequent.
        Far below 0 a sigmoid is an exponential, so log w over the power, times the temperature, does it.
        """
        yes, no = log(posterior["classes"].counts)
        odds = np.zeros(self.n_tasks) if not self.weights else log(np.array(self.weights))
        if self.kind == "exclusive":
            odds = odds - (1.0 if self.balanced else RARITY) * yes
            seen = posterior["classes"].counts[0]
            odds -= (seen * odds).sum() / seen.sum()  # the margin of the average document does not change
        elif self.balanced:
            odds = no - yes
        return offset(posterior) - meaning.temperature / (2.0 * meaning.power) * odds

    def grown(self, posterior: Joint, source: NDArray[np.int64], sign: NDArray[np.float64]) -> dict[str, Any]:
        """Make room for new tasks: task t continues task source[t] (-1: a new one), with its sign."""
        known = posterior["classes"]
        everything = known.counts.sum(axis=0).max() - 1.0
        new = np.array([[1.0], [everything]])  # no document had this label
        grown = continued(known, [1, 0], new, source, sign)
        return {} if grown is known else {"classes": grown}

    def converted(self, posterior: Joint) -> Joint:
        """Convert a posterior to this version; the first ones knew only temperatures."""
        later = {name: own for name, own in self.prior().items() if name != "temperature"}
        if self.kind == "labels" and "labels" in posterior:  # they came from documents without a label, too
            later["without"] = Tally(np.ones((1, 1)))
        if missing := {name: own for name, own in later.items() if name not in posterior}:
            posterior = Joint(posterior, **missing)
        found = posterior.get("temperature")
        if not isinstance(found, Categorical) or found.log_weights.shape != TEMPERATURES.shape:
            return posterior
        every = np.full(shape(self.kind), found.log_weights.min() - UNLIKELY)
        every[0, :, 0] = found.log_weights
        return Joint(posterior, temperature=Categorical(every.ravel()))
