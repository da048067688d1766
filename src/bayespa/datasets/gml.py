"""Bags of tokens in the text format of the authors of BayesPA (see `bayespa.corpus.bags.parse_gml`)."""

import io
import os
import sys
from collections.abc import Sequence
from typing import BinaryIO, NamedTuple

import scipy.sparse as sp
from sklearn.utils import Bunch

from bayespa.corpus import BagVectorizer, ClassNames, Target
from bayespa.corpus.bags import parse_gml
from bayespa.corpus.documents import Fields
from bayespa.corpus.texts import refuse
from bayespa.datasets._common import Archive, locate


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
        Whether a line has the number of its labels and then the labels, or one label.
    n_words : int, optional
        Number of columns; by default one more than the largest word. Set it if several files must have the
        same shape.
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
    with open(path, "rb") as stream:
        return _bunch(stream, str(path), multilabel, n_words, target_names, f"Bags of tokens from {path}\n")


def fetch_gml(name: str, *, data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Load a data set that the authors of BayesPA published, from ``authors-gml.tar.xz``.

    Parameters
    ----------
    name : {"binary_train", "binary_test", "wiki_test"}
        Two newsgroups, to train and to test, or 5,000 documents of Wikipedia with several labels each.
    data_home : path, optional
        Folder of the archive; by default the environment variable ``BAYESPA_DATA``.

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
    stream = io.BytesIO(Archive(path)[member])
    return _bunch(stream, f"{path}:{member}", multilabel, n_words, target_names, descr)


def _bunch(
    stream: BinaryIO,
    source: str,
    multilabel: bool,
    n_words: int | None,
    target_names: Sequence[str] | None,
    descr: str,
) -> Bunch:
    target: Target = "classes" if multilabel else "class"
    fields = Fields(target=target, encoding="ascii", max_bytes=sys.maxsize - 1)
    documents = list(parse_gml(stream, source, fields, refuse(source)))
    bags = BagVectorizer()
    data = bags.learn([document.content for document in documents])
    if n_words is not None:
        if bags.n_columns > n_words:
            raise ValueError(f"{source} has word {bags.n_columns - 1}, outside n_words={n_words}")
        data = sp.csr_matrix((data.data, data.indices, data.indptr), shape=(len(documents), n_words))
    labels = [document.label for document in documents]
    met = ClassNames()
    met.learn(labels)
    n_labels = max(map(int, met.names), default=-1) + 1
    if target_names is None:
        target_names = [str(label) for label in range(n_labels)]
    elif n_labels > len(target_names):
        raise ValueError(f"{source} has label {n_labels - 1}; target_names has {len(target_names)} names")
    classes = ClassNames(map(str, range(len(target_names))))
    return Bunch(
        data=data,
        target=classes.indicator(labels) if multilabel else classes.codes(labels),
        target_names=list(target_names),
        DESCR=descr,
    )
