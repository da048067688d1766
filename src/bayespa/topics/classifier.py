"""Classes of a topic model, and the base class of its classifiers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespa.checks import require_number
from bayespa.classes import require_classes, some, tasks_of
from bayespa.estimators import Roles
from bayespa.learning import HERE, Executor
from bayespa.topics.calibration import Calibration, Kind
from bayespa.topics.documents import Labels, label_array
from bayespa.topics.explain import Explanation, Subject
from bayespa.topics.knowledge import Knowledge
from bayespa.topics.part import Floats, Sources
from bayespa.topics.supervised import MergingTransformer, SupervisedTransformer

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class Classes:
    """The classes of a classifier: a document has one or, if `indicator`, any number of them."""

    names: NDArray[Any]
    indicator: bool

    @classmethod
    def of(
        cls,
        y: NDArray[Any],
        known: NDArray[np.bool_],
        named: ArrayLike | None,
        before: Classes | None,
        *,
        fit: bool,
    ) -> Classes:
        """Return the classes after y: those given, else those before, else (in `fit`) those in y."""
        indicator = y.ndim == 2 and y.shape[1] > 1
        if before is not None and not known.any():
            indicator = before.indicator
        if before is not None and indicator != before.indicator:
            meaning = {True: "an indicator matrix of several labels", False: "one class per document"}
            raise ValueError(
                f"y is {meaning[indicator]}, but the model has learned {meaning[before.indicator]}"
            )
        if named is None and before is not None:
            return before
        if named is not None:
            names = np.asarray(named) if indicator else np.unique(np.asarray(named))
        elif indicator:
            names = np.arange(y.shape[1])
        elif fit:
            names = np.unique(_values(y, known))
        else:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if len(names) < 2:
            given = f"only one class, {some(names)}" if len(names) else "no class at all"
            raise ValueError(
                f"y has {given}; a classifier needs two: pass more data, or classes= to partial_fit"
            )
        if before is not None and np.array_equal(names, before.names):
            return before
        classes = cls(names, indicator)
        if before is not None:
            classes.require_continues(before)
        return classes

    def joined(self, other: Classes) -> Classes:
        """Return the union of the classes of two models; labels must have the same columns."""
        if self.indicator != other.indicator:
            raise ValueError(
                "one model has learned several labels per document, the other one class per document"
            )
        if not self.indicator:
            return Classes(np.union1d(self.names, other.names), indicator=False)
        longer, shorter = (self, other) if len(self.names) >= len(other.names) else (other, self)
        longer.require_continues(shorter)
        return longer

    @property
    def n_tasks(self) -> int:
        """One task for two classes, whose positive side is the second class; else one per class."""
        return 1 if len(self.names) == 2 and not self.indicator else len(self.names)

    @property
    def task_names(self) -> list[str]:
        """The class that a positive margin of each task speaks for."""
        return [str(name) for name in (self.names[1:] if self.n_tasks == 1 else self.names)]

    @property
    def kind(self) -> Kind:
        """The kind of probabilities."""
        return "labels" if self.indicator else "exclusive" if self.n_tasks > 1 else "binary"

    def require_continues(self, before: Classes) -> None:
        """Raise a ValueError unless all classes of `before` are here, and labels in the same columns."""
        kept = self.names[: len(before.names)] if self.indicator else self.names
        lost = np.setdiff1d(before.names, kept)
        if len(lost) or (self.indicator and np.any(kept != before.names)):
            raise ValueError(
                f"classes is {some(self.names)}, but the model knows {some(before.names)}; name all "
                f"classes, old and new{', the new ones at the end' if self.indicator else ''}"
            )

    def tasks_before(self, before: Classes) -> tuple[Sources, Floats]:
        """Return, for each task, the task of `before` that it continues (-1: new), and with which sign."""
        if not self.indicator:
            return tasks_of(self.names, before.names)
        place = np.arange(self.n_tasks)
        return np.where(place < before.n_tasks, place, -1), np.ones(self.n_tasks)

    first = 0  # no number of documents must come together

    def begun(self, targets: Labels) -> Classes:
        """Return the classes as they are."""
        return self

    def tasks(self, targets: Labels) -> Labels:
        """Return the labels (n, T) as they are."""
        return targets

    def require_targets(self, targets: Labels) -> None:
        """Raise a ValueError unless labels (n, T) of a file are ±1 or NaN."""
        if targets.dtype != np.float32 or not (np.isnan(targets) | (np.abs(targets) == 1.0)).all():
            raise ValueError("the labels of documents that wait are neither 1 nor -1")

    def decided(self, margin: Floats, *, one_at_least: bool = False) -> NDArray[Any]:
        """Return what margins (n, T) decide: the class of each document, or 0 and 1 for each label.

        Of labels the best is given whatever its margin is, if there has to be one.
        """
        if self.indicator:
            given = (margin > 0.0).astype(np.int64)
            if one_at_least:
                given[np.arange(len(given)), margin.argmax(axis=1)] = 1
            return given
        winner = (margin[:, 0] > 0.0).astype(np.int64) if self.n_tasks == 1 else margin.argmax(axis=1)
        return np.asarray(self.names[winner])

    def encode(self, y: NDArray[Any], known: NDArray[np.bool_]) -> Labels:
        """Return ±1 for each document and task, NaN where y is unknown.

        >>> y, known = label_array(3, ["a", None, "c"])
        >>> Classes(np.array(["a", "b", "c"]), indicator=False).encode(y, known)
        array([[ 1., -1., -1.],
               [nan, nan, nan],
               [-1., -1.,  1.]], dtype=float32)
        """
        return self._encode_indicator(y, known) if self.indicator else self._encode_classes(y, known)

    def _encode_classes(self, y: NDArray[Any], known: NDArray[np.bool_]) -> Labels:
        labels = np.full((len(y), self.n_tasks), np.nan, np.float32)
        if not known.any():
            return labels
        values, known = _values(y, known), known.ravel()
        place = np.minimum(np.searchsorted(self.names, values), len(self.names) - 1)
        unknown = self.names[place] != values
        if np.any(unknown):
            i = int(np.argmax(unknown))
            raise ValueError(
                f"y[{np.flatnonzero(known)[i]}] is {some(values[i : i + 1])}, a class the model "
                f"does not know (it knows {some(self.names)}); name all classes, this one too, in "
                "partial_fit(..., classes=...)"
            )
        tasks = np.arange(self.n_tasks) if self.n_tasks > 1 else np.ones(1, np.int64)
        labels[known] = np.where(place[:, None] == tasks, 1.0, -1.0)
        return labels

    def _encode_indicator(self, y: NDArray[Any], known: NDArray[np.bool_]) -> Labels:
        if not known.any():
            return np.full((len(y), self.n_tasks), np.nan, np.float32)
        if y.shape[1] != self.n_tasks:
            raise ValueError(
                f"y has {y.shape[1]} columns, but the model has {self.n_tasks} labels; name them all in "
                "partial_fit(..., classes=...), the new ones at the end"
            )
        numbers = np.where(known, y, 0)
        strange = known & (numbers != 0) & (numbers != 1)
        if strange.any():
            i, j = np.argwhere(strange)[0]
            raise ValueError(
                f"y[{i}, {j}] is {y[i, j]!r}; a y of two dimensions has 1 or 0 for each label, and "
                "NaN if unknown"
            )
        return np.where(known, 2.0 * numbers.astype(np.float32) - 1.0, np.nan).astype(np.float32)


def _values(y: NDArray[Any], known: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the known classes of a 1-D y, in their natural type."""
    if y.ndim > 1:
        from sklearn.utils.validation import column_or_1d

        y = column_or_1d(y, warn=True)
    values: NDArray[Any] = y[known.ravel()]
    if values.dtype.kind == "O" and len(values):
        values = np.array(values.tolist())
    if len(values) and values.dtype.kind not in "biuU":  # as of classes scikit-learn warns of small batches
        from sklearn.utils.multiclass import check_classification_targets

        check_classification_targets(values)
    return values


