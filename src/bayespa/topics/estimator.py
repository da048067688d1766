"""What the supervised topic models share as scikit-learn estimators: learning, topics, merging."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import _get_feature_names, check_is_fitted, validate_data

from bayespa.checks import number_of_threads, require_choice, require_number
from bayespa.elementary import exp, log
from bayespa.learning import rounds
from bayespa.linalg import cholesky
from bayespa.posteriors import Joint
from bayespa.random import grid, key_from_seed, normal, permutation, subkey
from bayespa.topics.batches import Batches, interrupts_held
from bayespa.topics.calibration import TEMPERATURES, Calibration
from bayespa.topics.documents import UNIT, Corpus
from bayespa.topics.explain import Explanation, TopicPart, WordPart
from bayespa.topics.labels import Classes, Labels
from bayespa.topics.merge import require_mergeable
from bayespa.topics.model import Floats, OneVsRest, Sources, TopicModel, ratios

if TYPE_CHECKING:
    from typing_extensions import Self

ORDER, WEIGHTS = 3, 4  # the purposes of keys, see `bayespa.random.subkey`
AT_ONCE = 4096  # documents whose predictions are made together: bounds the memory, changes nothing else


@dataclass(frozen=True)
class Targets:
    """Labels as tasks, and what they make of the model."""

    labels: Labels  # (n, T)
    attributes: dict[str, Any]  # of the estimator, once it learns them
    calibration: Calibration
    source: Sources  # (T,): the task before that each continues, -1: none
    sign: Floats  # (T,)


class TopicEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Subclasses say what topics are (`_topic_model`), what y means (`_targets`) and what margins decide."""

    _regression: bool
    _merged_alike: tuple[str, ...] = ("eta", "weight_scale", "bias_scale", "margin", "multi_class")
    _posterior: Joint
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    n_documents_seen_: int
    objective_: list[float]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.target_tags.required = True
        return tags

    @abstractmethod
    def _topic_model(self, **shared: Any) -> TopicModel:
        """Check the parameters that only this model has, and return it."""

    @abstractmethod
    def _targets(self, n: int, y: Any, classes: Any, *, fit: bool) -> Targets:
        """Check the labels of n documents; nothing of the model changes."""

    def _scale(self, name: str) -> Any:
        """Return the value of a parameter of the loss or the weights."""
        return getattr(self, name)

    def _model(self, n_tasks: int, calibration: Calibration, key: int) -> TopicModel | OneVsRest:
        """Check the parameters and return the model they describe."""
        require_choice("multi_class", self.multi_class, ("shared", "ovr"))
        scales = {name: self._scale(name) for name in ("cost", "weight_scale", "bias_scale")}
        for name, value in scales.items():
            require_number(name, value, 0.0, open_=name != "bias_scale")
        require_number("margin", self.margin, 0.0, open_=not self._regression)
        require_number("eta", self.eta, UNIT)
        require_number("n_iterations", self.n_iterations, 1, whole=True)
        require_number("n_sweeps", self.n_sweeps, 1, whole=True)
        require_number("burn_in", self.burn_in, 0, self.n_sweeps - 1, whole=True)
        if self.batch_size is not None:
            require_number("batch_size", self.batch_size, 1, whole=True)
        require_number("n_passes", self.n_passes, 1, whole=True)
        require_choice("sampler", self.sampler, ("collapsed", "augmented"))
        require_choice("classifier", self.classifier, ("gibbs", "averaging"))
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
        model = self._topic_model(
            n_tasks=n_tasks if shared else 1,
            eta=float(self.eta),
            **{name: float(value) for name, value in scales.items()},
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

    # Learning

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from scratch, in `n_passes` passes over the documents in random order.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_words)
            Counts of words. See the notes of the class on counts that are not whole numbers.
        y : array of shape (n,) or (n, T)
            Labels; NaN or None where unknown.

        Returns
        -------
        self
        """
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        corpus = Corpus.of(X, name=type(self).__name__)
        targets = self._targets(len(corpus), y, None, fit=True)
        model = self._model(targets.labels.shape[1], targets.calibration, key_from_seed(self.random_state))
        validate_data(self, X, skip_check_array=True, reset=True)
        self._start(model, corpus.counts.shape[1], targets)
        order = permutation(subkey(self._key, ORDER), len(corpus))
        self._learn(model, self._batches(corpus, targets.labels, order), self.n_passes)
        return self

    def _partial_fit(self, X: Any, y: Any, classes: Any) -> Self:
        first = not hasattr(self, "_posterior")
        corpus = Corpus.of(X, name=type(self).__name__)
        n_words = corpus.counts.shape[1]
        targets = self._targets(len(corpus), y, classes, fit=False)
        key = key_from_seed(self.random_state) if first else self._key
        model = self._model(targets.labels.shape[1], targets.calibration, key)
        if not first:
            model.require_continues(self._posterior)
        wider = not first and n_words > self.n_features_in_
        if wider:
            self._check_wider(X, n_words)
        validate_data(self, X, skip_check_array=True, reset=first or wider)
        if first:
            self._start(model, n_words, targets)
        else:
            self._posterior = model.grown(self._posterior, n_words, targets.source, targets.sign)
            self._describe(model, targets)
        self._learn(model, self._batches(corpus, targets.labels, np.arange(len(corpus))), 1)
        return self

    def _batches(self, corpus: Corpus, labels: Labels, order: NDArray[np.int64]) -> Batches:
        return Batches(corpus, labels, order, self.batch_size)

    def _check_wider(self, X: Any, n_words: int) -> None:
        """Refuse new columns that are not behind the old ones."""
        names, before = _get_feature_names(X), getattr(self, "feature_names_in_", None)
        if (names is None) != (before is None) or (
            before is not None and any(names[: len(before)] != before)
        ):
            raise ValueError(
                f"X has {n_words} features and {type(self).__name__} knows {self.n_features_in_}: new words "
                "must be columns behind those known, and columns must have names if those have"
            )

    def _start(self, model: TopicModel | OneVsRest, n_words: int, targets: Targets) -> None:
        self._describe(model, targets)
        self._posterior = model.prior(n_words).copy()
        self.n_documents_seen_, self._n_steps = 0, 0
        self.objective_ = []

    def _describe(self, model: TopicModel | OneVsRest, targets: Targets) -> None:
        self.__dict__.update(targets.attributes)
        self._n_tasks, self._calibration, self._key = model.n_tasks, model.calibration, model.key

    def _learn(self, model: TopicModel | OneVsRest, batches: Batches, n_passes: int) -> None:
        options = {"discount": self.discount, "prior": model.prior(self.n_features_in_)}
        with interrupts_held() as release:
            for state in rounds(
                model,
                self._posterior,
                batches,
                n_passes=n_passes,
                n_iterations=self.n_iterations,
                start=self._n_steps,
                **options,
            ):
                self._posterior = state.posterior
                self._n_steps += self.n_iterations
                self.n_documents_seen_ += state.local.n_examples if state.pass_index == 0 else 0
                self.objective_.append(state.local.objective / max(1, state.local.n_examples))
                self._report(state, n_passes)
                release()

    def _report(self, state: Any, n_passes: int) -> None:
        every = max(1, state.n_batches // (10 if self.verbose == 1 else state.n_batches))
        if self.verbose and (state.batch_index + 1) % every == 0:
            print(
                f"{type(self).__name__}: pass {state.pass_index + 1} of {n_passes}, "
                f"batch {state.batch_index + 1} of {state.n_batches}, {self.n_documents_seen_} documents, "
                f"loss {self.objective_[-1]:.4g}"
            )

    # What was learned

    def _parts(self) -> list[tuple[TopicModel, Joint]]:
        """Return the topic models and their posteriors: one, or one a task."""
        check_is_fitted(self)
        return self._fitted_model().parts(self._posterior)

    def _fitted_model(self) -> TopicModel | OneVsRest:
        return self._model(self._n_tasks, self._calibration, self._key)

    def _require_whole(self) -> None:
        """Raise a ValueError unless parameters, tasks and arrays, which came from a file, belong together."""
        require_number("n_features_in_", self.n_features_in_, 1, whole=True)
        if hasattr(self, "classes_") and Classes(self.classes_, self._indicator).n_tasks != self._n_tasks:
            raise ValueError(f"there are {len(self.classes_)} classes and {self._n_tasks} tasks")
        for model, posterior in self._parts():
            model.require_continues(posterior)
            topics, (mean, covariance) = model.topic_word(posterior), model.weights(posterior)
            n_topics = len(topics)
            for array, shape in (
                (topics, (n_topics, self.n_features_in_)),
                (mean, (model.n_tasks, n_topics)),
                (covariance, (model.n_tasks, n_topics, n_topics)),
            ):
                if array.shape != shape:
                    raise ValueError(f"topics or weights have shape {array.shape}, not {shape}")
            if not (topics > 0.0).all():
                raise ValueError("a topic has words that are less than impossible")
        if self._calibration is not None and len(self._posterior["temperature"].log_weights) != len(
            TEMPERATURES
        ):
            raise ValueError("the temperature has other values than this version of bayespa knows")

    @property
    def topic_word_(self) -> Floats:
        """Concentrations Δ of the topics, (K, W); one-vs-rest stacks the topics of all tasks, (T K, W)."""
        return _stacked([model.topic_word(posterior) for model, posterior in self._parts()])

    @property
    def components_(self) -> Floats:
        """Posterior mean of the topics, in the shape of `topic_word_`: probabilities of words."""
        return _stacked([model.topic_mean(posterior) for model, posterior in self._parts()])

    @property
    def coef_(self) -> Floats:
        """Posterior mean of the weights, (T, K); in one-vs-rest each task's are those of its own topics."""
        return _stacked(_padded([model.weights(posterior)[0] for model, posterior in self._parts()]))

    @property
    def coef_cov_(self) -> Floats:
        """Posterior covariance of the weights, (T, K, K)."""
        return _stacked(_padded([model.weights(posterior)[1] for model, posterior in self._parts()]))

    @property
    def _n_features_out(self) -> int:
        return sum(len(model.shares_prior(posterior)) for model, posterior in self._parts())

    def topics(self, n_words: int = 10, feature_names: ArrayLike | None = None) -> list[list[str]]:
        """Return the most probable words of each topic.

        Parameters
        ----------
        n_words : int
            Words a topic.
        feature_names : array of shape (W,), optional
            The words, such as ``vectorizer.get_feature_names_out()``; by default the columns' names or
            numbers.

        Returns
        -------
        list of K lists of str
        """
        names = self._names(feature_names)
        tops = []
        for model, posterior in self._parts():
            for row in model.topic_word(posterior):
                n = min(n_words, len(row))
                top = np.argpartition(-row, n - 1)[:n]
                tops.append([str(names[w]) for w in top[np.lexsort((top, -row[top]))]])
        return tops

    def _names(self, feature_names: ArrayLike | None) -> NDArray[Any]:
        check_is_fitted(self)
        if feature_names is None:
            return np.asarray(getattr(self, "feature_names_in_", np.arange(self.n_features_in_)))
        names = np.asarray(feature_names)
        if names.shape != (self.n_features_in_,):
            raise ValueError(
                f"feature_names has shape {names.shape}; the model has {self.n_features_in_} words"
            )
        return names

    # Prediction

    def _corpus(self, X: Any) -> Corpus:
        check_is_fitted(self)
        corpus = Corpus.of(X, name=type(self).__name__)
        validate_data(self, X, skip_check_array=True, reset=False)
        return corpus

    def _infer(self, corpus: Corpus, weights: list[Floats] | None = None) -> tuple[Floats, Floats, Floats]:
        """Return E z̄ (n, K) of every topic model side by side, and the margins' mean and variance (n, T)."""
        ids, parts = corpus.ids(), self._parts()
        shares, means, variances = [], [], []
        for start in range(0, len(corpus), AT_ONCE):
            rows = slice(start, start + AT_ONCE)
            batch = corpus.batch(rows, ids=ids[rows])
            free = [
                model.infer(posterior, batch, None if weights is None else weights[part]).free
                for part, (model, posterior) in enumerate(parts)
            ]
            shares.append(np.hstack([f.topic_share for f in free]).astype(np.float64))
            means.append(np.hstack([f.margin for f in free]))
            variances.append(np.hstack([f.margin_var for f in free]))
        return np.concatenate(shares), np.concatenate(means), np.concatenate(variances)

    def _margins(self, X: Any, prediction: str, random_state: Any) -> tuple[Floats, Floats]:
        """Return mean and variance (n, T) of the margins of documents."""
        require_choice("prediction", prediction, ("mean", "gibbs"))
        corpus = self._corpus(X)
        weights = self._drawn_weights(random_state) if prediction == "gibbs" else None
        _, mean, variance = self._infer(corpus, weights)
        return mean, variance

    def _drawn_weights(self, random_state: Any) -> list[Floats]:
        """Draw ŵ from the posterior of the weights of every topic model, (T, K)."""
        key = subkey(self._key if random_state is None else key_from_seed(random_state), WEIGHTS)
        drawn, task = [], 0
        for model, posterior in self._parts():
            mean, covariance = model.weights(posterior)
            factors = np.triu(cholesky(covariance)[0])  # Σ = RᵀR, so Rᵀz has this covariance
            z = normal(key, grid(task + len(mean), mean.shape[1]))[task:]
            drawn.append(mean + (factors * z[:, :, None]).sum(axis=1))
            task += len(mean)
        return drawn

    def _proportions(self, corpus: Corpus, shares: Floats) -> Floats:
        """Return E θ (n, K) given E z̄: the prior's α counts as much as a token's weight."""
        length = np.asarray(corpus.counts.sum(axis=1)).reshape(-1, 1) * corpus.weights[:, None]
        proportions, start = np.empty_like(shares), 0
        for model, posterior in self._parts():
            alpha = model.shares_prior(posterior)
            own = slice(start, start + len(alpha))
            total = ratios(alpha)[1] * alpha.max(initial=0.0)
            proportions[:, own] = (alpha + length * shares[:, own]) / (total + length)
            start += len(alpha)
        return proportions

    def transform(self, X: Any) -> Floats:
        """Return the expected topic proportions of documents, without their labels: rows sum to 1.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_words)

        Returns
        -------
        array of shape (n, K)
            One-vs-rest: (n, T K), the proportions of every task's topics side by side.
        """
        corpus = self._corpus(X)
        return self._proportions(corpus, self._infer(corpus)[0])

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
        batch = corpus.batch(slice(None), ids=corpus.ids())
        found = model.infer(posterior, batch)
        weights = model.weights(posterior)[0][own]
        share = found.free.topic_share[0].astype(np.float64)
        top = self.topics(5, feature_names)[start:]
        topics = [
            TopicPart(start + k, float(share[k]), float(w), float(share[k] * w), tuple(top[k]))
            for k, w in enumerate(weights)
        ]
        documents = batch.documents
        counts = documents.counts * corpus.weights[0]
        added = (found.counts * weights).sum(axis=1) / max(counts.sum(), UNIT)
        words = [
            WordPart(str(names[w]), float(n), float(x))
            for w, n, x in zip(documents.vocabulary, counts, added, strict=True)
        ]
        return Explanation(
            target,
            float(found.free.margin[0, own]),
            float(np.sqrt(found.free.margin_var[0, own])),
            tuple(sorted(topics, key=lambda t: -abs(t.contribution))),
            tuple(sorted(words, key=lambda w: -abs(w.contribution))),
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

    def perplexity(self, X: Any) -> float:
        """Return the perplexity of held-out words, by document completion.

        Topic proportions are inferred from the words at even places of a document and predict those at odd
        places, so that no word helps to predict itself; what comes out is exp of minus the mean log
        probability of a word, and compares across models, numbers of topics and libraries, given the
        vocabulary. One-vs-rest: the mean of the log probabilities over the topic models.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_words)
        """
        seen, hidden = self._corpus(X).halves()
        tokens = hidden.counts.data * np.repeat(hidden.weights, np.diff(hidden.counts.indptr))
        if not len(tokens):
            raise ValueError("no document of X has two words, and one is needed to predict the other")
        proportions = self._proportions(seen, self._infer(seen)[0])
        rows = np.repeat(np.arange(len(hidden)), np.diff(hidden.counts.indptr))
        words, place = np.unique(hidden.counts.indices, return_inverse=True)
        total, start = 0.0, 0
        parts = self._parts()
        for model, posterior in parts:
            probability = np.zeros(len(rows))
            for k, topic in enumerate(model.topic_mean(posterior, words), start):
                probability += proportions[rows, k] * topic[place]
            start += len(model.shares_prior(posterior))
            total += float((tokens * log(probability)).sum()) / len(parts)
        return float(exp(-total / float(tokens.sum())))


def _padded(arrays: list[Floats]) -> list[Floats]:
    """Give arrays (T, K) or (T, K, K) of topic models the K of the largest, with zeros."""
    width = max(array.shape[1] for array in arrays)
    return [np.pad(a, [(0, 0)] + [(0, width - a.shape[1])] * (a.ndim - 1)) for a in arrays]


def _stacked(arrays: list[Floats]) -> Floats:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def one_row(X: Any) -> Any:
    """Return one document as a matrix."""
    return X if hasattr(X, "ndim") and X.ndim == 2 else np.atleast_2d(np.asarray(X))
