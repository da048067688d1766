"""Documents with words marked by their most probable topic, or by their contributions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from bayespa.inspect.html import MARKS
from bayespa.inspect.view import Floats, LinearView, TopicView

LONGEST_TEXT = 1500  # characters shown of a document
MOST_WORDS = 120  # shown of a document that has no text
FAINT = 0.02  # smallest share of the strongest word's weight for a mark
LONGEST_RUN = 8  # words of a column


@dataclass(frozen=True)
class Marks:
    """How the words of a document are marked, by column: an HTML attribute, and its meaning."""

    of: Mapping[int, tuple[str, str]]
    legend: Sequence[tuple[str, str]]  # the attribute, and what it means
    strength: Mapping[int, float] = field(default_factory=dict)  # by column; 0 of others

    def word(self, text: str, columns: Mapping[int, str]) -> str:
        """Return a word as HTML, marked as the strongest of some columns, which have names."""
        marked = [column for column in columns if column in self.of]
        if not marked:
            return escape(text)
        column = max(marked, key=lambda column: self.strength.get(column, 0.0))
        attribute, title = self.of[column]
        if " " in columns[column]:
            title = f"{columns[column]}: {title}"
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
    strength = dict(zip(document.indices.tolist(), np.abs(added).tolist(), strict=True))
    return Marks(of, legend, strength)


def marked_text(text: str, columns: Mapping[str, int], marks: Marks) -> str:
    """Return a text as HTML, with known words marked, each by itself or by a stronger run that it is part of.

    >>> marks = Marks({7: ('class="mark0"', "topic 3")}, [])
    >>> marked_text("A <Star>", {"star": 7}, marks)
    'A &lt;<mark class="mark0" title="topic 3">Star</mark>&gt;'
    """
    rest = "" if len(text) <= LONGEST_TEXT else " …"
    parts, end = [], 0
    matches = list(re.finditer(r"\w+", text[:LONGEST_TEXT]))
    covering = _covering([match[0] for match in matches], columns)
    for match, found in zip(matches, covering, strict=True):
        parts.append(escape(text[end : match.start()]))
        parts.append(marks.word(match[0], found))
        end = match.end()
    return "".join(parts) + escape(text[end:LONGEST_TEXT]) + rest


def _covering(words: Sequence[str], columns: Mapping[str, int]) -> list[dict[int, str]]:
    """Return, for each word, the columns of it and of the runs that it is part of, and their names.

    >>> _covering(["Credit", "card", "x"], {"card": 1, "credit card": 2})
    [{2: 'credit card'}, {1: 'card', 2: 'credit card'}, {}]
    """
    lower, found = [word.lower() for word in words], [dict[int, str]() for _ in words]
    for length in range(1, LONGEST_RUN + 1):
        for begin in range(len(words) - length + 1):
            place = slice(begin, begin + length)
            for name in (" ".join(words[place]), " ".join(lower[place])):
                if name in columns:
                    for own in found[place]:
                        own[columns[name]] = name
                    break
    return found


def marked_bag(document: Any, names: Sequence[str], marks: Marks) -> str:
    """Return the words of a document without a text as HTML, the most frequent first, marked."""
    order = np.argsort(-document.data, kind="stable")
    words = [
        marks.word(names[document.indices[i]], {int(document.indices[i]): ""})
        + (f" ×{document.data[i]:g}" if document.data[i] != 1 else "")
        for i in order[:MOST_WORDS]
    ]
    return " ".join(words) + (" …" if len(order) > MOST_WORDS else "")
