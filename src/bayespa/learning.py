"""The BayesPA round and its loop, generic over a model (section 2 of the paper).

A state is an immutable value. A model *proposes* what a mini-batch adds to it: a pure function of the state,
the batch and the index of the step, which may be computed anywhere. `apply` adds it and makes the next state.
Online learning, batch learning, several passes and forgetting differ only in what is added, and all of them
are in this file. To learn a model of your own, write a class with a method `propose` (see `Learner`) and pass
it to `learn`.

With **a lag** several mini-batches are computed at once. With a lag of L, mini-batch b is proposed under a
posterior that has the mini-batches up to b - L or more, and statistics are added in the order of b. Some
neighbours share a posterior (`alike`). The lag is a parameter of the model. The result does not depend on who
computes the proposals, in which order, and how often. With a lag of 1 there is one proposal at a time. At
some mini-batches (`level`) no step is in progress, for checkpoints. See `Flight`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeGuard, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Self

S = TypeVar("S")
S_contra = TypeVar("S_contra", contravariant=True)
B_contra = TypeVar("B_contra", contravariant=True)
P_contra = TypeVar("P_contra", bound="Learnable[Any]", contravariant=True)


class Learnable(Protocol[S_contra]):
    """The operations of a posterior, an immutable value; all of `bayespa.posteriors` have them."""

    def changed(self, plus: S_contra | None = None, minus: S_contra | None = None) -> Self:
        """Return self - minus + plus."""

    def discounted(self, rho: float, prior: Self, /) -> Self:
        """Forget: prior + rho (posterior - prior)."""


P = TypeVar("P", bound="Learnable[Any]")


@dataclass(frozen=True)
class State(Generic[P]):
    """What was learned: a posterior, and counters."""

    posterior: P
    version: int = 0  # increases by one with every mini-batch
    n_steps: int = 0  # number of local steps; it addresses random numbers
    n_examples: int = 0  # examples seen, each counted once


@dataclass(frozen=True)
class Step(Generic[S]):
    """What a model proposes to add for one mini-batch."""

    statistics: S
    objective: float  # this batch's part of the objective
    n_examples: int
    n_steps: int = 1  # number of local steps


@dataclass(frozen=True)
class Before(Generic[S]):
    """The last step of a mini-batch, which is to be replaced.

    If `kept`, it stays in the posterior while the batch is learned again, so that latent variables are
    sampled with it: if the batch is all of the data, or if the step was a guess.
    """

    step: Step[S]
    kept: bool = False

    @property
    def statistics(self) -> S:
        """What the step added."""
        return self.step.statistics

    def out_of(self, posterior: P) -> P:
        """Return the posterior for learning the batch again: without this step, unless it is kept."""
        return posterior if self.kept else posterior.changed(minus=self.statistics)


class Learner(Protocol[P_contra, B_contra, S]):
    """What `rounds` and `learn` need from a model. It has only hyper-parameters, and is immutable."""

    def propose(
        self, posterior: P_contra, batch: B_contra, index: int, before: Before[S] | None = None
    ) -> Step[S]:
        """Return what `batch` adds to `posterior`, to replace what it added `before`.

        `index` counts the local steps so far. Use it to address random numbers, and every run gives the same
        bits.
        """


class InOrder(Protocol):
    """A model that does more than propose, for the sake of a lag and of steps that are made elsewhere."""

    n_iterations: int  # `Step.n_steps` of every step

    def near(self, posterior: Any, batch: Any) -> tuple[Any, Any]:
        """Return what `propose` needs from a posterior for a batch; only this is sent to workers."""

    def finish(self, posterior: Any, batch: Any, found: Any, index: int, before: Any = None) -> Any:
        """Return the step for the proposal `found` when it is added, with what must be learned in order.

        The posterior has all mini-batches before this one.
        """

    def adapted(self, posterior: Any) -> Any:
        """Return the posterior after a new mini-batch, without what has turned out to be wrong."""


def in_order(model: object) -> TypeGuard[InOrder]:
    """Return whether a model is one; isinstance takes a good part of the time of a small mini-batch."""
    return hasattr(model, "finish")


class Future(Protocol):
    """A future result."""

    def result(self) -> Any:
        """Wait for the result; raise the exception of its computation, if any."""


class Executor(Protocol):
    """Computes steps: `HERE`, pools of `concurrent.futures`, or `bayespa.workers.Workers`."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future:
        """Start computing a pure function."""


