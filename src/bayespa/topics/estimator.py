"""What the supervised topic models share as estimators: parameters, weights, explanations, merging."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from bayespa.checks import number_of_threads, require_choice, require_number
from bayespa.learning import Callback
from bayespa.native.random import key_from_seed, subkey
from bayespa.topics.calibration import Calibration, offset, uncalibrated
from bayespa.topics.documents import UNIT
from bayespa.topics.explain import Explanation, TopicPart, WordPart
from bayespa.topics.labels import Classes
from bayespa.topics.merge import require_mergeable
from bayespa.topics.model import Floats, OneVsRest, TopicModel, draw_weights
from bayespa.topics.supervised import Supervised
from bayespa.topics.transformer import Targets, TopicTransformer, stacked
from bayespa.topics.words import Words, draw_words

if TYPE_CHECKING:
    from typing_extensions import Self

WEIGHTS, WORDS = 4, 9  # the purposes of keys, see `bayespa.native.random.subkey`


class TopicEstimator(TopicTransformer):
    """Subclasses say what topics are (`_topic_model`), what y means (`_targets`) and what margins decide."""

    _regression: bool
    word_scale: float
    _merged_alike: tuple[str, ...] = (
        "eta",
        "weight_scale",
        "bias_scale",
        "word_scale",
        "margin",
        "multi_class",
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @abstractmethod
    def _topic_model(self, **shared: Any) -> TopicModel:
        """Check the parameters that only this model has, and return it."""

    def _model(self, n_tasks: int, calibration: Calibration, key: int) -> Supervised:
        """Check the parameters and return the model they describe."""
        require_choice("multi_class", self.multi_class, ("shared", "ovr"))
        scales = {name: self._value(name) for name in ("cost", "weight_scale", "bias_scale")}
        for name, value in scales.items():
            require_number(name, value, 0.0, open_=name != "bias_scale")
        require_number("word_scale", self.word_scale, 0.0)
        require_number("margin", self.margin, 0.0, open_=not self._regression)
        require_number("n_iterations", self._value("n_iterations"), 1, whole=True)
        self._check_sampling()
        require_choice("sampler", self.sampler, ("collapsed", "augmented"))
        require_choice("classifier", self.classifier, ("gibbs", "averaging"))
        self._check_discount()
        require_number("label_free", self.label_free, 0.0, 1.0)
        shared = self.multi_class == "shared"
        model = self._topic_model(
            n_tasks=n_tasks if shared else 1,
            eta=float(self._value("eta")),
            **{name: float(value) for name, value in scales.items()},
            margin=float(self.margin),
            regression=self._regression,
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
        words = Words(float(self.word_scale), model.margin, model.n_threads) if self.word_scale else None
        return Supervised(model if shared else OneVsRest(model, n_tasks), words, calibration, model.margin)

    def _options(self, model: Supervised) -> dict[str, Any]:
        return {
            "discount": self.discount,
            "n_iterations": self._value("n_iterations"),
            "cavity": model.cavity,
        }

    def fit(self, X: Any, y: Any, callback: Callback | None = None) -> Self:
        """Learn from scratch, in `n_passes` passes over the documents in random order.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_words)
            Counts of words. See the notes of the class on counts that are not whole numbers.
        y : array of shape (n,) or (n, T)
            Labels; NaN or None where unknown.
        callback : callable, optional
            Called with a `bayespa.learning.Round` after every mini-batch, when this estimator is ready to
            predict with what it knows by then; learning ends where it returns True. Mini-batches that topics
            are looked for in together (`first_batch_size`) are one to it.

        Returns
        -------
        self
        """
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        return self._fit(X, y, callback)

    def _require_whole(self) -> None:
        if self.word_scale and "words" not in self._posterior.parts:  # in files of before there were any
            self.word_scale = 0.0
        super()._require_whole()
        if hasattr(self, "classes_") and Classes(self.classes_, self._indicator).n_tasks != self._n_tasks:
            raise ValueError(f"there are {len(self.classes_)} classes and {self._n_tasks} tasks")
        for model, posterior in self._parts():
            mean, covariance = model.weights(posterior)
            n_topics = len(model.shares_prior(posterior))
            for array, shape in (
                (mean, (model.n_tasks, n_topics)),
                (covariance, (model.n_tasks, n_topics, n_topics)),
            ):
                if array.shape != shape:
                    raise ValueError(f"weights have shape {array.shape}, not {shape}")
        if str(self._calibration) == "independent":  # in files of before labels had an offset
            self._calibration = "labels" if self._indicator else "binary"
            self._posterior.parts.update({**uncalibrated(self._calibration), **self._posterior.parts})
        expected = uncalibrated(self._calibration)
        beside_topics = self._words
        if beside_topics is not None:
            expected |= beside_topics.prior(self._n_tasks, self.n_features_in_)
        for name, prior in expected.items():
            self._posterior[name].require_proper()
            found, wanted = (
                {key: array.shape for key, array in part.to_arrays().items()}
                for part in (self._posterior[name], prior)
            )
            if found != wanted:
                raise ValueError(f"the {name} has other values than this version of bayespa knows")

    @property
    def coef_(self) -> Floats:
        """Posterior mean of the weights, (T, K); in one-vs-rest each task's are those of its own topics."""
        lowered_by = self._offset
        return stacked(
            _padded([model.weights(posterior)[0] - lowered_by for model, posterior in self._parts()])
        )

    @property
    def coef_cov_(self) -> Floats:
        """Posterior covariance of the weights, (T, K, K)."""
        return stacked(_padded([model.weights(posterior)[1] for model, posterior in self._parts()]))

    @property
    def _words(self) -> Words | None:
        return self._model(self._n_tasks, self._calibration, self._key).words

    @property
    def word_coef_(self) -> Floats:
        """Posterior mean of the weights that words have beside their topics, (T, n_words); 0 if none have."""
        check_is_fitted(self)
        if not self.word_scale:
            return np.zeros((self._n_tasks, self.n_features_in_))
        mean: Floats = self._posterior["words"].mean()
        return mean

    @property
    def _offset(self) -> float:
        """What all margins are lowered by, or all weights: the same, as a document's shares sum to 1."""
        return offset(self._posterior) * float(self.margin)

    def _margins(self, X: Any, prediction: str, random_state: Any) -> tuple[Floats, Floats]:
        """Return mean and variance (n, T) of the margins of documents."""
        require_choice("prediction", prediction, ("mean", "gibbs"))
        corpus, words = self._corpus(X), self._words
        weights = own = beside = None
        if prediction == "gibbs":
            key = self._key if random_state is None else key_from_seed(random_state)
            weights = self._drawn_weights(subkey(key, WEIGHTS))
            own = draw_words(subkey(key, WORDS), self._posterior["words"]) if words else None
        if words is not None:
            beside = partial(words.margins, self._posterior, weights=own)
        _, mean, variance = self._infer(corpus, weights, beside)
        return mean - self._offset, variance

    def _drawn_weights(self, key: int) -> list[Floats]:
        """Draw ŵ from the posterior of the weights of every topic model, (T, K)."""
        drawn, task = [], 0
        for model, posterior in self._parts():
            drawn.append(draw_weights(key, *model.weights(posterior), first=task))
            task += len(drawn[-1])
        return drawn

    def _explain(self, X: Any, task: int, target: Any, feature_names: ArrayLike | None) -> Explanation:
        """Split the decision of one task on one document."""
        corpus, names = self._corpus(X), self._names(feature_names)
        if len(corpus) != 1:
            raise ValueError(f"X has {len(corpus)} documents; explain one at a time")
        parts = self._parts()
        part = 0 if len(parts) == 1 else task
        model, posterior = parts[part]
        own = task - part
        start = sum(len(other.shares_prior(before)) for other, before in parts[:part])
        batch = corpus.batch(np.zeros(1, np.int64), ids=corpus.ids())
        found = model.infer(posterior, batch)
        lowered_by = self._offset
        weights = model.weights(posterior)[0][own] - lowered_by
        share = found.free.topic_share[0].astype(np.float64)
        top = self.topics(5, feature_names)[start:]
        topics = [
            TopicPart(start + k, float(share[k]), float(w), float(share[k] * w), tuple(top[k]))
            for k, w in enumerate(weights)
        ]
        documents = batch.documents
        counts = documents.counts * corpus.weights[0]
        (carried,) = found.counts  # a document has one token weight
        added = (carried.counts * weights).sum(axis=1) * carried.weight / max(counts.sum(), UNIT)
        beside, variance, beside_topics = 0.0, found.free.margin_var[0, own], self._words
        if beside_topics is not None:
            added = added + beside_topics.contributions(self._posterior, batch, task)
            mean, own_variance = beside_topics.margins(self._posterior, batch)
            beside, variance = float(mean[0, task]), variance + own_variance[0, task]
        words = [
            WordPart(str(names[w]), float(n), float(x))
            for w, n, x in zip(documents.vocabulary, counts, added, strict=True)
        ]
        return Explanation(
            target,
            float(found.free.margin[0, own]) + beside - lowered_by,
            float(np.sqrt(variance)),
            tuple(sorted(topics, key=lambda t: -abs(t.contribution))),
            tuple(sorted(words, key=lambda w: -abs(w.contribution))),
            beside,
        )

    def _merge(self, other: Self, ancestor: Self | None, targets: Callable[[Self], Targets]) -> Self:
        """Add what `other` learned; `targets` says how the tasks of a model become those of the result."""
        models = [self, other] if ancestor is None else [self, other, ancestor]
        for one in models[1:]:
            require_mergeable(self, one)
        widest = max(models, key=lambda one: one.n_features_in_)
        tasks = targets(self)
        model = self._model(len(tasks.source), tasks.calibration, self._key)
        n_words = widest.n_features_in_
        mine, theirs, *root = (
            model.grown(one._posterior, n_words, targets(one).source, targets(one).sign) for one in models
        )
        theirs = model.aligned(mine, theirs, root[0] if root else None)
        self._posterior = mine.merge(theirs, root[0] if root else model.prior(n_words))
        self._describe(model, tasks)
        self.n_documents_seen_ += other.n_documents_seen_
        self._n_steps += other._n_steps
        known = 0
        if ancestor is not None:
            self.n_documents_seen_ -= ancestor.n_documents_seen_
            known = len(ancestor.objective_)
        self.objective_ = self.objective_ + other.objective_[known:]
        self.n_features_in_ = n_words
        if hasattr(widest, "feature_names_in_"):
            self.feature_names_in_ = widest.feature_names_in_
        return self


def _padded(arrays: list[Floats]) -> list[Floats]:
    """Give arrays (T, K) or (T, K, K) of topic models the K of the largest, with zeros."""
    width = max(array.shape[1] for array in arrays)
    return [np.pad(a, [(0, 0)] + [(0, width - a.shape[1])] * (a.ndim - 1)) for a in arrays]


def one_row(X: Any) -> Any:
    """Return one document as a matrix."""
    return X if hasattr(X, "ndim") and X.ndim == 2 else np.atleast_2d(np.asarray(X))
