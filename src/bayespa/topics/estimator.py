"""Base class of all topic models as scikit-learn estimators: parameters, learning, files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayespa.checks import number_of_threads, require_number
from bayespa.estimators import NO_ROLES, Features, Roles, ValueEstimator
from bayespa.learning import HERE, Callback, Executor, Flight, Round, State, rounds
from bayespa.native.random import key_from_seed, permutation, subkey
from bayespa.posteriors import Joint
from bayespa.topics.documents import Batches, Corpus, Labels
from bayespa.topics.knowledge import Knowledge
from bayespa.topics.model import Model
from bayespa.topics.parameters import resolved
from bayespa.topics.part import Floats

if TYPE_CHECKING:
    from typing_extensions import Self

ORDER = 3  # purpose of a key, see `bayespa.native.random.subkey`
IN_ALL, PER_TASK, MOST_PASSES = 4096, 256, 32  # limits of passes over a small corpus


class Losses:
    """An immutable list of numbers; longer ones share its memory."""

    def __init__(self, values: list[float] | None = None, n: int | None = None) -> None:
        self._values = [] if values is None else values
        self._n = len(self._values) if n is None else n

    def tolist(self) -> list[float]:
        """Return the numbers."""
        return self._values[: self._n]

    def extended(self, more: list[float]) -> Losses:
        """Return these numbers and more."""
        values = self._values if len(self._values) == self._n else self.tolist()
        values.extend(more)
        return Losses(values, len(values))


@dataclass(frozen=True, eq=False)
class Learned:
    """Everything a topic model has learned, as one immutable value."""

    state: State[Joint]
    model: Model
    parameters: tuple[Any, ...]  # from which the model was made,
    values: dict[str, Any]  # and their resolved values
    features: Features
    meaning: Any  # of y: `Classes` or `Numbers`
    key: int  # of the random numbers
    losses: Losses
    progressive: Floats | None = None  # (n, T): margins of the last call's documents, before it learned them

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # without cached values

    @cached_property
    def knowledge(self) -> Knowledge:
        """What predictions need, computed from it."""
        return Knowledge(self.model, self.state.posterior, self.features, self.meaning, self.key)


@dataclass(eq=False, repr=False, kw_only=True)
class TopicEstimator(ValueEstimator):
    """Subclasses define the model (`_model`), how it learns (`_schedule`), and what y means (`_read`).

    Parameters
    ----------
    random_state : int, RandomState, Generator or None
        Seed. The same seed gives the same bits for any `n_jobs` and on any CPU.
    n_jobs : int or None
        Threads: None is 1, -1 all processors.
    verbose : int
        1 prints ten lines per pass, 2 a line per mini-batch.
    """

    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    @abstractmethod
    def _defaults(self) -> dict[str, Any]:
        """Return the defaults of parameters that are None, and of `expert`."""

    @abstractmethod
    def _model(self, values: dict[str, Any], meaning: Any, shared: dict[str, Any]) -> Model:
        """Return the model for values of parameters; `shared` are parameters of every `TopicPart`."""

    @abstractmethod
    def _read(self, n: int, y: Any, classes: Any, before: Any, *, fit: bool) -> tuple[Any, Labels]:
        """Return the meaning of the labels of n documents, and the labels as tasks."""

    @abstractmethod
    def _schedule(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return `batch_size`, `n_passes`, and other options of `bayespa.learning.rounds`."""

    # Parameters

    def _values(self) -> dict[str, Any]:
        """Return the value of every parameter, checked."""
        given = {name: value for name, value in zip(self._get_param_names(), self._given(), strict=True)}
        expert = given.pop("expert", None)
        return resolved(given, expert, self._defaults(), self._name)

    def _given(self) -> tuple[Any, ...]:
        """Return a copy of the parameters: a user may change `expert` in place."""
        given = (getattr(self, name) for name in self._get_param_names())
        return tuple(dict(value) if isinstance(value, Mapping) else value for value in given)

    def _made(self, meaning: Any, key: int) -> dict[str, Any]:
        """Return the fields of `Learned` that depend on parameters: the model, resolved and checked."""
        values = self._values()
        shared = {
            "eta": float(values["eta"]),
            "n_sweeps": int(values["n_sweeps"]),
            "burn_in": int(values["burn_in"]),
            "mean_topics": values.get("topic_estimate", "mean") == "mean",
            "prediction_sweeps": int(values["prediction_sweeps"]),
            "key": key,
            "n_threads": number_of_threads(self.n_jobs),
        }
        model = self._model(values, meaning, shared)
        return {"model": model, "parameters": self._given(), "values": values, "meaning": meaning, "key": key}

    @property
    def eta_(self) -> float:
        """The value of `eta` in use."""
        return float(self._values()["eta"])

    # Learning

    def _fit(
        self, X: Any, y: Any, callback: Callback | None, roles: Roles = NO_ROLES, workers: Executor = HERE
    ) -> Self:
        corpus = Corpus.of(X, name=self._name)
        meaning, labels = self._read(len(corpus), y, None, None, fit=True)
        key = key_from_seed(self.random_state)
        start = [self._new(Features.of(X, roles), meaning, key)]
        corpus = corpus.with_roles(start[0].features)
        order = permutation(subkey(key, ORDER), len(corpus))
        schedule = {**self._schedule(start[0].values), "executor": workers}
        for now in self._learning(start, corpus, labels, order, **schedule):
            if callback is not None and callback(now) is True:
                break
        return self._ready()

    def _partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any,
        roles: Roles = NO_ROLES,
        workers: Executor = HERE,
        *,
        several_passes: bool = False,
    ) -> Self:
        """Learn more documents; the first ones in several passes, if they are few."""
        corpus = Corpus.of(X, name=self._name)
        first = "_learned" not in vars(self)
        meaning, labels = self._read(
            len(corpus), y, classes, None if first else self._learned.meaning, fit=False
        )
        if first:
            start = [self._new(Features.of(X, roles), meaning, key_from_seed(self.random_state))]
        else:
            start = [self._grown(X, corpus.counts.shape[1], meaning, roles)]
        corpus = corpus.with_roles(start[0].features)
        schedule = {**self._schedule(start[0].values), "executor": workers}
        if not (first and several_passes and schedule["n_passes"] is None):
            schedule["n_passes"] = 1
        for _ in self._learning(start, corpus, labels, np.arange(len(corpus)), **schedule):
            pass
        return self._ready()

    def _ready(self) -> Self:
        """Compute what predictions need now, so that the first prediction is not slower than others."""
        self._learned.knowledge.ready()
        return self

    def _new(self, features: Features, meaning: Any, key: int) -> Learned:
        """Return a model that has learned nothing."""
        made = self._made(meaning, key)
        return Learned(State(made["model"].prior(features.n)), features=features, losses=Losses(), **made)

    def _grown(self, X: Any, n_words: int, meaning: Any, roles: Roles) -> Learned:
        """Return what was learned, extended for the words of X and the meaning of y."""
        before: Learned = self._learned
        return self._with_room(before, self._planned(before, X, n_words, meaning, roles))

    def _planned(self, before: Learned, X: Any, n_words: int, meaning: Any, roles: Roles) -> Learned:
        """Return the value to be learned after `before`, extended for the words of X and the meaning of y.

        Its state is still the old one.
        """
        features, made = before.features, {}
        if n_words > features.n:
            features = features.wider(X, self._name, roles)
        else:
            self._require_known(before, X, n_words)
        if self._given() != before.parameters or meaning is not before.meaning:
            made = self._made(meaning, before.key)
        return replace(before, features=features, progressive=None, **made)

    def _with_room(self, before: Learned, planned: Learned) -> Learned:
        """Return what was learned before, extended for the plan."""
        posterior = before.state.posterior
        if planned.model is not before.model:
            planned.model.require_continues(posterior)
        if planned.model is not before.model or planned.features is not before.features:
            continued = planned.meaning.tasks_before(before.meaning)
            posterior = planned.model.grown(posterior, planned.features.n, *continued)
        return replace(planned, state=replace(before.state, posterior=posterior), losses=before.losses)

    # Learning ahead: several mini-batches of a stream in progress, which may have new words and classes.

    def _launch(
        self, flight: Flight[Joint], last: Learned | None, X: Any, y: Any, classes: Any, roles: Roles
    ) -> Learned:
        """Start learning a mini-batch under the current posterior; return the plan, for `_land`.

        `last` is the plan of the mini-batch before, if that is still in progress.
        """
        now: Learned = self._learned
        before = now if last is None else last
        corpus = Corpus.of(X, name=self._name)
        meaning, labels = self._read(len(corpus), y, classes, before.meaning, fit=False)
        planned = self._planned(before, X, corpus.counts.shape[1], meaning, roles)
        batch = corpus.with_roles(planned.features).batch(np.arange(len(corpus)), labels)
        state, model = self._faded(now), planned.model
        posterior = state.posterior
        if meaning is not now.meaning:
            tasks = meaning.tasks_before(now.meaning)
            posterior = model.topics.grown(posterior, now.features.n, *tasks)
        flight.launch(model, state, batch, needed=model.near(posterior, batch))
        return replace(planned, state=State(Joint()))

    def _land(self, flight: Flight[Joint], planned: Learned) -> None:
        """Add what the oldest mini-batch in progress has taught, and publish it."""
        learned = self._with_room(self._learned, planned)
        state, step = flight.land(self._faded(learned))
        losses = learned.losses.extended([step.objective / max(1, step.n_examples)])
        margin = step.margin  # type: ignore[attr-defined]  # a TopicStep
        self._learned = replace(planned, state=state, losses=losses, progressive=margin)

    def _faded(self, learned: Learned) -> State[Joint]:
        """Return the state for the next mini-batch, after forgetting."""
        state, discount = learned.state, float(learned.values.get("discount", 1.0))
        if discount == 1.0:
            return state
        prior = learned.model.prior(learned.features.n)
        return replace(state, posterior=state.posterior.discounted(discount, prior))

    def _learning(
        self,
        start: list[Learned],
        corpus: Corpus,
        labels: Labels,
        order: NDArray[np.int64],
        *,
        batch_size: int | None,
        n_passes: int | None,
        first_batch: int | None = None,
        **options: Any,
    ) -> Iterator[Round[Joint, Joint]]:
        """Learn mini-batches, and publish the value after each, in one assignment.

        Mini-batches that initialise the topics together (see `TopicPart.guesses`) are published as one. The
        initial state is taken out of a list, so that nobody else holds it and its memory can be reused.
        """
        learned = start.pop()
        model, state = learned.model, learned.state
        if n_passes is None:
            n_passes, batch_size = _small(len(corpus), model.n_tasks, batch_size)
            model = replace(model, topics_again=False)
        batches = Batches(corpus, labels, order, batch_size, None if state.n_steps else first_batch)
        guesses = [] if state.n_steps else model.guesses(batches)
        posterior = state.posterior
        for guess in guesses:
            posterior += guess.statistics
        state = replace(state, posterior=posterior)
        prior = model.prior(learned.features.n) if options.get("discount", 1.0) < 1.0 else None
        rest = replace(learned, state=State(Joint()))
        steps = rounds(model, state, batches, n_passes=n_passes, prior=prior, guesses=guesses, **options)
        del learned, state, posterior
        losses, margins = list[float](), list[Floats]()
        for now in steps:
            losses.append(now.step.objective / max(1, now.step.n_examples))
            if now.pass_index == 0:
                margins.append(now.step.margin)  # type: ignore[attr-defined]  # a TopicStep
                if now.batch_index + 1 < len(guesses):
                    continue  # the posterior still has guesses of later mini-batches
            rest = replace(rest, losses=rest.losses.extended(losses), progressive=np.concatenate(margins))
            self._learned = replace(rest, state=now.state)
            losses.clear()
            self._report(now, n_passes)
            yield now

    def _report(self, now: Any, n_passes: int) -> None:
        every = max(1, now.n_batches // (10 if self.verbose == 1 else now.n_batches))
        if self.verbose and (now.batch_index + 1) % every == 0:
            print(
                f"{self._name}: pass {now.pass_index + 1} of {n_passes}, "
                f"batch {now.batch_index + 1} of {now.n_batches}, {self.n_documents_seen_} documents, "
                f"loss {self.objective_[-1]:.4g}"
            )

    # What was learned

    @property
    def posterior_(self) -> Joint:
        """The posterior of every part, by name; an immutable value."""
        posterior: Joint = self._known().state.posterior
        return posterior

    @property
    def n_documents_seen_(self) -> int:
        """Number of documents learned."""
        return int(self._known().state.n_examples)

    @property
    def objective_(self) -> list[float]:
        """The loss per document of every mini-batch, when it was learned."""
        losses: list[float] = self._known().losses.tolist()
        return losses

    def _fitted(self) -> Learned:
        """Return what was learned, with the present parameters: some may be set at any time."""
        if "_learned" not in vars(self):
            self._require_fitted()
        learned: Learned = self._learned
        if self._given() == learned.parameters:
            return learned
        return replace(learned, **self._made(learned.meaning, learned.key))

    def _snapshot(self) -> Self:
        """Return a copy of the estimator that does not change while another thread learns."""
        snapshot = copy(self)
        snapshot._learned = self._fitted()
        return snapshot

    def _corpus(self, X: Any) -> tuple[Learned, Corpus]:
        """Return what was learned, the same for a whole call, and the documents of X."""
        snapshot = self._snapshot()
        corpus = Corpus.of(X, name=self._name)
        snapshot._require_known(snapshot._learned, X, corpus.counts.shape[1])
        return snapshot._learned, corpus.with_roles(snapshot._learned.features)

    def _require_known(self, learned: Learned, X: Any, n_words: int) -> None:
        """Raise scikit-learn's error for unknown columns."""
        features = learned.features
        if features.n != n_words or features.names is not None or hasattr(X, "columns"):
            from sklearn.utils.validation import validate_data

            validate_data(self, X, skip_check_array=True, reset=False)

    # Files

    def _to_file(self) -> dict[str, Any]:
        """Return what was learned as plain values, for `bayespa.text.saving`."""
        learned: Learned = self._learned
        state = learned.state
        return {
            "_posterior": state.posterior,
            "_version": state.version,
            "_n_steps": state.n_steps,
            "n_documents_seen_": state.n_examples,
            "objective_": np.array(learned.losses.tolist(), np.float64),
            "_key": learned.key,
            **learned.features.to_file(),
            **self._meaning_to_file(learned.meaning),
        }

    @abstractmethod
    def _meaning_to_file(self, meaning: Any) -> dict[str, Any]:
        """Return the meaning of y as values of a file."""

    @abstractmethod
    def _meaning_from_file(self, learned: dict[str, Any]) -> Any:
        """Read the meaning of y from the values of a file."""

    def _from_file(self, learned: dict[str, Any]) -> None:
        """Publish the values of a file, after checking them."""
        try:
            self._learned = self._of_file(dict(learned))
        except KeyError as name:
            raise ValueError(f"{name} is missing") from None

    def _of_file(self, learned: dict[str, Any]) -> Learned:
        n_steps, posterior = learned.pop("_n_steps"), learned.pop("_posterior")
        version, n_documents = learned.pop("_version", n_steps), learned.pop("n_documents_seen_")
        key, losses = learned.pop("_key"), learned.pop("objective_")
        counted = {"_n_steps": n_steps, "_version": version, "n_documents_seen_": n_documents}
        for name, count in counted.items():
            require_number(name, count, 0, 2**53, whole=True)
        require_number("_key", key, 0, 2**64 - 1, whole=True)
        if isinstance(losses, np.ndarray) and losses.dtype == np.float64 and losses.ndim == 1:
            losses = losses.tolist()  # a list in files of earlier versions
        if not isinstance(losses, list) or not all(isinstance(loss, float | int) for loss in losses):
            raise ValueError("objective_ must be a list of numbers")
        if not isinstance(posterior, Joint):
            raise ValueError(f"_posterior is a {type(posterior).__name__}, not a Joint")
        features = Features.from_file(learned)
        meaning = self._meaning_from_file(learned)
        learned.pop("_n_tasks", None)  # redundant, in files of version 1
        old = learned.pop("_calibration", None) == "independent"
        if learned:
            raise ValueError(f"{next(iter(learned))!r} is not a name of this estimator")
        made = self._made(meaning, key)
        model: Model = made["model"]
        if model.calibration is not None:
            if old:  # saved before labels had a threshold
                posterior = Joint({**model.calibration.prior(), **posterior})
            posterior = model.calibration.converted(posterior)
        model.require_whole(posterior, features.n)
        state = State(posterior, version, n_steps, n_documents)
        return Learned(state, features=features, losses=Losses(list(map(float, losses))), **made)


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineEstimator(TopicEstimator):
    """A topic model that learns a stream in mini-batches.

    Parameters
    ----------
    batch_size : int or None
        Documents per mini-batch. None: all, which is batch learning and needs several `n_passes`.
    n_passes : int or None
        Passes of `fit` over the corpus. A mini-batch replaces what it taught before, so no document counts
        twice. None: one pass or, if words decide, several over a small corpus: until the model has seen 4096
        documents, or 256 per class. Topics are then learned in the first pass only. `partial_fit` makes one
        pass.
    discount : float
        If below 1, forget: before each mini-batch the posterior moves back towards the prior by this factor,
        for streams that change.
    lag : int
        Mini-batches that are computed at once; fewer at the beginning. With more than 1, processes or
        machines can share the work, see ``workers`` of `fit`. The result depends on the lag, but not on the
        workers.
    expert : dict or None
        Parameters that are rarely needed, see the notes. `expert_` has all values in use.
    """

    batch_size: int | None = 256
    n_passes: int | None = None
    discount: float = 1.0
    lag: int = 1
    expert: Mapping[str, Any] | None = None

    def _schedule(self, values: dict[str, Any]) -> dict[str, Any]:
        schedule = {name: values[name] for name in ("batch_size", "n_passes", "discount", "lag")}
        if values["n_passes"] is None and (
            values.get("decides", "topics") == "topics" or values["discount"] < 1.0
        ):
            schedule["n_passes"] = 1
        return schedule

    @property
    def expert_(self) -> dict[str, Any]:
        """All parameters of `expert`, with the values in use."""
        values, own = self._values(), set(self._get_param_names())
        return {name: value for name, value in values.items() if name not in own}


def _small(n: int, n_tasks: int, batch_size: int | None) -> tuple[int, int | None]:
    """Return the number of passes over a corpus of n documents, and the size of mini-batches.

    Words forget what a mini-batch taught them before they learn it again. So there must be several
    mini-batches.

    >>> _small(100_000, 20, 256), _small(8_000, 77, 256), _small(400, 2, 256)
    ((1, 256), (2, 256), (10, 25))
    """
    wanted = max(IN_ALL, PER_TASK * n_tasks)
    n_passes = min(MOST_PASSES, max(1, wanted // max(1, n)))
    if n_passes == 1 or batch_size is None:
        return 1, batch_size
    return n_passes, min(batch_size, max(1, n // 16))
