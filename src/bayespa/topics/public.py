"""The models of texts as scikit-learn's estimators.

`MedLDAOfClasses` and the like do all of the work and do not import scikit-learn, which takes longer than to
load a model and predict.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator

from bayespa.estimators import documented
from bayespa.topics.medhdp import MedHDPOfClasses, MedHDPOfNumbers
from bayespa.topics.medlda import MedLDAOfClasses, MedLDAOfNumbers
from bayespa.topics.scikit import ScikitClassifier, ScikitRegressor

if TYPE_CHECKING:
    from typing_extensions import Self


# Section 5.1 of the paper, and choices that its algorithms imply.
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


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class MedLDAClassifier(ScikitClassifier, MedLDAOfClasses, BaseEstimator):  # type: ignore[misc]
    """Classifier that learns topics from a stream of documents: online MedLDA.

    By default topics and words decide together. On the arXiv sample their accuracy is 0.847; the model's
    topics alone have 0.775, its words alone 0.845. With ``decides="topics"``, the paper's model, topics learn
    to decide alone: 0.829 (`python -m experiments.who_decides`). `MedLDAClassifier.paper` has the paper's
    settings.

    Notes
    -----
    X has counts of words; use CountVectorizer, not TfidfVectorizer, if you have the choice. A document with
    fractional counts is split into 257 to 512 tokens of equal weight (a power of two). A document may have up
    to 2^24 tokens.

    The prediction of a document depends on the document, the model and `random_state`, and not on the other
    documents of the call.

    `expert` is a dict for parameters that are rarely needed:

    - ``n_iterations``: I, how often local and global step alternate within a mini-batch.
    - ``n_sweeps``, ``burn_in``: J and β, the Gibbs sweeps over a mini-batch given its labels, and how many of
      them are dropped.
    - ``first_documents``, ``first_sweeps``: how many documents initialise the topics, with how many sweeps,
      before labels are learned [MED-10]. `fit` takes them from its documents; `partial_fit` keeps all
      documents until there are that many, and does it again as they grow in number. With 0 sweeps labels are
      learned from the first mini-batch on, as in the paper.
    - ``learn_alpha``: whether each topic has its own share of α [MED-11].
    - ``bias_scale``: prior standard deviation of the part that all weights of a task share. It acts as a
      bias, because topic shares sum to one.
    - ``word_scale``: prior standard deviation of the weights of words, in the unit of decisions, for
      documents of length 1.
    - ``sampler``: "collapsed" integrates the augmenting variables out [MED-3, MED-12]; "augmented" draws
      them, as in the paper [MED-1]. Both have the same target.
    - ``rule``: "gibbs" (the expected loss of weights drawn from the posterior) or "averaging" (the loss of
      their mean).
    - ``label_free``: share of the weights' statistics from topics sampled without labels, as in prediction.
      The paper has 0.
    - ``topic_estimate``: sample with the "mean" E Φ or the "geometric" exp(E log Φ), the mean-field optimum
      and the paper's choice.
    - ``prediction_sweeps``: Gibbs sweeps over a document to predict; the first quarter is burn-in. 50
      where topics decide alone, else 12, and 24 of MedHDP. With more, `transform` is less noisy.

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

    @classmethod
    def paper(cls, n_topics: int = 40, **changes: Any) -> Self:
        """Return a model with the paper's settings (section 5.1): one-vs-rest, and topics alone decide.

        >>> MedLDAClassifier.paper(20).decides
        'topics'
        """
        own = {"n_topics": n_topics, "alpha": 1.0 / n_topics, "eta": 0.5}
        return cls(**{**deepcopy(PAPER), **own, **changes})


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class MedLDARegressor(ScikitRegressor, MedLDAOfNumbers, BaseEstimator):  # type: ignore[misc]
    """Regressor that learns topics from a stream of documents: online MedLDA with the ε-insensitive loss.

    Targets are standardised by the mean and the standard deviation of the first ones.

    Notes
    -----
    See MedLDAClassifier.

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


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class MedHDPClassifier(ScikitClassifier, MedHDPOfClasses, BaseEstimator):  # type: ignore[misc]
    """Classifier that learns topics and their number from a stream: online MedHDP.

    By default topics and words decide together. ``decides="topics"`` is the paper's model, and
    `MedHDPClassifier.paper` has the paper's settings.

    Notes
    -----
    Counts, predictions and `expert` are as in MedLDAClassifier, with these differences. Batch learning needs
    many ``n_sweeps`` or several `n_passes`. There is no ``learn_alpha``. `expert` may have:

    - ``first_documents``, ``first_sweeps``: size of the first mini-batch, if larger than `batch_size`, and
      sweeps over it without labels, to initialise the topics. To estimate the number of topics, use more of
      both: 4096 documents and 200 sweeps.
    - ``start_gamma``: γ in the very first sweep. The samples follow `gamma`; but a chain that starts with
      many topics loses those that it does not need, while one that starts with few is slow to split them. The
      paper has `gamma`.
    - ``min_tokens``: a topic with fewer tokens after a mini-batch, and less than a thousandth of all, is
      removed. 0: only empty topics are removed.
    - ``topic_estimate`` is for predictions only: learning integrates Φ out.

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

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """Return a model with the paper's settings (section 5.1): one-vs-rest, and topics alone decide.

        >>> MedHDPClassifier.paper().gamma
        1.0
        """
        return cls(**{**deepcopy(PAPER), "alpha": 5.0, "gamma": 1.0, "eta": 0.45, **changes})


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class MedHDPRegressor(ScikitRegressor, MedHDPOfNumbers, BaseEstimator):  # type: ignore[misc]
    """Regressor that learns topics and their number from a stream: online MedHDP with the ε-insensitive loss.

    Targets are standardised by the mean and the standard deviation of the first ones.

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
