"""What a text model has learned, as one value, and its predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np
from numpy.typing import NDArray

from bayespa import topics
from bayespa.classes import some
from bayespa.corpus import Bag, ClassNames, Document, Label, OnlineVocabulary, Target
from bayespa.corpus.documents import CountedText, brief
from bayespa.native.medlda import CountMatrix
from bayespa.text.history import History
from bayespa.text.targets import MEANING, as_target, encoded, names_of, plain_label, several, target_of
from bayespa.topics.documents import LONGEST
from bayespa.topics.explain import Explanation
from bayespa.topics.medhdp import MedHDPOfClasses, MedHDPOfNumbers
from bayespa.topics.medlda import MedLDAOfClasses, MedLDAOfNumbers

if TYPE_CHECKING:
    import scipy.sparse as sp
    from typing_extensions import Self

Content = str | bytes | Bag | CountedText  # bytes are UTF-8
CountsOfTexts: TypeAlias = Union[CountMatrix, "sp.csr_matrix"]  # the first of an `OnlineVocabulary`
Recorder = Callable[[Any, Target], dict[str, Any]]  # see `TextModel.learn_counts`
NO_CLASSES = "labels are numbers, of which no class has a class_weight=; leave it out"


@dataclass(frozen=True)
class Kind:
    """A kind of model: its estimators, without scikit-learn, and fixed parameters."""

    classifier: type[Any]
    regressor: type[Any]
    fixed: Mapping[str, Any] = field(default_factory=dict)  # parameters that define the kind


KINDS = {
    "medlda": Kind(MedLDAOfClasses, MedLDAOfNumbers),
    "medhdp": Kind(MedHDPOfClasses, MedHDPOfNumbers),
    "linear": Kind(MedLDAOfClasses, MedLDAOfNumbers, {"decides": "words"}),
}


@dataclass(frozen=True)
class LearnedTexts:
    """Everything a text model has learned, as one value that is replaced in one assignment."""

    estimator: Any = None  # a snapshot; None: the kind of labels is not known yet
    target: Target | None = None
    classes: tuple[str, ...] = ()
    seen_without_class: bool = False
    mark: int | None = None  # of the vocabulary, which may have counted words of later documents
    history: History = field(default_factory=History)
    run: dict[str, Any] | None = None  # progress of `bayespa.text.stream`
    offsets: Mapping[str, Any] = field(default_factory=dict)  # positions in streams of brokers, by name

    @property
    def fitted(self) -> bool:
        """Whether anything was learned."""
        return hasattr(self.estimator, "n_features_in_")


@dataclass(frozen=True)
class Answers:
    """Predictions for n documents."""

    labels: list[Label]
    probabilities: NDArray[np.float64] | None  # (n, n_classes), of a classifier
    class_names: list[str]  # the classes of the columns of probabilities
    deviations: list[float] | None = None  # standard deviations of numbers


class TextPredictor:
    """What a `TextModel` knows and predicts. Every answer comes from one complete state."""

    kind: str
    vectorizer: Any
    _learned: LearnedTexts

    @property
    def learner(self) -> Any:
        """What learns and predicts: `estimator` without scikit-learn, which takes a second to import."""
        return self._learned.estimator

    @property
    def estimator(self) -> Any:
        """The estimator of scikit-learn, once the kind of labels is known; a snapshot.

        It shares its attributes with the model: parameters that are set there hold here.
        """
        return None if self.learner is None else _for_scikit(self.learner)

    @property
    def target(self) -> Target | None:
        """The kind of labels, once it is known."""
        return self._learned.target

    @property
    def classes(self) -> ClassNames:
        """The classes, in the order of their appearance."""
        return ClassNames(self._learned.classes)

    @property
    def seen_without_class(self) -> bool:
        """Whether a document with no class was seen, if documents have several classes."""
        return self._learned.seen_without_class

    @property
    def changes(self) -> dict[str, int]:
        """How often what was learned of a class was forgotten because it had changed; others are left out."""
        if not self.fitted or self.target == "number":
            return {}
        times = self.learner.n_changes_.tolist()
        return {name: n for name, n in zip(self.class_names, times, strict=True) if n}

    @property
    def history(self) -> History:
        """How learning went, as recorded by `bayespa.text.stream`."""
        return self._learned.history

    @property
    def run(self) -> dict[str, Any] | None:
        """Progress in a stream; None: no stream is being learned."""
        return self._learned.run

    @property
    def offsets(self) -> dict[str, Any]:
        """Positions in the streams of brokers, by name: see `bayespa.sources`."""
        return dict(self._learned.offsets)

    @property
    def version(self) -> int:
        """Number of mini-batches learned."""
        return int(self._learned.estimator._learned.state.version) if self.fitted else 0

    @property
    def n_words(self) -> int:
        """Number of known words, without sequences of several; 0 if the vectorizer has no vocabulary."""
        words = getattr(self.vectorizer, "words", None)
        if words is None:
            return int(getattr(self.vectorizer, "n_columns", 0))
        return len(words) - self.n_runs

    @property
    def n_runs(self) -> int:
        """Number of known sequences of several words."""
        return int(getattr(self.vectorizer, "n_runs", 0))

    def __repr__(self) -> str:
        learned = "nothing learned yet"
        if self.fitted:
            what = "numbers" if self.target == "number" else f"{len(self.classes)} classes"
            words = f"{self.n_words} words"
            if self.n_runs:
                words += f" and {self.n_runs} {'pairs' if self.vectorizer.ngrams == 2 else 'runs'}"
            learned = f"{words}, {what}"
        return f"<TextModel {self.kind}: {learned}>"

    @property
    def fitted(self) -> bool:
        """Whether anything was learned."""
        return self._learned.fitted

    def _now(self) -> LearnedTexts:
        """Return what was learned, the same for a whole answer."""
        learned = self._learned
        if not learned.fitted:
            from sklearn.exceptions import NotFittedError

            raise NotFittedError("this TextModel has learned nothing yet; call learn first")
        return learned

    def counts(self, texts: Sequence[Content]) -> sp.csr_matrix:
        """Count known words; return (n, n_words) for `predict_counts` and `features`."""
        counts = self._counts(texts)
        matrix: sp.csr_matrix = counts.to_scipy() if isinstance(counts, CountMatrix) else counts
        return matrix

    def _counts(self, texts: Sequence[Content]) -> CountsOfTexts:
        """Return the same without SciPy, if the vectorizer can."""
        self._now()
        require_column(texts, "texts")
        return counts_of(self.vectorizer, texts, learn=False)

    def features(self, counts: sp.csr_matrix) -> sp.csr_matrix:
        """Return counts as the estimator reads them, without words that it has not learned."""
        matrix: sp.csr_matrix = self._features(self._now().estimator, counts)
        return matrix

    def _features(self, estimator: Any, counts: Any) -> Any:
        known = estimator.n_features_in_
        if counts.shape[1] == known:
            return counts
        return counts.narrow(known) if isinstance(counts, CountMatrix) else counts[:, :known]

    def predict(self, texts: Sequence[Content]) -> list[Label]:
        """Return the label of each of n texts: a class, a tuple of classes, or a number."""
        return self.answer(texts).labels if len(texts) else []

    def answer(self, texts: Sequence[Content]) -> Answers:
        """Return labels and probabilities of n texts."""
        return self.answer_counts(self._counts(texts))

    def predict_counts(self, counts: CountsOfTexts) -> list[Label]:
        """Return the label of each document, given the counts of `count` or `counts`."""
        return self.answer_counts(counts).labels

    def predict_proba(self, texts: Sequence[Content]) -> NDArray[np.float64]:
        """Return the probability of each class, (n, n_classes), in the order of `class_names`."""
        probabilities = self.answer(texts).probabilities
        if probabilities is None:
            raise ValueError("a regressor has no probabilities; predict returns the numbers")
        return probabilities

    def answer_counts(self, counts: CountsOfTexts) -> Answers:
        """Return labels and probabilities of documents, given the counts of `count` or `counts`."""
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
        """Return why a document does not fit this kind of labels; None: it fits."""
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
        """Return labels as the estimator reads them, None or NaN if unknown.

        With several classes per document, classes that the model does not know are left out.

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
        """The classes in the order of the estimator and of the columns of probabilities."""
        now = self._learned
        return [] if now.target == "number" else [str(name) for name in now.estimator.classes_]

    def set_class_weight(self, class_weight: Mapping[str, float] | str | None) -> Self:
        """Set the weights of classes: see `MedLDAClassifier`.

        Parameters
        ----------
        class_weight : dict of classes and weights, "balanced" or None
        """
        learned = self._now()
        if learned.target == "number":
            raise ValueError(NO_CLASSES)
        names = class_weight if isinstance(class_weight, Mapping) else ()
        if unknown := [name for name in names if name not in learned.classes]:
            raise ValueError(
                f"class_weight= has {brief(unknown[0])}, which the model does not know; it knows "
                f"{some(np.array(learned.classes))}"
            )
        estimator = copy(learned.estimator)
        estimator.class_weight = class_weight
        self._learned = replace(learned, estimator=estimator)
        return self

    def learn_and_tell(
        self,
        counts: CountsOfTexts,
        labels: Sequence[Label],
        record: Callable[[list[Label], Target], dict[str, Any]],
        learn: Callable[[Recorder], object],
        n: int = 32,
    ) -> None:
        """Let `learn` learn documents; `record` gets what was predicted for them before.

        If words decide on classes, these predictions are a by-product of learning, for all documents. Topics
        alone need more sweeps than learning makes, and a new class has no margin yet: then the first n
        documents are predicted first. Before anything was learned there are no predictions.
        """
        now, told = self._learned, False
        if now.fitted and now.target != "number" and now.estimator.decides != "topics":
            known = set(now.classes)
            told = all(name in known for label in set(labels) if label for name in names_of(label))
        said = [] if told or not now.fitted else self.predict_counts(counts[:n])

        def recorded(estimator: Any, target: Target) -> dict[str, Any]:
            if not told:
                return record(said, target)
            decision = estimator.progressive_
            if target == "class":
                return record(estimator._known().meaning.decided(decision).tolist(), target)
            names = [str(name) for name in estimator.classes_]
            return record(several(decision, names, now.seen_without_class), target)

        learn(recorded)

    # What was learned

    def words(self) -> list[str]:
        """Return the word of each column of the estimator, or its number if it has no name."""
        return self._words(self._now().estimator)

    def _words(self, estimator: Any) -> list[str]:
        n_columns = int(estimator.n_features_in_)
        if hasattr(self.vectorizer, "get_feature_names_out"):
            return [str(word) for word in self.vectorizer.get_feature_names_out()]
        known = list(getattr(self.vectorizer, "words", None) or [])[:n_columns]
        return known + [str(column) for column in range(len(known), n_columns)]

    @property
    def has_topics(self) -> bool:
        """Whether there are topics."""
        return KINDS[self.kind].fixed.get("decides") != "words"

    def topic_sizes(self) -> dict[str, float]:
        """Return about how many words each topic has learned, by its name; none of a model without topics."""
        if not self.has_topics:
            return {}
        estimator = self._now().estimator
        return dict(zip(estimator.topic_names_, estimator.topic_sizes_.tolist(), strict=True))

    def topics(self, n_words: int = 10, relevance: float = 1.0) -> list[list[str]]:
        """Return the top words of each topic; with `relevance` below 1, those that distinguish it."""
        if not self.has_topics:
            raise ValueError(
                f"a model of kind {self.kind!r} has no topics, only weights of words; use explain"
            )
        estimator = self._now().estimator
        topics: list[list[str]] = estimator.topics(n_words, self._words(estimator), relevance)
        return topics

    def explain(self, text: Content, target: str | None = None) -> Explanation:
        """Show which topics and words of a text led to a class, by default the predicted one."""
        estimator, counts = self._now().estimator, self._counts([text])
        if self.target == "number" and target is not None:
            raise ValueError(f"target={target!r} is a class, but this model predicts numbers; leave it out")
        named = {} if self.target == "number" else {"target": target}
        X = self._features(estimator, counts)
        explanation: Explanation = estimator.explain(X, feature_names=self._words(estimator), **named)
        return explanation


def _for_scikit(estimator: Any) -> Any:
    """Return scikit-learn's estimator that shares all attributes with this one; the first call imports it."""
    made: Any = object.__new__(getattr(topics, estimator._name))
    made.__dict__ = estimator.__dict__
    return made


def counts_of(vectorizer: Any, texts: Sequence[Content], *, learn: bool) -> CountsOfTexts:
    """Return the counts of n texts, (n, n_words); without SciPy, if the vectorizer can."""
    if isinstance(vectorizer, OnlineVocabulary):
        return vectorizer.count(texts, learn=learn)
    count = getattr(vectorizer, "learn", vectorizer.transform) if learn else vectorizer.transform
    counts: sp.csr_matrix = count(texts)
    return counts


def require_column(values: Sequence[Any], name: str) -> None:
    """Raise a TypeError unless values are a column: neither a single text nor a table."""
    if isinstance(values, str | bytes):
        raise TypeError(f"{name} is a single text, {brief(values)}; give a list, such as [text]")
    if hasattr(values, "columns"):
        raise TypeError(f"{name} is a table; give one column of it: {', '.join(map(str, values.columns))}")
