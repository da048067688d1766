"""Online MedLDA (the paper's algorithm 1): classifier and regressor, which differ in defaults."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from bayespa.checks import require_number
from bayespa.topics.classifier import OnlineTopicClassifier
from bayespa.topics.estimator import TopicEstimator
from bayespa.topics.medlda_model import MedLDA
from bayespa.topics.model import Floats
from bayespa.topics.regressor import TopicRegressor


class MedLDAEstimator(TopicEstimator):
    """The parameters of MedLDA, which a classifier and a regressor share."""

    _merged_alike = ("n_topics", "learn_alpha", *TopicEstimator._merged_alike)

    def __init__(self, n_topics: int, **parameters: Any) -> None:
        self.n_topics = n_topics
        self.__dict__.update(parameters)

    def _topic_model(self, **shared: Any) -> MedLDA:
        require_number("n_topics", self.n_topics, 1, whole=True)
        require_number("alpha", self._value("alpha"), 0.0, open_=True)
        require_number("learn_alpha", self._value("learn_alpha"), 0, 1, whole=True)
        require_number("first_batch_size", self.first_batch_size, 1, whole=True)
        require_number("first_sweeps", self._value("first_sweeps"), 0, whole=True)
        return MedLDA(
            n_topics=int(self.n_topics),
            alpha=float(self._value("alpha")),
            learn_alpha=bool(self._value("learn_alpha")),
            first_batch_size=int(self.first_batch_size),
            first_sweeps=int(self._value("first_sweeps")),
            **shared,
        )

    @property
    def alpha_(self) -> Floats:
        """The Dirichlet prior of topic proportions, (K,); one-vs-rest has those of all tasks."""
        return np.concatenate([model.shares_prior(posterior) for model, posterior in self._parts()])


class MedLDAClassifier(OnlineTopicClassifier, MedLDAEstimator):
    """Classifier that learns topics from a stream of documents and decides by them: online MedLDA.

    Parameters
    ----------
    n_topics : int
        K.
    cost : float or None
        c, the weight of the loss. What counts is `cost` times `margin`, about how many words' worth of
        evidence the labels of a document are. None: 12, 256 if topics decide alone, and 512 one-vs-rest.
    margin : float
        ε, the margin that the loss asks for: the unit of decisions.
    weight_scale : float or None
        v, prior standard deviation of a weight, in the unit of `margin`. None: 0.05, and 1/64 one-vs-rest.
    bias_scale : float or None
        Prior standard deviation of a number that all weights of a task share: a bias, as topic shares sum to
        one. None: 0.3, and 0 one-vs-rest.
    word_scale : float
        Prior standard deviation of the weights that words have beside their topics [MED-9], in the unit of
        decisions, for documents of length 1; 0: topics decide alone, as in the paper.
    alpha : float or None
        Dirichlet prior of a document's topic proportions, or its mean over the topics. None: 0.8, and 0.4 if
        topics decide alone or one-vs-rest.
    learn_alpha : bool or None
        Whether topics have shares of α of their own [MED-11], as some are in most documents and others in
        few. None: yes, and no if topics decide alone or one-vs-rest.
    eta : float
        Dirichlet prior of a topic's words, rounded to a multiple of 2^-20.
    n_iterations : int
        I, how often local and global step alternate within a mini-batch.
    n_sweeps, burn_in : int
        J and β: Gibbs sweeps over a mini-batch given its labels, and how many of them are thrown away.
    batch_size : int or None
        Documents of a mini-batch. None: all at once, which is batch MedLDA and needs some `n_passes`.
    first_batch_size : int
        Documents in which topics are looked for before labels are learned [MED-10], as mini-batches. `fit`
        takes them from its documents; a stream should hand so many to the first call of `partial_fit`, which
        can only look at what it is given.
    first_sweeps : int or None
        Sweeps over these; 0: labels are learned from the first mini-batch on, as in the paper. None: 100, and
        0 if topics decide alone or one-vs-rest.
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
    alpha_ : (K,) array
        Dirichlet prior of topic proportions; one-vs-rest has those of all tasks.
    coef_, coef_cov_ : (T, K) and (T, K, K) arrays
        Mean and covariance of the topics' weights.
    word_coef_ : (T, n_words) array
        Mean of the weights that words have beside their topics.
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

    _defaults: ClassVar = {
        kind: {**defaults, "alpha": 0.4, "learn_alpha": False, "first_sweeps": 0}
        for kind, defaults in OnlineTopicClassifier._defaults.items()
    }
    _beside_words: ClassVar = {"cost": 12.0, "alpha": 0.8, "learn_alpha": True, "first_sweeps": 100}

    def __init__(
        self,
        n_topics: int = 40,
        *,
        cost: float | None = None,
        margin: float = 1.0,
        weight_scale: float | None = None,
        bias_scale: float | None = None,
        word_scale: float = 1.0,
        alpha: float | None = None,
        learn_alpha: bool | None = None,
        eta: float = 0.02,
        n_iterations: int = 1,
        n_sweeps: int = 4,
        burn_in: int = 2,
        batch_size: int | None = 256,
        first_batch_size: int = 4096,
        first_sweeps: int | None = None,
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
            word_scale=word_scale,
            alpha=alpha,
            learn_alpha=learn_alpha,
            eta=eta,
            n_iterations=n_iterations,
            n_sweeps=n_sweeps,
            burn_in=burn_in,
            batch_size=batch_size,
            first_batch_size=first_batch_size,
            first_sweeps=first_sweeps,
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


class MedLDARegressor(TopicRegressor, MedLDAEstimator):
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
        Dirichlet prior of a document's topic proportions, or its mean over the topics.
    learn_alpha : bool
        Whether topics have shares of α of their own [MED-11], as some are in most documents and others in
        few.
    eta : float
        Dirichlet prior of a topic's words, rounded to a multiple of 2^-20.
    n_iterations : int
        I, how often local and global step alternate within a mini-batch.
    n_sweeps, burn_in : int
        J and β: Gibbs sweeps over a mini-batch given its labels, and how many of them are thrown away.
    batch_size : int or None
        Documents of a mini-batch. None: all at once, which is batch MedLDA and needs some `n_passes`.
    first_batch_size : int
        Documents in which topics are looked for before labels are learned [MED-10], as mini-batches. `fit`
        takes them from its documents; a stream should hand so many to the first call of `partial_fit`, which
        can only look at what it is given.
    first_sweeps : int
        Sweeps over these; 0: labels are learned from the first mini-batch on, as in the paper.
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
    alpha_ : (K,) array
        Dirichlet prior of topic proportions; one-vs-rest has those of all tasks.
    coef_, coef_cov_ : (T, K) and (T, K, K) arrays
        Mean and covariance of the topics' weights.
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

    def __init__(
        self,
        n_topics: int = 40,
        *,
        cost: float = 16.0,
        margin: float = 0.1,
        weight_scale: float = 2.0,
        bias_scale: float = 1.0,
        alpha: float = 0.4,
        learn_alpha: bool = False,
        eta: float = 0.02,
        n_iterations: int = 1,
        n_sweeps: int = 4,
        burn_in: int = 2,
        batch_size: int | None = 64,
        first_batch_size: int = 4096,
        first_sweeps: int = 0,
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
            learn_alpha=learn_alpha,
            eta=eta,
            n_iterations=n_iterations,
            n_sweeps=n_sweeps,
            burn_in=burn_in,
            batch_size=batch_size,
            first_batch_size=first_batch_size,
            first_sweeps=first_sweeps,
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
