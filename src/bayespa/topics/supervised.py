"""Base classes of the supervised topic models: weights, explanations, merging."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from bayespa.checks import require_number
from bayespa.estimators import Roles
from bayespa.learning import HERE, Callback, Executor
from bayespa.native.random import subkey
from bayespa.topics.calibration import Calibration
from bayespa.topics.change import Change
from bayespa.topics.documents import UNIT
from bayespa.topics.explain import Explanation, Subject, TopicShare, WordShare
from bayespa.topics.knowledge import Knowledge
from bayespa.topics.merge import require_mergeable
from bayespa.topics.model import Model
from bayespa.topics.no_topics import NoTopics
from bayespa.topics.one_vs_rest import OneVsRest
from bayespa.topics.part import Floats, Loss, TopicPart
from bayespa.topics.relevance import CONTRAST
from bayespa.topics.slope import Slope
from bayespa.topics.transformer import TopicTransformer, stacked
from bayespa.topics.words import Words

if TYPE_CHECKING:
    from typing_extensions import Self

FORK = 12  # the purpose of a key, see `bayespa.native.random.subkey`


@dataclass(eq=False, repr=False, kw_only=True)
class SupervisedTransformer(TopicTransformer):
    """Subclasses define the topics (`_topics`), the meaning of y (`_read`) and of margins.

    Parameters
    ----------
    cost : float or None
        c, the weight of the loss. The product of `cost` and `margin` matters: it is about how many words of
        evidence the labels of a document are worth. None: depends on `decides` and `multi_class`, see
        `cost_`.
    margin : float
        ε, the margin that the loss asks for. It is the unit of decisions.
    weight_scale : float or None
        v, the prior standard deviation of a weight, in units of `margin`. None: 0.05, or 1/64 with
        one-vs-rest.
    multi_class : {"shared", "ovr"}
        All tasks share topics, or each has its own.
    """

    cost: float | None = None
    margin: float = 1.0
    weight_scale: float | None = None
    multi_class: Literal["shared", "ovr"] = "shared"

    _regression = False

    @abstractmethod
    def _topics(self, values: dict[str, Any], **shared: Any) -> TopicPart:
        """Return the topics for values of parameters."""

    def _model(self, values: dict[str, Any], meaning: Any, shared: dict[str, Any]) -> Model:
        require_number("margin", values["margin"], 0.0 if self._regression else 1e-9)
        own = values["multi_class"] == "ovr"
        loss = Loss(
            n_tasks=1 if own else meaning.n_tasks,
            cost=float(values["cost"]),
            margin=float(values["margin"]),
            weight_scale=float(values["weight_scale"]),
            bias_scale=float(values["bias_scale"]),
            regression=self._regression,
            averaging=values.get("rule", "gibbs") == "averaging",
            sampler=values.get("sampler", "collapsed"),
            label_free=float(values.get("label_free", 0.0)),
        )
        decides = values.get("decides", "topics")
        topics: TopicPart | OneVsRest
        if decides == "words":
            topics = NoTopics(loss=replace(loss, n_tasks=meaning.n_tasks), **shared)
        else:
            part = self._topics(values, loss=loss, n_iterations=int(values.get("n_iterations", 1)), **shared)
            topics = OneVsRest(part, meaning.n_tasks) if own else part
        words = None
        if decides != "topics":
            words = Words(float(values["word_scale"]), loss.margin, self._regression, shared["n_threads"])
        slope = Slope(meaning.n_tasks) if self._regression and words is not None else None
        calibration = self._calibration(meaning, values)
        change = None
        if calibration is not None and "discount" in values:
            change = Change(calibration.kind, meaning.n_tasks)
        forgets = values.get("discount") == "auto"
        return Model(topics, meaning.n_tasks, loss.margin, words, calibration, slope, change, forgets)

    def _calibration(self, meaning: Any, values: dict[str, Any]) -> Calibration | None:
        """Return how margins become probabilities; None: they do not."""
        return None

    @property
    def cost_(self) -> float:
        """The value of `cost` in use."""
        return float(self._values()["cost"])

    @property
    def weight_scale_(self) -> float:
        """The value of `weight_scale` in use."""
        return float(self._values()["weight_scale"])

    def fit(
        self,
        X: Any,
        y: Any,
        callback: Callback | None = None,
        topic_words: ArrayLike | None = None,
        workers: Executor = HERE,
    ) -> Self:
        """Learn from scratch, in `n_passes` passes over the documents in random order.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_words)
            Counts of words. The notes of the class say what happens with fractions.
        y : array of shape (n,) or (n, T)
            Labels; NaN or None if unknown.
        callback : callable, optional
            Called with a `bayespa.learning.Round` after every mini-batch. The estimator is then ready to
            predict. Learning stops if it returns True. Mini-batches that initialise the topics together count
            as one.
        topic_words : array of bool of shape (n_words,), optional
            Columns that topics use; by default all. Words decide by all columns.
        workers : Executor, optional
            Computes the steps of mini-batches, `lag` of them at once: `bayespa.workers.Workers` or a pool of
            `concurrent.futures`. By default this thread.

        Returns
        -------
        self
        """
        if y is None:
            raise ValueError(
                f"This {self._name} estimator requires y to be passed, but the target y is None."
            )
        return self._fit(X, y, callback, Roles(topic_words), workers)

    # What was learned

    @property
    def coef_(self) -> Floats:
        """Posterior mean of the weights, (T, K); in one-vs-rest each task's are those of its own topics."""
        knows = self._fitted().knowledge
        means = stacked(_padded([knows.share * view.mean for _, view in knows.views]))
        return means - knows.offset[:, None]

    @property
    def coef_cov_(self) -> Floats:
        """Posterior covariance of the weights, (T, K, K)."""
        knows = self._fitted().knowledge
        factor = knows.share * knows.share
        return stacked(_padded([factor * view.covariance for _, view in knows.views]))

    @property
    def word_coef_(self) -> Floats:
        """Posterior mean of the weights of words, (T, n_words); 0 if topics alone decide."""
        learned = self._fitted()
        if learned.model.words is None:
            return np.zeros((learned.meaning.n_tasks, learned.features.n))
        mean: Floats = learned.state.posterior["words"].mean()
        return mean[:, 1:]

    def _explain(
        self, X: Any, choose: Callable[[Knowledge, Floats], Subject], names: ArrayLike | None
    ) -> Explanation:
        """Explain the decision on one document that `choose` picks, given the margins (T,)."""
        learned, corpus = self._corpus(X if len(getattr(X, "shape", ())) == 2 else np.atleast_2d(X))
        if len(corpus) != 1:
            raise ValueError(f"X has {len(corpus)} documents; explain one at a time")
        knows = learned.knowledge
        columns = knows.names(names)
        ((batch, each),) = knows.infer(corpus)
        margin, variance = knows.margin(batch, each), knows.variance(batch, each)
        about = choose(knows, margin[0] - knows.offset)
        task, scale = about.task, about.scale
        part = 0 if len(each) == 1 else task
        view, sampled, own = knows.views[part][1], each[part], task - part
        start = sum(len(other.alpha) for _, other in knows.views[:part])
        # Shares sum to 1: what is taken from all weights is what the base has more.
        mean = scale * knows.share * view.mean[own]
        weights = mean - (knows.average[part] * mean).sum()
        documents = batch.documents
        counts = documents.counts * corpus.weights[0]
        ((_, carried, weight),) = sampled.counts  # a document has one token weight
        topical = knows.features.topical
        inside = slice(None) if topical is None else topical[documents.vocabulary]
        in_topics = counts[inside].sum()
        added = np.zeros(len(documents.vocabulary))
        added[inside] = (carried * weights).sum(axis=1) * weight / max(in_topics, UNIT)
        beside = 0.0
        if knows.beside is not None:
            alone = scale * knows.beside[0].contributions(knows.beside[1], batch, task)
            added, beside = added + alone, float(alone.sum())
        topics: list[TopicShare] = []
        if in_topics > 0.0:  # else its topics are those of any document
            shares, top = sampled.free.topic_share[0].astype(np.float64), knows.top_words(5, CONTRAST)
            ids = knows.topic_names[start : start + len(shares)]
            topics = [
                TopicShare(
                    start + k, float(x), float(w), float(x * w), tuple(str(columns[i]) for i in t), name
                )
                for k, (x, w, t, name) in enumerate(zip(shares, weights, top[start:], ids, strict=False))
            ]
        words = [
            WordShare(str(columns[w]), float(n), float(x))
            for w, n, x in zip(documents.vocabulary, counts, added, strict=True)
        ]
        decision = scale * float(margin[0, task] - knows.offset[task]) + about.centre
        return Explanation(
            about.target,
            decision,
            abs(scale) * float(np.sqrt(variance[0, task])),
            tuple(sorted(topics, key=lambda t: -abs(t.contribution))),
            tuple(sorted(words, key=lambda w: -abs(w.contribution))),
            beside,
            decision - math.fsum(t.contribution for t in topics) - beside,
            about.probability,
            about.runner_up,
            about.runner_up_probability,
        )


