"""Base class of all topic models as scikit-learn estimators: parameters, learning, files."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayespa.checks import number_of_threads
from bayespa.estimators import NO_ROLES, Features, Roles, ValueEstimator
from bayespa.learning import HERE, Callback, Executor, Round, State, rounds
from bayespa.native.random import key_from_seed, permutation, subkey
from bayespa.posteriors import Joint
from bayespa.topics.documents import Batches, Corpus
from bayespa.topics.knowledge import Knowledge
from bayespa.topics.model import Model
from bayespa.topics.parameters import resolved
from bayespa.topics.part import Floats
from bayespa.topics.waiting import Backlog, Targets, beginning, few, looked_at

if TYPE_CHECKING:
    from typing_extensions import Self

ORDER = 3  # purpose of a key, see `bayespa.native.random.subkey`


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
    schedule: dict[str, Any]  # batch size, passes, and other options of `lessons`
    losses: Losses
    progressive: Floats | None = None  # (n, T): margins before learning; at the end those of the last call,
    n_recent: int = 0  # which had so many documents; 0: all of them
    waiting: Backlog | None = None  # documents after those of `state`
    look: Learned | None = None  # at the first of them, if it was needed: see `_first_look`

    def __getstate__(self) -> dict[str, Any]:
        kept = {field.name: getattr(self, field.name) for field in fields(self)}  # without cached values
        return {**kept, "look": None}

    @cached_property
    def knowledge(self) -> Knowledge:
        """What predictions need, computed from it."""
        return Knowledge(self.model, self.state.posterior, self.features, self.meaning, self.key)

    # Documents that wait

    @property
    def now(self) -> Learned:
        """What is known with the documents that wait."""
        return self if self.waiting is None else self._now  # a value that held itself would never be freed

    @property
    def passes(self) -> int | None:
        """Passes over the first documents, if they wait: None, as many as `few` says, or one."""
        return 1 if self.waiting is None or self.schedule["n_passes"] == 1 else self.waiting.n_passes

    @cached_property
    def _now(self) -> Learned:
        assert self.waiting is not None
        start, begin = self, 0
        if not self.state.n_steps:
            start = self._first_look
            begin = start.state.n_examples
        alone = replace(self, meaning=start.meaning, progressive=start.progressive, waiting=None, look=None)
        alone = with_room(start, alone)
        if begin == len(self.waiting):
            return alone
        return alone.taught(*self.waiting.cut(self.meaning, self.features.n, begin), n_passes=1)

    @cached_property
    def _first_look(self) -> Learned:
        """What is known of the first documents, if all wait, at a size from `looked_at`."""
        assert self.waiting is not None
        n = looked_at(len(self.waiting))
        if self.look is not None and self.look.model is self.model and self.look.state.n_examples == n:
            return self.look
        return self.begun(n, self.waiting.n_words(n))  # words of later documents do not change it

    def begun(self, n: int, n_words: int) -> Learned:
        """Return what is known of the first n documents and words, if all documents wait."""
        assert self.waiting is not None
        start = replace(self, features=self.features.first(n_words), waiting=None, look=None)
        documents = self.waiting.cut(self.meaning, n_words, 0, n)
        return start.taught(*documents, n_passes=self.passes)

    def taught(self, corpus: Corpus, targets: Targets, n_passes: int | None) -> Learned:
        """Return what is known after learning documents."""
        schedule = {**self.schedule, "n_passes": n_passes}
        # Another thread may be adding to the shared list of losses.
        start = [replace(self, losses=Losses(self.losses.tolist()))]
        steps = lessons(start, corpus, targets, np.arange(len(corpus)), **schedule)
        return deque(steps, maxlen=1).pop()[0]


def with_room(before: Learned, planned: Learned) -> Learned:
    """Return what was learned before, extended for the words and tasks of a plan."""
    posterior = before.state.posterior
    if posterior and planned.model is not before.model:
        planned.model.require_continues(posterior)
    if posterior and (planned.model is not before.model or planned.features is not before.features):
        continued = planned.meaning.tasks_before(before.meaning)
        posterior = planned.model.grown(posterior, planned.features.n, *continued)
    return replace(planned, state=replace(before.state, posterior=posterior), losses=before.losses)


def lessons(
    start: list[Learned],
    corpus: Corpus,
    targets: Targets,
    order: NDArray[np.int64],
    *,
    batch_size: int | None,
    n_passes: int | None,
    first_batch: int | None = None,
    **options: Any,
) -> Iterator[tuple[Learned, Round[Joint, Joint]]]:
    """Learn some documents in mini-batches, and yield what is known after each.

    Mini-batches that initialise the topics together (see `TopicPart.guesses`) are yielded as one. The initial
    value is taken out of a list, so that nobody else holds it and its memory can be reused.
    """
    learned = start.pop()
    corpus = corpus.with_roles(learned.features)
    meaning = learned.meaning.begun(targets[np.sort(order)])
    labels = meaning.tasks(targets)
    model, state = learned.model, learned.state
    if not options.get("replaces", True):  # steps along a gradient need the size of the corpus
        topics = model.topics.among(state.n_examples + len(order))  # type: ignore[union-attr]
        model = replace(model, topics=topics)
    if n_passes is None:
        n_passes, batch_size = few(len(order), model.n_tasks, batch_size, regression=model.regression)
        model = replace(model, topics_again=False)
    if n_passes > 1:
        model = replace(model, forgets=False)
    batches = Batches(corpus, labels, order, batch_size, None if state.n_steps else first_batch)
    guesses = [] if state.n_steps else model.guesses(batches)
    posterior = state.posterior or model.prior(learned.features.n)
    for guess in guesses:
        posterior += guess.statistics
    state = replace(state, posterior=posterior)
    prior = model.prior(learned.features.n) if options.get("discount", 1.0) < 1.0 else None
    rest = replace(learned, state=State(Joint()), meaning=meaning, waiting=None)
    steps = rounds(model, state, batches, n_passes=n_passes, prior=prior, guesses=guesses, **options)
    margins = [] if learned.progressive is None else [learned.progressive]
    del learned, state, posterior
    losses = list[float]()
    for now in steps:
        losses.append(now.step.objective / max(1, now.step.n_examples))
        if now.pass_index == 0:
            margins.append(now.step.margin)  # type: ignore[attr-defined]  # a TopicStep
            if now.batch_index + 1 < len(guesses):
                continue  # the posterior still has guesses of later mini-batches
        rest = replace(rest, losses=rest.losses.extended(losses), progressive=np.concatenate(margins))
        losses.clear()
        yield replace(rest, state=now.state), now


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
    def _read(self, n: int, y: Any, classes: Any, before: Any, *, fit: bool) -> tuple[Any, Targets]:
        """Return the meaning of the labels of n documents, and the labels as its `tasks` reads them."""

    @abstractmethod
    def _schedule(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return `batch_size`, `n_passes`, and other options of `lessons`."""

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
        own = {"parameters": self._given(), "values": values, "schedule": self._schedule(values)}
        return {"model": model, "meaning": meaning, "key": key, **own}

    @property
    def eta_(self) -> float:
        """The value of `eta` in use."""
        return float(self._values()["eta"])

    # Learning

    def _fit(
        self, X: Any, y: Any, callback: Callback | None, roles: Roles = NO_ROLES, workers: Executor = HERE
    ) -> Self:
        corpus = Corpus.of(X, name=self._name)
        meaning, targets = self._read(len(corpus), y, None, None, fit=True)
        key = key_from_seed(self.random_state)
        start = [self._new(Features.of(X, roles), meaning, key)]
        order = permutation(subkey(key, ORDER), len(corpus))
        schedule = {**start[0].schedule, "executor": workers}
        for learned, now in self._reported(lessons(start, corpus, targets, order, **schedule)):
            self._learned = learned
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
        whole: bool = False,
    ) -> Self:
        """Learn more documents; the first ones in several passes, if they are few. `_ready` comes after it.

        If `whole`, the documents are mini-batches of their own, and none waits.
        """
        whole = whole or getattr(self, "batch_size", None) is None
        if whole and "_learned" in vars(self):
            self.settle()
        corpus = Corpus.of(X, name=self._name)
        first = "_learned" not in vars(self)
        meaning, targets = self._read(
            len(corpus), y, classes, None if first else self._learned.meaning, fit=False
        )
        if first:
            start = [self._new(Features.of(X, roles), meaning, key_from_seed(self.random_state))]
        else:
            start = [self._grown(X, corpus.counts.shape[1], meaning, roles)]
        n_passes = start[0].schedule["n_passes"] if several_passes else 1
        if whole:
            start[0] = replace(start[0], n_recent=len(corpus))
            schedule = {**start[0].schedule, "n_passes": None if first and n_passes is None else 1}
            order = np.arange(len(corpus))
            steps = lessons(start, corpus, targets, order, **schedule, executor=workers)
            for learned, _ in self._reported(steps):
                self._learned = learned
        else:
            self._take(start, corpus, targets, n_passes, workers)
        return self

    def _take(
        self, start: list[Learned], corpus: Corpus, targets: Targets, n_passes: int | None, workers: Executor
    ) -> None:
        """Learn the mini-batches that are whole now; the documents after them wait."""
        learned = replace(start.pop(), n_recent=len(corpus))
        waiting, meaning, schedule = learned.waiting, learned.meaning, learned.schedule
        n_passes = n_passes if waiting is None else learned.passes
        size, n = self._next_size(learned, n_passes), len(corpus)
        if waiting is not None:
            n += len(waiting)
            waiting = waiting.and_then(corpus, targets, meaning)
            if n >= size:
                corpus, targets = waiting.cut(meaning, learned.features.n)
        begin, start = 0, [learned]
        del learned
        while n - begin >= size:
            first = not start[0].state.n_steps
            end = begin + (size if first or schedule.get("lag", 1) == 1 else (n - begin) // size * size)
            options = {**schedule, "n_passes": n_passes if first else 1, "executor": workers}
            order = np.arange(begin, end)
            for learned, _ in self._reported(lessons(start, corpus, targets, order, **options)):
                if not first:  # else the documents that have waited would be lost
                    self._learned = learned
            self._learned = learned
            begin, size, start = end, schedule["batch_size"], [learned]
            del learned
        if begin == n:
            return
        if begin or waiting is None:
            corpus = Corpus(corpus.counts[begin:], corpus.weights[begin:])
            waiting = Backlog(n_passes).and_then(corpus, targets[begin:], meaning)
        self._learned = replace(start.pop(), waiting=waiting)

    def _next_size(self, learned: Learned, n_passes: int | None) -> int:
        """Return the size of the next mini-batch or, of the first documents, how many belong together."""
        schedule = learned.schedule
        size = int(schedule["batch_size"])
        if learned.state.n_steps:
            return size
        first = max(size, schedule.get("first_batch") or 0)
        model = learned.model
        several = 0 if n_passes == 1 else beginning(model.n_tasks, regression=model.regression)
        together = max(first, several, self._first_call() or 0, learned.meaning.first)
        return int(first + -(-(together - first) // size) * size)  # whole mini-batches

    def _first_call(self) -> int | None:
        """Return how many documents initialise the model together, if any do."""
        return None

    def _n_missing(self) -> int | None:
        """Return after how many more documents something is learned; None: after each call."""
        schedule = self._schedule(self._values())
        size: int | None = schedule["batch_size"]
        if size is None:
            return None
        if "_learned" not in vars(self):
            return max(size, schedule.get("first_batch") or 0, self._first_call() or 0)
        waiting = self._learned.waiting
        if waiting is None:
            return size
        return max(1, self._next_size(self._learned, self._learned.passes) - len(waiting))

    def settle(self) -> Self:
        """Learn the documents that wait for more, as a mini-batch of their own, and keep none of them.

        Until then they are a part of the model and of its file. Predictions do not need this: for them,
        documents that wait count already. If all documents wait, they are now learned together, as if there
        were no others to come.

        Returns
        -------
        self
        """
        learned: Learned = self._known()
        if learned.waiting is not None:
            n = 0 if learned.state.n_steps else len(learned.waiting)
            self._learned = learned.begun(n, learned.features.n) if n else learned.now
            self._ready()
        return self

    def _ready(self) -> Self:
        """Compute what predictions need now, so that the first is not slower, unless documents wait."""
        if self._learned.waiting is None:
            self._learned.knowledge.ready()
        return self

    def _new(self, features: Features, meaning: Any, key: int) -> Learned:
        """Return a model that has learned nothing."""
        made = self._made(meaning, key)
        return Learned(State(Joint()), features=features, losses=Losses(), **made)

    def _grown(self, X: Any, n_words: int, meaning: Any, roles: Roles) -> Learned:
        """Return what was learned, extended for the words of X and the meaning of y."""
        before: Learned = self._learned
        return with_room(before, self._planned(before, X, n_words, meaning, roles))

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
        look = vars(before).get("_first_look", before.look)
        return replace(before, features=features, progressive=None, look=look, **made)

    def _reported(
        self, steps: Iterator[tuple[Learned, Round[Joint, Joint]]]
    ) -> Iterator[tuple[Learned, Round[Joint, Joint]]]:
        """Yield what is known after each mini-batch, and print reports."""
        for learned, now in steps:
            yield learned, now
            n_batches = now.n_batches or 1
            every = max(1, n_batches // (10 if self.verbose == 1 else n_batches))
            if self.verbose and (now.batch_index + 1) % every == 0:
                print(
                    f"{self._name}: pass {now.pass_index + 1} of {now.n_passes}, "
                    f"batch {now.batch_index + 1} of {now.n_batches}, {learned.state.n_examples} documents, "
                    f"loss {learned.losses.tolist()[-1]:.4g}"
                )

    # What was learned

    @property
    def posterior_(self) -> Joint:
        """The posterior of every part, by name; an immutable value."""
        posterior: Joint = self._known().now.state.posterior
        return posterior

    @property
    def n_documents_seen_(self) -> int:
        """Number of documents learned, and of those that wait for more to be learned with."""
        known: Learned = self._known()
        return int(known.state.n_examples) + (0 if known.waiting is None else len(known.waiting))

    @property
    def objective_(self) -> list[float]:
        """The loss per document of every mini-batch, when it was learned."""
        losses: list[float] = self._known().now.losses.tolist()
        return losses

    def _fitted(self) -> Learned:
        """Return what was learned, with the present parameters: some may be set at any time."""
        if "_learned" not in vars(self):
            self._require_fitted()
        learned: Learned = self._learned
        if learned.waiting is not None:
            learned = learned.now
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
