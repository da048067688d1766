"""One topic part per task: the paper's setting for 20 Newsgroups."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from bayespa.learning import Before
from bayespa.native.random import subkey
from bayespa.posteriors import Joint
from bayespa.topics.documents import Batch, Batches
from bayespa.topics.part import Floats, Sources, TopicPart, TopicStep, WordIds

ONE_OF_MANY = 2  # purpose of a key, see `bayespa.native.random.subkey`


@dataclass(frozen=True)
class OneVsRest:
    """T tasks with topics of their own: a `TopicPart` per task, with its posterior under its number."""

    part: TopicPart  # of one task
    n_tasks: int

    @property
    def n_iterations(self) -> int:
        """I, of every task."""
        return self.part.n_iterations

    def prior(self, n_words: int) -> Joint:
        """Return the prior of every task's topics and weights."""
        return Joint(**{str(task): self.part.prior(n_words) for task in range(self.n_tasks)})

    def require_continues(self, posterior: Joint) -> None:
        """Raise a ValueError unless this model can continue from `posterior`."""
        self.part.require_continues(self._own(posterior, 0))

    def _own(self, posterior: Joint, task: int) -> Joint:
        """Return the posterior of a task's topics and weights."""
        own = posterior.get(str(task))
        if not isinstance(own, Joint):
            raise ValueError(f"there are {self.n_tasks} tasks, and task {task} has no topics of its own")
        return own

    def grown(self, posterior: Joint, n_words: int, source: Sources, sign: Floats) -> Joint:
        """Extend the posterior by words and tasks; a task with sign -1 starts as a mirror image."""
        same, grown = np.zeros(1, np.int64), {}
        for task, (old, s) in enumerate(zip(source.tolist(), sign, strict=True)):
            before = self.part.prior(n_words) if old < 0 else posterior[str(old)]
            grown[str(task)] = self.part.grown(before, n_words, same, np.array([s]))
        return Joint(posterior, **grown)

    def aligned(self, mine: Joint, theirs: Joint, ancestor: Joint | None) -> Joint:
        """Return `theirs` with the topics of every task in the order of `mine`."""
        tasks = {}
        for task in map(str, range(self.n_tasks)):
            root = None if ancestor is None else ancestor[task]
            tasks[task] = self.part.aligned(mine[task], theirs[task], root)
        return Joint(theirs, **tasks)

    def guesses(self, batches: Batches) -> list[TopicStep]:
        """Return no guess: the topics of a task are found by its labels."""
        return []

    def parts(self, posterior: Joint) -> list[tuple[TopicPart, Joint]]:
        """Return the topic parts, one per task, with their posteriors."""
        return [
            (replace(self.part, key=subkey(self.part.key, ONE_OF_MANY, task)), self._own(posterior, task))
            for task in range(self.n_tasks)
        ]

    def near(self, posterior: Joint, words: WordIds, n_words: int) -> Joint:
        """Return what a local step needs for every task."""
        parts = self.parts(posterior)
        return Joint({str(task): part.near(own, words, n_words) for task, (part, own) in enumerate(parts)})

    def finish(self, posterior: Joint, statistics: Joint) -> Joint:
        """Return the proposals for every task, ready to be added."""
        parts = self.parts(posterior)
        return Joint(
            {str(task): part.finish(own, statistics[str(task)]) for task, (part, own) in enumerate(parts)}
        )

    def propose(
        self, near: Joint, batch: Batch, index: int, before: Before[Joint] | None = None
    ) -> TopicStep:
        """Make the step of every task."""
        steps = []
        for task, (part, own) in enumerate(self.parts(near)):
            of_task = replace(batch, labels=batch.labels[:, [task]])
            last = None
            if before is not None:
                carry = before.step.carry[task]  # type: ignore[attr-defined]  # a step of this class
                old = TopicStep(before.statistics[str(task)], 0.0, 0, margin=np.empty((0, 1)), carry=carry)
                last = Before(old, before.kept)
            steps.append(part.propose(own, of_task, index, last))
        return TopicStep(
            Joint(**{str(task): step.statistics for task, step in enumerate(steps)}),
            math.fsum(step.objective for step in steps),
            len(batch),
            self.n_iterations,
            margin=np.hstack([step.margin for step in steps]),
            carry=[step.carry for step in steps],
        )
