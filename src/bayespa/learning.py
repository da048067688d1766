"""The BayesPA round and its loop, generic over a model (the paper's section 2).

A state is a value. A model *proposes* what a mini-batch adds to it: a pure function of the state, the batch
and the index of the step, which may be computed anywhere. `apply` adds that and makes the next state, whole
or not at all. Online learning, batch learning, several passes, forgetting: each is a way to feed or add
statistics, and all of it is in this file. To learn a model of your own, write a class with a method `propose`
(see `Learner`) and hand it to `learn`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

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
        objective = 0.0
        for batch_index, batch in enumerate(batches):
            before = None
            if replaces and batch_index < len(taught):
                before = Before(taught[batch_index], kept=n_batches == 1 or pass_index == 0)
            elif discount < 1.0 and prior is not None:
                state = replace(state, posterior=state.posterior.discounted(discount, prior))
            step = model.propose(state.posterior, batch, state.n_steps, before)
            state = apply(state, step, before, again=pass_index > 0)
            if before is not None:
                taught[batch_index] = step
            elif replaces and n_passes > 1:
                taught.append(step)
            n_examples += step.n_examples
            objective += step.objective
            yield Round(state, step, pass_index, batch_index, n_batches, n_examples)
        if abs(objective - objective_before) < tol * abs(objective_before):
            return
        objective_before = objective


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
        `n_passes`, `discount`, `prior`, `tol`, `replaces` and `guesses` of `rounds`.

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
