"""What the supervised topic models share as scikit-learn estimators: learning, topics, merging."""

from __future__ import annotations

import signal
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import _get_feature_names, check_is_fitted, validate_data

from bayespa.elementary import exp, log
from bayespa.learning import rounds
from bayespa.linalg import cholesky
from bayespa.posteriors import Joint
from bayespa.random import grid, key_from_seed, normal, permutation, subkey
from bayespa.topics.calibration import Calibration
from bayespa.topics.documents import UNIT, Batch, Corpus
from bayespa.topics.explain import Explanation, TopicPart, WordPart
from bayespa.topics.labels import Labels
from bayespa.topics.merge import merged, require_mergeable
from bayespa.topics.model import Floats, MedLDA, OneVsRest, Sources

if TYPE_CHECKING:
    from typing_extensions import Self

ORDER, WEIGHTS = 3, 4  # the purposes of keys, see `bayespa.random.subkey`
AT_ONCE = 4096  # documents whose predictions are made together: bounds the memory, changes nothing else


class Batches(Sequence[Batch]):
    """The mini-batches of a corpus, cut out when they are asked for."""

    def __init__(self, corpus: Corpus, labels: Labels, order: NDArray[np.int64], size: int | None) -> None:
        self.corpus, self.labels, self.order = corpus, labels, order
        self.size = size or len(corpus)

    def __len__(self) -> int:
        return -(-len(self.corpus) // self.size)

    def __getitem__(self, index: Any) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(index)
        rows = self.order[index * self.size : (index + 1) * self.size]
        return self.corpus.batch(rows, self.labels[rows])


@contextmanager
def interrupts_held() -> Iterator[Callable[[], None]]:
    """Hold Ctrl-C back until the yielded function is called: no update is cut in half. A second one acts."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield lambda: None
        return
    held: list[tuple[int, Any]] = []

    def hold(number: int, frame: Any) -> None:
        if held:
            before(number, frame)
        held.append((number, frame))

    def release() -> None:
        if held:
            before(*held.pop())

    signal.signal(signal.SIGINT, hold)
    try:
        yield release
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass(frozen=True)
class Targets:
    """Labels as tasks, and what they make of the model."""

    labels: Labels  # (n, T)
    attributes: dict[str, Any]  # of the estimator, once it learns them
    calibration: Calibration
    source: Sources  # (T,): the task before that each continues, -1: none
    sign: Floats  # (T,)


class TopicEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Subclasses say what y means (`_targets`) and what a margin decides."""

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
    def _model(self, n_tasks: int, calibration: Calibration, key: int) -> MedLDA | OneVsRest:
        """Check the parameters and return the model they describe."""

    @abstractmethod
    def _targets(self, n: int, y: Any, classes: Any, *, fit: bool) -> Targets:
        """Check the labels of n documents; nothing of the model changes."""

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
        self._learn(model, Batches(corpus, targets.labels, order, self.batch_size), self.n_passes)
        return self

    def _partial_fit(self, X: Any, y: Any, classes: Any) -> Self:
        first = not hasattr(self, "_posterior")
        corpus = Corpus.of(X, name=type(self).__name__)
        n_words = corpus.counts.shape[1]
        targets = self._targets(len(corpus), y, classes, fit=False)
        key = key_from_seed(self.random_state) if first else self._key
        model = self._model(targets.labels.shape[1], targets.calibration, key)
        if not first and model.n_topics != self._n_topics:
            raise ValueError(
                f"n_topics is {self.n_topics}, but the model has {self._n_topics} topics; set it back, or fit"
            )
        wider = not first and n_words > self.n_features_in_
        if wider:
            self._check_wider(X, n_words)
        validate_data(self, X, skip_check_array=True, reset=first or wider)
        if first:
            self._start(model, n_words, targets)
        else:
            self._posterior = model.grown(self._posterior, n_words, targets.source, targets.sign)
            self._describe(model, targets)
        self._learn(model, Batches(corpus, targets.labels, np.arange(len(corpus)), self.batch_size), 1)
        return self

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

    def _start(self, model: MedLDA | OneVsRest, n_words: int, targets: Targets) -> None:
        self._describe(model, targets)
        self._posterior = model.prior(n_words).copy()
        self.n_documents_seen_, self._n_steps = 0, 0
        self.objective_ = []

    def _describe(self, model: MedLDA | OneVsRest, targets: Targets) -> None:
        self.__dict__.update(targets.attributes)
        self._n_tasks, self._n_topics = model.n_tasks, model.n_topics
        self._calibration, self._key = model.calibration, model.key

    def _learn(self, model: MedLDA | OneVsRest, batches: Batches, n_passes: int) -> None:
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

    def _parts(self) -> list[tuple[MedLDA, Joint]]:
        """Return the topic models and their posteriors: one, or one a task."""
        check_is_fitted(self)
        return self._fitted_model().parts(self._posterior)

    def _fitted_model(self) -> MedLDA | OneVsRest:
        return self._model(self._n_tasks, self._calibration, self._key)

    @property
    def topic_word_(self) -> Floats:
        """Concentrations Δ of the topics, (K, W); one-vs-rest stacks the topics of all tasks, (T K, W)."""
        return _stacked([posterior["topics"].concentration for _, posterior in self._parts()])

    @property
    def components_(self) -> Floats:
        """Posterior mean of the topics, in the shape of `topic_word_`: probabilities of words."""
        return _stacked([posterior["topics"].mean() for _, posterior in self._parts()])

    @property
    def coef_(self) -> Floats:
        """Posterior mean of the weights, (T, K); in one-vs-rest each task's are those of its own topics."""
        return _stacked([posterior["weights"].mean() for _, posterior in self._parts()])

    @property
    def coef_cov_(self) -> Floats:
        """Posterior covariance of the weights, (T, K, K)."""
        return _stacked([posterior["weights"].covariance() for _, posterior in self._parts()])

    @property
    def _n_features_out(self) -> int:
        return sum(len(posterior["topics"].concentration) for _, posterior in self._parts())

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
        for _, posterior in self._parts():
            for row in posterior["topics"].concentration:
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

    def _infer(self, corpus: Corpus, weights: Floats | None = None) -> tuple[Floats, Floats, Floats]:
        """Return E z̄ (n, K) of every topic model side by side, and the margins' mean and variance (n, T)."""
        ids = corpus.ids()
        shares, means, variances = [], [], []
        for start in range(0, len(corpus), AT_ONCE):
            rows = slice(start, start + AT_ONCE)
            batch = corpus.batch(rows, ids=ids[rows])
            free = []
            for part, (model, posterior) in enumerate(self._parts()):
                own = None if weights is None else weights[part * model.n_tasks : (part + 1) * model.n_tasks]
                free.append(model.infer(posterior, batch, own).free)
            shares.append(np.hstack([f.topic_share for f in free]).astype(np.float64))
            means.append(np.hstack([f.margin for f in free]))
            variances.append(np.hstack([f.margin_var for f in free]))
        return np.concatenate(shares), np.concatenate(means), np.concatenate(variances)

    def _drawn_weights(self, random_state: Any) -> Floats:
        """Draw ŵ from the posterior of the weights, (T, K)."""
        key = subkey(self._key if random_state is None else key_from_seed(random_state), WEIGHTS)
        mean, covariance = self.coef_, self.coef_cov_
        factors = np.triu(cholesky(covariance)[0])  # Σ = RᵀR, so Rᵀz has this covariance
        drawn: Floats = mean + (factors * normal(key, grid(*mean.shape))[:, :, None]).sum(axis=1)
        return drawn

    def _proportions(self, corpus: Corpus, shares: Floats) -> Floats:
        """Return E θ (n, K) given E z̄: the prior's α counts as much as a token's weight."""
        length = np.asarray(corpus.counts.sum(axis=1)).reshape(-1, 1) * corpus.weights[:, None]
        proportions: Floats = (self.alpha + length * shares) / (self.n_topics * self.alpha + length)
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
        batch = corpus.batch(slice(None), ids=corpus.ids())
        found = model.infer(posterior, batch)
        weights = posterior["weights"].mean()[own]
        share = found.free.topic_share[0].astype(np.float64)
        top = self.topics(5, feature_names)[part * model.n_topics : (part + 1) * model.n_topics]
        topics = [
            TopicPart(
                part * model.n_topics + k, float(share[k]), float(w), float(share[k] * w), tuple(top[k])
            )
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
        posteriors = [
            model.grown(one._posterior, widest.n_features_in_, targets(one).source, targets(one).sign)
            for one in models
        ]
        self._posterior = merged(model, *posteriors)
        self._describe(model, tasks)
        self.n_documents_seen_ += other.n_documents_seen_
        self._n_steps += other._n_steps
        known = 0
        if ancestor is not None:
            self.n_documents_seen_ -= ancestor.n_documents_seen_
            known = len(ancestor.objective_)
        self.objective_ = self.objective_ + other.objective_[known:]
        self.n_features_in_ = widest.n_features_in_
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
        total = 0.0
        parts = self._parts()
        for part, (_, posterior) in enumerate(parts):
            probability = np.zeros(len(rows))
            for k, topic in enumerate(posterior["topics"].mean(words)):
                probability += proportions[rows, part * self.n_topics + k] * topic[place]
            total += float((tokens * log(probability)).sum()) / len(parts)
        return float(exp(-total / float(tokens.sum())))


def _stacked(arrays: list[Floats]) -> Floats:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
