"""A model of topics: three parts that learn one after the other, each what the parts before it leave.

Topics learn as if they were alone. Words beside them learn what the topics leave of a margin. Calibration
learns what the margins mean. Each part says for itself what its prior is, what a mini-batch adds, what a
repeat replaces, how it grows and how two of it join; a part without a posterior is not there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bayespa.learning import Before
from bayespa.posteriors import Joint
from bayespa.topics.calibration import Calibration
from bayespa.topics.documents import Batch, Batches
from bayespa.topics.one_vs_rest import OneVsRest
from bayespa.topics.part import Floats, Sources, TopicPart, TopicStep
from bayespa.topics.words import Words


@dataclass(frozen=True)
class Model:
    """All hyper-parameters, resolved and checked: a value that changes nothing."""

    topics: TopicPart | OneVsRest
    n_tasks: int  # T
    margin: float = 1.0  # ε
    words: Words | None = None
    calibration: Calibration | None = None

    def prior(self, n_words: int) -> Joint:
        """Return the prior of all parts."""
        words = {} if self.words is None else self.words.prior(self.n_tasks, n_words)
        meaning = {} if self.calibration is None else self.calibration.prior()
        return Joint(**self.topics.prior(n_words).parts, **words, **meaning)

    def require_continues(self, posterior: Joint) -> None:
        """Raise a ValueError unless this model can go on learning `posterior`."""
        if (self.words is not None) != ("words" in posterior.parts):
            with_words = "topics+words" if self.words is None else "topics"
            raise ValueError(f"decides was {with_words!r} when learning began; set it back, or fit")
        self.topics.require_continues(posterior)

    def guesses(self, batches: Batches) -> list[TopicStep]:
        """Return guesses of what the first mini-batches add to the prior: of their topics, or none."""
        return self.topics.guesses(batches)

    def propose(
        self, posterior: Joint, batch: Batch, index: int, before: Before[Joint] | None = None
    ) -> TopicStep:
        """Return what a batch adds to every part: a pure function."""
        step = self.topics.propose(posterior, batch, index, before)
        parts, margin = dict(step.statistics.parts), step.margin
        if self.words is not None:
            learned, own = self.words.propose(posterior, batch, margin, before)
            parts |= learned
            margin = margin + own
        if self.calibration is not None:
            labels = batch.labels[: len(margin)]
            parts |= self.calibration.propose(posterior, margin / self.margin, labels, index, before)
        return replace(step, statistics=Joint(**parts), margin=margin)

    def grown(self, posterior: Joint, n_words: int, source: Sources, sign: Floats) -> Joint:
        """Make room for new words and tasks: task t continues task source[t] (-1: none), with its sign."""
        parts = self.topics.grown(posterior, n_words, source, sign).parts
        if self.words is not None:
            parts = {**parts, **self.words.grown(posterior, n_words, source, sign)}
        return Joint(**parts)

    def merged(self, mine: Joint, theirs: Joint, ancestor: Joint | None, n_words: int) -> Joint:
        """Return what two learners of the same tasks know, their common ancestor counted once."""
        theirs = self.topics.aligned(mine, theirs, ancestor)
        return mine.merge(theirs, self.prior(n_words) if ancestor is None else ancestor)