@dataclass(eq=False, repr=False, kw_only=True)
class TopicClassifier(SupervisedTransformer):
    """Each class is a task, and the largest margin decides; subclasses define the topics.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weights of classes. A weight multiplies the odds of a class, in decisions and probabilities, as if the
        class were so many times as frequent. Learning does not depend on it, so you can set it at any time. A
        dict maps classes to weights; missing classes have 1. "balanced": as if all classes were equally
        frequent. None: with more than two classes, rare classes count a little more.
    """

    class_weight: Mapping[Any, float] | str | None = None

    _evidence = 128  # documents of a mini-batch, at least, from which calibration is learned

    def _calibration(self, meaning: Classes, values: dict[str, Any]) -> Calibration:
        given = values["class_weight"]
        if given is None or given == "balanced":
            return Calibration(meaning.kind, meaning.n_tasks, self._evidence, balanced=given is not None)
        if not isinstance(given, Mapping):
            raise ValueError(
                f"class_weight is {given!r}; use a dict of classes and weights, 'balanced' or None"
            )
        for name, weight in given.items():
            require_number(f"class_weight[{name!r}]", weight, 0.0, open_=True)
        weights = [float(given.get(name, 1.0)) for name in meaning.names.tolist()]
        if meaning.kind == "binary":
            weights = [weights[1] / weights[0]]
        return Calibration(meaning.kind, meaning.n_tasks, self._evidence, weights=tuple(weights))

    def _read(
        self, n: int, y: Any, classes: Any, before: Classes | None, *, fit: bool
    ) -> tuple[Classes, Labels]:
        y, known = label_array(n, y)
        meaning = Classes.of(y, known, classes, before, fit=fit)
        return meaning, meaning.encode(y, known)

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, or the labels of an indicator matrix."""
        names: NDArray[Any] = self._known().meaning.names
        return names

    @property
    def multilabel_(self) -> bool:
        """Whether a document may have any number of labels."""
        return bool(self._known().meaning.indicator)

    def decision_function(
        self, X: Any, *, prediction: Literal["mean", "gibbs"] = "mean", random_state: Any = None
    ) -> Floats:
        """Return the expected margins of documents.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_words)
        prediction : {"mean", "gibbs"}
            Decide with the posterior mean of the weights, or with one draw from their posterior for the whole
            call.
        random_state : int, RandomState or Generator, optional
            Seed of that draw; by default the model's, so that every call draws the same.

        Returns
        -------
        array of shape (n,) for two classes (positive for the second), else (n, T)
        """
        learned, corpus = self._corpus(X)
        return _shaped(learned.knowledge.margins(corpus, prediction, random_state))

    def decision_std(self, X: Any) -> Floats:
        """Return the standard deviation of the margins, in the shape of `decision_function`.

        It includes the uncertainty of the weights and of the topics of a document's words.
        """
        learned, corpus = self._corpus(X)
        return _shaped(np.sqrt(learned.knowledge.moments(corpus)[1]))

    def predict(
        self, X: Any, *, prediction: Literal["mean", "gibbs"] = "mean", random_state: Any = None
    ) -> NDArray[Any]:
        """Return the class of each document, (n,), or 0 and 1 for each label, (n, T).

        The parameters are those of `decision_function`. With several labels per document, a label is
        predicted if its decision is positive. The threshold is learned: it is the best by F1 for predictions
        made before the labels were seen, and is already subtracted from decisions and weights.
        While every document learned had a label, each document is given at least its best one.
        """
        learned, corpus = self._corpus(X)
        decision = learned.knowledge.margins(corpus, prediction, random_state)
        return _decided(decision, learned.knowledge)

    def _answers(self, X: Any) -> tuple[NDArray[Any], Floats, Floats]:
        """Return the results of `predict` and `predict_proba`, and the margins (n, T), from one inference."""
        learned, corpus = self._corpus(X)
        decision = learned.knowledge.margins(corpus)
        return _decided(decision, learned.knowledge), _probable(decision, learned.knowledge), decision

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, (n, n_classes), or of each label on its own, (n, T).

        Probabilities are calibrated while the model learns, on predictions made before it saw the labels.
        Each is a power of the sigmoid of a decision; if one class is right, they are normalised, with a
        little noise. With several labels per document, `predict` may predict a label whose probability is
        below 0.5, because its threshold is chosen by F1.
        """
        learned, corpus = self._corpus(X)
        return _probable(learned.knowledge.margins(corpus), learned.knowledge)

    @property
    def progressive_(self) -> Floats:
        """`decision_function` of the last call's documents, before they were learned.

        (n, T), from a single sweep, so a little less certain than `decision_function`. For documents that
        initialised the topics it is too optimistic, because their words were seen before.
        """
        learned = self._known().now
        margin: Floats = learned.progressive[-learned.n_recent :] - learned.knowledge.offset
        return margin

    def explain(self, X: Any, target: Any = None, feature_names: ArrayLike | None = None) -> Explanation:
        """Show which topics and words of a document led to a decision.

        Parameters
        ----------
        X : array of shape (n_words,), or array or sparse matrix of shape (1, n_words)
            One document.
        target : class or label, optional
            Class whose decision to explain; by default the predicted one. Two classes have one decision, for
            the second; the first has its negative.
        feature_names : sequence of n_words, optional
            The words.

        Returns
        -------
        Explanation
            The decision is the sum of `base` (the average document), the topics' contributions, and `beside`
            (the words). It is also the sum of `base` and the words' contributions. The explanation has the
            probability and the runner-up, too.
        """

        def choose(knows: Knowledge, margin: Floats) -> Subject:
            meaning: Classes = knows.meaning
            classes, probability = meaning.names, _probable(margin[None], knows)[0]
            found = [int(probability.argmax())] if target is None else np.flatnonzero(classes == target)
            if meaning.n_tasks > 1 and target is None:
                found = [int(margin.argmax())]  # several probabilities may round to 1
            if not len(found):
                raise ValueError(f"target is {target!r}, and the classes are {some(classes)}")
            place = int(found[0])
            chosen = Subject(place, classes[place], probability=float(probability[place]))
            if meaning.indicator:
                return chosen
            if meaning.n_tasks == 1:
                other, chosen = 1 - place, replace(chosen, task=0, scale=1.0 if place else -1.0)
            else:
                other = int(np.where(np.arange(len(margin)) == place, -np.inf, margin).argmax())
            return replace(chosen, runner_up=classes[other], runner_up_probability=float(probability[other]))

        return self._explain(X, choose, feature_names)

    # Files

    def _meaning_to_file(self, meaning: Classes) -> dict[str, Any]:
        return {"classes_": meaning.names, "_indicator": meaning.indicator}

    def _meaning_from_file(self, learned: dict[str, Any]) -> Classes:
        names, indicator = learned.pop("classes_"), learned.pop("_indicator")
        if type(indicator) is not bool:
            raise ValueError(f"_indicator is {indicator!r}, neither true nor false")
        require_classes(names, ordered=not indicator)
        return Classes(names, indicator)


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineTopicClassifier(TopicClassifier, MergingTransformer):
    """A classifier that can learn more, and merge with others."""

    @property
    def n_changes_(self) -> NDArray[np.int64]:
        """How often what was learned of each class was forgotten because it had changed, (n_classes,)."""
        learned = self._known().now
        assert learned.model.change is not None  # all that learn online have it
        times = learned.model.change.times(learned.state.posterior)
        return np.repeat(times, 2) if learned.meaning.kind == "binary" else times

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: ArrayLike | None = None,
        topic_words: ArrayLike | None = None,
        workers: Executor = HERE,
    ) -> Self:
        """Learn more documents, in their order, in mini-batches of `batch_size`.

        How documents are cut into calls does not change the model. A mini-batch is learned when it is whole.
        The documents after it wait, and count for predictions at once. In the beginning all documents wait:
        the first ones are learned together. See `settle`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_words)
            Counts. More columns than before are new words.
        y : array of shape (n,) or (n, T), optional
            Classes, or 0 and 1 for each of T labels; None or NaN if unknown. None: no label is known.
        classes : array, optional
            All classes: required on the first call, and whenever new ones will come.
        topic_words : array of bool of shape (n_words,), optional
            Columns that topics use; by default all. Columns that are known already keep their setting.
        workers : Executor, optional
            As in `fit`. All steps are complete when this method returns.

        Returns
        -------
        self
        """
        return self._partial_fit(X, y, classes, Roles(topic_words), workers)._ready()


def _decided(decision: Floats, knows: Knowledge) -> NDArray[Any]:
    """Return what margins (n, T) decide."""
    found: NDArray[Any] = knows.meaning.decided(decision, one_at_least=knows.one_at_least)
    return found


def _probable(decision: Floats, knows: Knowledge) -> Floats:
    """Return the probabilities for margins (n, T)."""
    kind = knows.meaning.kind
    found = knows.margin_meaning.probabilities(decision / knows.model.margin, kind)
    return np.hstack([1.0 - found, found]) if kind == "binary" else found


def _shaped(values: Floats) -> Floats:
    return values[:, 0] if values.shape[1] == 1 else values
