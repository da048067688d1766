"""The local step of online MedLDA: what goes in, what comes out, and the call of the native kernel.

A mini-batch meets the global posterior here: the topics of its tokens are sampled, and out come the
statistics that the posterior adds (`topic_word`, `precision`, `shift`) and what the samples say about each
document (`topic_share`, `margin`, `margin_var`). `bayespa.reference.medlda.step` is the slow, readable twin.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from bayespa import _native

if TYPE_CHECKING:
    import scipy.sparse as sp

LANES = 8
Sampler = Literal["collapsed", "metropolis", "exact", "augmented", "averaging"]


@dataclass(frozen=True, eq=False)
class CountMatrix:
    """Counts above 0 of n documents and W words, row by row (CSR); in a row the columns increase.

    It does without SciPy, whose import takes longer than the prediction of a text. SciPy's matrices are what
    callers give and get.

    Parameters
    ----------
    data : (nnz,) int32
    indices : (nnz,) int32
        The columns.
    indptr : (n + 1,) int32 or int64
        Row i has the entries from ``indptr[i]`` to before ``indptr[i + 1]``.
    shape : (n, W)

    Examples
    --------
    >>> counts = CountMatrix(np.array([2, 1, 3]), np.array([0, 2, 1]), np.array([0, 2, 3]), (2, 3))
    >>> counts.to_scipy().toarray()
    array([[2, 0, 1],
           [0, 3, 0]])
    >>> counts[1:].to_scipy().toarray(), counts.narrow(2).to_scipy().toarray(), counts.row_sums()
    (array([[0, 3, 0]]), array([[2, 0],
           [0, 3]]), array([3, 3]))
    """

    data: NDArray[np.int32]
    indices: NDArray[np.int32]
    indptr: NDArray[Any]
    shape: tuple[int, int]

    def to_scipy(self) -> sp.csr_matrix:
        """Return the same as a CSR matrix, which shares its memory."""
        import scipy.sparse as sp

        matrix = sp.csr_matrix((self.data, self.indices, self.indptr), self.shape)
        matrix.has_canonical_format = True  # columns increase
        return matrix

    def __getitem__(self, rows: slice) -> CountMatrix:
        begin, end, _ = rows.indices(self.shape[0])
        indptr = self.indptr[begin : end + 1]
        own = slice(indptr[0], indptr[-1])
        return CountMatrix(
            self.data[own], self.indices[own], indptr - indptr[0], (len(indptr) - 1, self.shape[1])
        )

    def copy(self) -> CountMatrix:
        """Return the same in its own memory."""
        return CountMatrix(self.data.copy(), self.indices.copy(), self.indptr.copy(), self.shape)

    def kept(self, entries: NDArray[np.bool_]) -> CountMatrix:
        """Return the same matrix with only some of its entries, (nnz,)."""
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(entries)])[self.indptr]
        return CountMatrix(self.data[entries], self.indices[entries], indptr, self.shape)

    def narrow(self, n_words: int) -> CountMatrix:
        """Return the first columns."""
        kept = self.kept(self.indices < n_words)
        return CountMatrix(kept.data, kept.indices, kept.indptr, (self.shape[0], n_words))

    def row_sums(self) -> NDArray[np.int64]:
        """Return the number of tokens of each document, (n,)."""
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.data, dtype=np.int64)])[self.indptr]
        sums: NDArray[np.int64] = ends[1:] - ends[:-1]
        return sums


@dataclass(frozen=True)
class Documents:
    """A mini-batch of word counts.

    Parameters
    ----------
    indptr : (n_docs + 1,) int64
    words : (nnz,) int32
        Positions in `vocabulary`.
    counts : (nnz,) int32
    ids : (n_docs,) uint32
        A document's part of the address of its random numbers.
    vocabulary : (n_words,) int64
        The words of this batch, as columns of the corpus.
    """

    indptr: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.int32]
    ids: NDArray[np.uint32]
    vocabulary: NDArray[np.int64]

    @classmethod
    def from_csr(
        cls,
        counts: CountMatrix,
        rows: NDArray[np.integer] | None = None,
        ids: NDArray[np.uint32] | None = None,
    ) -> Documents:
        """Make a batch of some rows of a matrix, or of all, words numbered by first appearance.

        Parameters
        ----------
        counts : (N, W), or a csr_matrix of whole numbers
        rows : (n_docs,), optional
        ids : (n_docs,), optional
            Places in the batch by default.

        Examples
        --------
        >>> from scipy.sparse import csr_matrix
        >>> Documents.from_csr(csr_matrix([[0, 0, 2], [3, 0, 1]]), rows=np.array([1])).vocabulary
        array([0, 2])
        """
        rows = np.arange(counts.shape[0]) if rows is None else rows
        begin = counts.indptr[rows].astype(np.int64)
        indptr = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(counts.indptr[rows + 1] - begin, out=indptr[1:])
        words, own, vocabulary = (np.empty(indptr[-1], kind) for kind in (np.int32, np.int32, np.int64))
        data = counts.data.astype(np.int32, copy=False)
        n_words = _native.cut_documents(
            counts.indices, data, counts.shape[1], begin, indptr, words, own, vocabulary
        )
        ids = np.arange(len(rows), dtype=np.uint32) if ids is None else ids
        return cls(indptr, words, own, ids, vocabulary[:n_words].copy())

    def only(self, kept: NDArray[np.bool_]) -> Documents:
        """Return the same documents with only some words of the vocabulary, (n_words,)."""
        places, number = np.flatnonzero(kept[self.words]), np.cumsum(kept, dtype=np.int32) - np.int32(1)
        indptr, words = np.searchsorted(places, self.indptr), number[self.words[places]]
        return Documents(indptr, words, self.counts[places], self.ids, self.vocabulary[kept])

    def slice(self, first: int, last: int) -> Documents:
        """Return the documents from `first` up to, not including, `last`, over the same vocabulary."""
        start, stop = self.indptr[first], self.indptr[last]
        return Documents(
            self.indptr[first : last + 1] - start,
            self.words[start:stop],
            self.counts[start:stop],
            self.ids[first:last],
            self.vocabulary,
        )


@dataclass(frozen=True)
class Topics:
    """The topics as the sampler sees them: `phi` (n_words, K rounded up to 8) and `alpha` (K,)."""

    phi: NDArray[np.float32]
    alpha: NDArray[np.float32]


def _aligned(n_rows: int, n_columns: int) -> NDArray[np.float32]:
    """Return an array whose lanes do not cross cache lines, which NumPy does not promise."""
    size = n_rows * n_columns
    buffer = np.empty(size + 16, np.float32)
    start = -buffer.ctypes.data % 64 // buffer.itemsize
    return buffer[start : start + size].reshape(n_rows, n_columns)


def topic_factors(
    dirichlet: NDArray[np.float32] | NDArray[np.float64],
    totals: NDArray[np.float64],
    vocabulary: NDArray[np.int64],
    *,
    mean: bool,
    n_threads: int = 1,
) -> NDArray[np.float32]:
    """Return each word's topic factors, scaled to at most 1, padded with zeros: (n_words, K rounded up to 8).

    Parameters
    ----------
    dirichlet : (W, K)
        The posterior Δ of the topics.
    totals : (K,)
        Its column sums.
    vocabulary : (n_words,)
        The rows wanted.
    mean : bool
        The posterior mean of Φ if true, the mean-field factor exp(E log Φ) if false.
    """
    n_topics = dirichlet.shape[1]
    phi = _aligned(len(vocabulary), -(-n_topics // LANES) * LANES)
    _native.medlda_phi(dirichlet, totals, vocabulary, mean, phi, n_threads)
    return phi


@dataclass(frozen=True)
class Tasks:
    """The weights of T tasks, their labels and loss.

    Parameters
    ----------
    mean : (T, K) float64
    covariance : (T, K, K) float64
    labels : (n_docs, T) float32
        ±1 (or a target, if `regression`), NaN where missing; for "averaging", the signed duals τy.
    cost : (T,) float64
    margin : float
        ε: the margin, or the half-width of the insensitive tube.
    regression : bool
    """

    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]
    labels: NDArray[np.float32]
    cost: NDArray[np.float64]
    margin: float
    regression: bool = False

    @classmethod
    def none(cls, n_docs: int, n_topics: int) -> Tasks:
        """Return no task at all: latent Dirichlet allocation."""
        return cls(
            np.empty((0, n_topics)),
            np.empty((0, n_topics, n_topics)),
            np.empty((n_docs, 0), np.float32),
            np.empty(0),
            1.0,
        )


@dataclass(frozen=True)
class Schedule:
    """Sweeps without labels (at least one, to start the chain), then with them; the address of the draws.

    The collapsed sampler is "metropolis" or "exact", document by document [MED-12]; either can be asked for.
    """

    free_sweeps: int = 1
    free_burn_in: int = 1
    sweeps: int = 2
    burn_in: int = 0
    sampler: Sampler = "collapsed"
    seed: int = 0
    round: int = 0


@dataclass(frozen=True)
class Statistics:
    """What the kept sweeps of one phase say: means over them, except for `topic_word`, which is a sum."""

    n_kept: int
    topic_word: NDArray[np.int32]  # (n_words, K), or (0, K) if not counted
    topic_share: NDArray[np.float32]  # (n_docs, K): E z̄, 0 for an empty document
    margin: NDArray[np.float64]  # (n_docs, T): E μᵀz̄
    margin_var: NDArray[np.float64]  # (n_docs, T): E z̄ᵀΣz̄ + var μᵀz̄
    precision: NDArray[np.float64]  # (T, K, K): c² Σ_d E[λ⁻¹ z̄z̄ᵀ] [MED-4]
    shift: NDArray[np.float64]  # (T, K): c Σ_d E[y (1 + cελ⁻¹) z̄] [MED-4]
    loss: NDArray[np.float64]  # (T,): Σ_d E[c (ζ̄ + √(ζ̄² + s))] [MED-3]

    @classmethod
    def zeros(
        cls, documents: Documents, n_topics: int, n_tasks: int, n_kept: int, *, counted: bool
    ) -> Statistics:
        """Return zeros for the statistics of one phase."""
        n_docs = len(documents.ids)
        return cls(
            n_kept,
            np.zeros((len(documents.vocabulary) if counted else 0, n_topics), np.int32),
            np.zeros((n_docs, n_topics), np.float32),
            np.zeros((n_docs, n_tasks)),
            np.zeros((n_docs, n_tasks)),
            np.zeros((n_tasks, n_topics, n_topics)),
            np.zeros((n_tasks, n_topics)),
            np.zeros(n_tasks),
        )


@dataclass(frozen=True)
class StepResult:
    """The two phases; topic counts are those of the label phase, or of the free one if there is no other."""

    free: Statistics
    labelled: Statistics
    topic_word: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        last = self.labelled if self.labelled.n_kept else self.free
        object.__setattr__(self, "topic_word", last.topic_word)

    @classmethod
    def zeros(cls, documents: Documents, topics: Topics, tasks: Tasks, schedule: Schedule) -> StepResult:
        """Return zeros for the result of a step."""
        n_topics, n_tasks = len(topics.alpha), len(tasks.mean)
        n_free, n_label = schedule.free_sweeps - schedule.free_burn_in, schedule.sweeps - schedule.burn_in
        return cls(
            Statistics.zeros(documents, n_topics, n_tasks, n_free, counted=n_label == 0),
            Statistics.zeros(documents, n_topics, n_tasks, n_label, counted=n_label > 0),
        )


def step(
    documents: Documents, topics: Topics, tasks: Tasks, schedule: Schedule, *, n_threads: int = 1
) -> StepResult:
    """Sample the topics of a mini-batch given the posterior; the same bits for any number of threads.

    Cost: O(tokens · sweeps · K · (1 + T)).
    """
    result = StepResult.zeros(documents, topics, tasks, schedule)
    _native.medlda_step(documents, topics, tasks, schedule, result.free, result.labelled, n_threads)
    return result
