"""A topic model: three parts that learn one after the other, each from what the parts before it leave.

Topics learn as if they were alone. Words learn what the topics leave of a margin. Calibration learns how
margins become probabilities. Each part defines its prior, what a mini-batch adds, what a repeat replaces, how
it grows, and how two copies merge; a part without a posterior does not exist.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayespa.learning import Before
from bayespa.posteriors import Joint, Posterior
from bayespa.topics.calibration import Calibration, offset
from bayespa.topics.change import Change
from bayespa.topics.documents import UNIT, Batch, Batches
from bayespa.topics.one_vs_rest import OneVsRest
from bayespa.topics.part import LARGEST, Floats, Sources, TopicPart, TopicStep
from bayespa.topics.slope import Slope
from bayespa.topics.words import KEPT, SHARE, Words

SHARED = 12.0  # topics that decide alone forget so many times the share of the documents that have changed


@dataclass(frozen=True)
class Model:
    """All hyper-parameters, resolved and checked; immutable."""

    topics: TopicPart | OneVsRest
    n_tasks: int  # T
    margin: float = 1.0  # ε
    words: Words | None = None
    calibration: Calibration | None = None
    slope: Slope | None = None  # of numbers
    change: Change | None = None
    forgets: bool = False  # what has changed; not in several passes, where documents may be mixed
    topics_again: bool = True  # whether topics learn again from a repeated mini-batch

    @property
    def regression(self) -> bool:
        """Whether words learn numbers."""
        return self.words is not None and self.words.regression

    def prior(self, n_words: int) -> Joint:
        """Return the prior of all parts."""
        words = {} if self.words is None else self.words.prior(self.n_tasks, n_words)
        return Joint(**self.topics.prior(n_words), **words, **self._meaning())

    def _meaning(self) -> dict[str, Any]:
        """Return the prior of what is learned about predictions."""
        parts = (self.calibration, self.slope, self.change)
        return {name: own for part in parts if part is not None for name, own in part.prior().items()}

    def converted(self, posterior: Joint) -> Joint:
        """Convert a posterior of an earlier version to this one."""
        if self.calibration is not None:
            posterior = self.calibration.converted(posterior)
        later = [part.prior() for part in (self.slope, self.change) if part is not None]
        missing = {name: own for prior in later for name, own in prior.items() if name not in posterior}
        return Joint(posterior, **missing)

    def require_continues(self, posterior: Joint) -> None:
        """Raise a ValueError unless this model can continue from `posterior`."""
        if (self.words is not None) != ("words" in posterior):
            began = [name for name in ("topics", "words") if name in posterior]
            raise ValueError(f"decides was {'+'.join(began)!r} when learning began; set it back, or fit")
        self.topics.require_continues(posterior)

    def guesses(self, batches: Batches) -> list[TopicStep]:
        """Return guesses of what the first mini-batches add to the prior: of their topics, or none."""
        return self.topics.guesses(batches)

    @property
    def n_iterations(self) -> int:
        """Local steps per batch."""
        return self.topics.n_iterations

    def near(self, posterior: Joint, batch: Batch) -> tuple[Joint, Batch]:
        """Return what the step of the topics needs from a posterior and a batch."""
        own = batch.topical
        return self.topics.near(posterior, own.documents.vocabulary, batch.n_words), own

    def propose(
        self, near: Joint, batch: Batch, index: int, before: Before[Joint] | None = None
    ) -> TopicStep:
        """Return what a batch adds to the topics: a pure function of what `near` returned."""
        return self.topics.propose(near, batch, index, before)

    def finish(
        self,
        posterior: Joint,
        batch: Batch,
        found: TopicStep,
        index: int,
        before: Before[Joint] | None = None,
    ) -> TopicStep:
        """Return what a batch adds to every part; words and calibration learn from the margins of the topics.

        They learn in order, while topics may be found under an earlier posterior. If several mini-batches
        corrected the same error of the weights of words at once, they would correct it several times.
        """
        step = replace(found, statistics=self.topics.finish(posterior, found.statistics))
        parts, margin = dict(step.statistics), step.margin
        if before is not None and not before.kept and not self.topics_again:
            parts = {name: before.statistics[name] for name in parts}
        if self.words is not None:
            often = np.ones(len(batch))
            if self.calibration is not None:
                often = self.calibration.often(posterior, batch.labels)
            learned, own, loss = self.words.propose(posterior, batch, margin, often, before)
            parts |= learned
            margin = SHARE * margin + own
            step = replace(step, objective=step.objective + loss)
        if self.calibration is not None:
            labels = batch.labels[: len(margin)]
            unit = margin / self.margin
            parts |= self.calibration.propose(posterior, unit, labels, index, before)
            if self.change is not None and self.forgets:
                parts |= self.change.propose(posterior, unit - offset(posterior), labels, index, before)
        if self.slope is not None:
            parts |= self.slope.propose(margin, batch.labels[: len(margin)], index, before)
        return replace(step, statistics=Joint(**parts), margin=margin)

    def adapted(self, posterior: Joint) -> Joint:
        """Return the posterior without what was learned of classes that have changed [MED-14].

        Weights of words forget these tasks. Topics that decide alone are shared by all tasks. So they forget
        the more, the more documents belong to these; and all tasks are watched anew.
        """
        if self.change is None or not self.forgets:
            return posterior
        changed = self.change.found(posterior)
        if not changed.any():
            return posterior
        if self.words is not None:
            own = self.words.forgotten(posterior, changed)
            return Joint(posterior, **own, **self.change.begun(posterior, changed))
        part, own = self.topics.parts(posterior)[0]
        documents = posterior["classes"].counts[0]
        rho = max(KEPT, 1.0 - SHARED * documents[changed].sum() / documents.sum())
        forgotten = posterior.discounted(rho, self.prior(part.topic_word(own).shape[1]))
        return Joint(forgotten, **self.change.begun(posterior, changed, all_anew=True))

    def grown(self, posterior: Joint, n_words: int, source: Sources, sign: Floats) -> Joint:
        """Extend the posterior by words and tasks; task t continues task source[t] (-1: new) with a sign."""
        grown = self.topics.grown(posterior, n_words, source, sign)
        words = {} if self.words is None else self.words.grown(posterior, n_words, source, sign)
        meaning = {} if self.calibration is None else self.calibration.grown(posterior, source, sign)
        change = {} if self.change is None else self.change.grown(posterior, source, sign)
        return Joint(grown, **words, **meaning, **change)

    def merged(self, mine: Joint, theirs: Joint, ancestor: Joint | None, n_words: int) -> Joint:
        """Return the sum of two learners of the same tasks, with their common ancestor counted once."""
        theirs = self.topics.aligned(mine, theirs, ancestor)
        return mine.merge(theirs, self.prior(n_words) if ancestor is None else ancestor)

    def require_whole(self, posterior: Joint, n_words: int) -> None:
        """Raise a ValueError unless a posterior from a file fits this model and is valid."""
        self.require_continues(posterior)
        for part, own in self.topics.parts(posterior):
            part.require_continues(own)
            topics, view = part.topic_word(own), part.view(own)
            n_tasks, n_topics = part.loss.n_tasks, len(view.alpha)
            for topic, word in np.argwhere(~(topics >= UNIT / 2.0))[:1]:
                raise ValueError(
                    f"the concentration of word {word} in topic {topic} is {topics[topic, word]}"
                )
            for topic in np.flatnonzero(~((view.totals < LARGEST) & (view.alpha < LARGEST))):
                raise ValueError(
                    f"topic {topic} has {view.totals[topic]} words and alpha {view.alpha[topic]}; "
                    f"both must be below {LARGEST}"
                )
            for name, array, shape in (
                ("topics", topics, (n_topics, n_words)),
                ("weights", view.mean, (n_tasks, n_topics)),
                ("weights", view.covariance, (n_tasks, n_topics, n_topics)),
            ):
                if array.shape != shape:
                    raise ValueError(f"{name} have shape {array.shape}, not {shape}")
        words = {} if self.words is None else self.words.prior(self.n_tasks, n_words)
        for name, prior in {**words, **self._meaning()}.items():
            found: Any = posterior.get(name)
            if type(found) is not type(prior):
                raise ValueError(f"the {name} are no {type(prior).__name__}")
            if isinstance(found, Posterior):
                found.require_proper()
            elif not (found.counts > 0.0).all():
                raise ValueError(f"the {name} are counts, but some are not positive")
            has, wanted = ({key: a.shape for key, a in p.to_arrays().items()} for p in (found, prior))
            if has != wanted and name == "words" and has["shift"] == (self.n_tasks, n_words):
                raise ValueError("its words were learned by an earlier version, from other features")
            if has != wanted:
                raise ValueError(f"the {name} has values that this version of bayespa does not know")
