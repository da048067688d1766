"""A report on a fitted model and its predictions: one self-contained HTML page."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

import bayespa
from bayespa.checks import require_sound
from bayespa.inspect import html, marking
from bayespa.inspect.coherence import diversity, npmi
from bayespa.inspect.outcome import Outcome
from bayespa.inspect.progress import Progress
from bayespa.inspect.view import Floats, LinearView, TopicView, word_names
from bayespa.ranking import largest
from bayespa.topics.relevance import CONTRAST

N_WORDS = 8  # shown of a topic
N_LABEL = 3  # words in its heading that distinguish it
COHERENT_WORDS = 10  # of a topic, for its coherence and diversity
MOST_TOPICS = 60  # shown; the largest
MOST_CLASSES = 40  # in a confusion matrix


def write_report(
    path: str | os.PathLike[str],
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    predicted: Any = None,
    texts: Sequence[str] | None = None,
    feature_names: ArrayLike | None = None,
    progress: Sequence[Progress] = (),
    references: Mapping[str, float] | None = None,
    title: str = "",
    summary: str = "",
    n_documents: int = 9,
) -> None:
    """Write a page about a model: its topics, its predictions with their calibration, and explanations.

    The page needs no network and runs no script. If something cannot be shown, because labels or matplotlib
    are missing, the page says so. An existing file is replaced when the page is complete.

    Parameters
    ----------
    path : path
        The file to write, such as ``report.html``.
    model : fitted classifier or regressor of bayespa
    X : array or sparse matrix of shape (n, n_words), optional
        Documents that the model has not learned; without them, the page shows only what was learned.
    y : array of shape (n,) or (n, T), optional
        Their true labels, None or NaN if unknown.
    predicted : array of shape (n,) or (n, T), optional
        Predictions for them, if not ``model.predict(X)``.
    texts : sequence of n str, optional
        The texts of the documents; otherwise their words are shown.
    feature_names : array of shape (n_words,), optional
        The words of the columns.
    progress : sequence of Progress, optional
        The history of learning, in order.
    references : mapping of str to float, optional
        Scores of other models on the same data, to compare with the first score of the page.
    title, summary : str, optional
        The heading of the page, and a paragraph about it.
    n_documents : int, default=9
        Number of documents to show with marked words.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from bayespa import MedLDAClassifier
    >>> from bayespa.datasets import make_topic_corpus
    >>> from bayespa.inspect import write_report
    >>> corpus = make_topic_corpus(300, n_words=100, n_topics=4, n_labels=2, random_state=0)
    >>> model = MedLDAClassifier(n_topics=4, random_state=0).fit(corpus.data[:250], corpus.target[:250])
    >>> page = Path(tempfile.mkdtemp()) / "report.html"
    >>> write_report(page, model, corpus.data[250:], corpus.target[250:])
    >>> page.read_text(encoding="utf-8").count("<svg")  # four topics, weights, confusion, calibration
    7
    """
    check_is_fitted(model)
    outcome = None
    if X is not None:
        require_sound("X", X)
        X = sparse.csr_matrix(X)
        if texts is not None and len(texts) != X.shape[0]:
            raise ValueError(f"texts has {len(texts)} documents, and X {X.shape[0]}")
        if not X.shape[0]:
            raise ValueError("X has no documents; a report needs one or more, or X=None")
        outcome = Outcome.of(model, X, y, predicted)
    report = Report(model, X, outcome, word_names(model, feature_names), texts, tuple(progress))
    text = report.page(title, summary, dict(references or {}), n_documents)
    path = Path(path)
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8", errors="replace")  # a text may have half of a surrogate pair
    part.replace(path)


@dataclass(frozen=True)
class Report:
    """The content of a report; every section is a method."""

    model: Any
    X: Any  # (n, W) CSR, or None
    said: Outcome | None  # of X
    names: Sequence[str]  # (W,)
    texts: Sequence[str] | None
    progress: tuple[Progress, ...]

    @cached_property
    def view(self) -> TopicView | LinearView:
        """The model's topics or, if it has none, its words."""
        topics = getattr(self.model, "decides", "topics") != "words" and hasattr(self.model, "components_")
        return (TopicView if topics else LinearView).of(self.model)

    @property
    def outcome(self) -> Outcome:
        """The predictions in words."""
        assert self.said is not None
        return self.said

    @cached_property
    def topic_words(self) -> list[list[str]]:
        """The most probable words of each topic."""
        assert isinstance(self.view, TopicView)
        return [
            [self.names[w] for w, _ in self.view.words(k, COHERENT_WORDS)]
            for k in range(len(self.view.names))
        ]

    @cached_property
    def topic_labels(self) -> list[list[str]]:
        """Words that distinguish each topic."""
        labels: list[list[str]] = self.model.topics(N_LABEL, self.names, CONTRAST)
        return labels

    @cached_property
    def coherence(self) -> Floats | None:
        """NPMI of the topics in these documents; None without documents, or if a topic has a single word."""
        if self.said is None or len(self.topic_words[0]) < 2:
            return None
        return npmi(self.topic_words, self.X, feature_names=self.names)

    @cached_property
    def plots(self) -> Any:
        """The module `bayespa.inspect.plots`, or None without matplotlib."""
        if find_spec("matplotlib") is None:
            return None
        from bayespa.inspect import plots

        return plots

    def page(self, title: str, summary: str, references: dict[str, float], n_documents: int) -> str:
        """Return the whole page."""
        topics = isinstance(self.view, TopicView)
        sections = [
            *([self.topics(), self.weights()] if topics else [self.words()]),
            *([self.predictions()] if self.said is not None else []),
            *([self.calibration()] if self.said is not None and self.said.kind != "numbers" else []),
            self.stream(references),
            *([self.growth()] if hasattr(self.model, "topic_ids_") else []),
            *([self.documents(n_documents)] if self.said is not None else []),
        ]
        head = (html.paragraph(summary) if summary else "") + self.facts() + self.comparison(references)
        if self.plots is None:
            head += html.paragraph(
                "For plots: pip install 'bayespa[plot]', and write the report again.", "note"
            )
        foot = f"{type(self.model).__name__} in bayespa {bayespa.__version__}"
        return html.page(
            title or f"{type(self.model).__name__}: what it has learned", sections, head=head, foot=foot
        )

    def draw(self, name: str, *arguments: Any, caption: str, wide: bool = False, **options: Any) -> str:
        """Return a figure of `bayespa.inspect.plots`, or nothing without matplotlib."""
        if self.plots is None:
            return ""
        return html.figure(getattr(self.plots, name)(*arguments, **options), caption, wide=wide)

    # The head of the page

    def facts(self) -> str:
        """Return the most important numbers."""
        values = {}
        if self.said is not None:
            values = {name: f"{value:.3f}" for name, value in self.said.scores().items()}
            groups = self.said.calibration()
            if groups is not None:
                values["calibration error"] = f"{groups.error:.3f}"
            values["documents"] = f"{self.X.shape[0]:,}"
        values["words known"] = f"{len(self.names):,}"
        if isinstance(self.view, TopicView):
            values["topics"] = f"{len(self.view.names):,}"
            if self.coherence is not None:
                values["coherence (NPMI)"] = f"{self.coherence.mean():.3f}"
            values["diversity"] = f"{diversity(self.topic_words):.3f}"
        return html.facts(values)

    def comparison(self, references: dict[str, float]) -> str:
        """Return the first score, compared with others."""
        scores = [] if self.said is None else list(self.said.scores().items())
        if not references or not scores:
            return ""
        name, value = scores[0]
        rows = [(type(self.model).__name__, value), *references.items()]
        return html.table(["", name], [[who, f"{score:.3f}"] for who, score in rows])

    # What was learned

    @cached_property
    def shown(self) -> NDArray[np.int64]:
        """The topics to show, the largest first."""
        assert isinstance(self.view, TopicView)
        return largest(self.view.size, MOST_TOPICS)

    def topics(self) -> html.Section:
        """Show the topics: their words, size, coherence, and the labels they speak for."""
        view = self.view
        assert isinstance(view, TopicView)
        cards = []
        for k in self.shown.tolist():
            words = view.words(k, N_WORDS)
            voices = "".join(
                f"<li><b>{escape(voice.label)}</b> <span>{escape(voice.strength)}</span></li>"
                for voice in view.voices(k)
            )
            coherence = "" if self.coherence is None else f" · NPMI {self.coherence[k]:.2f}"
            aside = f"{view.size[k] / max(view.size.sum(), 1.0):.1%} of words{coherence}"
            voices = voices or "<li>for no label clearly</li>"
            heading = f"Topic {view.names[k]}: {', '.join(self.topic_labels[k])}"
            cards.append(self.card(heading, aside, voices, words))
        n = len(view.names)
        left_out = f" The {len(cards)} largest of {n} are shown." if n > len(cards) else ""
        own = "" if view.shared else " Every label has topics of its own."
        return html.section(
            "topics",
            "Topics",
            html.paragraph(
                "The largest topic first. In its heading the words that tell it apart from the others; then "
                "the labels it speaks for: by how much a document all of this topic raises the decision "
                "above that on an average document, ± one standard deviation; then its most probable words."
                f"{own}{left_out}"
            ),
            f'<div class="cards">\n{"".join(cards)}</div>\n',
        )

    def words(self) -> html.Section:
        """Show the words that speak for each label, in a linear model."""
        view = self.view
        assert isinstance(view, LinearView)
        cards = [
            self.card(name, "", "", words, std) for name, words, std in view.speakers(COHERENT_WORDS) if words
        ]
        sure = "" if view.weight_std is None else " The lines are one standard deviation to each side."
        return html.section(
            "words",
            "Words",
            html.paragraph(f"The words with the largest weights for each label.{sure}"),
            f'<div class="cards">\n{"".join(cards)}</div>\n',
        )

    def card(
        self, heading: str, aside: str, speaks: str, words: list[tuple[int, float]], std: Any = None
    ) -> str:
        """Return words with bars under a heading; `speaks` are items of HTML."""
        names = [self.names[w] for w, _ in words]
        description = f"{heading}: {', '.join(names)}"
        drawn = (
            html.paragraph(", ".join(names))
            if self.plots is None
            else self.plots.word_bars(names, [value for _, value in words], description, std)
        )
        return (
            '<article class="card">\n'
            f"<header><h3>{escape(heading)}</h3><span>{escape(aside)}</span></header>\n"
            + (f'<ul class="speaks">{speaks}</ul>\n' if speaks else "")
            + f"{drawn}</article>\n"
        )

    def weights(self) -> html.Section:
        """Show the weights of topics for labels, with their uncertainty."""
        view = self.view
        assert isinstance(view, TopicView)
        mean, std = view.weight, view.weight_std
        if view.shared:
            kept = self.shown
            kept = kept[np.lexsort((-mean[:, kept].max(axis=0), mean[:, kept].argmax(axis=0)))]
            columns, mean, std = [view.names[k] for k in kept], mean[:, kept], std[:, kept]
            xlabel = "topic"
        else:
            order = np.argsort(-mean, axis=1, kind="stable")
            mean, std = np.take_along_axis(mean, order, axis=1), np.take_along_axis(std, order, axis=1)
            columns = list(range(1, mean.shape[1] + 1))
            xlabel = "rank of the topic among those of its label"
        sign = "" if view.tasks.opposite is None else f" Orange speaks for {view.tasks.opposite}."
        low, high = np.nanmin(std), np.nanmax(std)
        drawn = self.draw(
            "weight_map",
            mean,
            std,
            view.tasks.names,
            columns,
            xlabel,
            wide=True,
            caption="Blue speaks for a label, orange against it; the deeper, the larger the weight (at most "
            f"{np.nanmax(np.abs(mean)):.2f}). The fuller a square, the surer its sign: full from three "
            f"standard deviations on, which are {low:.1g} to {high:.1g}.{sign}",
        )
        rows = [
            [name, *("" if np.isnan(m) else f"{m:+.2f} ± {s:.1g}" for m, s in zip(means, stds, strict=True))]
            for name, means, stds in zip(view.tasks.names, mean, std, strict=True)
        ]
        numbers = html.table([f"label \\ {xlabel}", *map(str, columns)], rows)
        return html.section("weights", "What topics speak for", drawn, html.details("The numbers", numbers))

    # How well it predicts

    def predictions(self) -> html.Section:
        """Show predictions against true labels: a confusion matrix, scores per label, or a scatter plot."""
        heading = "What it mixes up" if self.outcome.kind == "classes" else "How well it predicts"
        if not self.outcome.labelled.any():
            return html.section(
                "predictions", heading, html.paragraph("No document is labelled in full.", "note")
            )
        show = {"classes": self.confusion, "labels": self.label_scores, "numbers": self.errors}
        return html.section("predictions", heading, *show[self.outcome.kind]())

    def confusion(self) -> list[str]:
        """Return the confusion matrix, and the most frequent confusions."""
        matrix, names = self.outcome.confusion(), self.outcome.names
        wrong = matrix - np.diag(np.diag(matrix))
        pairs = [divmod(int(i), len(names)) for i in largest(wrong.ravel().astype(np.float64), 8)]
        rows = [[names[i], names[j], str(wrong[i, j])] for i, j in pairs if wrong[i, j]]
        parts = []
        if len(names) <= MOST_CLASSES:
            caption = "Numbers of documents; the depth of a square is its share of the true class."
            parts.append(self.draw("confusion", matrix, names, caption=caption, wide=True))
        else:
            parts.append(
                html.paragraph(f"A matrix of {len(names)} classes would be too large to read.", "note")
            )
        if rows:
            common = html.table(["true", "predicted", "documents"], rows)
            parts.append(html.paragraph("The commonest confusions:") + common)
        return [html.beside(*parts)]

    def label_scores(self) -> list[str]:
        """Return precision and recall of each label."""
        rows = [
            [name, f"{p:.3f}", f"{r:.3f}", f"{f:.3f}", str(n)] for name, p, r, f, n in self.outcome.by_label()
        ]
        return [html.table(["label", "precision", "recall", "F1", "documents"], rows)]

    def errors(self) -> list[str]:
        """Return a scatter plot of each target."""
        outcome = self.outcome
        return [
            self.draw(
                "scatter",
                outcome.true[known, i],
                outcome.predicted[known, i],
                name,
                caption=f"{name}: on the dashed line a prediction is exact.",
            )
            for i, name in enumerate(outcome.names)
            if (known := outcome.known[:, i]).any()
        ]

    def calibration(self) -> html.Section:
        """Show the calibration."""
        groups = self.outcome.calibration()
        if groups is not None:
            each = (
                " Every label of every document is one prediction." if self.outcome.kind == "labels" else ""
            )
            caption = (
                f"Of predictions made with confidence 0.8, 80 % should be right: on the dashed line.{each}"
            )
            content = html.paragraph(
                f"Confidence is off by {groups.error:.3f} on average (expected calibration error)."
            ) + self.draw("reliability_diagram", groups, caption=caption)
        elif self.outcome.probability is None:
            content = html.paragraph(f"{type(self.model).__name__} gives no probabilities.", "note")
        else:
            content = html.paragraph("No label is known.", "note")
        return html.section("calibration", "How sure it is", content)

    # How it learned

    def stream(self, references: dict[str, float]) -> html.Section:
        """Show the score over the stream."""
        steps = [(step.seen, step.score) for step in self.progress if step.score is not None]
        if not steps:
            note = "It was not recorded how well the model predicted while it learned."
            return html.section("stream", "How it learned", html.paragraph(note, "note"))
        seen, score = zip(*steps, strict=True)
        several = getattr(self.model, "multilabel_", False)
        name = "R²" if not is_classifier(self.model) else "micro F1" if several else "accuracy"
        dashed = " Dashed: others, on the documents of this report." if references else ""
        caption = f"The {name} on the documents that came next, before they were learned.{dashed}"
        text = f"After {seen[-1]:,} documents the {name} was {score[-1]:.3f}."
        drawn = self.draw("learning_curve", seen, score, references, name, caption=caption)
        return html.section("stream", "How it learned", html.paragraph(text), drawn)

    def growth(self) -> html.Section:
        """Show the birth and growth of topics, for a model that chooses their number."""
        steps = [step for step in self.progress if step.topic_names]
        if not steps:
            note = "It was not recorded which topics there were while the model learned."
            return html.section("growth", "Birth and growth of topics", html.paragraph(note, "note"))
        drawn = self.draw(
            "topic_growth",
            steps,
            caption="Above, about how many words each topic has learned; below, how many topics there are, "
            "with a dot where one was born.",
        )
        text = f"There are {len(steps[-1].topic_names)} topics after {steps[-1].seen:,} documents."
        return html.section("growth", "Birth and growth of topics", html.paragraph(text), drawn)

    # Why

    def documents(self, n: int) -> html.Section:
        """Show documents with marked words."""
        explained = (
            "Words are marked by the topic that is most responsible for them; rest the pointer on one. "
            "Behind the share of a topic stands what it adds to the decision, beyond the average document."
            if isinstance(self.view, TopicView)
            else "Words are marked by what they add to the decision; rest the pointer on one."
        )
        parts = [html.paragraph(explained)]
        columns = {name: i for i, name in enumerate(self.names)}
        for heading, rows in self.outcome.examples(n).items():
            cards = "".join(self.document(i, columns) for i in rows)
            parts.append(f'<h3>{escape(heading)}</h3>\n<div class="documents">\n{cards}</div>\n')
        return html.section("documents", "Documents", *parts)

    def document(self, i: int, columns: Mapping[str, int]) -> str:
        """Return a document with marked words."""
        row = self.X[[i]]
        row.sum_duplicates()
        task, sign = self.decisive_task(i)
        sum_ = ""
        if isinstance(self.view, TopicView):
            tops, why = [", ".join(words) for words in self.topic_labels], self.model.explain(row)
            added = {topic.topic: why.figure(topic.contribution) for topic in why.topics}
            marks = marking.topic_marks(self.view, task, self.model.transform(row)[0], row, tops, added)
            sum_ = html.paragraph(why.sum(), "sum")
        else:
            marks = marking.word_marks(self.view, task, sign, row)
        text = (
            marking.marked_bag(row, self.names, marks)
            if self.texts is None
            else marking.marked_text(self.texts[i], columns, marks)
        )
        return (
            f'<article class="card">\n<header>{_verdict(self.outcome, i)}</header>\n'
            f'<p class="text" dir="auto">{text}</p>\n{marks.legend_html()}{sum_}</article>\n'
        )

    def decisive_task(self, i: int) -> tuple[int, float]:
        """Return the task whose decision on a document to explain, and its sign."""
        outcome = self.outcome
        if outcome.kind == "numbers":
            return 0, 1.0
        if outcome.kind == "labels":
            assert outcome.probability is not None
            return int(outcome.probability[i].argmax()), 1.0
        place = int(outcome.predicted[i])
        return (0, 1.0 if place else -1.0) if self.view.tasks.opposite is not None else (place, 1.0)


def _verdict(outcome: Outcome, i: int) -> str:
    """Return the prediction and the true label of a document as HTML."""
    sure = "" if outcome.probability is None else f" ({outcome.confidence[i]:.3f})"
    said = f"predicted <b>{escape(outcome.named(outcome.predicted[i]))}</b>{sure}"
    if outcome.kind == "classes" and outcome.probability is not None:
        others = outcome.probability[i].copy()
        others[outcome.predicted[i]] = -1.0
        said += f", next {escape(outcome.names[int(others.argmax())])} ({others.max():.3f})"
    if not outcome.labelled[i]:
        return f"<span>{said}</span>"
    if outcome.kind != "numbers" and outcome.right[i]:
        return f'<span class="right">{said}</span>'
    said += f", true <b>{escape(outcome.named(outcome.true[i]))}</b>"
    return f"<span>{said}</span>" if outcome.kind == "numbers" else f'<span class="wrong">{said}</span>'
