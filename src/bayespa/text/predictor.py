"""What a model of texts has learned, as one value, and what it says of texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from bayespa.corpus import Bag, ClassNames, Document, Label, Target
from bayespa.corpus.documents import brief
from bayespa.text.history import History
from bayespa.text.targets import MEANING, as_target, encoded, names_of, plain_label, several, target_of
from bayespa.topics import MedHDPClassifier, MedHDPRegressor, MedLDAClassifier, MedLDARegressor
from bayespa.topics.documents import LONGEST
from bayespa.topics.explain import Explanation

Content = str | bytes | Bag  # bytes are UTF-8


@dataclass(frozen=True)
class Kind:
    """A kind of model: its estimators, and what they ask of a vocabulary."""

    classifier: type[Any]
    regressor: type[Any]
    fixed: Mapping[str, Any] = field(default_factory=dict)  # parameters that make it what it is


KINDS = {
    "medlda": Kind(MedLDAClassifier, MedLDARegressor),
    "medhdp": Kind(MedHDPClassifier, MedHDPRegressor),
    "linear": Kind(MedLDAClassifier, MedLDARegressor, {"decides": "words"}),
}


@dataclass(frozen=True)
class LearnedTexts:
    """All that a model of texts has learned, as one value: it changes in one assignment."""

    estimator: Any = None  # a snapshot; None: it is not known yet what labels are
    target: Target | None = None
    classes: tuple[str, ...] = ()
    seen_without_class: bool = False
    mark: int | None = None  # of the vocabulary: it may have counted words of documents to come
    history: History = field(default_factory=History)
    run: dict[str, Any] | None = None  # how far `bayespa.text.stream` has come
    offsets: Mapping[str, Any] = field(default_factory=dict)  # where streams of brokers go on, by their names

    @property
    def fitted(self) -> bool:
        """Whether something was learned."""
        return hasattr(self.estimator, "n_features_in_")


@dataclass(frozen=True)
class Answers:
    """What a model says of n documents."""

    labels: list[Label]
    probabilities: NDArray[np.float64] | None  # (n, n_classes), of a classifier
    class_names: list[str]  # to which columns of probabilities belong
    deviations: list[float] | None = None  # of numbers: how sure the model is of them


class TextPredictor:
    """What a `TextModel` knows and says: every answer is one of a value that learning leaves as it is."""

    kind: str
    vectorizer: Any
    _learned: LearnedTexts

    @property
    def estimator(self) -> Any:
        """The estimator behind the words, once it is known what labels are; it is a snapshot."""
        return self._learned.estimator

    @property
    def target(self) -> Target | None:
        """What a label is, once that is known."""
        return self._learned.target

    @property
    def classes(self) -> ClassNames:
        """The classes, in the order of their appearance."""
        return ClassNames(self._learned.classes)

    @property
    def seen_without_class(self) -> bool:
        """Whether a document of several classes was seen that has none."""
        return self._learned.seen_without_class

    @property
    def history(self) -> History:
        """How learning went, as `bayespa.text.stream` has recorded it."""
        return self._learned.history

    @property
    def run(self) -> dict[str, Any] | None:
        """How far learning a stream has come; None: no stream is being learned."""
        return self._learned.run

    @property
    def offsets(self) -> dict[str, Any]:
        """Where the streams of brokers go on that were learned, by their names: see `bayespa.sources`."""
        return dict(self._learned.offsets)

    @property
    def version(self) -> int:
        """Mini-batches learned."""
        return int(self._learned.estimator._learned.state.version) if self.fitted else 0

    @property
    def n_words(self) -> int:
        """Words known, 0 if the vocabulary has none of its own."""
        words = getattr(self.vectorizer, "words", None)
        return len(words) if words is not None else int(getattr(self.vectorizer, "n_columns", 0))

    def __repr__(self) -> str:
        learned = "nothing learned yet"
        if self.fitted:
            what = "numbers" if self.target == "number" else f"{len(self.classes)} classes"
            learned = f"{self.n_words} words, {what}"
        return f"<TextModel {self.kind}: {learned}>"

    @property
    def fitted(self) -> bool:
        """Whether something was learned."""
        return self._learned.fitted

    def _now(self) -> LearnedTexts:
        """Return what was learned, once for a whole answer."""
        learned = self._learned
        if not learned.fitted:
            raise NotFittedError("this TextModel has learned nothing yet; call learn first")
        return learned

    def counts(self, texts: Sequence[Content]) -> sp.csr_matrix:
        """Count the words known so far: return (n, n_words) for `predict_counts` and `features`."""
        self._now()
        require_column(texts, "texts")
        counts: sp.csr_matrix = self.vectorizer.transform(texts)
        return counts

    def features(self, counts: sp.csr_matrix) -> sp.csr_matrix:
        """Return what the estimator reads of counts, in which there may be words that it has not learned."""
        return self._features(self._now().estimator, counts)

    def _features(self, estimator: Any, counts: sp.csr_matrix) -> sp.csr_matrix:
        known = estimator.n_features_in_
        return counts if counts.shape[1] == known else counts[:, :known]

    def predict(self, texts: Sequence[Content]) -> list[Label]:
        """Return the label of each of n texts: a class, a tuple of classes, or a number."""
        return self.predict_counts(self.counts(texts)) if len(texts) else []

    def predict_counts(self, counts: sp.csr_matrix) -> list[Label]:
        """Return the label of each document whose words `count` or `counts` has counted."""
        return self.answer_counts(counts).labels

    def predict_proba(self, texts: Sequence[Content]) -> NDArray[np.float64]:
        """Return the probability of each class, (n, n_classes), in the order of `class_names`."""
        probabilities = self.answer_counts(self.counts(texts)).probabilities
        if probabilities is None:
            raise ValueError("a regressor has no probabilities; predict gives the numbers")
        return probabilities

    def answer_counts(self, counts: sp.csr_matrix) -> Answers:
        """Return labels and probabilities of documents whose words `count` or `counts` has counted."""
        now = self._now()
        X = self._features(now.estimator, counts)
        if now.target == "number":
            numbers, deviations = now.estimator.predict(X, return_std=True)
            return Answers(numbers.tolist(), None, [], deviations.tolist())
        labels, probabilities, decision = now.estimator._answers(X)
        names = [str(name) for name in now.estimator.classes_]
        if now.target == "class":
            return Answers(labels.tolist(), probabilities, names)
        return Answers(several(decision, names, now.seen_without_class), probabilities, names)

    def refusal(self, document: Document, target: Target | None) -> str | None:
        """Say why a document cannot be learned by a model whose labels are of this kind; None: it can."""
        content, label = document.content, document.label
        if isinstance(content, Bag):
            counts = content.counts
            if not (np.isfinite(counts).all() and (counts >= 0).all()):
                return "it has a count that is negative or not finite"
            if (total := float(counts.sum(dtype=np.float64))) > LONGEST:
                return f"it has {total:.0f} tokens, and {LONGEST} is the most; split it"
        try:
            if label is not None:
                label = as_target(plain_label(label), target or target_of([label]), 0)
            for name in () if label is None or isinstance(label, float) else names_of(label):
                name.encode()
        except UnicodeEncodeError:
            return f"its label {label!r} cannot be written as UTF-8"
        except ValueError:
            return f"its label is {brief(document.label)}, where labels of this model are {MEANING[target]}"
        return None

    def targets(self, labels: Sequence[Label]) -> Any:
        """Return labels as the estimator takes them, None or NaN where unknown.

        Of several classes, those that the model does not know are left out.

        Returns
        -------
        list of n classes, array of n numbers, or array of 0 and 1 of shape (n, n_classes)
        """
        assert self.target is not None  # it has learned
        labels = [as_target(plain_label(label), self.target, row) for row, label in enumerate(labels)]
        if self.target == "classes":
            known = set(self.classes.names)
            labels = [
                tuple(n for n in one if n in known) if isinstance(one, tuple) else one for one in labels
            ]
        return encoded(labels, self.target, self.classes)

    @property
    def class_names(self) -> list[str]:
        """The classes in the order of the estimator, to which columns of probabilities belong."""
        now = self._learned
        return [] if now.target == "number" else [str(name) for name in now.estimator.classes_]

    # What was learned

    def words(self) -> list[str]:
        """Return the word of each column of the estimator; columns without a name have their number."""
        return self._words(self._now().estimator)

    def _words(self, estimator: Any) -> list[str]:
        n_columns = int(estimator.n_features_in_)
        if hasattr(self.vectorizer, "get_feature_names_out"):
            return [str(word) for word in self.vectorizer.get_feature_names_out()]
        known = list(getattr(self.vectorizer, "words", None) or [])[:n_columns]
        return known + [str(column) for column in range(len(known), n_columns)]

    @property
    def has_topics(self) -> bool:
        """Whether there are topics, not weights of words alone."""
        return KINDS[self.kind].fixed.get("decides") != "words"

    def topics(self, n_words: int = 10, relevance: float = 1.0) -> list[list[str]]:
        """Return the top words of each topic; with `relevance` below 1 those that tell it apart."""
        if not self.has_topics:
            raise ValueError(
                f"a model of kind {self.kind!r} has no topics, only weights of words; see explain"
            )
        estimator = self._now().estimator
        topics: list[list[str]] = estimator.topics(n_words, self._words(estimator), relevance)
        return topics

    def explain(self, text: Content, target: str | None = None) -> Explanation:
        """Say which topics and words of a text carried the decision for a class, by default its own."""
        estimator, counts = self._now().estimator, self.counts([text])
        named = {} if self.target == "number" else {"target": target}
        X = self._features(estimator, counts)
        explanation: Explanation = estimator.explain(X, feature_names=self._words(estimator), **named)
        return explanation


def require_column(values: Sequence[Any], name: str) -> None:
    """Raise a TypeError unless values are a column: neither one text nor a table."""
    if isinstance(values, str | bytes):
        raise TypeError(f"{name} is one text, {brief(values)}; give a list, such as [text]")
    if hasattr(values, "columns"):
        raise TypeError(f"{name} is a table; give one column of it: {', '.join(map(str, values.columns))}")
