"""Online MedLDA for regression, with the ε-insensitive loss. [MED-8]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from bayespa.topics.estimator import Targets
from bayespa.topics.explain import Explanation
from bayespa.topics.labels import Labels, label_array, real_tasks
from bayespa.topics.medlda import MedLDAEstimator, one_row
from bayespa.topics.merge import require_mergeable

if TYPE_CHECKING:
    from typing_extensions import Self


class MedLDARegressor(RegressorMixin, MedLDAEstimator):  # type: ignore[misc]
    """Regressor that learns topics from a stream of documents, with the ε-insensitive loss: online MedLDA.

    Targets are expected to be of unit size: see sklearn.compose.TransformedTargetRegressor.

    Parameters
    ----------
    n_topics : int
        K.
    cost : float
        c, the weight of the loss. What counts is `cost` times `margin`, about how many words' worth of
        evidence the labels of a document are.
    margin : float
        ε, how far a prediction may be off at no loss; in the unit of y.
    weight_scale : float
        v, prior standard deviation of a weight in the unit of y.
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
    topic_word_ : (K, n_words) array
        Concentrations Δ of the topics; one-vs-rest stacks those of all tasks.
    components_ : (K, n_words) array
        The topics' mean, as of scikit-learn's LatentDirichletAllocation.
    coef_, coef_cov_ : (T, K) and (T, K, K) arrays
        Mean and covariance of the weights.
    n_documents_seen_ : int
        Documents learned.
    objective_ : list of float
        Of every mini-batch, its expected loss [MED-8] per document when it was learned.
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
    >>> from bayespa import MedLDARegressor
    >>> from bayespa.datasets import make_topic_corpus
    >>> corpus = make_topic_corpus(600, n_words=300, n_topics=6, n_labels=3, random_state=0)
    >>> y = corpus.document_topic[:, 0] - corpus.document_topic[:, 1]
    >>> model = MedLDARegressor(n_topics=6, random_state=0).fit(corpus.data[:500], y[:500])
    >>> model.score(corpus.data[500:], y[500:]) > 0.5
    True
    """

    _regression = True

    def __init__(
        self,
        n_topics: int = 40,
        *,
        cost: float = 16.0,
        margin: float = 0.1,
        weight_scale: float = 2.0,
        bias_scale: float = 1.0,
        alpha: float = 0.4,
        eta: float = 0.02,
        n_iterations: int = 1,
        n_sweeps: int = 4,
        burn_in: int = 2,
        batch_size: int | None = 64,
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
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        tags.regressor_tags.poor_score = True  # on data that are no counts, like every model of word counts
        return tags

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn more documents, in their order, in mini-batches of `batch_size`; nothing is replaced.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_words)
            Counts. More columns than before are new words.
        y : array of shape (n,) or (n, T), optional
            Targets; None or NaN where unknown. None: no target is known.

        Returns
        -------
        self
        """
        return self._partial_fit(X, y, None)

    def _targets(self, n: int, y: Any, classes: Any, *, fit: bool) -> Targets:
        y, known = label_array(n, y)
        labels = real_tasks(y, known)
        first = fit or not hasattr(self, "_n_tasks")
        if not first and not known.any():
            labels = np.full((n, self._n_tasks), np.nan, np.float32)
        if not first and labels.shape[1] != self._n_tasks:
            raise ValueError(
                f"y has {labels.shape[1]} targets a document, but the model has learned {self._n_tasks}"
            )
        if fit and not known.any():
            raise ValueError(
                "y has no known target at all; partial_fit can learn from words alone, fit cannot"
            )
        flat = y.ndim == 1 if first or known.any() else self._flat
        return self._continued(labels, flat)

    def _continued(self, labels: Labels, flat: bool) -> Targets:
        n_tasks = labels.shape[1]
        return Targets(labels, {"_flat": flat}, None, np.arange(n_tasks), np.ones(n_tasks))

    def predict(
        self,
        X: Any,
        return_std: bool = False,
        *,
        prediction: Literal["mean", "gibbs"] = "mean",
        random_state: Any = None,
    ) -> Any:
        """Return the expected targets of documents.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_words)
        return_std : bool
            Return their standard deviations too.
        prediction : {"mean", "gibbs"}
            Predict with the posterior mean of the weights, or with one draw from their posterior for the
            whole call.
        random_state : int, RandomState or Generator, optional
            Seed of that draw; by default the model's, and every call draws the same.

        Returns
        -------
        array of the shape of y, or two of them
        """
        mean, variance = self._margins(X, prediction, random_state)
        if self._flat:
            mean, variance = mean[:, 0], variance[:, 0]
        return (mean, np.sqrt(variance)) if return_std else mean

    def explain(self, X: Any, target: int = 0, feature_names: ArrayLike | None = None) -> Explanation:
        """Say which topics and which words of a document carried a prediction.

        Parameters
        ----------
        X : array of shape (n_words,), or array or sparse matrix of shape (1, n_words)
            One document.
        target : int
            Column of y whose prediction to explain.
        feature_names : array of shape (n_words,), optional
            The words.

        Returns
        -------
        Explanation
            Its contributions of topics sum to the prediction, and so do those of words.
        """
        check_is_fitted(self)
        if not 0 <= target < self._n_tasks:
            raise ValueError(f"target is {target!r}; the model has {self._n_tasks} targets, from 0")
        return self._explain(one_row(X), target, f"target {target}", feature_names)

    def merge(self, other: MedLDARegressor, ancestor: MedLDARegressor | None = None) -> Self:
        """Add what another model learned from other documents.

        Parameters
        ----------
        other : MedLDARegressor
            With the same parameters and targets. It may know more words in columns behind the common ones.
        ancestor : MedLDARegressor, optional
            The model that both went on learning from, counted once. Without one both started from the prior;
            since topics then come in any order, each of theirs joins the one of mine that is most like it.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        require_mergeable(self, other)
        if other._n_tasks != self._n_tasks:
            raise ValueError(f"this model has {self._n_tasks} targets and the other {other._n_tasks}")
        targets = self._continued(np.empty((0, self._n_tasks), np.float32), self._flat)
        return self._merge(other, ancestor, lambda model: targets)
