"""Online MedLDA (the paper's algorithm 1): its parameters, and the classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bayespa.checks import number_of_threads, require_choice, require_number
from bayespa.classes import some
from bayespa.topics.calibration import Calibration, probabilities, temperature
from bayespa.topics.documents import UNIT
from bayespa.topics.estimator import Targets, TopicEstimator
from bayespa.topics.explain import Explanation
from bayespa.topics.labels import Classes, Labels, label_array
from bayespa.topics.merge import require_mergeable
from bayespa.topics.model import Floats, MedLDA, OneVsRest

if TYPE_CHECKING:
    from typing_extensions import Self


class MedLDAEstimator(TopicEstimator):
    """The parameters of MedLDA, which a classifier and a regressor share."""

    _regression: bool

    def __init__(self, n_topics: int, **parameters: Any) -> None:
        self.n_topics = n_topics
        self.__dict__.update(parameters)

    def _model(self, n_tasks: int, calibration: Calibration, key: int) -> MedLDA | OneVsRest:
        require_number("n_topics", self.n_topics, 1, whole=True)
        for name in ("cost", "weight_scale", "alpha"):
            require_number(name, getattr(self, name), 0.0, open_=True)
        require_number("margin", self.margin, 0.0, open_=not self._regression)
        require_number("bias_scale", self.bias_scale, 0.0)
        require_number("eta", self.eta, UNIT)
        require_number("n_iterations", self.n_iterations, 1, whole=True)
        require_number("n_sweeps", self.n_sweeps, 1, whole=True)
        require_number("burn_in", self.burn_in, 0, self.n_sweeps - 1, whole=True)
        if self.batch_size is not None:
            require_number("batch_size", self.batch_size, 1, whole=True)
        require_number("n_passes", self.n_passes, 1, whole=True)
        require_choice("sampler", self.sampler, ("collapsed", "augmented"))
        require_choice("classifier", self.classifier, ("gibbs", "averaging"))
        require_choice("multi_class", self.multi_class, ("shared", "ovr"))
        require_number("discount", self.discount, 0.0, 1.0, open_=True)
        if self.discount < 1.0 and self.n_passes > 1:
            raise ValueError(
                f"discount is {self.discount!r} and n_passes {self.n_passes!r}: one forgets a stream, the "
                "other replays a corpus; use one of both"
            )
        require_number("label_free", self.label_free, 0.0, 1.0)
        require_choice("topic_estimate", self.topic_estimate, ("mean", "geometric"))
        require_number("prediction_sweeps", self.prediction_sweeps, 2, whole=True)
        shared = self.multi_class == "shared"
        model = MedLDA(
            n_topics=int(self.n_topics),
            n_tasks=n_tasks if shared else 1,
            alpha=float(self.alpha),
            eta=float(self.eta),
            weight_scale=float(self.weight_scale),
            bias_scale=float(self.bias_scale),
            cost=float(self.cost),
            margin=float(self.margin),
            regression=self._regression,
            calibration=calibration if shared else None,
            averaging=self.classifier == "averaging",
            sampler=self.sampler,
            n_sweeps=int(self.n_sweeps),
            burn_in=int(self.burn_in),
            label_free=float(self.label_free),
            mean_topics=self.topic_estimate == "mean",
            prediction_sweeps=int(self.prediction_sweeps),
            key=key,
            n_threads=number_of_threads(self.n_jobs),
        )
        return model if shared else OneVsRest(model, n_tasks, calibration)

    def _margins(self, X: Any, prediction: str, random_state: Any) -> tuple[Floats, Floats]:
        """Return mean and variance (n, T) of the margins of documents."""
        require_choice("prediction", prediction, ("mean", "gibbs"))
        corpus = self._corpus(X)
        weights = self._drawn_weights(random_state) if prediction == "gibbs" else None
        _, mean, variance = self._infer(corpus, weights)
        return mean, variance


def one_row(X: Any) -> Any:
    """Return one document as a matrix."""
    return X if hasattr(X, "ndim") and X.ndim == 2 else np.atleast_2d(np.asarray(X))


class MedLDAClassifier(ClassifierMixin, MedLDAEstimator):  # type: ignore[misc]
    """Classifier that learns topics from a stream of documents and decides by them: online MedLDA.

    Parameters
    ----------
    n_topics : int
        K.
    cost : float
        c, the weight of the loss. What counts is `cost` times `margin`, about how many words' worth of
        evidence the labels of a document are.
    margin : float
        ε, the margin that the loss asks for: the unit of decisions.
    weight_scale : float
        v, prior standard deviation of a weight in the same unit as `margin`.
    bias_scale : float
        Prior standard deviation of a number that all weights of a task share: a bias, as topic shares sum to
        one.
    alpha : float
        Dirichlet prior of a document's topic proportions.
    eta : float
        Dirichlet prior of a topic's words, rounded to a multiple of 2^-20.
    n_iterations : int
        I, how often local and global step alternate within a mini-batch.
    n_sweeps, burn_in : int
        J and β: Gibbs sweeps over a mini-batch given its labels, and how many of them are thrown away.
    batch_size : int or None
        Documents of a mini-batch. None: all at once, which is batch MedLDA and needs `n_iterations`, not
        `n_passes`.
    n_passes : int
        Passes of `fit` over the corpus; what a mini-batch taught before is replaced, so that no document
        counts twice.
    sampler : {"collapsed", "augmented"}
        With the augmenting variables integrated out [MED-3], or drawn as in the paper [MED-1]. Both have one
        target.
    classifier : {"gibbs", "averaging"}
        The loss of weights drawn from the posterior, or of their mean.
    multi_class : {"shared", "ovr"}
        All tasks share K topics, or each has K of its own.
    discount : float
        Below 1: before each mini-batch the posterior goes back to the prior by this factor, for streams that
        drift.
    label_free : float
        Share of the weights' statistics that comes from topics sampled before labels are looked at, as a
        prediction has them; the paper's value is 0.
    topic_estimate : {"mean", "geometric"}
        Sample with E Φ or with exp(E log Φ), the mean-field optimum and the paper's choice.
    prediction_sweeps : int
        Gibbs sweeps over a document to predict; the first quarter is burn-in.
    random_state : int, RandomState, Generator or None
        Seed. The same seed gives the same bits for any `n_jobs` and on any CPU.
    n_jobs : int or None
        Threads: None is 1, -1 all processors.
    verbose : int
        1 reports a pass in ten lines, 2 every mini-batch.

    Attributes
    ----------
    classes_ : (n_classes,) array
        The classes, or the labels of an indicator matrix.
    topic_word_ : (K, n_words) array
        Concentrations Δ of the topics; one-vs-rest stacks those of all tasks.
    components_ : (K, n_words) array
        The topics' mean, as of scikit-learn's LatentDirichletAllocation.
    coef_, coef_cov_ : (T, K) and (T, K, K) arrays
        Mean and covariance of the weights.
    n_documents_seen_ : int
        Documents learned.
    objective_ : list of float
        Of every mini-batch, its expected loss [MED-3] per document when it was learned.
    n_features_in_ : int
        Words known.

    Notes
    -----
    Counts are numbers of tokens. A document whose counts are not whole numbers is cut into 257 to 512 tokens
    of equal weight (a power of two), which count by that weight; whole counts are best, so use
    CountVectorizer, not TfidfVectorizer, where there is a choice. A document may have 2^24 tokens.

    A prediction depends on the document, the model and `random_state` alone, not on what else is predicted
    with it.

    References
    ----------
    T. Shi and J. Zhu, Online Bayesian passive-aggressive learning, ICML 2014.

    Examples
    --------
    >>> from bayespa import MedLDAClassifier
    >>> from bayespa.datasets import make_topic_corpus
    >>> corpus = make_topic_corpus(600, n_words=300, n_topics=6, n_labels=3, random_state=0)
    >>> model = MedLDAClassifier(n_topics=6, random_state=0).fit(corpus.data[:500], corpus.target[:500])
    >>> model.score(corpus.data[500:], corpus.target[500:]) > 0.8
    True

    A stream, of which some labels are unknown:

    >>> stream = make_topic_corpus(600, n_words=300, n_topics=6, n_labels=3, batch_size=100, random_state=0)
    >>> model = MedLDAClassifier(n_topics=6, random_state=0)
    >>> for batch in stream:
    ...     labels = [None, *batch.target[1:]]
    ...     model = model.partial_fit(batch.data, labels, classes=[0, 1, 2])
    >>> model.n_documents_seen_
    600
    """

    _regression = False
    classes_: NDArray[Any]

    def __init__(
        self,
        n_topics: int = 40,
        *,
        cost: float = 256.0,
        margin: float = 1.0,
        weight_scale: float = 0.05,
        bias_scale: float = 0.3,
        alpha: float = 0.4,
        eta: float = 0.02,
        n_iterations: int = 1,
        n_sweeps: int = 4,
        burn_in: int = 2,
        batch_size: int | None = 256,
        n_passes: int = 1,
        sampler: Literal["collapsed", "augmented"] = "collapsed",
        classifier: Literal["gibbs", "averaging"] = "gibbs",
        multi_class: Literal["shared", "ovr"] = "shared",
        discount: float = 1.0,
        label_free: float = 0.5,
        topic_estimate: Literal["mean", "geometric"] = "mean",
        prediction_sweeps: int = 50,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_topics,
            cost=cost,
            margin=margin,
            weight_scale=weight_scale,
            bias_scale=bias_scale,
            alpha=alpha,
            eta=eta,
            n_iterations=n_iterations,
            n_sweeps=n_sweeps,
            burn_in=burn_in,
            batch_size=batch_size,
            n_passes=n_passes,
            sampler=sampler,
            classifier=classifier,
            multi_class=multi_class,
            discount=discount,
            label_free=label_free,
            topic_estimate=topic_estimate,
            prediction_sweeps=prediction_sweeps,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.poor_score = True  # on data that are no counts, like every model of word counts
        return tags

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

    def _targets(self, n: int, y: Any, classes: Any, *, fit: bool) -> Targets:
        y, known = label_array(n, y)
        before = None if fit or not hasattr(self, "classes_") else Classes(self.classes_, self._indicator)
        after = Classes.of(y, known, classes, before, fit=fit)
        return self._continued(after, before or after, after.encode(y, known))

    def _continued(self, after: Classes, before: Classes, labels: Labels) -> Targets:
        """Return what becomes of the model when its classes are those of `after`."""
        calibration: Calibration = "exclusive" if after.n_tasks > 1 and not after.indicator else "independent"
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

        The parameters are those of `decision_function`.
        """
        decision = self.decision_function(X, prediction=prediction, random_state=random_state)
        if self._indicator:
            return (decision > 0.0).astype(np.int64)
        winner = (decision > 0.0).astype(np.int64) if decision.ndim == 1 else decision.argmax(axis=1)
        return np.asarray(self.classes_[winner])

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, (n, n_classes), or of each label on its own, (n, T).

        A softmax of the decisions, whose temperature was learned while learning: from what the model would
        have said of every document before it saw the label.
        """
        mean, _ = self._margins(X, "mean", None)
        exclusive = self._calibration == "exclusive"
        found = probabilities(
            mean / self.margin, temperature(self._posterior["temperature"]), exclusive=exclusive
        )
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
            Its contributions of topics sum to the decision, and so do those of words.
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

    def merge(self, other: MedLDAClassifier, ancestor: MedLDAClassifier | None = None) -> Self:
        """Add what another model learned from other documents.

        Parameters
        ----------
        other : MedLDAClassifier
            With the same parameters. It may know other classes, or more words in columns behind the common
            ones.
        ancestor : MedLDAClassifier, optional
            The model that both went on learning from, counted once. Without one both started from the prior;
            since topics then come in any order, each of theirs joins the one of mine that is most like it.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        require_mergeable(self, other)
        after = Classes(self.classes_, self._indicator).joined(Classes(other.classes_, other._indicator))

        def targets(model: MedLDAClassifier) -> Targets:
            return self._continued(
                after, Classes(model.classes_, model._indicator), np.empty((0, after.n_tasks), np.float32)
            )

        return self._merge(other, ancestor, targets)
