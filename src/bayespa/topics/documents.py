"""Documents and labels as the topic models read them: from arrays to tokens in mini-batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespa.checks import require_sound, sparse_format
from bayespa.estimators import Features
from bayespa.native.medlda import CountMatrix, Documents
from bayespa.posteriors.posterior import GRID

Labels = NDArray[np.float32]  # (n, T): ±1 or a target, NaN if unknown
UNIT = GRID  # counts of topics are multiples of it: see `bayespa.posteriors.Dirichlet.totals`
TOKENS_OF_FRACTIONS = 512  # largest number of tokens of a document with fractional counts
LONGEST = 2**24  # tokens: the most that float32 counts exactly


@dataclass(frozen=True)
class Corpus:
    """Token counts, and the weight of a token of each document.

    A document of whole counts has tokens of weight 1. A document of fractional counts with total t is split
    into tokens of equal weight u, the power of two in [t / 512, t / 256) or at most 1, and its counts are
    rounded to multiples of u. Its topic proportions then have the prior Dir(α/u): a token counts u times a
    whole one, in the topics as in the prior.
    """

    counts: CountMatrix  # (n, W)
    weights: NDArray[np.float64]  # (n,), powers of two
    topical: NDArray[np.bool_] | None = None  # (W,), the columns that topics use, if not all
    runs: NDArray[np.bool_] | None = None  # (W,), the columns of runs of several words, if there may be any
    n_topical: int | None = None  # columns that topics use; None: all

    @classmethod
    def of(cls, X: Any, *, name: str) -> Corpus:
        """Check a matrix of non-negative counts, dense or sparse, and split its documents into tokens.

        Examples
        --------
        >>> corpus = Corpus.of([[2, 0, 1], [0.5, 0.25, 0]], name="an example")
        >>> corpus.counts.to_scipy().toarray(), corpus.weights.tolist()
        (array([[  2,   0,   1],
               [256, 128,   0]], dtype=int32), [1.0, 0.001953125])
        """
        if isinstance(X, CountMatrix) and 0 not in X.shape:  # by us, of texts
            _require_short(X.row_sums())
            return cls(X, np.ones(X.shape[0]))
        from scipy import sparse

        X = X.to_scipy() if isinstance(X, CountMatrix) else X
        require_sound("X", X)
        own = type(X) is sparse.csr_matrix
        if not own and sparse_format(X) not in (None, "csr", "csc") and X.dtype.kind in "iu":
            X = X.astype(np.float64)  # converting to CSR sums duplicates: integers might overflow
        kept = [np.float64, np.float32, np.int32, np.int64]  # any other type becomes the first
        counted = own and X.dtype == np.int32 and 0 not in X.shape  # by us
        least = X.data.min(initial=1) if counted else 0
        if not counted or least < 0:
            X = sparse.csr_matrix(_checked(X, kept, name))
        if not X.has_canonical_format or (least == 0 and not X.data.all()):
            X = X.astype(np.float64) if X.dtype.kind == "i" else X.copy()  # sums must not overflow
            X.sum_duplicates()
            X.eliminate_zeros()
        n_entries, data = np.diff(X.indptr), X.data
        weights = np.ones(X.shape[0])
        fractional = data != np.rint(data) if data.dtype.kind == "f" else np.zeros(0, bool)
        if fractional.any():
            rows = np.unique(np.repeat(np.arange(X.shape[0]), n_entries)[fractional])
            total = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()[rows]
            exponent = np.frexp(total / TOKENS_OF_FRACTIONS)[1]
            weights[rows] = np.clip(np.ldexp(1.0, exponent), UNIT, 1.0)
            data = np.rint(data / np.repeat(weights, n_entries))
        if n_entries.max(initial=0) * float(data.max(initial=0)) > LONGEST:
            tokens = sparse.csr_matrix((data.astype(np.float64), X.indices, X.indptr), X.shape)
            _require_short(np.asarray(tokens.sum(axis=1)).ravel())
        used = slice(X.indptr[-1])  # there may be room behind the entries
        counts = CountMatrix(data[used].astype(np.int32), X.indices[used], X.indptr, X.shape)
        if fractional.any():
            counts = counts.kept(counts.data > 0)  # others round to no token
        return cls(counts, weights)

    def __len__(self) -> int:
        return len(self.weights)

    def with_roles(self, features: Features) -> Corpus:
        """Return the same documents, whose columns (W,) have roles."""
        topical = features.topical
        if topical is not None and topical.all():
            topical = None
        return Corpus(self.counts, self.weights, topical, features.runs, features.n_topical)

    @property
    def topical_counts(self) -> CountMatrix:
        """The counts of the words that topics use."""
        counts = self.counts
        if self.topical is None:
            return counts
        return counts.kept(self.topical[counts.indices])

    def ids(self) -> NDArray[np.uint32]:
        """Return a number for each document that depends only on its words and counts.

        It addresses the random numbers of predictions, so that a document gets the same ones in every call.
        """
        h = self.counts.indices.astype(np.uint64) << np.uint64(32) | self.counts.data.astype(np.uint64)
        for shift, factor in (
            (30, 0xBF58476D1CE4E5B9),
            (27, 0x94D049BB133111EB),
        ):  # the finaliser of SplitMix64
            h = (h ^ h >> np.uint64(shift)) * np.uint64(factor)
        h ^= h >> np.uint64(31)
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(h)])  # modulo 2^64, so differences are exact
        indptr = self.counts.indptr
        of_documents: NDArray[np.uint64] = sums[indptr[1:]] - sums[indptr[:-1]]
        return (of_documents >> np.uint64(32)).astype(np.uint32)

    def batch(
        self,
        rows: NDArray[np.int64],
        labels: NDArray[np.float32] | None = None,
        ids: NDArray[np.uint32] | None = None,
    ) -> Batch:
        """Return some documents as a mini-batch, with labels (rows, T) and addresses of random numbers."""
        labels = np.empty((len(rows), 0), np.float32) if labels is None else labels
        documents = Documents.from_csr(self.counts, rows, ids)
        own = None if self.topical is None else documents.only(self.topical[documents.vocabulary])
        runs = None if self.runs is None else self.runs[documents.vocabulary]
        n_words = self.counts.shape[1] if self.n_topical is None else self.n_topical
        return Batch(documents, self.weights[rows], labels, own, n_words, runs)

    def halves(self) -> tuple[Corpus, Corpus]:
        """Return the tokens at even positions of every document, and those at odd positions."""
        counts = self.topical_counts
        data = counts.data.astype(np.int64)
        ends = np.cumsum(data)
        start = np.concatenate([np.zeros(1, np.int64), ends])[counts.indptr[:-1]]
        ends -= np.repeat(start, np.diff(counts.indptr))  # in the document, not in the corpus
        even = (ends + 1) // 2 - (ends - data + 1) // 2
        return tuple(Corpus(self._with(counts, half), self.weights) for half in (even, data - even))  # type: ignore[return-value]

    def _with(self, counts: CountMatrix, data: NDArray[np.int64]) -> CountMatrix:
        half = CountMatrix(data.astype(np.int32), counts.indices, counts.indptr, counts.shape)
        return half.kept(half.data > 0)


@dataclass(frozen=True)
class Batch:
    """A mini-batch: documents with a common vocabulary, the weights of their tokens, and labels."""

    documents: Documents
    weights: NDArray[np.float64]  # (n,)
    labels: NDArray[np.float32]  # (n, T): ±1 or a target, NaN if unknown
    topical_documents: Documents | None = None  # with only the words that topics use; None: all
    n_words: int = 0  # columns of the corpus that topics use
    runs: NDArray[np.bool_] | None = None  # which words of the vocabulary are runs of several; None: none

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def topical(self) -> Batch:
        """The same mini-batch, with only the words that topics use."""
        own = self.topical_documents
        return self if own is None else Batch(own, self.weights, self.labels, n_words=self.n_words)

    def first(self, n: int) -> Batch:
        """Return the first n documents, or all if there are fewer."""
        docs = self.documents
        indptr = docs.indptr[: n + 1]
        words, counts = docs.words[: indptr[-1]], docs.counts[: indptr[-1]]
        return Batch(
            Documents(indptr, words, counts, docs.ids[:n], docs.vocabulary),
            self.weights[:n],
            self.labels[:n],
            n_words=self.n_words,
            runs=self.runs,
        )

    def by_weight(self) -> Iterator[tuple[float, Any, Documents]]:
        """Yield each token weight, the positions of its documents, and the documents."""
        docs = self.documents
        if (self.weights == self.weights[:1]).all():
            yield float(self.weights[0]) if len(self) else 1.0, slice(None), docs
            return
        for value in np.unique(self.weights):
            rows = np.flatnonzero(self.weights == value)
            indptr, entries = _rows(docs.indptr, rows)
            yield (
                float(value),
                rows,
                Documents(indptr, docs.words[entries], docs.counts[entries], docs.ids[rows], docs.vocabulary),
            )


def _rows(indptr: NDArray[Any], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return some rows of a sparse matrix: where each begins, and the positions of their entries."""
    begin = indptr[rows].astype(np.int64)
    n_entries = indptr[rows + 1] - begin
    cut = np.concatenate([np.zeros(1, np.int64), np.cumsum(n_entries)])
    return cut, np.arange(cut[-1]) + np.repeat(begin - cut[:-1], n_entries)


