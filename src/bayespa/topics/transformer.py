"""What all topic models share as scikit-learn estimators: learning, topics, what documents are made of."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import _get_feature_names, check_is_fitted, validate_data

from bayespa.checks import require_choice, require_number
from bayespa.learning import Callback, rounds
from bayespa.native.elementary import exp, log
from bayespa.native.random import key_from_seed, permutation, subkey
from bayespa.posteriors import Joint
from bayespa.ranking import largest
from bayespa.topics.batches import Batches, interrupts_held
from bayespa.topics.calibration import Calibration
from bayespa.topics.documents import UNIT, Batch, Corpus
from bayespa.topics.labels import Labels
from bayespa.topics.model import Floats, Sources, TopicModel, mixed
from bayespa.topics.supervised import Supervised

if TYPE_CHECKING:
    from typing_extensions import Self

ORDER = 3  # the purpose of a key, see `bayespa.native.random.subkey`
AT_ONCE = 4096  # documents whose predictions are made together: bounds the memory, changes nothing else


@dataclass(frozen=True)
class Targets:
    """Labels as tasks, and what they make of the model."""

    labels: Labels  # (n, T)
    attributes: dict[str, Any]  # of the estimator, once it learns them
    calibration: Calibration
    source: Sources  # (T,): the task before that each continues, -1: none
    sign: Floats  # (T,)


class TopicTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Subclasses say what the model is (`_model`), how it learns (`_options`), what y means (`_targets`)."""

    _posterior: Joint
    _n_tasks: int
    _n_steps: int
    _calibration: Calibration
    _key: int
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    n_documents_seen_: int
    objective_: list[float]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    @abstractmethod
    def _model(self, n_tasks: int, calibration: Calibration, key: int) -> TopicModel | Supervised:
        """Check the parameters and return the model they describe."""

    @abstractmethod
    def _options(self, model: Any) -> dict[str, Any]:
        """Return the options of `bayespa.learning.rounds` that the parameters stand for."""

    @abstractmethod
    def _targets(self, n: int, y: Any, classes: Any, *, fit: bool) -> Targets:
        """Check the labels of n documents; nothing of the model changes."""

    # Learning

    def _value(self, name: str) -> Any:
        """Return the value of a parameter; subclasses say what None stands for."""
        return getattr(self, name)

    def _check_sampling(self) -> None:
        """Check the parameters that all topic models have."""
        require_number("eta", self._value("eta"), UNIT)
        require_number("n_sweeps", self.n_sweeps, 1, whole=True)
        require_number("burn_in", self.burn_in, 0, self.n_sweeps - 1, whole=True)
        if self.batch_size is not None:
            require_number("batch_size", self.batch_size, 1, whole=True)
        require_number("n_passes", self.n_passes, 1, whole=True)
        require_choice("topic_estimate", self.topic_estimate, ("mean", "geometric"))
        require_number("prediction_sweeps", self.prediction_sweeps, 2, whole=True)

    def _check_discount(self) -> None:
        require_number("discount", self.discount, 0.0, 1.0, open_=True)
        if self.discount < 1.0 and self.n_passes > 1:
            raise ValueError(
                f"discount is {self.discount!r} and n_passes {self.n_passes!r}: one forgets a stream, the "
                "other replays a corpus; use one of both"
            )

    def _fit(self, X: Any, y: Any, callback: Callback | None) -> Self:
        corpus = Corpus.of(X, name=type(self).__name__)
        targets = self._targets(len(corpus), y, None, fit=True)
        model = self._model(targets.labels.shape[1], targets.calibration, key_from_seed(self.random_state))
        validate_data(self, X, skip_check_array=True, reset=True)
        self._start(model, corpus.counts.shape[1], targets)
        order = permutation(subkey(self._key, ORDER), len(corpus))
        self._learn(model, self._batches(corpus, targets.labels, order), self.n_passes, callback)
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

    def _start(self, model: TopicModel | Supervised, n_words: int, targets: Targets) -> None:
        self._describe(model, targets)
        self._posterior = model.prior(n_words).copy()
        self.n_documents_seen_, self._n_steps = 0, 0
        self.objective_ = []

    def _describe(self, model: TopicModel | Supervised, targets: Targets) -> None:
        self.__dict__.update(targets.attributes)
        self._n_tasks, self._calibration, self._key = model.n_tasks, targets.calibration, model.key

    def _learn(
        self,
        model: TopicModel | Supervised,
        batches: Batches,
        n_passes: int,
        callback: Callback | None = None,
    ) -> None:
        options = self._options(model)
        posterior = self._posterior
        begun = [] if self._n_steps else model.begin(batches)
        if begun:
            posterior = posterior.copy()
            for guess in begun:
                posterior += guess
        n_seen, objective = 0, list[float]()  # of rounds that are not to be seen yet
        with interrupts_held() as release:
            for state in rounds(
                model,
                posterior,
                batches,
                n_passes=n_passes,
                prior=model.prior(self.n_features_in_),
                start=self._n_steps,
                begun=begun,
                **options,
            ):
                n_seen += state.local.n_examples if state.pass_index == 0 else 0
                objective.append(state.local.objective / max(1, state.local.n_examples))
                if state.pass_index == 0 and state.batch_index + 1 < len(begun):
                    continue  # what the posterior has of the mini-batches to come is a guess
                self._posterior = state.posterior
                self._n_steps += len(objective) * options.get("n_iterations", 1)
                self.n_documents_seen_, n_seen = self.n_documents_seen_ + n_seen, 0
                self.objective_ += objective
                objective.clear()
                self._report(state, n_passes)
                release()
                if callback is not None and callback(state) is True:
                    return

    def _report(self, state: Any, n_passes: int) -> None:
        every = max(1, state.n_batches // (10 if self.verbose == 1 else state.n_batches))
        if self.verbose and (state.batch_index + 1) % every == 0:
            print(
                f"{type(self).__name__}: pass {state.pass_index + 1} of {n_passes}, "
                f"batch {state.batch_index + 1} of {state.n_batches}, {self.n_documents_seen_} documents, "
                f"loss {self.objective_[-1]:.4g}"
            )

    # What was learned

    def _require_whole(self) -> None:
        """Raise a ValueError unless parameters and arrays, which came from a file, belong together."""
        require_number("n_features_in_", self.n_features_in_, 1, whole=True)
        for model, posterior in self._parts():
            model.require_continues(posterior)
            topics = model.topic_word(posterior)
            if topics.shape[1:] != (self.n_features_in_,):
                raise ValueError(f"topics have shape {topics.shape}, not (topics, {self.n_features_in_})")
            for topic, word in np.argwhere(~(topics > 0.0))[:1]:
                raise ValueError(
                    f"the concentration of word {word} in topic {topic} is {topics[topic, word]}"
                )

    def _parts(self) -> list[tuple[TopicModel, Joint]]:
        """Return the topic models and their posteriors: one, or one a task."""
        check_is_fitted(self)
        return self._fitted_model().parts(self._posterior)

    def _fitted_model(self) -> TopicModel | Supervised:
        return self._model(self._n_tasks, self._calibration, self._key)

    @property
    def topic_word_(self) -> Floats:
        """Concentrations Δ of the topics, (K, W); one-vs-rest stacks the topics of all tasks, (T K, W)."""
        return stacked([model.topic_word(posterior) for model, posterior in self._parts()])

    @property
    def components_(self) -> Floats:
        """Posterior mean of the topics, in the shape of `topic_word_`: probabilities of words."""
        return stacked([model.topic_mean(posterior) for model, posterior in self._parts()])

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
                tops.append([str(names[w]) for w in largest(row, n_words)])
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

    def _infer(
        self,
        corpus: Corpus,
        weights: list[Floats] | None = None,
        beside: Callable[[Batch], tuple[Floats, Floats]] | None = None,
    ) -> tuple[Floats, Floats, Floats]:
        """Return E z̄ (n, K) of every topic model side by side, and the margins' mean and variance (n, T).

        `weights` are to decide with in place of their posterior; what is `beside` the topics is added.
        """
        ids, parts = corpus.ids(), self._parts()
        shares, means, variances = [], [], []
        for start in range(0, len(corpus), AT_ONCE):
            rows = np.arange(start, min(start + AT_ONCE, len(corpus)))
            batch = corpus.batch(rows, ids=ids[rows])
            free = [
                model.infer(posterior, batch, None if weights is None else weights[part]).free
                for part, (model, posterior) in enumerate(parts)
            ]
            shares.append(np.hstack([f.topic_share for f in free]).astype(np.float64))
            margin = np.hstack([f.margin for f in free]), np.hstack([f.margin_var for f in free])
            if beside is not None:
                for total, added in zip(margin, beside(batch), strict=True):
                    total += added
            means.append(margin[0])
            variances.append(margin[1])
        return np.concatenate(shares), np.concatenate(means), np.concatenate(variances)

    def _proportions(self, corpus: Corpus, shares: Floats) -> list[Floats]:
        """Return E θ (n, K) of every topic model, given E z̄ of all side by side."""
        length = np.asarray(corpus.counts.sum(axis=1)).ravel() * corpus.weights
        found, start = [], 0
        for model, posterior in self._parts():
            end = start + len(model.shares_prior(posterior))
            found.append(model.proportions(posterior, length, shares[:, start:end]))
            start = end
        return found

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
        return np.hstack(self._proportions(corpus, self._infer(corpus)[0]))

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
        total, parts = 0.0, self._parts()
        for (model, posterior), own in zip(parts, proportions, strict=True):
            probability = mixed(own, model.topic_mean(posterior, words), rows, place)
            total += float((tokens * log(probability)).sum()) / len(parts)
        return float(exp(-total / float(tokens.sum())))


def stacked(arrays: list[Floats]) -> Floats:
    """Return the arrays of all topic models as one; that of one is not copied."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
