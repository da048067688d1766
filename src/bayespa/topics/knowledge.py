"""What predictions need from a learned state, computed once, and predictions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespa.checks import require_choice
from bayespa.estimators import Features
from bayespa.native.random import key_from_seed, subkey
from bayespa.posteriors import Joint
from bayespa.ranking import largest
from bayespa.topics.calibration import Meaning, one_at_least
from bayespa.topics.documents import Batch, Corpus
from bayespa.topics.model import Model
from bayespa.topics.part import Floats, Sampled, TopicPart, View, draw_weights, expected_proportions
from bayespa.topics.relevance import relevance
from bayespa.topics.words import SHARE, Words, WordView, draw_words

AT_ONCE = 4096  # documents that are predicted together, to bound memory
WEIGHTS, WORDS = 4, 9  # purposes of keys, see `bayespa.native.random.subkey`


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What predictions need from a posterior. Nothing here learns; values are computed once and kept."""

    model: Model
    posterior: Joint
    features: Features
    meaning: Any  # of y: `Classes` or `Numbers`
    key: int  # of the random numbers

    @cached_property
    def views(self) -> list[tuple[TopicPart, View]]:
        """The topic parts and what they sample with: one, or one per task."""
        n_words, parts = self.features.n_topical, self.model.topics.parts(self.posterior)
        return [(part, part.view(own, n_words)) for part, own in parts]

    @cached_property
    def beside(self) -> tuple[Words, WordView] | None:
        """The part of words, if they decide, and what it decides with."""
        words = self.model.words
        return None if words is None else (words, words.view(self.posterior))

    @property
    def share(self) -> float:
        """The factor of the topics' margin: 1, or less if words decide, too."""
        return 1.0 if self.model.words is None else SHARE

    @cached_property
    def offset(self) -> Floats:
        """The threshold (T,) that is subtracted from margins, or from weights, because shares sum to 1."""
        if self.model.calibration is None:
            return np.zeros(self.meaning.n_tasks)
        return self.model.margin * self.model.calibration.offsets(self.posterior, self.margin_meaning)

    @cached_property
    def slope(self) -> Floats:
        """How much of the prediction of each number is right, (T,)."""
        model = self.model
        return np.ones(self.meaning.n_tasks) if model.slope is None else model.slope.of(self.posterior)

    @cached_property
    def one_at_least(self) -> bool:
        """Whether each document is given a label, because none was learned that has not."""
        return one_at_least(self.posterior)

    @cached_property
    def margin_meaning(self) -> Meaning:
        """The calibration of a classifier, for margins in units of ε."""
        assert self.model.calibration is not None
        return self.model.calibration.meaning(self.posterior)

    @cached_property
    def _tops(self) -> dict[tuple[int, float], list[NDArray[np.int64]]]:
        return {}

    def names(self, given: ArrayLike | None) -> Any:
        """Return the names of the columns: as given, else as known, else their numbers."""
        features = self.features
        if given is None:
            return np.arange(features.n) if features.names is None else features.names
        shape = (len(given),) if isinstance(given, list) else np.shape(given)
        if shape != (features.n,):
            raise ValueError(f"feature_names has shape {shape}; the model has {features.n} words")
        return given

    def top_words(self, n: int, weight: float = 1.0) -> list[NDArray[np.int64]]:
        """Return the columns of n words per topic: the most probable or the most relevant."""
        if (n, weight) not in self._tops:
            parts = self.model.topics.parts(self.posterior)
            found = []
            for part, own in parts:
                rows = part.topic_word(own)
                if weight < 1.0:
                    rows = relevance(rows / rows.sum(axis=1, keepdims=True), part.sizes(own), weight)
                    if self.features.topical is not None:
                        rows = np.where(self.features.topical, rows, -np.inf)
                found += [largest(row, n) for row in rows]
            self._tops[n, weight] = found
        return self._tops[n, weight]

    @cached_property
    def topic_names(self) -> list[str]:
        """A name for each topic, (K,)."""
        parts = self.model.topics.parts(self.posterior)
        numbers = [[str(i) for i in part.ids(posterior)] for part, posterior in parts]
        if len(parts) == 1:
            return numbers[0]
        tasks = self.meaning.task_names
        return [f"{i} of {task}" for task, own in zip(tasks, numbers, strict=True) for i in own]

    @cached_property
    def average(self) -> list[Floats]:
        """The topic shares of the average document, (K,), for each topic part."""
        sizes = [part.sizes(own) for part, own in self.model.topics.parts(self.posterior)]
        return [size / max(float(size.sum()), np.finfo(float).tiny) for size in sizes]

    def ready(self) -> None:
        """Compute what every prediction needs now."""
        for part, _ in self.views:
            part.prediction_key  # noqa: B018  # whoever reads it computes it
        self.beside, self.offset, self.one_at_least  # noqa: B018

    # Documents

    def infer(
        self, corpus: Corpus, weights: list[Floats] | None = None
    ) -> Iterator[tuple[Batch, list[Sampled]]]:
        """Yield mini-batches of documents to predict, and what each topic part samples for them.

        `weights` replace the posterior of the weights.
        """
        ids = corpus.ids()
        for start in range(0, len(corpus), AT_ONCE):
            rows = np.arange(start, min(start + AT_ONCE, len(corpus)))
            batch = corpus.batch(rows, ids=ids[rows])
            yield (
                batch,
                [
                    part.infer(view, batch.topical, None if weights is None else weights[i])
                    for i, (part, view) in enumerate(self.views)
                ],
            )

    def proportions(self, corpus: Corpus) -> list[Floats]:
        """Return E θ (n, K) of every topic part."""
        found = [[sampled.free.topic_share for sampled in each] for _, each in self.infer(corpus)]
        length = corpus.topical_counts.row_sums() * corpus.weights
        return [
            expected_proportions(view.alpha, length, np.concatenate(shares).astype(np.float64))
            for (_, view), shares in zip(self.views, zip(*found, strict=True), strict=True)
        ]

    def margins(self, corpus: Corpus, prediction: str = "mean", random_state: Any = None) -> Floats:
        """Return the mean (n, T) of the margins of documents."""
        found = [self.margin(*sampled) for sampled in self._sampled(corpus, prediction, random_state)]
        return np.concatenate(found) - self.offset

    def moments(
        self, corpus: Corpus, prediction: str = "mean", random_state: Any = None
    ) -> tuple[Floats, Floats]:
        """Return mean and variance (n, T) of the margins of documents."""
        found = [
            (self.margin(*sampled), self.variance(*sampled))
            for sampled in self._sampled(corpus, prediction, random_state)
        ]
        mean, variance = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        return mean - self.offset, variance

    def _sampled(
        self, corpus: Corpus, prediction: str, random_state: Any
    ) -> Iterator[tuple[Batch, list[Sampled], Floats | None]]:
        """Yield mini-batches, what each topic part samples for them, and drawn weights of words, if any."""
        require_choice("prediction", prediction, ("mean", "gibbs"))
        weights = own = None
        if prediction == "gibbs":
            key = self.key if random_state is None else key_from_seed(random_state)
            weights = self._drawn_weights(subkey(key, WEIGHTS))
            if self.model.words is not None:
                own = draw_words(subkey(key, WORDS), self.posterior["words"])
        return ((batch, each, own) for batch, each in self.infer(corpus, weights))

    def _drawn_weights(self, key: int) -> list[Floats]:
        """Draw ŵ from the posterior of the weights of every topic part, (T, K)."""
        drawn: list[Floats] = []
        for _, view in self.views:
            drawn.append(draw_weights(key, view.mean, view.covariance, first=sum(map(len, drawn))))
        return drawn

    def margin(self, batch: Batch, each: list[Sampled], weights: Floats | None = None) -> Floats:
        """Return the mean (n, T) of the margins of a batch, by topics and words (of given weights)."""
        mean = np.hstack([sampled.free.margin for sampled in each])
        if self.beside is None:
            return mean
        words, view = self.beside
        return SHARE * mean + words.margins(view, batch, weights)

    def variance(self, batch: Batch, each: list[Sampled], weights: Floats | None = None) -> Floats:
        """Return the variance (n, T) of these margins."""
        variance = np.hstack([sampled.free.margin_var for sampled in each])
        if self.beside is None:
            return variance
        words, view = self.beside
        own = 0.0 if weights is not None else words.variances(view, batch)
        return SHARE * SHARE * variance + own
