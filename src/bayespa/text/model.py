"""A model that reads texts: words to columns, labels to tasks, and an estimator behind them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from bayespa.checks import require_number
from bayespa.corpus import Bag, BagVectorizer, ClassNames, Label, OnlineVocabulary, Target
from bayespa.corpus.documents import Fields, brief
from bayespa.linear import BayesPAClassifier, BayesPARegressor
from bayespa.text.history import History
from bayespa.topics import MedHDPClassifier, MedHDPRegressor, MedLDAClassifier, MedLDARegressor
from bayespa.topics.explain import Explanation, WordPart

if TYPE_CHECKING:
    from typing_extensions import Self

Content = str | Bag


@dataclass(frozen=True)
class Kind:
    """A kind of model: its estimators, and what they ask of a vocabulary."""

    classifier: type[Any]
    regressor: type[Any]
    several: bool  # whether a document may have several classes
    unlabelled: bool  # whether it learns from documents without a label
    grows: bool  # whether it makes room for new words
    weighting: Literal["counts", "root shares"]  # what it reads: how often a word occurs, or √ of its share


KINDS = {
    "medlda": Kind(MedLDAClassifier, MedLDARegressor, True, True, True, "counts"),
    "medhdp": Kind(MedHDPClassifier, MedHDPRegressor, True, True, True, "counts"),
    "linear": Kind(BayesPAClassifier, BayesPARegressor, False, False, False, "root shares"),
}


class TextModel:
    """A classifier or regressor of texts, which learns from a stream of them.

    What labels are, classes or numbers, shows when the first are learned, unless `target` says it. ClassNames
    and words may appear at any time.

    Parameters
    ----------
    kind : {"medlda", "medhdp", "linear"}, default="medlda"
        Topics that learn to decide (`MedLDAClassifier`, `MedLDARegressor`), as many of them as it takes
        (`MedHDPClassifier`, `MedHDPRegressor`), or weights of words (`BayesPAClassifier`,
        `BayesPARegressor`).
    vectorizer : OnlineVocabulary, BagVectorizer, HashingVectorizer or a fitted CountVectorizer, optional
        Counts words. By default a vocabulary that grows, without English stop words; for bags, theirs.
    target : {"class", "classes", "number"}, optional
        What a label is; by default the first ones tell.
    classes : iterable of str, optional
        ClassNames that are known from the start.
    reading : dict, optional
        Options of `bayespa.corpus.read` that the model was trained with, to be kept with it.
    **parameters
        Of the estimator.

    Attributes
    ----------
    estimator : estimator
        Once something was learned.
    classes : ClassNames
        In the order of their appearance.
    seen_without_class : bool
        Whether a document of several classes was seen that has none (an empty tuple). As long as there was
        none, `predict` gives every document at least its most probable class.
    history : History
        How learning went, as `bayespa.text.stream` has recorded it.

    Examples
    --------
    >>> from bayespa import TextModel
    >>> from bayespa.datasets import load_arxiv_sample
    >>> papers = load_arxiv_sample(subset="train")
    >>> model = TextModel(random_state=0).learn(papers.data, [labels[0] for labels in papers.labels])
    >>> model
    <TextModel medlda: 11846 words, 20 classes>
    >>> model.predict(["Groups of automorphisms of a free group"])
    ['math.GR']
    """

    def __init__(
        self,
        kind: str = "medlda",
        *,
        vectorizer: Any = None,
        target: Target | None = None,
        classes: Iterable[str] = (),
        reading: dict[str, Any] | None = None,
        **parameters: Any,
    ) -> None:
        if kind not in KINDS:
            raise ValueError(f"kind={kind!r} is unknown; use one of {', '.join(map(repr, KINDS))}")
        if target not in (None, *get_args(Target)):
            raise ValueError(f"target={target!r} is unknown; use one of {', '.join(get_args(Target))}")
        self.kind = kind
        self.vectorizer = vectorizer
        self.target = target
        self.classes = ClassNames(classes)
        self.reading = dict(reading or {})
        self.parameters = parameters
        self.seen_without_class = False
        self.history = History()
        self.run: dict[str, Any] | None = None  # how far `bayespa.text.stream` has come
        self.estimator: Any = None
        if target is not None:
            self._make_estimator(target)

    def __repr__(self) -> str:
        learned = "nothing learned yet"
        if self.fitted:
            what = "numbers" if self.target == "number" else f"{len(self.classes)} classes"
            learned = f"{self.n_words} words, {what}"
        return f"<TextModel {self.kind}: {learned}>"

    @property
    def batch_size(self) -> int:
        """Documents that are best learned at once."""
        estimator = self.estimator or KINDS[self.kind].classifier(**self.parameters)
        if estimator.batch_size is None:
            return 256
        require_number("batch_size", estimator.batch_size, 1, whole=True)
        return int(estimator.batch_size)

    @property
    def first_batch_size(self) -> int:
        """Documents that are best learned at once before any other: some models look for topics in them."""
        estimator = self.estimator or KINDS[self.kind].classifier(**self.parameters)
        first = getattr(estimator, "first_batch_size", None)
        if first is None or not estimator._value("first_sweeps"):
            return self.batch_size
        require_number("first_batch_size", first, 1, whole=True)
        return max(self.batch_size, int(first))

    @property
    def n_words(self) -> int:
        """Words known, 0 if the vocabulary has none of its own."""
        words = getattr(self.vectorizer, "words", None)
        return len(words) if words is not None else int(getattr(self.vectorizer, "n_columns", 0))

    # Learning

    def learn(self, texts: Sequence[Content], labels: Sequence[Label]) -> Self:
        """Learn documents, in their order.

        Parameters
        ----------
        texts : sequence of n str, or of n Bag
        labels : sequence of n labels
            Each a class (str or int), several (tuple, list or set of them), a number (float), or None, NaN or
            an empty text where unknown.

        Returns
        -------
        self
        """
        _require_column(labels, "labels")
        self._checked(labels)
        if len(texts) != len(labels):
            raise ValueError(
                f"there are {len(texts)} texts and {len(labels)} labels; give one each, None where unknown"
            )
        return self.learn_counts(self.count(texts), labels)

    def count(self, texts: Sequence[Content]) -> sp.csr_matrix:
        """Count words and learn new ones: return (n, n_words) for `learn_counts`, which must come next."""
        _require_column(texts, "texts")
        if self.vectorizer is None:
            self.vectorizer = self._default_vectorizer(texts)
        counts: sp.csr_matrix = getattr(self.vectorizer, "learn", self.vectorizer.transform)(texts)
        return counts

    def learn_counts(self, counts: sp.csr_matrix, labels: Sequence[Label]) -> Self:
        """Learn documents whose words `count` has counted."""
        target, labels, classes = self._checked(labels)
        if not counts.shape[1]:
            raise ValueError(
                f"no word of the first {len(labels)} documents occurs often enough to be learned; lower "
                "min_count of the vocabulary, or give more documents at once"
            )
        if self.estimator is None:
            self._make_estimator(target)
        if not KINDS[self.kind].unlabelled:
            known = [row for row, label in enumerate(labels) if label is not None]
            counts, labels = counts[known], [labels[row] for row in known]
        if labels:
            named = {} if target == "number" else {"classes": classes.names}
            self.estimator.partial_fit(self._weighted(counts), _y(labels, target, classes), **named)
        self.classes = classes
        self.seen_without_class |= () in labels
        return self

    def _checked(self, labels: Sequence[Label]) -> tuple[Target, list[Label], ClassNames]:
        """Return what labels are, the labels in this form, and all classes; nothing of the model changes."""
        labels = [_label(label) for label in labels]
        target = self.target or _target_of(labels)
        labels = [_as_target(label, target, row) for row, label in enumerate(labels)]
        if target == "classes" and not KINDS[self.kind].several:
            raise ValueError(
                f"documents have several classes, which kind={self.kind!r} cannot learn; use kind='medlda', "
                "or give each document one class"
            )
        classes = ClassNames(self.classes.names)
        if target != "number":
            classes.learn(labels)
            if len(classes) < 2:
                found = f"only one class, {classes.names[0]!r}" if len(classes) else "no class at all"
                raise ValueError(
                    f"the first {len(labels)} documents have {found}; two are needed to begin: shuffle the "
                    "documents, or name the classes beforehand"
                )
        return target, labels, classes

    def _make_estimator(self, target: Target) -> None:
        kind = KINDS[self.kind]
        self.estimator = (kind.regressor if target == "number" else kind.classifier)(**self.parameters)
        self.target = target

    def _default_vectorizer(self, texts: Sequence[Content]) -> OnlineVocabulary | BagVectorizer:
        grows = KINDS[self.kind].grows
        if not any(isinstance(text, Bag) for text in texts):
            return OnlineVocabulary(stop_words="english", fixed_width=not grows)
        if not grows:
            raise ValueError(
                f"documents are bags of words whose number is not known, which kind={self.kind!r} cannot "
                "learn; use kind='medlda', or give a BagVectorizer with words"
            )
        return BagVectorizer()

    def _weighted(self, counts: sp.csr_matrix) -> sp.csr_matrix:
        """Return what the estimator reads; root shares have length 1 and damp words that repeat."""
        if KINDS[self.kind].weighting == "counts":
            return counts
        total = np.asarray(counts.sum(axis=1), np.float64).ravel()
        shares = counts.data / np.repeat(total, np.diff(counts.indptr))
        return sp.csr_matrix((np.sqrt(shares), counts.indices, counts.indptr), counts.shape)

    # Prediction

    @property
    def fitted(self) -> bool:
        """Whether something was learned."""
        return hasattr(self.estimator, "n_features_in_")

    def _fitted(self) -> Any:
        """Return the estimator, if it has learned something."""
        if not self.fitted:
            raise NotFittedError("this TextModel has learned nothing yet; call learn first")
        return self.estimator

    def counts(self, texts: Sequence[Content]) -> sp.csr_matrix:
        """Count the words known so far: return (n, n_words) for `predict_counts` and `features`."""
        self._fitted()
        _require_column(texts, "texts")
        counts: sp.csr_matrix = self.vectorizer.transform(texts)
        return counts

    def features(self, counts: sp.csr_matrix) -> sp.csr_matrix:
        """Return what the estimator reads of counts, in which there may be words that it has not learned."""
        known = self._fitted().n_features_in_
        return self._weighted(counts if counts.shape[1] == known else counts[:, :known])

    def predict(self, texts: Sequence[Content]) -> list[Label]:
        """Return the label of each of n texts: a class, a tuple of classes, or a number."""
        return self.predict_counts(self.counts(texts)) if len(texts) else []

    def predict_counts(self, counts: sp.csr_matrix) -> list[Label]:
        """Return the label of each document whose words `count` or `counts` has counted."""
        estimator, X = self._fitted(), self.features(counts)
        if self.target != "classes":
            return list(estimator.predict(X).tolist())
        decision = estimator.decision_function(X)
        chosen = decision > 0.0
        if not self.seen_without_class:
            chosen[np.arange(len(chosen)), decision.argmax(axis=1)] = True
        names = np.asarray(self.class_names, object)
        return [tuple(names[row]) for row in chosen]

    def targets(self, labels: Sequence[Label]) -> Any:
        """Return labels as the estimator takes them, None or NaN where unknown.

        Of several classes, those that the model does not know are left out.

        Returns
        -------
        list of n classes, array of n numbers, or array of 0 and 1 of shape (n, n_classes)
        """
        assert self.target is not None  # it has learned
        labels = [_as_target(_label(label), self.target, row) for row, label in enumerate(labels)]
        if self.target == "classes":
            known = set(self.classes.names)
            labels = [
                tuple(n for n in one if n in known) if isinstance(one, tuple) else one for one in labels
            ]
        return _y(labels, self.target, self.classes)

    def predict_proba(self, texts: Sequence[Content]) -> NDArray[np.float64]:
        """Return the probability of each class, (n, n_classes), in the order of `class_names`."""
        if self.target == "number":
            raise ValueError("a regressor has no probabilities; predict gives the numbers")
        return np.asarray(self._fitted().predict_proba(self.features(self.counts(texts))))

    @property
    def class_names(self) -> list[str]:
        """The classes in the order of the estimator, to which columns of probabilities belong."""
        return [] if self.target == "number" else [str(name) for name in self.estimator.classes_]

    # What was learned

    def words(self) -> list[str]:
        """Return the word of each column of the estimator; columns without a name have their number."""
        n_columns = int(self._fitted().n_features_in_)
        if hasattr(self.vectorizer, "get_feature_names_out"):
            return [str(word) for word in self.vectorizer.get_feature_names_out()]
        known = list(getattr(self.vectorizer, "words", None) or [])[:n_columns]
        return known + [str(column) for column in range(len(known), n_columns)]

    def topics(self, n_words: int = 10) -> list[list[str]]:
        """Return the most probable words of each topic."""
        if not hasattr(self.estimator, "topics"):
            raise ValueError(
                f"a model of kind {self.kind!r} has no topics, only weights of words; see explain"
            )
        topics: list[list[str]] = self.estimator.topics(n_words, self.words())
        return topics

    def explain(self, text: Content, target: str | None = None) -> Explanation:
        """Say which topics and words of a text carried the decision for a class, by default its own."""
        if hasattr(self._fitted(), "explain"):
            named = {} if self.target == "number" else {"target": target}
            X = self.features(self.counts([text]))
            explanation: Explanation = self.estimator.explain(X, feature_names=self.words(), **named)
            return explanation
        return self._explain_by_words(self.counts([text]), target)

    def _explain_by_words(self, counts: sp.csr_matrix, target: str | None) -> Explanation:
        estimator, names, X = self.estimator, self.class_names, self.features(counts)
        coef = np.atleast_2d(estimator.coef_)
        if self.target == "number":
            task, name = 0, "prediction"
            (decision,), (std,) = estimator.predict(X, return_std=True)
        else:
            decisions = np.atleast_1d(estimator.decision_function(X)[0])
            stds = np.atleast_1d(estimator.decision_std(X)[0])
            if target is not None and target not in names:
                raise ValueError(f"target is {target!r}, and the classes are {', '.join(names)}")
            task = 0 if len(coef) == 1 else int(decisions.argmax()) if target is None else names.index(target)
            name = names[-1] if len(coef) == 1 else names[task]
            decision, std = decisions[task], stds[task]
        words = self.words()
        parts = [
            WordPart(words[column], float(n), float(x * coef[task, column]))
            for column, n, x in zip(X.indices, counts.data, X.data, strict=True)
        ]
        return Explanation(
            name, float(decision), float(std), (), tuple(sorted(parts, key=lambda p: -abs(p.contribution)))
        )

    # Files

    def description(self) -> dict[str, Any]:
        """Return plain data which, with estimator and vectorizer, describe the model: see `bayespa.save`."""
        return {
            "kind": self.kind,
            "target": self.target,
            "classes": self.classes.to_state(),
            "seen_without_class": self.seen_without_class,
            "reading": self.reading,
            "run": self.run,
            "history": self.history.to_state(),
        }

    @classmethod
    def described(cls, estimator: Any, vectorizer: Any, description: dict[str, Any]) -> TextModel:
        """Make the model of these parts."""
        classes = ClassNames.from_state(description["classes"])
        model = cls(
            description["kind"],
            vectorizer=vectorizer,
            target=description["target"],
            classes=classes.names,
            reading=description["reading"],
        )
        if model.target is None or type(estimator) is not type(model.estimator):
            raise ValueError(f"a {type(estimator).__name__} is not of kind {model.kind!r}")
        model.estimator, model.run = estimator, description["run"]
        model.seen_without_class = bool(description["seen_without_class"])
        if "history" in description:  # the first files have none
            model.history = History.from_state(description["history"])
        if model.target != "number" and set(model.classes.names) != set(model.class_names):
            raise ValueError("the classes of its estimator are others than its own")
        if not isinstance(vectorizer, BagVectorizer):
            n_words, n_columns = vectorizer.transform([""]).shape[1], estimator.n_features_in_
            if n_words < n_columns:
                raise ValueError(f"its vocabulary has {n_words} words, and its estimator {n_columns}")
        return model


def _require_column(values: Sequence[Any], name: str) -> None:
    if isinstance(values, str):
        raise TypeError(f"{name} is one text, {brief(values)}; give a list, such as [text]")
    if hasattr(values, "columns"):
        raise TypeError(f"{name} is a table; give one column of it: {', '.join(map(str, values.columns))}")


def _label(value: Any) -> Label | int:
    """Return a label in the form that it would have if it came from a file; integers remain.

    >>> [_label(value) for value in (["a", "b"], {"b", "a"}, np.int64(3), 0.5, float("nan"), "")]
    [('a', 'b'), ('a', 'b'), 3, 0.5, None, None]
    """
    value = value.tolist() if isinstance(value, np.generic | np.ndarray) else value
    if type(value) is int:  # a class, or a number if the others are
        return value
    if isinstance(value, set | frozenset):
        value = sorted(value)
    return Fields().make_label(list(value) if isinstance(value, tuple) else value)


def _target_of(labels: Sequence[Label | int]) -> Target:
    """Return what the first label is."""
    for label in labels:
        if label is not None:
            return (
                "number" if isinstance(label, float) else "classes" if isinstance(label, tuple) else "class"
            )
    raise ValueError(
        f"none of the first {len(labels)} documents has a label; give target= and, for classes, classes="
    )


def _as_target(label: Label | int, target: Target, row: int) -> Label:
    """Return a label in the form of the target."""
    if label is None:
        return None
    if isinstance(label, int):
        label = float(label) if target == "number" else str(label)
    if target == "classes" and isinstance(label, str):
        return (label,)
    if (target == "class") != isinstance(label, str) or (target == "classes") != isinstance(label, tuple):
        raise ValueError(
            f"labels[{row}] is {label!r}, which does not fit target={target!r}; give all labels "
            "one form, or say target="
        )
    return label


def _y(labels: Sequence[Label], target: Target, classes: ClassNames) -> Any:
    """Return labels as the estimators take them, unknown ones as None or NaN."""
    if target == "class":
        return list(labels)
    if target == "number":
        return np.array([np.nan if label is None else label for label in labels], np.float64)
    y = np.full((len(labels), len(classes)), np.nan)
    known = [row for row, label in enumerate(labels) if label is not None]
    y[known] = classes.indicator([labels[row] for row in known])
    return y
