"""The BayesPA round and its loop, generic over a model (the paper's section 2).

One round takes the posterior as the prior of a mini-batch, runs the model's *local step* (what the batch
says, given the posterior) and adds the resulting statistics (the global update). Online learning, batch
learning, several passes, forgetting: each is a way to feed or add statistics, and all of it is in this file.
To learn a model of your own, write a class with a method `local_step` (see `Model`) and hand it to `learn`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Self

S = TypeVar("S")
S_contra = TypeVar("S_contra", contravariant=True)
B_contra = TypeVar("B_contra", contravariant=True)
P_contra = TypeVar("P_contra", bound="Learnable[Any]", contravariant=True)


class Learnable(Protocol[S_contra]):
    """What a posterior must offer: statistics add and subtract. All of `bayespa.posteriors` do."""

    def __iadd__(self, statistics: S_contra, /) -> Self:
        """Learn `statistics`, in place where possible."""

    def __isub__(self, statistics: S_contra, /) -> Self:
        """Unlearn `statistics` that were added before."""

    def discounted(self, rho: float, prior: Self, /) -> Self:
        """Forget: prior + rho (posterior - prior)."""

    def copy(self) -> Self:
        """Return a posterior with arrays of its own."""


P = TypeVar("P", bound="Learnable[Any]")


@dataclass(frozen=True)
class Local(Generic[S]):
    """What a local step found out about one mini-batch."""

    statistics: S  # to add to the posterior
    objective: float  # this batch's part of what learning minimises
    n_examples: int

    def after(self, before: Self) -> Self:
        """Return what counts of this step if it repeats another: all of it, unless a subclass says less."""
        return self


class Model(Protocol[P_contra, B_contra, S]):
    """What `rounds` and `learn` need of a model. It holds hyper-parameters and changes nothing."""

    def local_step(self, posterior: P_contra, batch: B_contra, index: int) -> Local[S]:
        """Return what `batch` adds to `posterior`.

        `index` counts the local steps made so far: draw random numbers by it, and every run gives the same
        bits. The posterior is not to be written to.
        """


@dataclass(frozen=True)
class Round(Generic[P, S]):
    """The state after a round, for progress reports, checkpoints and plots."""

    posterior: P
    local: Local[S]
    pass_index: int
    batch_index: int
    n_batches: int | None  # None: a stream, whose length is not known
    n_examples: int  # seen since the start, all passes together


Callback = Callable[[Round[Any, Any]], object]


def rounds(
    model: Model[P, B_contra, S],
    posterior: P,
    batches: Iterable[B_contra],
    *,
    n_passes: int = 1,
    n_iterations: int = 1,
    discount: float = 1.0,
    prior: P | None = None,
    tol: float = 0.0,
    start: int = 0,
    replace: bool = True,
    cavity: Callable[[P, S], P] | None = None,
    begun: Sequence[S] = (),
) -> Iterator[Round[P, S]]:
    """Learn mini-batch after mini-batch, and yield the state after each one.

    Parameters
    ----------
    model : Model
        Gives the statistics of a mini-batch.
    posterior : Learnable
        Where to start. It is updated in place where its arrays can be written to; go on with the yielded one.
    batches : iterable of mini-batches
        A stream for one pass; for more passes, something that can be iterated again (a list).
    n_passes : int
        From the second pass on, what a mini-batch added before is subtracted first: no data counts twice.
        See `cavity` for a mini-batch that is all of the data: batch learning.
    n_iterations : int
        How often the local step and the global update alternate within a round (the paper's I).
    discount : float
        Below 1, forget: before each round the posterior goes back towards `prior` by this factor. One pass
        only.
    prior : Learnable, optional
        Where forgetting leads to; needed if `discount` < 1.
    tol : float
        Stop when the objective, summed over a pass, changes by less than this relative to the pass before
        (the paper: 1e-4).
    start : int
        Index of the first local step; a model that goes on learning gives the number of steps made so far.
    replace : bool
        If false, later passes subtract nothing: for a model whose statistics are steps along a gradient.
    cavity : callable, optional
        Where one mini-batch is all of the data, what a later pass learns it with, made of the posterior and
        of what the mini-batch has added. By default the posterior as it is, since else nothing would be left
        to find latent variables with; `without` where there are none.
    begun : sequence of statistics
        Guesses of what the first mini-batches add, which are in `posterior`; each is replaced when its turn
        comes. Until then nothing is forgotten.

    Yields
    ------
    Round

    Examples
    --------
    A model that counts words, whose local step is the count:

    >>> from bayespa.posteriors import Dirichlet
    >>> class WordCounts:
    ...     def local_step(self, posterior, batch, index):
    ...         return Local(Dirichlet([batch]), objective=0.0, n_examples=1)
    >>> for state in rounds(WordCounts(), Dirichlet.prior(1, 3, eta=0.5), [[1, 0, 2], [4, 0, 0]]):
    ...     print(state.n_examples, state.posterior.concentration)
    1 [[1.5 0.5 2.5]]
    2 [[5.5 0.5 2.5]]
    """
    if n_passes < 1 or n_iterations < 1:
        raise ValueError(f"n_passes is {n_passes} and n_iterations {n_iterations}; both must be at least 1")
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
    whole = n_batches == 1
    current: Any = posterior  # any: mypy knows no += of a type variable
    learned = list(begun)  # what each batch added last, to be replaced when its turn comes again
    index, n_examples, objective_before = start, 0, float("nan")
    for pass_index in range(n_passes):
        objective = 0.0
        for batch_index, batch in enumerate(batches):
            replaced = replace and batch_index < len(learned)
            kept = whole or pass_index == 0  # while latent variables are found: they need something
            if replaced and not kept:
                current -= learned[batch_index]
            if discount < 1.0 and prior is not None and not replaced:  # a guess is yet to be taken back
                current = current.discounted(discount, prior)
            again = replaced and whole and pass_index > 0
            source = cavity(current, learned[batch_index]) if again and cavity else current
            local = model.local_step(source, batch, index)
            if replaced and kept:
                current -= learned[batch_index]
            current += local.statistics
            for iteration in range(1, n_iterations):
                repeated = model.local_step(current, batch, index + iteration).after(local)
                current -= local.statistics
                current += repeated.statistics
                local = repeated
            index += n_iterations
            if replaced:
                learned[batch_index] = local.statistics
            elif replace and n_passes > 1:
                learned.append(local.statistics)
            n_examples += local.n_examples
            objective += local.objective
            yield Round(current, local, pass_index, batch_index, n_batches, n_examples)
        if abs(objective - objective_before) < tol * abs(objective_before):
            return
        objective_before = objective


def without(posterior: P, statistics: Any) -> P:
    """Return a posterior that has unlearned `statistics`; the one given stays as it is."""
    cavity: Any = posterior.copy()  # any: mypy knows no -= of a type variable, and so not what it returns
    cavity -= statistics
    return cavity  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Learned(Generic[P]):
    """The result of `learn`."""

    posterior: P
    objective: list[float]  # summed over each pass
    n_examples: int


def learn(
    model: Model[P, B_contra, S],
    posterior: P,
    batches: Iterable[B_contra],
    *,
    callbacks: Iterable[Callback] = (),
    **options: Any,
) -> Learned[P]:
    """Run `rounds` to the end, calling every callback with each `Round`.

    Parameters
    ----------
    model, posterior, batches
        As for `rounds`.
    callbacks : iterable of callables
        Each is called with the `Round` after every mini-batch; a callback that returns True stops the
        learning.
    **options
        `n_passes`, `n_iterations`, `discount`, `prior`, `tol`, `start`, `replace`, `cavity` and `begun` of
        `rounds`.

    Returns
    -------
    Learned

    Examples
    --------
    >>> from bayespa.posteriors import Dirichlet
    >>> class WordCounts:
    ...     def local_step(self, posterior, batch, index):
    ...         return Local(Dirichlet([batch]), objective=float(sum(batch)), n_examples=1)
    >>> result = learn(WordCounts(), Dirichlet.prior(1, 2, eta=1.0), [[1, 0], [4, 0]], n_passes=3)
    >>> result.posterior.concentration, result.objective
    (array([[6., 1.]]), [5.0, 5.0, 5.0])
    """
    callbacks = list(callbacks)
    objective: list[float] = []
    n_examples = 0
    for state in rounds(model, posterior, batches, **options):
        if state.batch_index == 0:
            objective.append(0.0)
        objective[-1] += state.local.objective
        posterior, n_examples = state.posterior, state.n_examples
        if any([callback(state) is True for callback in callbacks]):
            break
    return Learned(posterior, objective, n_examples)