class Batches(Sequence[Batch]):
    """The mini-batches of a corpus, made on demand."""

    def __init__(
        self,
        corpus: Corpus,
        labels: NDArray[np.float32],
        order: NDArray[np.int64],
        size: int | None,
        first: int | None = None,
    ) -> None:
        self.corpus, self.labels, self.order = corpus, labels, order
        size = size or len(order)
        later = np.arange(first or size, len(order), size)
        self.edges = [0, *later.tolist(), len(order)]

    def __len__(self) -> int:
        return len(self.edges) - 1

    def __getitem__(self, index: Any) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(index)
        rows = self.order[self.edges[index] : self.edges[index + 1]]
        return self.corpus.batch(rows, self.labels[rows])

    def joined(self, n_documents: int) -> tuple[Batch, list[int]]:
        """Return the mini-batches of the first documents as one, and their boundaries.

        There is at least one. If it has more documents, the rest is left out.
        """
        edges = [edge for edge in self.edges if edge <= n_documents]
        if len(edges) < 2:
            edges = [0, min(n_documents, len(self.order))]
        rows = self.order[: edges[-1]]
        return self.corpus.batch(rows, self.labels[rows]), edges


def _require_short(length: NDArray[Any]) -> None:
    """Raise a ValueError if a document, of this many tokens, has more than LONGEST."""
    if (length > LONGEST).any():
        row = int(np.argmax(length))
        raise ValueError(
            f"document {row} of X has {length[row]:.0f} tokens, more than {LONGEST}; divide its counts "
            "by a constant, or split it into several documents"
        )


