"""What every supervised topic model does with classes and labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from bayespa.classes import require_classes, some
from bayespa.topics.calibration import probabilities
from bayespa.topics.estimator import Learned
from bayespa.topics.explain import Explanation
from bayespa.topics.labels import Classes, Labels, label_array
from bayespa.topics.part import Floats
from bayespa.topics.supervised import MergingTransformer, SupervisedTransformer

if TYPE_CHECKING:
    from typing_extensions import Self


# The paper's section 5.1, and the choices that its algorithms leave no doubt about.
PAPER: dict[str, Any] = {
    "decides": "topics",
    "cost": 1.0,
    "margin": 164.0,
    "weight_scale": 1.0,
    "multi_class": "ovr",
    "expert": {
        "bias_scale": 0.0,
        "sampler": "augmented",
        "label_free": 0.0,
        "topic_estimate": "geometric",
        "n_iterations": 1,
        "n_sweeps": 2,
        "burn_in": 0,
    },
}


@dataclass(eq=False, repr=False, kw_only=True)
class TopicClassifier(ClassifierMixin, SupervisedTransformer):  # type: ignore[misc]
    """Classes are tasks, whose largest margin decides; subclasses say what the topics are."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.poor_score = True  # on data that are no counts, like every model of word counts
        return tags

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
        """Whether a document may have any number of labels; else it has one class."""
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
            Seed of that draw; by default the model's, and every call draws the same.

        Returns
        -------
        array of shape (n,) for two classes, positive for the second, else (n, T)
        """
        return _shaped(self._margins(X, prediction, random_state)[0])

    def decision_std(self, X: Any) -> Floats:
        """Return the standard deviation of the margins, in the shape of `decision_function`.

        It has two sources: what is not known about the weights, and about the topics of a document's words.
        """
        return _shaped(np.sqrt(self._margins(X)[1]))

    def predict(
        self, X: Any, *, prediction: Literal["mean", "gibbs"] = "mean", random_state: Any = None
    ) -> NDArray[Any]:
        """Return the class of each document, (n,), or 0 and 1 for each label, (n, T).

        The parameters are those of `decision_function`. Of many labels those are given whose margin is above
        one that was learned: it would have been best (by F1) for what was said before labels were seen, and
        is subtracted from decisions and weights.
        """
        snapshot = self._snapshot()
        return snapshot._decided(snapshot._margins(X, prediction, random_state)[0])

    def _answers(self, X: Any) -> tuple[NDArray[Any], Floats, Floats]:
        """Return what `predict` and `predict_proba` say, and the margins (n, T), for the price of one."""
        snapshot = self._snapshot()
        decision = snapshot._margins(X)[0]
        return snapshot._decided(decision), snapshot._probable(decision), decision

    def _decided(self, decision: Floats) -> NDArray[Any]:
        """Return what margins (n, T) decide."""
        meaning = self._learned.meaning
        if meaning.indicator:
            return (decision > 0.0).astype(np.int64)
        single = decision.shape[1] == 1
        winner = (decision[:, 0] > 0.0).astype(np.int64) if single else decision.argmax(axis=1)
        return np.asarray(meaning.names[winner])

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, (n, n_classes), or of each label on its own, (n, T).

        A sigmoid of each decision, where one class is right as a share of their sum. The temperature of the
        sigmoids was learned while learning: from what the model would have said of documents before it saw
        the label.
        """
        snapshot = self._snapshot()
        return snapshot._probable(snapshot._margins(X)[0])

    def _probable(self, decision: Floats) -> Floats:
        """Return the probabilities that margins (n, T) stand for."""
        learned: Learned = self._learned
        kind = learned.meaning.kind
        found = probabilities(
            decision / learned.model.margin, learned.temperature, exclusive=kind == "exclusive"
        )
        return np.hstack([1.0 - found, found]) if kind == "binary" else found

    @property
    def progressive_(self) -> Floats:
        """What `decision_function` would have said of the last call's documents before they were learned.

        (n, T), from a single sweep: a little less certain than `decision_function`. Of documents in which
        topics were looked for first, it has seen the words.
        """
        learned = self._known()
        margin: Floats = learned.progressive - learned.offset
        return margin

    def explain(self, X: Any, target: Any = None, feature_names: ArrayLike | None = None) -> Explanation:
        """Say which topics and which words of a document carried a decision.

        Parameters
        ----------
        X : array of shape (n_words,), or array or sparse matrix of shape (1, n_words)
            One document.
        target : class or label, optional
            Whose decision to explain; by default that of the predicted class. Two classes have one decision,
            for the second.
        feature_names : sequence of n_words, optional
            The words.

        Returns
        -------
        Explanation
            What topics contribute and what words add beside them sum to the decision; so do its words.
        """

        def choose(learned: Learned, margin: Floats) -> tuple[int, Any]:
            classes = learned.meaning.names
            if learned.meaning.n_tasks == 1:
                return 0, classes[-1]
            found = [int(margin.argmax())] if target is None else np.flatnonzero(classes == target)
            if not len(found):
                raise ValueError(f"target is {target!r}, and the classes are {some(classes)}")
            return int(found[0]), classes[found[0]]

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
    """A classifier that goes on learning, and adds what others have learned.

    Parameters
    ----------
    decides : {"topics+words", "topics"}
        Who decides: topics with words beside them [MED-9], or topics alone, as in the paper.
    """

    decides: Literal["topics", "topics+words"] = "topics+words"

    _merged_alike: ClassVar[tuple[str, ...]] = ("decides", "word_scale")

    def partial_fit(self, X: Any, y: Any = None, classes: ArrayLike | None = None) -> Self:
        """Learn more documents, in their order, in mini-batches of `batch_size`; nothing is replaced.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_words)
            Counts. More columns than before are new words.
        y : array of shape (n,) or (n, T), optional
            Classes, or 0 and 1 for each of T labels; None or NaN where unknown. None: no label is known.
        classes : array, optional
            All classes that y will have: on the first call, and whenever new ones are to come.

        Returns
        -------
        self
        """
        return self._partial_fit(X, y, classes)


def _shaped(values: Floats) -> Floats:
    return values[:, 0] if values.shape[1] == 1 else values
