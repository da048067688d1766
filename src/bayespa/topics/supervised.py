"""A supervised model as a whole: topics, words beside them, and what their margins mean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from bayespa.learning import without
from bayespa.posteriors import Joint
from bayespa.topics.batches import Batches
from bayespa.topics.calibration import Calibration, calibrated, uncalibrated
from bayespa.topics.documents import Batch
from bayespa.topics.model import Floats, OneVsRest, Progressive, Sources, TopicModel
from bayespa.topics.words import Words


@dataclass(frozen=True)
class Supervised:
    """The topics learn as if they were alone, the words what they leave, and both make one decision."""

    topics: TopicModel | OneVsRest
    words: Words | None
    calibration: Calibration  # a document has one of the T labels, or any number
    margin: float  # ε

    @property
    def n_tasks(self) -> int:
        """T."""
        return self.topics.n_tasks

    @property
    def key(self) -> int:
        """Key of the random numbers."""
        return self.topics.key

    def prior(self, n_words: int) -> Joint:
        """Return the prior of all parts."""
        words = {} if self.words is None else self.words.prior(self.n_tasks, n_words)
        return Joint(**self.topics.prior(n_words).parts, **words, **uncalibrated(self.calibration))

    def require_continues(self, posterior: Joint) -> None:
        """Raise a ValueError unless this model can go on learning `posterior`."""
        if (self.words is not None) != ("words" in posterior.parts):
            raise ValueError(
                "word_scale was "
                + ("0" if self.words else "above 0")
                + " when learning began; set it back, or fit"
            )
        self.topics.require_continues(posterior)

    def grown(self, posterior: Joint, n_words: int, source: Sources, sign: Floats) -> Joint:
        """Make room for new words and tasks: task t continues task source[t] (-1: none), with its sign."""
        words = {} if self.words is None else self.words.grown(posterior, n_words, source, sign)
        return Joint(**{**self.topics.grown(posterior, n_words, source, sign).parts, **words})

    def aligned(self, mine: Joint, theirs: Joint, ancestor: Joint | None) -> Joint:
        """Return `theirs` with topics that stand where those of `mine` do: ready to be added."""
        return self.topics.aligned(mine, theirs, ancestor)

    def parts(self, posterior: Joint) -> list[tuple[TopicModel, Joint]]:
        """Return the topic models with their posteriors: one, or one a task."""
        return self.topics.parts(posterior)

    def begin(self, batches: Batches) -> list[Joint]:
        """Return guesses of what the first mini-batches add to the prior: of their topics, or none."""
        return self.topics.begin(batches)

    def local_step(self, posterior: Joint, batch: Batch, index: int) -> Progressive:
        """Learn the topics, then the words, then what margins mean, from what would have been predicted."""
        local = self.topics.local_step(posterior, batch, index)
        margin, words = local.margin, dict[str, Any]()
        if self.words is not None:
            words, own = self.words.learn(posterior, batch, margin)
            margin = margin + own
        meaning = calibrated(
            self.calibration,
            posterior,
            margin / self.margin,
            batch.labels[: len(margin)],
            index,
            self.topics.evidence,
        )
        statistics = Joint(**local.statistics.parts, **words, **meaning)
        return replace(local, statistics=statistics, margin=margin)

    def cavity(self, posterior: Joint, statistics: Joint) -> Joint:
        """Return what a batch is learned with again that is all of the data: the words have to unlearn it."""
        if self.words is None:
            return posterior
        parts = {name: without(posterior[name], statistics[name]) for name in ("words", "documents")}
        return Joint(**{**posterior.parts, **parts})
