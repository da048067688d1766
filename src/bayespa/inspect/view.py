"""A fitted model for a report: topics or weights of words, and the labels that they speak for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespa.ranking import largest
from bayespa.text.model import TextModel
from bayespa.topics.relevance import CONTRAST

Floats = NDArray[np.float64]
CLEAR = 2.0  # standard deviations from 0 that make the sign of a weight clear


@dataclass(frozen=True)
class Voice:
    """A weight for or against a label, and its standard deviation (NaN if the model has none)."""

    label: str
    weight: float
    std: float

    @property
    def strength(self) -> str:
        """The weight as text."""
        return f"{self.weight:+.2f}" + ("" if np.isnan(self.std) else f" ± {self.std:.1g}")


@dataclass(frozen=True)
class Decisions:
    """The tasks of a model: one per label, or a single one for two classes or a number."""

    names: tuple[str, ...]  # what a positive weight speaks for
    opposite: str | None  # what a negative weight speaks for, if there is a single task

    @classmethod
    def of(cls, model: Any) -> Decisions:
        """Name the tasks of a classifier or regressor."""
        n_tasks = len(np.atleast_2d(model.coef_))
        if not hasattr(model, "classes_"):
            if n_tasks == 1:
                return cls(("a higher value",), "a lower value")
            return cls(tuple(f"target {i}" for i in range(n_tasks)), None)
        classes = [str(name) for name in model.classes_]
        return cls((classes[1],), classes[0]) if n_tasks == 1 else cls(tuple(classes), None)

    def voice(self, task: int, weight: float, std: float) -> Voice:
        """Return what a weight of a task speaks for."""
        if weight < 0.0 and self.opposite is not None:
            return Voice(self.opposite, -weight, std)
        return Voice(self.names[task], weight, std)


@dataclass(frozen=True)
class TopicView:
    """The topics of a model; with one-vs-rest, those of all tasks one after another.

    Weights are relative to the average document: w - πᵀw, where π are the average shares of the topics. So a
    weight that all topics of a task share, its bias, speaks for none of them. Explanations use the same
    weights. For numbers they are in the unit of the target.
    """

    tasks: Decisions
    places: tuple[slice, ...]  # (T,), which of the K topics belong to each task
    names: tuple[str, ...]  # (K,)
    size: Floats  # (K,), about how many words each has learned
    word_probability: Floats  # (K, W)
    weight: Floats  # (T, most topics of a task), NaN after the last topic of a task
    weight_std: Floats  # like `weight`
    topical: NDArray[np.bool_] | None = None  # (W,), which words topics use; None: all

    @classmethod
    def of(cls, model: Any) -> TopicView:
        """Return the view of a topic model."""
        tasks, places, size = Decisions.of(model), _places(model), model.topic_sizes_
        mean, covariance = np.asarray(model.coef_), np.asarray(model.coef_cov_)
        units = getattr(model, "units_", np.ones(len(mean)))
        weight, std = np.full(mean.shape, np.nan), np.full(mean.shape, np.nan)
        for task, place in enumerate(places):
            average = size[place] / max(float(size[place].sum()), np.finfo(float).tiny)
            n = len(average)
            own = mean[task, :n]
            weight[task, :n] = units[task] * (own - (average * own).sum())
            # The variance of (e_k - π)ᵀw.
            spread = (covariance[task, :n, :n] * average).sum(axis=1)
            variance = np.diag(covariance[task, :n, :n]) - 2.0 * spread + (average * spread).sum()
            std[task, :n] = units[task] * np.sqrt(np.maximum(variance, 0.0))
        names, words = tuple(model.topic_names_), np.asarray(model.components_)
        return cls(tasks, places, names, size, words, weight, std, getattr(model, "topic_words_", None))

    @property
    def shared(self) -> bool:
        """Whether all tasks share topics."""
        return self.places[0] == self.places[-1]

    def voices(self, topic: int, at_most: int = 2) -> list[Voice]:
        """Return the labels that a topic speaks for most clearly, if any."""
        found = [
            self.tasks.voice(
                task, float(self.weight[task, topic - p.start]), float(self.weight_std[task, topic - p.start])
            )
            for task, p in enumerate(self.places)
            if p.start <= topic < p.stop
        ]
        clear = [voice for voice in found if voice.weight > CLEAR * voice.std]
        return sorted(clear, key=lambda voice: -voice.weight)[:at_most]

    def words(self, topic: int, n: int) -> list[tuple[int, float]]:
        """Return the columns of the n most probable words of a topic, and their probabilities."""
        row = self.word_probability[topic]
        return [(int(w), float(row[w])) for w in largest(row, n)]


def _places(model: Any) -> tuple[slice, ...]:
    """Return which topics belong to each task."""
    variance = np.diagonal(model.coef_cov_, axis1=1, axis2=2)
    numbers = np.count_nonzero(variance, axis=1)  # a task with fewer topics than another has zeros at the end
    if model.multi_class == "shared":
        return (slice(0, int(numbers[0])),) * len(numbers)
    ends = np.cumsum(numbers).tolist()
    return tuple(slice(start, end) for start, end in zip([0, *ends], ends, strict=False))


@dataclass(frozen=True)
class LinearView:
    """The weights of words in a linear model."""

    tasks: Decisions
    weight: Floats  # (T, W)
    weight_std: Floats | None  # (T, W)

    @classmethod
    def of(cls, model: Any) -> LinearView:
        """Return the view of a linear model."""
        if hasattr(model, "word_coef_"):  # the first column is the bias
            std = np.sqrt(model.posterior_["words"].variance()[:, 1:])
            return cls(Decisions.of(model), model.word_coef_, std)
        weight, posterior = np.atleast_2d(model.coef_), getattr(model, "posterior_", None)
        std = None if posterior is None else np.sqrt(posterior.variance()[:, :-1])  # without the bias
        return cls(Decisions.of(model), weight, std)

    def speakers(self, n: int) -> list[tuple[str, list[tuple[int, float]], Floats | None]]:
        """Return, for each label, the columns and weights of the n words that speak most for it."""
        both = [1.0] if self.tasks.opposite is None else [1.0, -1.0]
        found = []
        for task, weights in enumerate(self.weight):
            for sign in both:
                top = [int(w) for w in largest(sign * weights, n) if sign * weights[w] > 0.0]
                std = None if self.weight_std is None else self.weight_std[task, top]
                name = self.tasks.voice(task, sign, 0.0).label
                found.append((name, [(w, float(sign * weights[w])) for w in top], std))
        return found


def word_names(model: Any, feature_names: ArrayLike | None) -> Sequence[str]:
    """Return the words of a model's columns: as given, else as known, else their numbers."""
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", np.arange(model.n_features_in_))
    names = [str(name) for name in np.asarray(feature_names)]
    if len(names) != model.n_features_in_:
        raise ValueError(f"feature_names has {len(names)} names, and the model {model.n_features_in_} words")
    return names


def topic_table(model: TextModel, n_words: int) -> list[dict[str, Any]]:
    """Return the topics of a model, the largest first: name, share, class or weight, and words."""
    words, labels = model.topics(n_words), model.topics(3, CONTRAST)
    view = TopicView.of(model.learner)
    shares = view.size / max(float(view.size.sum()), np.finfo(float).tiny)
    rows = []
    for k in np.argsort(-shares, kind="stable").tolist():
        row: dict[str, Any] = {"topic": k, "name": view.names[k], "share": float(shares[k])}
        if model.target == "number":
            row["weight"] = float(view.weight[0, k - view.places[0].start])
        else:
            voices = view.voices(k, at_most=1)
            row["class"] = voices[0].label if voices else None
        rows.append({**row, "label": labels[k], "words": words[k]})
    return rows
