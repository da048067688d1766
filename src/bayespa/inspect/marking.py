"""Documents with words marked by their most probable topic, or by their contributions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from bayespa.inspect.html import MARKS
from bayespa.inspect.view import Floats, LinearView, TopicView

LONGEST_TEXT = 1500  # characters shown of a document
MOST_WORDS = 120  # shown of a document that has no text
FAINT = 0.02  # smallest share of the strongest word's weight for a mark


@dataclass(frozen=True)
class Marks:
    """How the words of a document are marked, by column: an HTML attribute, and its meaning."""

    of: Mapping[int, tuple[str, str]]
    legend: Sequence[tuple[str, str]]  # the attribute, and what it means

    def word(self, text: str, column: int | None) -> str:
        """Return a word as HTML."""
        if column is None or column not in self.of:
            return escape(text)
        attribute, title = self.of[column]
        return f'<mark {attribute} title="{escape(title)}">{escape(text)}</mark>'

    def legend_html(self) -> str:
        """Return the legend as HTML."""
        items = "".join(
            f"<li><mark {attribute}>{escape(name)}</mark></li>" for attribute, name in self.legend
        )
        return f'<ul class="legend">{items}</ul>\n' if items else ""


def topic_marks(
    view: TopicView,
    task: int,
    proportions: Floats,
    document: Any,
    top_words: Sequence[str],
    added: Mapping[int, str] | None = None,
) -> Marks:
    """Mark words by their most probable topic k, p(k | word, document) ∝ θ_k φ_kw.

    Parameters
    ----------
    view : TopicView
    task : int
        Task whose topics to use, if tasks have topics of their own.
    proportions : array of shape (K,)
        θ, topic proportions of the document for all tasks.
    document : CSR matrix of shape (1, W)
    top_words : list of K str
        A description of each topic.
    added : mapping of int to str, optional
        Contributions of topics to the decision, as texts.
    """
    figures = {} if added is None else {k: f", {figure}" for k, figure in added.items()}
    places = view.places[task]
    document = document if view.topical is None else _of_columns(document, view.topical)
    share, columns = proportions[places], document.indices
    joint = share[:, None] * view.word_probability[places][:, columns]
    posterior = joint / joint.sum(axis=0)
    responsible = posterior.argmax(axis=0)
    words_of = np.bincount(responsible, weights=document.data, minlength=len(share))
    shown = [int(k) for k in np.argsort(-words_of, kind="stable")[: len(MARKS)] if words_of[k] > 0]
    rank = {k: i for i, k in enumerate(shown)}
    first = places.start
    of = {}
    for column, k, probability in zip(columns, responsible, posterior.max(axis=0), strict=True):
        title = f"topic {view.names[first + k]} ({probability:.0%}): {top_words[first + k]}"
        of[int(column)] = (f'class="mark{rank[k]}"' if k in rank else "", title)
    legend = [
        (
            f'class="mark{i}"',
            f"topic {view.names[first + k]}, {words_of[k] / words_of.sum():.0%}{figures.get(first + k, '')}: "
            f"{top_words[first + k]}",
        )
        for k, i in rank.items()
    ]
    return Marks(of, legend)


def _of_columns(document: Any, kept: Any) -> Any:
    """Return a document (1, W) without the words that topics leave out."""
    inside = kept[document.indices]
    indptr = np.array([0, np.count_nonzero(inside)])
    return type(document)((document.data[inside], document.indices[inside], indptr), document.shape)


def word_marks(view: LinearView, task: int, sign: float, document: Any) -> Marks:
    """Mark words by their contributions to a decision of a linear model (with sign -1: to its opposite)."""
    added = sign * document.data * view.weight[task, document.indices]
    strongest = float(np.abs(added).max(initial=0.0))
    of = {
        int(column): (
            f'class="{"for" if a > 0 else "against"}" style="--share: {abs(a) / strongest:.2f}"',
            f"{a:+.3f}",
        )
        for column, a in zip(document.indices, added, strict=True)
        if abs(a) > FAINT * strongest
    }
    name = view.tasks.voice(task, sign, 0.0).label
    legend = [
        ('class="for" style="--share: .5"', f"for {name}"),
        ('class="against" style="--share: .5"', "against"),
    ]
    return Marks(of, legend)


def marked_text(text: str, columns: Mapping[str, int], marks: Marks) -> str:
    """Return a text as HTML, with known words marked.

    >>> marks = Marks({7: ('class="mark0"', "topic 3")}, [])
    >>> marked_text("A <Star>", {"star": 7}, marks)
    'A &lt;<mark class="mark0" title="topic 3">Star</mark>&gt;'
    """
    rest = "" if len(text) <= LONGEST_TEXT else " …"
    parts, end = [], 0
    for match in re.finditer(r"\w+", text[:LONGEST_TEXT]):
        word = match[0]
        parts.append(escape(text[end : match.start()]))
        parts.append(marks.word(word, columns.get(word, columns.get(word.lower()))))
        end = match.end()
    return "".join(parts) + escape(text[end:LONGEST_TEXT]) + rest


def marked_bag(document: Any, names: Sequence[str], marks: Marks) -> str:
    """Return the words of a document without a text as HTML, the most frequent first, marked."""
    order = np.argsort(-document.data, kind="stable")
    words = [
        marks.word(names[document.indices[i]], int(document.indices[i]))
        + (f" ×{document.data[i]:g}" if document.data[i] != 1 else "")
        for i in order[:MOST_WORDS]
    ]
    return " ".join(words) + (" …" if len(order) > MOST_WORDS else "")
