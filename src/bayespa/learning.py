"""The BayesPA round and its loop, generic over a model (the paper's section 2).

A state is a value. A model *proposes* what a mini-batch adds to it: a pure function of the state, the batch
and the index of the step, which may be computed anywhere. `apply` adds that and makes the next state, whole
or not at all. Online learning, batch learning, several passes, forgetting: each is a way to feed or add
statistics, and all of it is in this file. To learn a model of your own, write a class with a method `propose`
(see `Learner`) and hand it to `learn`.

**A lag** lets several mini-batches be learned at once. With a lag of L, mini-batch b is proposed under the
posterior that has the mini-batches up to b - L, and statistics are added in the order of b. The lag is a part
of the model: whoever computes the proposals, in whatever order and how often, the bits are the same. With a
lag of 1 there is one proposal at a time. Now and then nothing is under way (`level`), for checkpoints. See
`Flight`.
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
    """What a posterior must offer, as a value: nothing changes it. All of `bayespa.posteriors` do."""

    def changed(self, plus: S_contra | None = None, minus: S_contra | None = None) -> Self:
        """Return self - minus + plus."""

    def discounted(self, rho: float, prior: Self, /) -> Self:
        """Forget: prior + rho (posterior - prior)."""


P = TypeVar("P", bound="Learnable[Any]")


@dataclass(frozen=True)
class State(Generic[P]):
    """What was learned: a posterior, and how it came about."""

    posterior: P
    version: int = 0  # goes up by one with every mini-batch
    n_steps: int = 0  # local steps made, which address random numbers
    n_examples: int = 0  # seen, each once however many passes there were


@dataclass(frozen=True)
class Step(Generic[S]):
    """What a model proposes to add for one mini-batch."""

    statistics: S
    objective: float  # this batch's part of what learning minimises
    n_examples: int
    n_steps: int = 1  # local steps that it took


@dataclass(frozen=True)
class Before(Generic[S]):
    """The step that a mini-batch taught last, which is to be replaced.

    It is `kept` while the batch is learned again if there is nothing else to find latent variables with: if
    the batch is all of the data, or if what it taught was a guess.
    """

    step: Step[S]
    kept: bool = False

    @property
    def statistics(self) -> S:
        """What the step added."""
        return self.step.statistics

    def out_of(self, posterior: P) -> P:
        """Return the posterior to learn the batch with: without what it taught before, unless kept."""
        return posterior if self.kept else posterior.changed(minus=self.statistics)


class Learner(Protocol[P_contra, B_contra, S]):
    """What `rounds` and `learn` need of a model. It holds hyper-parameters and changes nothing."""

    def propose(
        self, posterior: P_contra, batch: B_contra, index: int, before: Before[S] | None = None
    ) -> Step[S]:
        """Return what `batch` adds to `posterior`, in place of what it taught `before`.

        `index` counts the local steps made so far: draw random numbers by it, and every run gives the same
        bits.
        """


class InOrder(Protocol):
    """A model that does more than propose, for the sake of a lag and of steps that are made elsewhere."""

    n_iterations: int  # `Step.n_steps` of every step

    def near(self, posterior: Any, batch: Any) -> tuple[Any, Any]:
        """Return what `propose` needs of a posterior and of a batch: that is sent to whoever proposes."""

    def finish(self, posterior: Any, batch: Any, found: Any, index: int, before: Any = None) -> Any:
        """Return the step of which `found` was proposed, where it is added: with what is learned in order.

        The posterior has all mini-batches before this one.
        """


def in_order(model: object) -> TypeGuard[InOrder]:
    """Return whether a model is one; isinstance takes a good part of the time of a small mini-batch."""
    return hasattr(model, "finish")


class Future(Protocol):
    """A result to come."""

    def result(self) -> Any:
        """Wait for it; raise what its computation has raised."""


class Executor(Protocol):
    """Whoever computes steps: `HERE`, pools of `concurrent.futures`, `bayespa.workers.Workers`."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future:
        """Begin to compute a pure function."""


class Done:
    """A result that is there, or the exception in its place."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._error: Exception | None = None
        try:
            self._value = function(*arguments)
        except Exception as error:
            self._error = error

    def result(self) -> Any:
        """Return it, or raise the exception."""
        if self._error is not None:
            raise self._error
        return self._value


class InThisThread:
    """Computes at once."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Done:
        """Compute a function now; what it raises is raised when its result is asked for."""
        return Done(function, *arguments)


HERE = InThisThread()
SETTLED = 16  # mini-batches that are learned for each one under way: the first documents teach the most


