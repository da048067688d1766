"""Why a model decided as it did: the topics and words of a document, and what each added."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any


@dataclass(frozen=True)
class TopicShare:
    """What a topic added: its share of the document times its weight."""

    topic: int
    share: float
    weight: float
    contribution: float
    words: tuple[str, ...]  # its most probable ones


@dataclass(frozen=True)
class WordShare:
    """What a word added: by the topics its tokens were in, as many as they are, and on its own."""

    word: str
    count: float
    contribution: float


@dataclass(frozen=True, repr=False)
class Explanation:
    """A decision as a sum over topics and what words added beside them, and the same sum over words.

    Largest contributions come first. It shows itself as text of the largest parts, in a notebook as tables.
    """

    target: Any  # the class, label or target that the decision is about
    decision: float  # as `decision_function` or `predict` gives it
    std: float
    topics: tuple[TopicShare, ...]
    words: tuple[WordShare, ...]
    beside: float = 0.0  # what words added beside their topics, all in all

    def __repr__(self) -> str:
        lines = [f"{self.target}: {self.decision:+.3f} ± {self.std:.3f}"]
        lines += [
            f"  {t.contribution:+.3f}  topic {t.topic}, {t.share:.0%} × {t.weight:+.3f}: {' '.join(t.words)}"
            for t in self.topics[:5]
        ]
        if self.beside:
            lines.append(f"  {self.beside:+.3f}  words beside their topics")
        lines += [f"  {w.contribution:+.3f}  {w.word} × {w.count:g}" for w in self.words[:10]]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        topics = "".join(
            f"<tr><td>{t.contribution:+.3f}</td><td>{t.topic}</td><td>{t.share:.0%}</td><td>{t.weight:+.3f}</td>"
            f"<td>{escape(' '.join(t.words))}</td></tr>"
            for t in self.topics[:5]
        )
        if self.beside:
            topics += f"<tr><td>{self.beside:+.3f}</td><td colspan=4>words beside their topics</td></tr>"
        words = "".join(
            f"<tr><td>{w.contribution:+.3f}</td><td>{escape(w.word)}</td><td>{w.count:g}</td></tr>"
            for w in self.words[:10]
        )
        return (
            f"<p><b>{escape(str(self.target))}</b>: {self.decision:+.3f} ± {self.std:.3f}</p>"
            "<table><tr><th></th><th>topic</th><th>share</th><th>weight</th><th>its words</th></tr>"
            f"{topics}</table><table><tr><th></th><th>word</th><th>count</th></tr>{words}</table>"
        )
