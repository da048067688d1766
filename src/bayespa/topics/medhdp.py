"""Online MedHDP (the paper's algorithm 2): classifier and regressor, which differ in defaults."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bayespa.checks import require_number
from bayespa.topics.batches import Batches
from bayespa.topics.classifier import OnlineTopicClassifier
from bayespa.topics.documents import Corpus
from bayespa.topics.estimator import TopicEstimator
from bayespa.topics.labels import Labels
from bayespa.topics.medhdp_model import MedHDP
from bayespa.topics.model import Floats
from bayespa.topics.regressor import TopicRegressor
from bayespa.topics.transformer import TopicTransformer


class HdpTransformer(TopicTransformer):
    """The parameters and attributes of a topic model that finds the number of its topics."""

    def _check_topics(self) -> dict[str, Any]:
        """Check the parameters that say how topics are born and die, and return them."""
        for name in ("concentration", "stick_concentration", "start_concentration"):
            require_number(name, self._value(name), 0.0, open_=True)
        require_number("first_sweeps", self._value("first_sweeps"), 1, whole=True)
        require_number("min_tokens", self.min_tokens, 0.0)
        for name in ("max_topics", "first_batch_size"):
            if getattr(self, name) is not None:
                require_number(name, getattr(self, name), 1, whole=True)
        return {
            "concentration": float(self._value("concentration")),
            "stick_concentration": float(self.stick_concentration),
            "start_concentration": float(self._value("start_concentration")),
            "first_sweeps": int(self._value("first_sweeps")),
            "min_tokens": float(self.min_tokens),
            "max_topics": self.max_topics,
        }

    def _batches(self, corpus: Corpus, labels: Labels, order: NDArray[np.int64]) -> Batches:
        first = None if self._n_steps or self.batch_size is None else self.first_batch_size
        return Batches(corpus, labels, order, self.batch_size, max(first or 0, self.batch_size or 0))

    @property
    def n_topics_(self) -> int:
        """Topics in use, K; in one-vs-rest those of all tasks together."""
        return len(self.topic_ids_)

    @property
    def topic_ids_(self) -> NDArray[np.int64]:
        """Numbers that the topics keep from birth to death, (K,)."""
        return np.concatenate([posterior["topics"].ids for _, posterior in self._parts()])

    @property
    def topic_tokens_(self) -> Floats:
        """Words that each topic has learned, (K,), in the order of `topic_ids_`."""
        return np.concatenate([posterior["topics"].tokens for _, posterior in self._parts()])

    @property
    def stick_(self) -> Any:
        """Posterior of the sticks, in the order of the topics; in one-vs-rest a list, one for each task."""
        gamma = float(self.stick_concentration)
        sticks = [posterior["topics"].sticks(gamma) for _, posterior in self._parts()]
        return sticks if self.multi_class == "ovr" else sticks[0]


class MedHDPEstimator(HdpTransformer, TopicEstimator):
    """The parameters of MedHDP, which a classifier and a regressor share."""

    _merged_alike = ("stick_concentration", *TopicEstimator._merged_alike)

    def __init__(self, **parameters: Any) -> None:
        self.__dict__.update(parameters)

    def _topic_model(self, **shared: Any) -> MedHDP:
        return MedHDP(**self._check_topics(), **shared)


# Topics of one task are few, smooth and found by its labels; those of all tasks are found before labels.
_TOPICS = {
    "shared": {
        "concentration": 5.0,
        "eta": 0.05,
        "first_sweeps": 100,
        "start_concentration": 100.0,
        "n_iterations": 4,
    },
    "ovr": {
        "concentration": 5.0,
        "eta": 0.45,
        "first_sweeps": 3,
        "start_concentration": 1000.0,
        "n_iterations": 2,
    },
}


class MedHDPClassifier(OnlineTopicClassifier, MedHDPEstimator):
    """Classifier that learns topics, and how many, from a stream, and decides by them: online MedHDP.

    Parameters
    ----------
    concentration : float or None
        α: the more of it, the more topics a document has. Its proportions are Dirichlet(α π), where π are the
        shares of the topics in all documents. None: 20, and 5 if topics decide alone or one-vs-rest.
    stick_concentration : float
        γ: how readily topics are born. The more of it, the more topics share the documents.
    eta : float or None
        η, the Dirichlet prior of a topic's words, rounded to a multiple of 2^-20. Small values make more
        topics, of fewer words each. None: 0.05, and 0.45 one-vs-rest.
    max_topics : int or None
        After a mini-batch at most so many topics are kept, those that hold most. None: as many as it takes.
    cost : float or None
        c, the weight of the loss. What counts is `cost` times `margin`, about how many words' worth of
        evidence the labels of a document are. None: 64, 256 if topics decide alone, and 512 one-vs-rest.
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
    n_iterations : int or None
        I, how often local and global step alternate within a mini-batch. None: 4, and 2 one-vs-rest.
    n_sweeps, burn_in : int
        J and β: Gibbs sweeps over a mini-batch given its labels, and how many of them are thrown away.
    batch_size : int or None
        Documents of a mini-batch. None: all at once, which is batch MedHDP and needs many `n_sweeps`, or
        some `n_passes`.
    first_batch_size : int or None
        Documents of the first mini-batch, if that is more than `batch_size`: topics are found where there is
        enough to see. `fit` takes them from its documents; a stream should hand so many to the first call of
        `partial_fit`, which can only learn what it is given.
    first_sweeps : int or None
        Sweeps over the first mini-batch without labels, before the `n_sweeps` with them. To find out how many
        topics there are, give it more of both: 4096 documents and 200 sweeps. None: 100, and 3 one-vs-rest.
    start_concentration : float or None
        γ in the very first sweep, where the chain of the first mini-batch starts. The law of the samples has
        `stick_concentration`; but a chain that starts with many topics loses those that it has no use for,
        and one that starts with few is slow to split them. The paper's choice is `stick_concentration`. None:
        100, and 1000 one-vs-rest.
    min_tokens : float
        A topic that holds fewer tokens after a mini-batch, and less than a thousandth of all, is removed with
        what it holds. 0: only topics that hold nothing are removed.
    n_passes : int
        Passes of `fit` over the corpus; what a mini-batch taught before is replaced, so that no document
        counts twice.
    sampler : {"collapsed", "augmented"}
        With the augmenting variables integrated out [MED-3], or drawn as in the paper [MED-1]. Both have one
        target.
    classifier : {"gibbs", "averaging"}
        The loss of weights drawn from the posterior, or of their mean.
    multi_class : {"shared", "ovr"}
        All tasks share topics, or each has topics of its own, and a number of them.
    discount : float
        Below 1: before each mini-batch the posterior goes back to the prior by this factor, for streams that
        drift.
    label_free : float
        Share of the weights' statistics that comes from topics sampled before labels are looked at, as a
        prediction has them; the paper's value is 0.
    topic_estimate : {"mean", "geometric"}
        Predict with E Φ or with exp(E log Φ). Learning integrates Φ out.
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
        Concentrations Δ of the K topics, the largest first; one-vs-rest stacks those of all tasks.
    components_ : (K, n_words) array
        The topics' mean, as of scikit-learn's LatentDirichletAllocation.
    coef_, coef_cov_ : (T, K) and (T, K, K) arrays
        Mean and covariance of the weights; in one-vs-rest, of each task's own topics, and 0 where a task has
        fewer topics than another.
    word_coef_ : (T, n_words) array
        Mean of the weights that words have beside their topics.
    n_topics_ : int
        K, the topics in use; in one-vs-rest, of all tasks together.
    topic_ids_ : (K,) array of int64
        A number for each topic that it keeps from birth to death, whatever its place among the others; in
        one-vs-rest each task numbers its own.
    topic_tokens_ : (K,) array
        Words that each topic has learned, in the order of `topic_ids_`.
    stick_ : Sticks, or list of them
        Posterior of the sticks that the shares of the topics are broken from, in the order of `topic_ids_`;
        in one-vs-rest one for each task.
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
    >>> from bayespa import MedHDPClassifier
    >>> from bayespa.datasets import make_topic_corpus
    >>> corpus = make_topic_corpus(600, n_words=300, n_topics=6, n_labels=3, random_state=0)
    >>> model = MedHDPClassifier(random_state=0).fit(corpus.data[:500], corpus.target[:500])
    >>> model.score(corpus.data[500:], corpus.target[500:]) > 0.8
    True

    A stream, of which some labels are unknown:

    >>> stream = make_topic_corpus(600, n_words=300, n_topics=6, n_labels=3, batch_size=100, random_state=0)
    >>> model = MedHDPClassifier(random_state=0)
    >>> for batch in stream:
    ...     labels = [None, *batch.target[1:]]
    ...     model = model.partial_fit(batch.data, labels, classes=[0, 1, 2])
    >>> model.n_documents_seen_
    600
    """

    _defaults: ClassVar = {
        kind: {**OnlineTopicClassifier._defaults[kind], **topics} for kind, topics in _TOPICS.items()
    }
    _beside_words: ClassVar = {"cost": 64.0, "concentration": 20.0}

    def __init__(
        self,
        concentration: float | None = None,
        stick_concentration: float = 1.0,
        eta: float | None = None,
        max_topics: int | None = None,
        *,
        cost: float | None = None,
        margin: float = 1.0,
        weight_scale: float | None = None,
        bias_scale: float | None = None,
        word_scale: float = 1.0,
        n_iterations: int | None = None,
        n_sweeps: int = 4,
        burn_in: int = 2,
        batch_size: int | None = 256,
        first_batch_size: int | None = 2048,
        first_sweeps: int | None = None,
        start_concentration: float | None = None,
        min_tokens: float = 20.0,
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
            concentration=concentration,
            stick_concentration=stick_concentration,
            eta=eta,
            max_topics=max_topics,
            cost=cost,
            margin=margin,
            weight_scale=weight_scale,
            bias_scale=bias_scale,
            word_scale=word_scale,
            n_iterations=n_iterations,
            n_sweeps=n_sweeps,
            burn_in=burn_in,
            batch_size=batch_size,
            first_batch_size=first_batch_size,
            first_sweeps=first_sweeps,
            start_concentration=start_concentration,
            min_tokens=min_tokens,
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


class MedHDPRegressor(TopicRegressor, MedHDPEstimator):
    """Regressor that learns topics, and how many, from a stream, with the ε-insensitive loss: online MedHDP.

    Targets are expected to be of unit size: see sklearn.compose.TransformedTargetRegressor.

    Parameters
    ----------
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
    concentration, stick_concentration, eta, max_topics, start_concentration, min_tokens
        What topics there are: as in MedHDPClassifier, but the same for any `multi_class`.
    n_iterations, n_sweeps, burn_in, batch_size, first_batch_size, first_sweeps, n_passes, prediction_sweeps
        How long documents are sampled; likewise.
    sampler, classifier, multi_class, discount, label_free, topic_estimate
        What is learned from the samples; likewise.
    random_state, n_jobs, verbose
        How the program runs; likewise.

    Attributes
    ----------
    n_topics_, topic_ids_, topic_tokens_, stick_, topic_word_, components_, coef_, coef_cov_
        Topics and weights, as of MedHDPClassifier.
    n_documents_seen_, n_features_in_ : int
        Documents learned, and words known.
    objective_ : list of float
        Of every mini-batch, its expected loss [MED-8] per document when it was learned.

    References
    ----------
    T. Shi and J. Zhu, Online Bayesian passive-aggressive learning, ICML 2014.

    Examples
    --------
    >>> from bayespa import MedHDPRegressor
    >>> from bayespa.datasets import make_topic_corpus
    >>> corpus = make_topic_corpus(600, n_words=300, n_topics=6, n_labels=3, random_state=0)
    >>> y = corpus.document_topic[:, 0] - corpus.document_topic[:, 1]
    >>> model = MedHDPRegressor(random_state=0).fit(corpus.data[:500], y[:500])
    >>> model.score(corpus.data[500:], y[500:]) > 0.5
    True
    """

    def __init__(
        self,
        concentration: float = 5.0,
        stick_concentration: float = 1.0,
        eta: float = 0.05,
        max_topics: int | None = None,
        *,
        cost: float = 16.0,
        margin: float = 0.1,
        weight_scale: float = 2.0,
        bias_scale: float = 1.0,
        n_iterations: int = 1,
        n_sweeps: int = 4,
        burn_in: int = 2,
        batch_size: int | None = 64,
        first_batch_size: int | None = 2048,
        first_sweeps: int = 100,
        start_concentration: float = 100.0,
        min_tokens: float = 20.0,
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
            concentration=concentration,
            stick_concentration=stick_concentration,
            eta=eta,
            max_topics=max_topics,
            cost=cost,
            margin=margin,
            weight_scale=weight_scale,
            bias_scale=bias_scale,
            n_iterations=n_iterations,
            n_sweeps=n_sweeps,
            burn_in=burn_in,
            batch_size=batch_size,
            first_batch_size=first_batch_size,
            first_sweeps=first_sweeps,
            start_concentration=start_concentration,
            min_tokens=min_tokens,
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
