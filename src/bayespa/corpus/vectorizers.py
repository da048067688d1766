"""Vectorizers of bags, and plain data of all vectorizers for model files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayespa.checks import require_number
from bayespa.corpus.documents import Bag, CountedText
from bayespa.corpus.vocabulary import OnlineVocabulary, require_pattern

if TYPE_CHECKING:
    import scipy.sparse as sp


class BagVectorizer:
    """Stacks bags of words into matrices.

    Parameters
    ----------
    words : sequence of str, optional
        The words of the columns, from `read_vocabulary`. By default columns have no names, and there are as
        many as the largest that was seen.

    Examples
    --------
    >>> from bayespa.corpus import Bag, BagVectorizer
    >>> import numpy as np
    >>> bags = [Bag(np.array([2, 0]), np.array([5, 1])), Bag(np.array([1]), np.array([3]))]
    >>> BagVectorizer().learn(bags).toarray()
    array([[1, 0, 5],
           [0, 3, 0]])
    """

    def __init__(self, words: Sequence[str] | None = None) -> None:
        self.words = None if words is None else list(words)
        self.n_columns = 0 if words is None else len(words)

    def learn(self, bags: Sequence[str | Bag | CountedText]) -> sp.csr_matrix:
        """Return the counts, (n, n_columns), of all columns; with `words` the columns are fixed."""
        if self.words is None:
            largest = max((int(bag.columns.max(initial=-1)) for bag in _only_bags(bags)), default=-1)
            self.n_columns = max(self.n_columns, largest + 1)
        return self.transform(bags)

    def transform(self, bags: Sequence[str | Bag | CountedText]) -> sp.csr_matrix:
        """Return the counts, (n, n_columns), of the columns known so far."""
        import scipy.sparse as sp

        bags = _only_bags(bags)
        columns = np.concatenate([np.empty(0, np.int64), *(bag.columns for bag in bags)])
        counts = np.concatenate([np.empty(0, np.int32), *(bag.counts for bag in bags)])
        rows = np.repeat(np.arange(len(bags)), [len(bag.columns) for bag in bags])
        known = columns < self.n_columns
        return sp.csr_matrix(
            (counts[known], (rows[known], columns[known])), shape=(len(bags), self.n_columns)
        )

    def mark(self) -> int:
        """Return a mark for `back_to` and `to_state`: see `OnlineVocabulary.mark`."""
        return self.n_columns

    def forget(self, mark: int) -> None:
        """Do nothing: a mark holds nothing."""

    def back_to(self, mark: int) -> None:
        """Undo everything learned since a mark."""
        self.n_columns = mark

    def to_state(self, mark: int | None = None) -> dict[str, Any]:
        """Return plain data for `from_state`, of now or of a mark."""
        return {"words": self.words, "n_columns": self.n_columns if mark is None else mark}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> BagVectorizer:
        """Restore the vectorizer that `to_state` described."""
        words, n_columns = state["words"], state["n_columns"]
        if words is not None and not (
            isinstance(words, list) and all(isinstance(word, str) for word in words)
        ):
            raise ValueError("the state of BagVectorizer must have a list of texts or None, 'words'")
        require_number("n_columns in the state of BagVectorizer", n_columns, 0, 2**31 - 1, whole=True)
        if words is not None and n_columns != len(words):
            raise ValueError(f"the state of BagVectorizer has {n_columns} columns and {len(words)} words")
        vectorizer = cls(words)
        vectorizer.n_columns = n_columns
        return vectorizer


def _only_bags(contents: Sequence[str | Bag | CountedText]) -> list[Bag]:
    bags = [content for content in contents if isinstance(content, Bag)]
    if len(bags) != len(contents):
        raise TypeError("documents are texts, not bags of words; count them with OnlineVocabulary()")
    return bags


_OWN: dict[str, type[OnlineVocabulary] | type[BagVectorizer]] = {
    "OnlineVocabulary": OnlineVocabulary,
    "BagVectorizer": BagVectorizer,
}
_DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
_SKLEARN = ("CountVectorizer", "HashingVectorizer")


def _of_sklearn(kind: str) -> Any:
    """Return one of scikit-learn's vectorizers, None for another name."""
    from sklearn.feature_extraction import text

    return getattr(text, kind) if kind in _SKLEARN else None


def vectorizer_to_state(vectorizer: Any, mark: int | None = None) -> dict[str, Any]:
    """Return plain data (dicts, lists, texts, numbers) of a vectorizer, for a model file.

    Vectorizers of this package may be described as they were at a mark. scikit-learn's HashingVectorizer and
    a fitted CountVectorizer work, too, if their parameters are plain data.

    >>> from sklearn.feature_extraction.text import HashingVectorizer
    >>> state = vectorizer_to_state(HashingVectorizer(n_features=64, norm=None, alternate_sign=False))
    >>> vectorizer_from_state(state).transform(["to be"]).shape
    (1, 64)
    """
    kind = type(vectorizer).__name__
    if type(vectorizer) in _OWN.values():
        return {"kind": kind, **vectorizer.to_state(mark)}
    if type(vectorizer) is not _of_sklearn(kind):
        raise TypeError(f"a {kind} has no plain state; use one of {', '.join([*_OWN, *_SKLEARN])}")
    parameters = dict(vectorizer.get_params())
    if kind == "CountVectorizer":
        vectorizer.transform([])  # raises NotFittedError
        parameters["vocabulary"] = vectorizer.get_feature_names_out().tolist()
    parameters["dtype"] = np.dtype(parameters["dtype"]).name
    parameters["ngram_range"] = list(parameters["ngram_range"])
    if isinstance(parameters["stop_words"], set | frozenset | tuple):
        parameters["stop_words"] = sorted(parameters["stop_words"])
    for name, value in parameters.items():
        if not (value is None or isinstance(value, str | int | float | list)):
            raise TypeError(
                f"{kind}({name}={value!r}) has no plain state; leave out parameters that are functions"
            )
    return {"kind": kind, **parameters}


def vectorizer_from_state(state: dict[str, Any]) -> Any:
    """Restore the vectorizer that `vectorizer_to_state` described."""
    if not isinstance(state, dict):
        raise ValueError(f"the state of a vectorizer is a {type(state).__name__}, not an object")
    options = dict(state)
    kind = options.pop("kind", None)
    if kind in _OWN:
        return _OWN[kind].from_state(options)
    if kind not in _SKLEARN:
        raise ValueError(f"{kind!r} is not a vectorizer; the file may be of a later version of bayespa")
    if options.get("input", "content") != "content":
        raise ValueError(f"input={options['input']!r}; a model reads texts, not names of files")
    if options["dtype"] not in _DTYPES:
        raise ValueError(f"dtype={options['dtype']!r} is unknown; use one of {', '.join(_DTYPES)}")
    require_pattern(options.get("token_pattern", ""))
    options["dtype"] = np.dtype(options["dtype"])
    options["ngram_range"] = tuple(options["ngram_range"])
    vectorizer = _of_sklearn(kind)(**options)
    vectorizer._validate_params()
    vectorizer.transform(["one or two"])
    return vectorizer
