"""The topic part of a model in which words decide alone: no topics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayespa.learning import Before
from bayespa.native.medlda import Statistics
from bayespa.posteriors import Joint
from bayespa.topics.documents import Batch
from bayespa.topics.part import Floats, Sampled, Sources, TopicPart, TopicStep, View, WordIds


@dataclass(frozen=True, kw_only=True)
class NoTopics(TopicPart):
    """T tasks without topics."""

    def prior(self, n_words: int) -> Joint:
        """Return an empty prior."""
        return Joint()

    def require_continues(self, posterior: Joint) -> None:
        """Accept only a posterior without topics."""
        if "topics" in posterior:
            raise ValueError("topics decided when learning began; set decides back, or fit")

    def grown(self, posterior: Joint, n_words: int, source: Sources, sign: Floats) -> Joint:
        """Return the posterior unchanged."""
        return posterior

    def aligned(self, mine: Joint, theirs: Joint, ancestor: Joint | None) -> Joint:
        """Return the posterior unchanged."""
        return theirs

    def near(self, posterior: Joint, words: WordIds, n_words: int) -> Joint:
        """Return an empty prior."""
        return Joint()

    def view(self, posterior: Joint, n_words: int | None = None) -> View:
        """Return a view of no topics."""
        n, none = self.loss.n_tasks, np.empty(0)
        return View(np.empty((0, 0)), none, none, np.empty((n, 0)), np.empty((n, 0, 0)))

    def topic_word(self, posterior: Joint) -> Floats:
        """Return the concentrations of no topics, (0, W)."""
        return np.empty((0, posterior["words"].shift.shape[1] - 1))

    def topic_mean(self, view: View, words: NDArray[np.integer]) -> Floats:
        """Return E Φ of no topics, (0, words)."""
        return np.empty((0, len(words)))

    def step(self, near: Joint, batch: Batch, index: int) -> TopicStep:
        """Add nothing, and predict nothing."""
        return TopicStep(Joint(), 0.0, len(batch), margin=np.zeros((len(batch), self.loss.n_tasks)))

    def propose(
        self, near: Joint, batch: Batch, index: int, before: Before[Joint] | None = None
    ) -> TopicStep:
        """Add nothing."""
        return self.step(near, batch, index)

    def infer(self, view: View, batch: Batch, weights: Floats | None = None) -> Sampled:
        """Predict nothing."""
        nothing = Statistics.zeros(batch.documents, 0, self.loss.n_tasks, 1, counted=True)
        return Sampled([(batch.documents.vocabulary, nothing.topic_word, 1.0)], nothing, nothing)