@dataclass(eq=False, repr=False, kw_only=True)
class MergingTransformer(SupervisedTransformer):
    """A supervised topic model that can merge with another.

    Parameters
    ----------
    decides : {"topics+words", "topics", "words"}
        What gives the score of a class: topics and words [MED-9], topics alone, as in the paper, or words
        alone. With words alone there are no topics, and their parameters have no effect.
    """

    decides: Literal["topics", "topics+words", "words"] = "topics+words"

    _merged_alike: ClassVar[tuple[str, ...]] = (  # and those of subclasses
        "decides",
        "word_scale",
        "eta",
        "weight_scale",
        "bias_scale",
        "margin",
        "multi_class",
    )

    def fork(self, number: int) -> Self:
        """Return a copy with its own random numbers, for learning separately before `merge`.

        Parameters
        ----------
        number : int
            From 0. Copies with different numbers draw different random numbers; plain copies draw the same
            ones.
        """
        require_number("number", number, 0, 2**32 - 1, whole=True)
        fork, learned = self._snapshot(), self._fitted()
        key = subkey(learned.key, FORK, int(number))
        fork._learned = replace(learned, **self._made(learned.meaning, key))
        return fork

    def merge(self, other: Self, ancestor: Self | None = None) -> Self:
        """Add what another model has learned from other documents.

        Parameters
        ----------
        other : Self
            A model with the same parameters. It may have other classes, and additional words at the end. A
            regressor must have the same targets.
        ancestor : Self, optional
            The model from which both continued; it counts once. Without it both started from the prior. Then
            topics have no common order, and each of theirs is added to my most similar one.

        Returns
        -------
        self
        """
        self._require_fitted()
        others = [other] if ancestor is None else [other, ancestor]
        for one in others:
            require_mergeable(self, one)
        mine, theirs, *root = (one._fitted() for one in (self, *others))
        known = len(root[0].losses.tolist()) if root else 0
        if any(one.losses.tolist()[:known] != root[0].losses.tolist() for one in (mine, theirs) if root):
            raise ValueError(
                "the models do not continue from what the ancestor knows; copy it by fork(), or call its "
                "settle() first: documents that wait in a plain copy are learned anew"
            )
        meaning = mine.meaning.joined(theirs.meaning)
        widest = max((mine, theirs, *root), key=lambda one: one.features.n)
        n_words = widest.features.n
        made = self._made(meaning, mine.key)
        model = made["model"]
        posteriors = [
            model.grown(one.state.posterior, n_words, *meaning.tasks_before(one.meaning))
            for one in (mine, theirs, *root)
        ]
        common = root[0].state if root else replace(mine.state, version=0, n_steps=0, n_examples=0)
        counted = {
            name: getattr(mine.state, name) + getattr(theirs.state, name) - getattr(common, name)
            for name in ("version", "n_steps", "n_examples")
        }
        posterior = model.merged(posteriors[0], posteriors[1], posteriors[2] if root else None, n_words)
        self._learned = replace(
            mine,
            state=replace(mine.state, posterior=posterior, **counted),
            features=widest.features,
            **made,
            losses=mine.losses.extended(theirs.losses.tolist()[known:]),
            progressive=None,
        )
        return self._ready()


def _padded(arrays: list[Floats]) -> list[Floats]:
    """Pad arrays (T, K) or (T, K, K) with zeros to the largest K."""
    width = max(array.shape[1] for array in arrays)
    return [np.pad(a, [(0, 0)] + [(0, width - a.shape[1])] * (a.ndim - 1)) for a in arrays]