def lag_of(lag: int, index: int) -> int:
    """Return the lag of mini-batch `index`, from 0: it grows with what was learned.

    >>> [lag_of(8, index) for index in (0, 31, 32, 127, 128, 1000)]
    [1, 1, 2, 7, 8, 8]
    """
    return min(lag, max(1, index // SETTLED))


def level(lag: int, index: int) -> bool:
    """Return whether nothing is under way when mini-batch `index` begins: a checkpoint then changes nothing.

    So it is while the lag is 1, and then after every `SETTLED` times as many mini-batches as it is, or as the
    next lower power of two.

    >>> [index for index in range(28, 700) if level(8, index)]
    [28, 29, 30, 31, 32, 64, 128, 256, 384, 512, 640]
    """
    now = lag_of(lag, index)
    return now == 1 or index % (SETTLED << (now.bit_length() - 1)) == 0


@dataclass(frozen=True)
class _Proposed:
    """A step that is being computed."""

    model: Any
    batch: Any
    index: int
    before: Before[Any] | None
    future: Future
    n_steps: int


class Flight(Generic[P]):
    """Steps that are being computed, in the order in which they will be added.

    A mini-batch is launched when the posterior is current that it is to be proposed under, so nobody has to
    keep an older one. What is learned in order, such as weights of words that overshoot if several
    mini-batches correct one mistake, a model learns where it is added: in `InOrder.finish`.
    """

    def __init__(self, executor: Executor = HERE, lag: int = 1) -> None:
        if lag < 1:
            raise ValueError(f"lag is {lag}; it must be at least 1, where a mini-batch waits for no other")
        self._executor, self._lag = executor, lag
        self._steps: deque[_Proposed] = deque()

    def __len__(self) -> int:
        return len(self._steps)

    def room(self, version: int) -> bool:
        """Return whether the next mini-batch may be launched now that so many were added."""
        n, index = len(self._steps), version + len(self._steps)
        return n == 0 or (n < lag_of(self._lag, index) and not level(self._lag, index))

    def launch(
        self,
        model: Learner[P, Any, Any],
        state: State[P],
        batch: Any,
        before: Before[Any] | None = None,
        needed: tuple[Any, Any] | None = None,
    ) -> None:
        """Begin to compute what a mini-batch adds, under the posterior of `state`.

        `needed` is what `InOrder.near` returns, of a posterior that has yet to make room for the batch.
        """
        n_steps = 1
        if in_order(model):
            needed, n_steps = needed or model.near(state.posterior, batch), model.n_iterations
        index = state.n_steps + sum(step.n_steps for step in self._steps)
        future = self._executor.submit(model.propose, *(needed or (state.posterior, batch)), index, before)
        self._steps.append(_Proposed(model, batch, index, before, future, n_steps))

    def land(self, state: State[P], *, again: bool = False) -> tuple[State[P], Step[Any]]:
        """Return the state that has learned the oldest mini-batch under way, and its step."""
        now = self._steps[0]
        step = now.future.result()
        if in_order(now.model):
            step = now.model.finish(state.posterior, now.batch, step, now.index, now.before)
        state = apply(state, step, now.before, again=again)
        self._steps.popleft()
        return state, step


@dataclass(frozen=True)
class Round(Generic[P, S]):
    """The state after a round, for progress reports, checkpoints and plots."""

    state: State[P]
    step: Step[S]
    pass_index: int
    batch_index: int
    n_batches: int | None  # None: a stream, whose length is not known
    n_examples: int  # seen since the start, all passes together


Callback = Callable[[Round[Any, Any]], object]


def apply(
    state: State[P], step: Step[S], before: Before[S] | None = None, *, again: bool = False
) -> State[P]:
    """Return the state that has learned a step, in place of what its batch taught `before`.

    If the batch was learned `again`, its examples were counted the first time.

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
    """Learn mini-batch after mini-batch, and yield the state after each one.

    Parameters
    ----------
    model : Learner
        Gives the statistics of a mini-batch.
    state : State
        Where to start; it stays as it is.
    batches : iterable of mini-batches
        A stream for one pass; for more passes, something that can be iterated again (a list).
    n_passes : int
        From the second pass on, what a mini-batch added before is replaced: no data counts twice.
    discount : float
        Below 1, forget: before each round the posterior goes back towards `prior` by this factor. One pass
        only.
    prior : Learnable, optional
        Where forgetting leads to; needed if `discount` < 1.
    tol : float
        Stop when the objective, summed over a pass, changes by less than this relative to the pass before
        (the paper: 1e-4).
    replaces : bool
        If false, later passes replace nothing: for a model whose statistics are steps along a gradient.
    guesses : sequence of Step
        Guesses of what the first mini-batches add, which the posterior has; each is replaced when its turn
        comes. Until then nothing is forgotten.
    lag : int
        L: mini-batch b is proposed under the posterior with the mini-batches up to b - L, or fewer while
        little was learned (see `lag_of`). 1: with all before it. A pass ends before the next begins.
    executor : Executor
        Whoever computes proposals; no result depends on it.

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
            f"discount {discount} forgets a stream, n_passes {n_passes} replays a corpus: use one of both"
        )
    if discount < 1.0 and prior is None:
        raise ValueError(f"discount {discount} needs the prior that forgetting leads back to")
    if n_passes > 1 and iter(batches) is batches:
        raise ValueError(f"n_passes is {n_passes} but the batches can be iterated only once; pass a list")
    n_batches = len(batches) if isinstance(batches, Sized) else None
    taught = list(guesses)  # by each batch when it was learned last
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
            yield Round(state, step, pass_index, batch_index, n_batches, n_examples)
            batch_index += 1
        source.check()
        if abs(objective - objective_before) < tol * abs(objective_before):
            return
        objective_before = objective


class Feed:
    """Mini-batches, each read when it is asked for; an error waits until what was read before is learned."""

    def __init__(self, batches: Iterable[Any]) -> None:
        self._batches = iter(batches)
        self._next: list[Any] = []
        self._error: Exception | None = None

    def more(self) -> bool:
        """Return whether there is another one."""
        if not self._next and self._error is None:
            try:
                self._next = [next(self._batches)]
            except StopIteration:
                pass
            except Exception as error:
                self._error = error
        return bool(self._next)

    def take(self) -> Any:
        """Return the next one."""
        return self._next.pop()

    def check(self) -> None:
        """Raise the error that reading has met."""
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
    """Run `rounds` from a posterior to the end, calling every callback with each `Round`.

    Parameters
    ----------
    model, batches
        As for `rounds`.
    posterior : Learnable
        Where to start; it stays as it is.
    callbacks : iterable of callables
        Each is called with the `Round` after every mini-batch; a callback that returns True stops the
        learning.
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