def _checked(X: Any, dtypes: list[Any], name: str) -> Any:
    """Return X as scikit-learn reads a matrix of one of these types; raise its errors."""
    from sklearn.utils.validation import check_array, check_non_negative

    try:
        X = check_array(X, accept_sparse="csr", dtype=dtypes, estimator=name)
    except ValueError as error:
        if "could not convert string" not in str(error):
            raise
        raise ValueError(
            "X has texts, not counts of words; count them first (CountVectorizer), or use "
            "bayespa.TextModel, which reads texts"
        ) from error
    check_non_negative(X, name)
    return X


def label_array(n: int, y: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the labels of n documents, 1-D or 2-D, and which are known: neither None nor NaN.

    >>> y, known = label_array(3, ["a", None, "b"])
    >>> known.tolist()
    [True, False, True]
    """
    if y is None:
        y = np.full(n, np.nan)
    if not isinstance(y, np.ndarray) and sparse_format(y) is not None:
        require_sound("y", y)
        dense: Any = y
        y = dense.toarray()
    array = np.asarray(y) if hasattr(y, "dtype") or hasattr(y, "iloc") else np.array(y, dtype=object)
    if array.ndim not in (1, 2) or len(array) != n:
        raise ValueError(f"y has shape {array.shape}; {n} documents need ({n},) or ({n}, labels)")
    if array.dtype.kind == "O":
        if set(map(type, array.flat)) == {str}:
            return array, np.ones(array.shape, bool)
        # NaN and pandas' NA do not equal themselves.
        known = np.array(
            [v is not None and (v == v) is True for v in map(_scalar, array.ravel())], dtype=bool
        )
        return array, known.reshape(array.shape)
    return array, ~np.isnan(array) if array.dtype.kind == "f" else np.ones(array.shape, bool)


def _scalar(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
