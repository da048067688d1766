"""Base class of all topic models as scikit-learn transformers: topics, and the topics of documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespa.checks import require_number
from bayespa.estimators import Features
from bayespa.native.elementary import exp, log
from bayespa.posteriors import Joint
from bayespa.topics.filed import FiledEstimator
from bayespa.topics.part import Floats, TopicPart, mixed

Bools = NDArray[np.bool_]


@dataclass(eq=False, repr=False, kw_only=True)
class TopicTransformer(FiledEstimator):
    """A topic model that shows its topics, and those of documents."""

    def _parts(self) -> list[tuple[TopicPart, Joint]]:
        """Return the topic parts and their posteriors: one, or one per task."""
        learned = self._fitted()
        return learned.model.topics.parts(learned.state.posterior)

    @property
    def topic_word_(self) -> Floats:
        """Concentrations Δ of the topics, (K, W); with one-vs-rest the topics of all tasks, (T K, W)."""
        return stacked([part.topic_word(posterior) for part, posterior in self._parts()])

    @property
    def components_(self) -> Floats:
        """Posterior mean of the topics, in the shape of `topic_word_`: probabilities of words."""
        learned = self._fitted()
        words = np.arange(learned.features.n)
        return stacked([part.topic_mean(view, words) for part, view in learned.knowledge.views])

    @property
    def topic_sizes_(self) -> Floats:
        """About how many words each topic has learned, (K,)."""
        return stacked([part.sizes(posterior) for part, posterior in self._parts()])

    @property
    def topic_words_(self) -> Bools:
        """Which columns topics use, (n_words,)."""
        features: Features = self._known().features
        return np.ones(features.n, np.bool_) if features.topical is None else features.topical.copy()

    @property
    def topic_names_(self) -> list[str]:
        """A stable name for each topic, (K,)."""
        return list(self._fitted().knowledge.topic_names)

    def topics(
        self, n_words: int = 10, feature_names: ArrayLike | None = None, relevance: float = 1.0
    ) -> list[list[str]]:
        """Return the most probable words of each topic, or those that distinguish it.

        Parameters
        ----------
        n_words : int
            Words per topic.
        feature_names : array of shape (W,), optional
            The words, such as ``vectorizer.get_feature_names_out()``; by default the columns' names or
            numbers.
        relevance : float, default=1
            λ of Sievert and Shirley (2014): words are ranked by λ log p(w|k) + (1 - λ) log p(w|k) / p(w). 1
            gives the most probable words; 0.6 prefers words that other topics have less of.

        Returns
        -------
        list of K lists of str
        """
        require_number("relevance", relevance, 0.0, 1.0)
        knowledge = self._fitted().knowledge
        names = knowledge.names(feature_names)
        return [[str(names[w]) for w in top] for top in knowledge.top_words(n_words, float(relevance))]

    def perplexity(self, X: Any) -> float:
        """Return the perplexity of held-out words, by document completion.

        Topic proportions are inferred from the words at even positions of a document, and predict those at
        odd positions, so no word helps to predict itself. The result is exp of minus the mean log probability
        of a word. With the same vocabulary you can compare it across models, numbers of topics and libraries.
        One-vs-rest: the mean of the log probabilities over the tasks.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_words)
        """
        learned, corpus = self._corpus(X)
        knowledge = learned.knowledge
        seen, hidden = corpus.halves()
        tokens = hidden.counts.data * np.repeat(hidden.weights, np.diff(hidden.counts.indptr))
        if not len(tokens):
            raise ValueError("no document of X has two words; perplexity predicts one from the other")
        rows = np.repeat(np.arange(len(hidden)), np.diff(hidden.counts.indptr))
        words, place = np.unique(hidden.counts.indices, return_inverse=True)
        total = 0.0
        for (part, view), own in zip(knowledge.views, knowledge.proportions(seen), strict=True):
            probability = mixed(own, part.topic_mean(view, words.astype(np.int64)), rows, place)
            total += float((tokens * log(probability)).sum()) / len(knowledge.views)
        return float(exp(-total / float(tokens.sum())))


def stacked(arrays: list[Floats]) -> Floats:
    """Return the arrays of all topic parts as one; a single one is not copied."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