class Done:
    """A finished result, or an exception."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._error: Exception | None = None
        try:
            self._value = function(*arguments)
        except Exception as error:
            self._error = error

    def result(self) -> Any:
        """Return the result, or raise the exception."""
        if self._error is not None:
            raise self._error
        return self._value


class InThisThread:
    """Computes in this thread, immediately."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Done:
        """Compute a function now; its exception is raised by `result`."""
        return Done(function, *arguments)


HERE = InThisThread()
SETTLED = 16  # mini-batches learned for each one in progress: the first documents teach the most


def lag_of(lag: int, index: int) -> int:
    """Return the lag of mini-batch `index`, from 0: it grows with what was learned.

    >>> [lag_of(8, index) for index in (0, 31, 32, 127, 128, 1000)]
    [1, 1, 2, 7, 8, 8]
    """
    return min(lag, max(1, index // SETTLED))


def level(lag: int, index: int) -> bool:
    """Return whether no step is in progress when mini-batch `index` begins: a checkpoint changes nothing.

    With a lag of 1 this is always so. With a larger one it is so at multiples of `SETTLED` times the lag,
    where the lag is rounded down to a power of two.

    >>> [index for index in range(28, 700) if level(8, index)]
    [28, 29, 30, 31, 32, 64, 128, 256, 384, 512, 640]
    """
    now = lag_of(lag, index)
    return now == 1 or index % (SETTLED << (now.bit_length() - 1)) == 0


def alike(lag: int, index: int) -> range:
    """Return the mini-batches that are proposed under one posterior, with `index` among them.

    They are a quarter of its lag, or of the next lower power of two, so that they can be sent together.

    >>> [len(alike(32, index)) for index in (127, 128, 256, 512)]
    [1, 2, 4, 8]
    """
    n = max(1, (1 << lag_of(lag, index).bit_length()) // 8)
    return range(index - index % n, index - index % n + n)


@dataclass(frozen=True)
class _Proposed:
    """A step in progress."""

    model: Any
    batch: Any
    index: int
    before: Before[Any] | None
    future: Future
    n_steps: int


class Flight(Generic[P]):
    """Steps in progress, in the order of their addition.

    A mini-batch is launched while the posterior of its proposal is the current one, so nobody has to keep an
    older one. Some parts must learn in order: weights of words would overshoot if several mini-batches
    corrected the same error. They learn in `InOrder.finish`, when the step is added.
    """

    def __init__(self, executor: Executor = HERE, lag: int = 1) -> None:
        if lag < 1:
            raise ValueError(f"lag is {lag}; it must be at least 1")
        self._executor, self._lag = executor, lag
        self._steps: deque[_Proposed] = deque()

    def __len__(self) -> int:
        return len(self._steps)

    def room(self, version: int) -> bool:
        """Return whether the next mini-batch may be launched, after so many were added."""
        n, index = len(self._steps), version + len(self._steps)
        together = alike(self._lag, index)
        fits = together.stop - version <= lag_of(self._lag, together.start)
        return n == 0 or (fits and not level(self._lag, index))

    def launch(
        self,
        model: Learner[P, Any, Any],
        state: State[P],
        batch: Any,
        before: Before[Any] | None = None,
        needed: tuple[Any, Any] | None = None,
    ) -> None:
        """Start computing what a mini-batch adds, under the posterior of `state`.

        `needed` is what `InOrder.near` returns, if the posterior has not been extended for the batch yet.
        """
        n_steps = 1
        if in_order(model):
            needed, n_steps = needed or model.near(state.posterior, batch), model.n_iterations
        index = state.n_steps + sum(step.n_steps for step in self._steps)
        future = self._executor.submit(model.propose, *(needed or (state.posterior, batch)), index, before)
        self._steps.append(_Proposed(model, batch, index, before, future, n_steps))

    def land(self, state: State[P], *, again: bool = False) -> tuple[State[P], Step[Any]]:
        """Return the state after adding the oldest mini-batch in progress, and its step."""
        now = self._steps[0]
        step = now.future.result()
        if in_order(now.model):
            step = now.model.finish(state.posterior, now.batch, step, now.index, now.before)
        state = apply(state, step, now.before, again=again)
        if in_order(now.model) and now.before is None:
            state = replace(state, posterior=now.model.adapted(state.posterior))
        self._steps.popleft()
        return state, step


@dataclass(frozen=True)
class Round(Generic[P, S]):
    """The state after a round, for progress reports, checkpoints and plots."""

    state: State[P]
    step: Step[S]
    pass_index: int
    batch_index: int
    n_batches: int | None  # None: a stream of unknown length
    n_examples: int  # seen since the start, in all passes
    n_passes: int = 1


Callback = Callable[[Round[Any, Any]], object]


def apply(
    state: State[P], step: Step[S], before: Before[S] | None = None, *, again: bool = False
) -> State[P]:
    """Return the state after a step, which replaces what its batch taught `before`.

    If the batch is learned `again`, its examples are not counted again.

    Examples
    --------
    >>> from bayespa.posteriors import Dirichlet
    >>> state = State(Dirichlet.prior(1, 2, eta=0.5))
    >>> after = apply(state, Step(Dirichlet([[3, 1]]), objective=0.0, n_examples=1))
    >>> after.posterior.concentration, after.version, state.version
    (array([[3.5, 1.5]]), 1, 0)
    """
    return replace(
        state,
        posterior=state.posterior.changed(step.statistics, None if before is None else before.statistics),
        version=state.version + 1,
        n_steps=state.n_steps + step.n_steps,
        n_examples=state.n_examples + (0 if again else step.n_examples),
    )


def rounds(
    model: Learner[P, B_contra, S],
    state: State[P],
    batches: Iterable[B_contra],
    *,
    n_passes: int = 1,
    discount: float = 1.0,
    prior: P | None = None,
    tol: float = 0.0,
    replaces: bool = True,
    guesses: Sequence[Step[S]] = (),
    lag: int = 1,
    executor: Executor = HERE,
) -> Iterator[Round[P, S]]:
    """Learn one mini-batch after another, and yield the state after each.

    Parameters
    ----------
    model : Learner
        The model.
    state : State
        The initial state.
    batches : iterable of mini-batches
        A stream for one pass; for more passes, something that can be iterated again (a list).
    n_passes : int
        From the second pass on, a mini-batch replaces what it added before: no data counts twice.
    discount : float
        If below 1, forget: before each round the posterior moves back towards `prior` by this factor. Only
        for one pass.
    prior : Learnable, optional
        The limit of forgetting; needed if `discount` < 1.
    tol : float
        Stop when the objective of a pass changes by less than this, relative to the pass before (the paper:
        1e-4).
    replaces : bool
        If false, later passes replace nothing, for a model whose statistics are steps along a gradient.
    guesses : sequence of Step
        Guesses of what the first mini-batches add, already in the posterior; each is replaced when its
        mini-batch is learned. Until then nothing is forgotten.
    lag : int
        L: mini-batch b is proposed under a posterior with the mini-batches up to b - L or more (see `lag_of`
        and `alike`). A pass ends before the next begins.
    executor : Executor
        Computes proposals; the result does not depend on it.

    Yields
    ------
    Round

    Examples
    --------
    A model that counts words, whose step is the count:

    >>> from bayespa.posteriors import Dirichlet
    >>> class WordCounts:
    ...     def propose(self, posterior, batch, index, before=None):
    ...         return Step(Dirichlet([batch]), objective=0.0, n_examples=1)
    >>> for round in rounds(WordCounts(), State(Dirichlet.prior(1, 3, eta=0.5)), [[1, 0, 2], [4, 0, 0]]):
    ...     print(round.n_examples, round.state.posterior.concentration)
    1 [[1.5 0.5 2.5]]
    2 [[5.5 0.5 2.5]]
    """
    if n_passes < 1:
        raise ValueError(f"n_passes is {n_passes}; it must be at least 1")
    if not 0.0 < discount <= 1.0:
        raise ValueError(f"discount is {discount}; it must lie in (0, 1], where 1 forgets nothing")
    if discount < 1.0 and n_passes > 1:
        raise ValueError(
            f"discount is {discount} and n_passes {n_passes}; discount is for one pass; use one of them"
        )
    if discount < 1.0 and prior is None:
        raise ValueError(f"discount {discount} needs a prior to forget towards")
    if n_passes > 1 and iter(batches) is batches:
        raise ValueError(f"n_passes is {n_passes} but the batches can be iterated only once; pass a list")
    n_batches = len(batches) if isinstance(batches, Sized) else None
    taught = list(guesses)  # the last step of each batch
    n_examples, objective_before = 0, float("nan")
    for pass_index in range(n_passes):
        objective, batch_index, launched = 0.0, 0, 0
        flight, source = Flight[P](executor, lag), Feed(batches)
        while len(flight) or source.more():
            again = replaces and batch_index < len(taught)
            if discount < 1.0 and prior is not None and not again:
                state = replace(state, posterior=state.posterior.discounted(discount, prior))
            while flight.room(state.version) and source.more():
                before = None
                if replaces and launched < len(taught):
                    before = Before(taught[launched], kept=n_batches == 1 or pass_index == 0)
                flight.launch(model, state, source.take(), before)
                launched += 1
            state, step = flight.land(state, again=pass_index > 0)
            if again:
                taught[batch_index] = step
            elif replaces and n_passes > 1:
                taught.append(step)
            n_examples += step.n_examples
            objective += step.objective
            yield Round(state, step, pass_index, batch_index, n_batches, n_examples, n_passes)
            batch_index += 1
        source.check()
        if abs(objective - objective_before) < tol * abs(objective_before):
            return
        objective_before = objective


class Feed:
    """Mini-batches that are read on demand; an error waits until everything read before is learned."""

    def __init__(self, batches: Iterable[Any]) -> None:
        self._batches = iter(batches)
        self._next: list[Any] = []
        self._error: Exception | None = None

    def more(self) -> bool:
        """Return whether there is another mini-batch."""
        if not self._next and self._error is None:
            try:
                self._next = [next(self._batches)]
            except StopIteration:
                pass
            except Exception as error:
                self._error = error
        return bool(self._next)

    def take(self) -> Any:
        """Return the next mini-batch."""
        return self._next.pop()

    def check(self) -> None:
        """Raise the error of reading, if any."""
        if self._error is not None:
            raise self._error


@dataclass(frozen=True)
class Result(Generic[P]):
    """The result of `learn`."""

    state: State[P]
    objective: list[float]  # summed over each pass
    n_examples: int

    @property
    def posterior(self) -> P:
        """The posterior of the state."""
        return self.state.posterior


def learn(
    model: Learner[P, B_contra, S],
    posterior: P,
    batches: Iterable[B_contra],
    *,
    callbacks: Iterable[Callback] = (),
    **options: Any,
) -> Result[P]:
    """Run `rounds` from a posterior to the end, and call every callback with each `Round`.

    Parameters
    ----------
    model, batches
        As in `rounds`.
    posterior : Learnable
        The initial posterior.
    callbacks : iterable of callables
        Each is called with the `Round` after every mini-batch; learning stops if one returns True.
    **options
        `n_passes`, `discount`, `prior`, `tol`, `replaces`, `guesses`, `lag` and `executor` of `rounds`.

    Returns
    -------
    Result

    Examples
    --------
    >>> from bayespa.posteriors import Dirichlet
    >>> class WordCounts:
    ...     def propose(self, posterior, batch, index, before=None):
    ...         return Step(Dirichlet([batch]), objective=float(sum(batch)), n_examples=1)
    >>> result = learn(WordCounts(), Dirichlet.prior(1, 2, eta=1.0), [[1, 0], [4, 0]], n_passes=3)
    >>> result.posterior.concentration, result.objective
    (array([[6., 1.]]), [5.0, 5.0, 5.0])
    """
    callbacks = list(callbacks)
    objective: list[float] = []
    state, n_examples = State(posterior), 0
    for now in rounds(model, state, batches, **options):
        if now.batch_index == 0:
            objective.append(0.0)
        objective[-1] += now.step.objective
        state, n_examples = now.state, now.n_examples
        if any([callback(now) is True for callback in callbacks]):
            break
    return Result(state, objective, n_examples)
