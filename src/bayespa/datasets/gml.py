"""Bags of tokens in the text format of the authors of BayesPA, known by its ending ``.gml``.

The first line holds the number of documents, every other line one document: with one label each
``n_tokens label word word ...``, with several ``n_tokens n_labels label ... word ...``. Words and labels
count from 0; a word stands as often as it occurs.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from bayespa.datasets._common import Archive, indicator, locate, token_counts


class _Published(NamedTuple):
    multilabel: bool
    n_words: int
    target_names: Sequence[str]
    descr: str


_BINARY = _Published(
    multilabel=False,
    n_words=61_188,
    target_names=("alt.atheism", "talk.religion.misc"),
    descr="""\
20 Newsgroups, alt.atheism against talk.religion.misc

856 messages to train and 569 to test as bags of tokens, stop words removed, prepared by the authors of
Shi and Zhu, Online Bayesian Passive-Aggressive Learning, JMLR 18(33), 2017. Words are not named.
""",
)
_WIKI = _Published(
    multilabel=True,
    n_words=2_085_162,
    target_names=[f"label {i}" for i in range(20)],
    descr="""\
Wikipedia, 20 labels

A sample of 5,000 documents of the Wikipedia corpus of Shi and Zhu, Online Bayesian Passive-Aggressive
Learning, JMLR 18(33), 2017, as bags of tokens with 1.57 labels a document. Words and labels are not named.
""",
)
_PUBLISHED = {"binary_train": _BINARY, "binary_test": _BINARY, "wiki_test": _WIKI}


def load_gml(
    path: str | os.PathLike[str],
    *,
    multilabel: bool = False,
    n_words: int | None = None,
    target_names: Sequence[str] | None = None,
) -> Bunch:
    r"""Load a ``.gml`` file.

    Parameters
    ----------
    path : path
        The file.
    multilabel : bool, default=False
        Whether a line holds the number of its labels and then the labels, or one label.
    n_words : int, optional
        Number of columns; by default one more than the largest word. Files that must agree in shape need it.
    target_names : sequence of str, optional
        Names of the labels; by default their numbers, up to the largest.

    Returns
    -------
    Bunch with
        data : (n_documents, n_words) CSR matrix of int32 counts;
        target : (n_documents,) int array, or with `multilabel` an (n_documents, n_labels) 0/1 int array;
        target_names : list of str;
        DESCR : str.

    Examples
    --------
    Two documents of three and two tokens:

    >>> import pathlib, tempfile
    >>> from bayespa.datasets import load_gml
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "tiny.gml")
    ...     _ = path.write_text("2\n3 1 0 4 0\n2 0 2 3\n")
    ...     bunch = load_gml(path)
    >>> bunch.data.toarray()
    array([[2, 0, 0, 0, 1],
           [0, 0, 1, 1, 0]], dtype=int32)
    >>> bunch.target
    array([1, 0])
    """
    text = Path(path).read_text(encoding="ascii")
    return _parse(text, str(path), multilabel, n_words, target_names, f"Bags of tokens from {path}\n")


def fetch_gml(name: str, *, data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Load a data set that the authors of BayesPA published, from ``authors-gml.tar.xz``.

    Parameters
    ----------
    name : {"binary_train", "binary_test", "wiki_test"}
        Two newsgroups, to train and to test, or 5,000 documents of Wikipedia with several labels each.
    data_home : path, optional
        Folder that holds the archive; by default the environment variable ``BAYESPA_DATA``.

    Returns
    -------
    Bunch
        The fields of `load_gml`.

    Examples
    --------
    >>> from bayespa.datasets import fetch_gml
    >>> fetch_gml("binary_train", data_home="data").data.shape  # doctest: +SKIP
    (856, 61188)
    """
    if name not in _PUBLISHED:
        raise ValueError(f"name={name!r} is unknown; use one of {', '.join(_PUBLISHED)}")
    multilabel, n_words, target_names, descr = _PUBLISHED[name]
    path = locate("authors-gml.tar.xz", data_home)
    member = f"{name}.gml"
    text = Archive(path)[member].decode("ascii")
    return _parse(text, f"{path}:{member}", multilabel, n_words, target_names, descr)


def _parse(
    text: str,
    source: str,
    multilabel: bool,
    n_words: int | None,
    target_names: Sequence[str] | None,
    descr: str,
) -> Bunch:
    header, *lines = text.splitlines() or [""]
    if header.strip() != str(len(lines)) or not lines:
        raise ValueError(
            f"{source}: line 1 is {header[:40]!r} and {len(lines)} follow; it must be their number (> 0)"
        )
    labels: list[list[int]] = []
    words: list[NDArray[np.int64]] = []
    for number, line in enumerate(lines, start=2):
        try:
            of_document = _parse_line(line, multilabel)
        except (ValueError, IndexError) as error:
            form = "n_tokens n_labels label... word..." if multilabel else "n_tokens label word..."
            raise ValueError(
                f"{source}, line {number}: {line[:60]!r} is not of the form '{form}' in numbers from 0 "
                f"({error}); is multilabel={multilabel} right?"
            ) from error
        labels.append(of_document[0].tolist())
        words.append(of_document[1])
    tokens = np.concatenate(words)
    if n_words is None:
        n_words = int(tokens.max(initial=-1)) + 1
    elif tokens.max(initial=-1) >= n_words:
        raise ValueError(f"{source} holds word {tokens.max()}, outside n_words={n_words}")
    n_labels = max((label for document in labels for label in document), default=-1) + 1
    if target_names is None:
        target_names = [str(label) for label in range(n_labels)]
    elif n_labels > len(target_names):
        raise ValueError(f"{source} holds label {n_labels - 1}; target_names has {len(target_names)} names")
    return Bunch(
        data=token_counts(np.array([len(w) for w in words]), tokens, n_words),
        target=indicator(labels, range(len(target_names))) if multilabel else np.ravel(labels),
        target_names=list(target_names),
        DESCR=descr,
    )


def _parse_line(line: str, multilabel: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the labels and the words of a document."""
    values = np.array(line.split(), dtype=np.int64)
    n_tokens, n_labels, start = (values[0], values[1], 2) if multilabel else (values[0], 1, 1)
    if values.min() < 0 or len(values) != start + n_labels + n_tokens:
        raise ValueError(f"{len(values)} numbers, {start + n_labels + n_tokens} announced")
    return values[start : start + n_labels], values[start + n_labels :]
