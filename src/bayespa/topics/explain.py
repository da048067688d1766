"""Why a model decided as it did: the topics and words of a document, and what each added."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

SHOWN_TOPICS, SHOWN_WORDS = 5, 10  # of the text and tables that an explanation shows itself as


@dataclass(frozen=True)
class TopicShare:
    """What a topic added: its share of the document times its weight."""

    topic: int  # its column in `transform`
    share: float
    weight: float  # above that of the average document: what a document all of this topic adds
    contribution: float
    words: tuple[str, ...]  # that tell it apart from other topics
    name: str = ""  # as in `topic_names_`


@dataclass(frozen=True)
class WordShare:
    """What a word added: by the topics its tokens were in, as many as they are, and on its own."""

    word: str
    count: float
    contribution: float


@dataclass(frozen=True)
class Subject:
    """What an explanation is about, and how the decision of a task becomes the number to explain."""

    task: int
    target: Any
    scale: float = 1.0  # -1 for the class that a negative decision speaks for, or the unit of a number
    centre: float = 0.0
    probability: float | None = None
    runner_up: Any = None
    runner_up_probability: float | None = None


@dataclass(frozen=True, repr=False)
class Explanation:
    """A decision as a sum: what every document starts from, and what topics and words of this one add.

    Contributions are compared with the average document, whose topics have the shares that they have in all
    documents learned: a topic adds where it speaks for the target more than that one does. `base`, the
    topics and `beside` sum to the decision; so do `base` and the words. Largest contributions come first. It
    shows itself as text of the largest parts, in a notebook as tables.
    """

    target: Any  # the class, label or target that the decision is about
    decision: float  # for the target, as `decision_function` or `predict` gives it; numbers in their unit
    std: float
    topics: tuple[TopicShare, ...]
    words: tuple[WordShare, ...]
    beside: float = 0.0  # what words added beside their topics, all in all
    base: float = 0.0  # what the average document has from its topics, the bias, and the centre of numbers
    probability: float | None = None  # of the target; numbers have none
    runner_up: Any = None  # the most probable other class, if a document has one class
    runner_up_probability: float | None = None

    def figure(self, value: float) -> str:
        """Return a contribution as it is shown: decisions have a unit of their own, numbers any."""
        return f"{value:+.4g}" if self.probability is None else f"{value:+.3f}"

    def _head(self) -> str:
        """Return the decision, how probable it is, and what came next, behind the target's name."""
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
            parts.append(f"topics {self.figure(sum(t.contribution for t in self.topics))}")
        if self.beside:
            parts.append(f"words beside topics {self.figure(self.beside)}")
        decision = f"{self.decision:.6g}" if self.probability is None else self.figure(self.decision)
        return f"{self.target} {decision}: {', '.join(parts)}"

    def _start(self) -> str:
        """Return what the base is."""
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
