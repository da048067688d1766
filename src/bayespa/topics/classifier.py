"""What every supervised topic model does with classes and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bayespa.checks import require_choice
from bayespa.classes import some
from bayespa.topics.calibration import Calibration, probabilities, temperature
from bayespa.topics.estimator import TopicEstimator, one_row
from bayespa.topics.explain import Explanation
from bayespa.topics.labels import Classes, Labels, label_array
from bayespa.topics.merge import require_mergeable
from bayespa.topics.model import Floats
from bayespa.topics.transformer import Targets

if TYPE_CHECKING:
    from typing_extensions import Self


class TopicClassifier(ClassifierMixin, TopicEstimator):  # type: ignore[misc]
    """Classes are tasks, whose largest margin decides; subclasses say what the topics are."""

    _regression = False
    _indicator: bool
    classes_: NDArray[Any]
    # What serves a topic model of one task is not what serves one whose topics serve all.
    _defaults: ClassVar[dict[str, dict[str, Any]]] = {
        "shared": {"cost": 256.0, "weight_scale": 0.05, "bias_scale": 0.3},
        "ovr": {"cost": 512.0, "weight_scale": 2.0**-6, "bias_scale": 0.0},
    }

    _beside_words: ClassVar[dict[str, Any]] = {}  # likewise, of topics that decide with words

    def _value(self, name: str) -> Any:
        value = super()._value(name)
        if value is None:
            require_choice("multi_class", self.multi_class, tuple(self._defaults))
            defaults = self._defaults[self.multi_class]
            if self.word_scale and self.multi_class == "shared":
                defaults = {**defaults, **self._beside_words}
            value = defaults.get(name)
        return value

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.poor_score = True  # on data that are no counts, like every model of word counts
        return tags

    def _targets(self, n: int, y: Any, classes: Any, *, fit: bool) -> Targets:
        y, known = label_array(n, y)
        before = None if fit or not hasattr(self, "classes_") else Classes(self.classes_, self._indicator)
        after = Classes.of(y, known, classes, before, fit=fit)
        return self._continued(after, before or after, after.encode(y, known))

    def _continued(self, after: Classes, before: Classes, labels: Labels) -> Targets:
        """Return what becomes of the model when its classes are those of `after`."""
        calibration: Calibration = "exclusive" if after.n_tasks > 1 else "binary"
        if after.indicator:
            calibration = "labels"
        attributes = {"classes_": after.names, "_indicator": after.indicator}
        return Targets(labels, attributes, calibration, *after.tasks_before(before))

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
        return self._shaped(self._margins(X, prediction, random_state)[0])

    def decision_std(self, X: Any) -> Floats:
        """Return the standard deviation of the margins, in the shape of `decision_function`.

        It has two sources: what is not known about the weights, and about the topics of a document's words.
        """
        return self._shaped(np.sqrt(self._margins(X, "mean", None)[1]))

    def _shaped(self, values: Floats) -> Floats:
        return values[:, 0] if self._n_tasks == 1 else values

    def predict(
        self, X: Any, *, prediction: Literal["mean", "gibbs"] = "mean", random_state: Any = None
    ) -> NDArray[Any]:
        """Return the class of each document, (n,), or 0 and 1 for each label, (n, T).

        The parameters are those of `decision_function`. Of many labels those are given whose margin is above
        one that was learned: it would have been best (by F1) for what was said before labels were seen, and
        is subtracted from decisions and weights.
        """
        decision = self.decision_function(X, prediction=prediction, random_state=random_state)
        if self._indicator:
            return (decision > 0.0).astype(np.int64)
        winner = (decision > 0.0).astype(np.int64) if decision.ndim == 1 else decision.argmax(axis=1)
        return np.asarray(self.classes_[winner])

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, (n, n_classes), or of each label on its own, (n, T).

        A sigmoid of each decision, where one class is right as a share of their sum. The temperature of the
        sigmoids was learned while learning: from what the model would have said of documents before it saw
        the label.
        """
        mean, _ = self._margins(X, "mean", None)
        exclusive = self._calibration == "exclusive"
        found = probabilities(mean / self.margin, temperature(self._posterior), exclusive=exclusive)
        return found if exclusive or self._indicator else np.hstack([1.0 - found, found])

    def explain(self, X: Any, target: Any = None, feature_names: ArrayLike | None = None) -> Explanation:
        """Say which topics and which words of a document carried a decision.

        Parameters
        ----------
        X : array of shape (n_words,), or array or sparse matrix of shape (1, n_words)
            One document.
        target : class or label, optional
            Whose decision to explain; by default that of the predicted class. Two classes have one decision,
            for the second.
        feature_names : array of shape (n_words,), optional
            The words.

        Returns
        -------
        Explanation
            What topics contribute and what words add beside them sum to the decision; so do its words.
        """
        check_is_fitted(self)
        if self._n_tasks == 1:
            task = 0
        elif target is None:
            task = int(self.decision_function(one_row(X))[0].argmax())
        else:
            found = np.flatnonzero(self.classes_ == target)
            if not len(found):
                raise ValueError(f"target is {target!r}, and the classes are {some(self.classes_)}")
            task = int(found[0])
        name = self.classes_[-1] if self._n_tasks == 1 else self.classes_[task]
        return self._explain(one_row(X), task, name, feature_names)


class OnlineTopicClassifier(TopicClassifier):
    """A classifier that goes on learning, and adds what others have learned."""

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

    def merge(self, other: Self, ancestor: Self | None = None) -> Self:
        """Add what another model learned from other documents.

        Parameters
        ----------
        other : Self
            With the same parameters. It may know other classes, or more words in columns behind the common
            ones.
        ancestor : Self, optional
            The model that both went on learning from, counted once. Without one both started from the prior;
            since topics then come in any order, each of theirs joins the one of mine that is most like it.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        require_mergeable(self, other)
        after = Classes(self.classes_, self._indicator).joined(Classes(other.classes_, other._indicator))

        def targets(model: Self) -> Targets:
            return self._continued(
                after, Classes(model.classes_, model._indicator), np.empty((0, after.n_tasks), np.float32)
            )

        return self._merge(other, ancestor, targets)
