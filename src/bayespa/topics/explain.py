"""Explanations: the contributions of topics and words to a decision."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import Any

SHOWN_TOPICS, SHOWN_WORDS = 5, 10  # shown as text and in tables


@dataclass(frozen=True)
class TopicShare:
    """The contribution of a topic: its share of the document times its weight."""

    topic: int  # its column in `transform`
    share: float
    weight: float  # relative to the average document: the effect of a document with only this topic
    contribution: float
    words: tuple[str, ...]  # words that distinguish it from other topics
    name: str = ""  # as in `topic_names_`


@dataclass(frozen=True)
class WordShare:
    """The contribution of a word: by the topics of its tokens, and by its own weight."""

    word: str
    count: float
    contribution: float


@dataclass(frozen=True)
class Subject:
    """What to explain, and how the margin of a task becomes the explained number."""

    task: int
    target: Any
    scale: float = 1.0  # -1 for the class on the negative side of a task, or the unit of a number
    centre: float = 0.0
    probability: float | None = None
    runner_up: Any = None
    runner_up_probability: float | None = None


@dataclass(frozen=True, repr=False)
class Explanation:
    """A decision as a sum over topics, and as a sum over words.

    Contributions are relative to the average document, which has all topics in their average shares: a topic
    contributes if it speaks for the target more than the average document does. The decision is the sum of
    `base`, the topics and `beside`; it is also the sum of `base` and the words. The largest contributions
    come first. `print` shows the largest parts as text, a notebook shows tables.
    """

    target: Any  # the class, label or target that is explained
    decision: float  # of the target, as in `decision_function` or `predict`
    std: float
    topics: tuple[TopicShare, ...]
    words: tuple[WordShare, ...]
    beside: float = 0.0  # sum of the words' own contributions
    base: float = 0.0  # of the average document: its topics, the bias, and the mean of a number
    probability: float | None = None  # of the target; None for numbers
    runner_up: Any = None  # the most probable other class, if a document has one class
    runner_up_probability: float | None = None

    def figure(self, value: float) -> str:
        """Return a contribution as text: three decimals for decisions, four digits for numbers."""
        return f"{value:+.4g}" if self.probability is None else f"{value:+.3f}"

    def _head(self) -> str:
        """Return the decision, its probability, and the runner-up."""
        if self.probability is None:
            return f"{self.decision:.6g} ± {self.std:.2g}"
        text = f"{self.decision:+.3f} ± {self.std:.3f}, probability {self.probability:.3f}"
        if self.runner_up is None:
            return text
        return f"{text}; next {self.runner_up}, {self.runner_up_probability:.3f}"

    def sum(self) -> str:
        """Return the decision as a sum of a few parts, in one line.

        >>> Explanation("a", 1.5, 0.1, (), (WordShare("b", 1.0, 1.0),), 1.0, 0.5, 0.9).sum()
        'a +1.500: every document +0.500, words beside topics +1.000'
        """
        base = f"{self.base:.6g}" if self.probability is None else self.figure(self.base)
        parts = [f"{self._start()} {base}" if self.words else "no known word, so as every document"]
        if self.topics:
            parts.append(f"topics {self.figure(math.fsum(t.contribution for t in self.topics))}")
        if self.beside:
            parts.append(f"words beside topics {self.figure(self.beside)}")
        decision = f"{self.decision:.6g}" if self.probability is None else self.figure(self.decision)
        return f"{self.target} {decision}: {', '.join(parts)}"

    def _start(self) -> str:
        """Return the name of the base."""
        return "the average document" if self.topics else "every document"

    def __repr__(self) -> str:
        lines = [f"{self.target}: {self._head()}"]
        if not self.words:
            return "\n".join([*lines, "  no known word: this is what every document starts from"])
        base = f"{self.base:.6g}" if self.probability is None else self.figure(self.base)
        lines.append(f"  {base}  {self._start()}")
        lines += [
            f"  {self.figure(t.contribution)}  topic {t.name or t.topic}, {t.share:.0%} × "
            f"{self.figure(t.weight)}: {' '.join(t.words)}"
            for t in self.topics[:SHOWN_TOPICS]
        ]
        if self.beside:
            lines.append(f"  {self.figure(self.beside)}  words beside their topics")
        lines += [
            f"  {self.figure(w.contribution)}  {w.word} × {w.count:g}" for w in self.words[:SHOWN_WORDS]
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = f"<p><b>{escape(str(self.target))}</b>: {escape(self._head())}</p>"
        if not self.words:
            return f"{head}<p>No known word: this is what every document starts from.</p>"
        base = f"{self.base:.6g}" if self.probability is None else self.figure(self.base)
        topics = f"<tr><td>{base}</td><td colspan=4>{self._start()}</td></tr>"
        topics += "".join(
            f"<tr><td>{self.figure(t.contribution)}</td><td>{escape(t.name or str(t.topic))}</td>"
            f"<td>{t.share:.0%}</td><td>{self.figure(t.weight)}</td>"
            f"<td>{escape(' '.join(t.words))}</td></tr>"
            for t in self.topics[:SHOWN_TOPICS]
        )
        if self.beside:
            topics += (
                f"<tr><td>{self.figure(self.beside)}</td><td colspan=4>words beside their topics</td></tr>"
            )
        words = "".join(
            f"<tr><td>{self.figure(w.contribution)}</td><td>{escape(w.word)}</td><td>{w.count:g}</td></tr>"
            for w in self.words[:SHOWN_WORDS]
        )
        return (
            f"{head}<table><tr><th></th><th>topic</th><th>share</th><th>weight</th><th>its words</th></tr>"
            f"{topics}</table><table><tr><th></th><th>word</th><th>count</th></tr>{words}</table>"
        )
