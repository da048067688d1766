"""arXiv abstracts: a sample inside the package, and the stream it comes from."""

import json
import lzma
import os
from importlib import resources
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from bayespa.datasets._common import indicator, locate, subset_parts

_SAMPLE_FILE = "arxiv_sample.jsonl.xz"

_DESCR = """\
{title}

Title and abstract of {n} arXiv papers of 2007-2019 in order of submission, with those of 20 categories that
their authors chose, in arXiv's order. The last {n_test} papers are the test set: a split by time.
{note}
Source: arXiv metadata, which arXiv publishes under CC0 1.0 (public domain).
"""
_SAMPLE_NOTE = """\
The sample is balanced: for each category 250 papers whose first category it is, evenly spaced in time.
"""


@overload
def load_arxiv_sample(
    *, subset: str = ..., multilabel: bool = ..., return_X_y: Literal[False] = ...
) -> Bunch: ...
@overload
def load_arxiv_sample(
    *, subset: str = ..., multilabel: bool = ..., return_X_y: Literal[True]
) -> tuple[list[str], NDArray[np.int64]]: ...
def load_arxiv_sample(
    *, subset: str = "all", multilabel: bool = False, return_X_y: bool = False
) -> Bunch | tuple[list[str], NDArray[np.int64]]:
    """Load 5,000 arXiv abstracts in 20 balanced categories, from inside the package.

    Parameters
    ----------
    subset : {"all", "train", "test"}, default="all"
        The first 4,000 papers in time ("train"), the last 1,000 ("test") or both.
    multilabel : bool, default=False
        Whether `target` has all categories of a paper or only its first one.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a `Bunch`.

    Returns
    -------
    Bunch with
        data : list of str, title and abstract, in order of time;
        target : (n,) int array, index of the first category, or with `multilabel` an (n, 20) 0/1 int array;
        target_names : list of the 20 categories, sorted;
        labels : list of lists of str, the categories of each paper;
        ids, created : lists of str, arXiv identifier and ISO date;
        DESCR : str.

    Examples
    --------
    >>> from bayespa.datasets import load_arxiv_sample
    >>> train = load_arxiv_sample(subset="train")
    >>> len(train.data), len(train.target_names), train.created[0], train.created[-1]
    (4000, 20, '2007-01-13', '2018-08-14')
    >>> train.data[0][:41], train.labels[0]
    ('Structurally dynamic spin market networks', ['q-fin.ST'])
    """
    packed = resources.files("bayespa.datasets").joinpath(_SAMPLE_FILE).read_bytes()
    papers = [json.loads(line) for line in lzma.decompress(packed).splitlines()]
    columns = {name: [paper[name] for paper in papers] for name in ("id", "created", "text", "labels")}
    title = "A sample of arXiv abstracts"
    bunch = _bunch(columns, len(papers) // 5, subset, multilabel, title, _SAMPLE_NOTE)
    return (bunch.data, bunch.target) if return_X_y else bunch


def fetch_arxiv20(
    subset: str = "train",
    *,
    data_home: str | os.PathLike[str] | None = None,
    multilabel: bool = True,
    n_test: int = 5000,
) -> Bunch:
    """Load the stream of 65,000 arXiv abstracts in 20 categories from ``arxiv20.parquet``.

    Needs pyarrow: ``pip install bayespa[data]``.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        All but the last `n_test` papers, the last `n_test`, or both.
    data_home : path, optional
        Folder of the file; by default the environment variable ``BAYESPA_DATA``.
    multilabel : bool, default=True
        Whether `target` has all categories of a paper or only its first one.
    n_test : int, default=5000
        Size of the test set, the last papers in time.

    Returns
    -------
    Bunch
        The fields of `load_arxiv_sample`.

    Examples
    --------
    >>> from bayespa.datasets import fetch_arxiv20
    >>> fetch_arxiv20("test", data_home="data").target.shape  # doctest: +SKIP
    (5000, 20)
    """
    path = locate("arxiv20.parquet", data_home)
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError("fetch_arxiv20 needs pyarrow: pip install bayespa[data]") from error
    try:
        columns = pq.read_table(path, columns=["id", "created", "text", "labels"]).to_pydict()
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"{path} is not a complete Parquet file ({error}); copy it again") from error
    return _bunch(columns, n_test, subset, multilabel, "A stream of arXiv abstracts", "")


def _bunch(
    columns: dict[str, list[Any]], n_test: int, subset: str, multilabel: bool, title: str, note: str
) -> Bunch:
    n = len(columns["id"])
    if not 0 < n_test < n:
        raise ValueError(f"n_test={n_test} leaves no papers to train or to test on: there are {n}")
    parts = subset_parts(subset)
    rows = slice(0 if "train" in parts else n - n_test, n if "test" in parts else n - n_test)
    names = sorted({name for labels in columns["labels"] for name in labels})
    labels = columns["labels"][rows]
    first = np.searchsorted(names, [names_of_paper[0] for names_of_paper in labels])
    return Bunch(
        data=columns["text"][rows],
        target=indicator(labels, names) if multilabel else first,
        target_names=names,
        labels=labels,
        ids=columns["id"][rows],
        created=columns["created"][rows],
        DESCR=_DESCR.format(title=title, n=n, n_test=n_test, note=note),
    )
