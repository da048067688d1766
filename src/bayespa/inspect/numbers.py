"""Compare numbers of topics on held-out documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import clone

from bayespa.checks import require_number, require_sound
from bayespa.inspect.coherence import diversity, npmi
from bayespa.inspect.outcome import Outcome
from bayespa.inspect.view import word_names
from bayespa.topics.documents import label_array

HELD_OUT = 5  # every fifth document is held out
N_WORDS = 10  # of a topic, for its coherence and diversity


@dataclass(frozen=True)
class Trial:
    """Scores of a model with some number of topics on held-out documents."""

    n_topics: int
    scores: dict[str, float]  # accuracy, F1 or R², by name; empty without labels
    perplexity: float  # of words; lower is better
    coherence: float  # mean NPMI of the topics
    diversity: float  # share of different words among those of all topics
    seconds: float  # of learning


@dataclass(frozen=True, repr=False)
class Trials(Sequence[Trial]):
    """Trials in the order of the numbers; prints as a table."""

    trials: tuple[Trial, ...]

    def __getitem__(self, place: Any) -> Any:
        return self.trials[place]

    def __len__(self) -> int:
        return len(self.trials)

    def _table(self) -> list[list[str]]:
        head = ["topics", *self.trials[0].scores, "perplexity", "coherence", "diversity", "seconds"]
        rows = [
            [
                str(one.n_topics),
                *(f"{value:.3f}" for value in one.scores.values()),
                f"{one.perplexity:.0f}",
                f"{one.coherence:.3f}",
                f"{one.diversity:.3f}",
                f"{one.seconds:.1f}",
            ]
            for one in self.trials
        ]
        return [head, *rows]

    def __repr__(self) -> str:
        table = self._table()
        widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
        return "\n".join(
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table
        )

    def _repr_html_(self) -> str:
        head, *rows = (f"<td>{'</td><td>'.join(map(escape, row))}</td>" for row in self._table())
        return f"<table><tr>{head.replace('td>', 'th>')}</tr><tr>{'</tr><tr>'.join(rows)}</tr></table>"


def compare_n_topics(
    model: Any,
    X: Any,
    y: Any = None,
    n_topics: Sequence[int] = (10, 20, 40, 80),
    *,
    feature_names: ArrayLike | None = None,
) -> Trials:
    """Learn with several numbers of topics, and evaluate each on held-out documents, every fifth one.

    Parameters
    ----------
    model : estimator with `n_topics`
        Such as MedLDAClassifier, MedLDARegressor or OnlineLDA; it is copied.
    X : array or sparse matrix of shape (n, n_words)
        Counts of five documents or more.
    y : array of shape (n,) or (n, T), optional
        Labels, if the model learns them; None or NaN if unknown.
    n_topics : sequence of int
        The numbers to try.
    feature_names : array of shape (n_words,), optional
        The words of the columns.

    Returns
    -------
    Trials
        A sequence with a `Trial` for each number, which prints as a table.

    Examples
    --------
    >>> from bayespa import MedLDAClassifier
    >>> from bayespa.datasets import make_topic_corpus
    >>> from bayespa.inspect import compare_n_topics
    >>> corpus = make_topic_corpus(500, n_words=200, n_topics=8, n_labels=4, random_state=0)
    >>> trials = compare_n_topics(MedLDAClassifier(random_state=0), corpus.data, corpus.target, [2, 8])
    >>> [trial.n_topics for trial in trials], trials[1].perplexity < trials[0].perplexity
    ([2, 8], True)
    """
    require_sound("X", X)
    counts = sparse.csr_matrix(X)
    if counts.shape[0] < HELD_OUT:
        raise ValueError(f"X has {counts.shape[0]} documents; it needs {HELD_OUT} or more, to hold some out")
    if "n_topics" not in model.get_params():
        raise ValueError(f"{type(model).__name__} has no n_topics: it finds the number itself")
    for number in n_topics:
        require_number("n_topics", number, 2, whole=True)
    if not len(n_topics):
        raise ValueError("n_topics is empty; give one number or more")
    held_out = np.arange(counts.shape[0]) % HELD_OUT == HELD_OUT - 1
    labels = None if y is None else label_array(counts.shape[0], y)[0]
    return Trials(
        tuple(
            _trial(clone(model).set_params(n_topics=int(number)), counts, labels, held_out, feature_names)
            for number in n_topics
        )
    )


def _trial(model: Any, X: Any, y: Any, held_out: Any, feature_names: ArrayLike | None) -> Trial:
    start = perf_counter()
    model.fit(X[~held_out], *([] if y is None else [y[~held_out]]))
    seconds = perf_counter() - start
    names = word_names(model, feature_names)
    topics = model.topics(N_WORDS, names)
    return Trial(
        model.n_topics,
        {} if y is None else Outcome.of(model, X[held_out], y[held_out]).scores(),
        model.perplexity(X[held_out]),
        float(npmi(topics, X[held_out], feature_names=names).mean()),
        diversity(topics),
        seconds,
    )
