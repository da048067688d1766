"""The history of learning along a stream, for a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Progress:
    """The state at one point of a stream.

    Attributes
    ----------
    seen : int
        Documents learned so far.
    score : float, optional
        Accuracy, micro F1 of several labels, or R² of a regressor, on the next documents, before they were
        learned.
    topic_names, topic_sizes : tuples of equal length
        The topics, with stable names, and about how many words each has learned.
    """

    seen: int
    score: float | None = None
    topic_names: tuple[str, ...] = ()
    topic_sizes: tuple[float, ...] = ()

    @classmethod
    def of(cls, model: Any, seen: int, score: float | None = None) -> Progress:
        """Return the point for a fitted model; without topics it has only `seen` and `score`.

        Examples
        --------
        >>> from bayespa import MedLDAClassifier
        >>> from bayespa.inspect import Progress
        >>> model = MedLDAClassifier(n_topics=2, random_state=0).fit([[4, 0], [0, 5]], ["a", "b"])
        >>> step = Progress.of(model, seen=2)
        >>> step.topic_names, round(sum(step.topic_sizes), 3)
        (('0', '1'), 9.0)
        """
        if not hasattr(model, "topic_word_"):
            return cls(seen, score)
        return cls(seen, score, tuple(model.topic_names_), tuple(model.topic_sizes_.tolist()))
