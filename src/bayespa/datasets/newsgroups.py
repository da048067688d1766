"""20 Newsgroups, split by date: the messages, or the bag of words known as the Matlab version."""

import io
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import sklearn.datasets
from numpy.typing import NDArray
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.utils import Bunch, check_random_state

from bayespa.datasets._common import Archive, locate, subset_parts

_DESCR = """\
20 Newsgroups, split by date ({version} version)

{content}
Source: Ken Lang, NewsWeeder, ICML 1995; http://qwone.com/~jason/20Newsgroups/
"""
_CONTENT = {
    "text": "Messages to 20 newsgroups with their headers: 11,314 to train and 7,532 later ones to test.",
    "matlab": """\
Word counts of messages to 20 newsgroups: 11,269 to train and 7,505 later ones to test, 61,188 words,
stop words included.""",
}


def fetch_20newsgroups(
    subset: str = "train",
    *,
    version: str = "text",
    data_home: str | os.PathLike[str] | None = None,
    shuffle: bool = True,
    random_state: int | None = 42,
    remove_stop_words: bool = False,
    download_if_missing: bool = True,
) -> Bunch:
    """Load 20 Newsgroups from ``20news-bydate-text.tar.xz`` or ``20news-matlab.tar.xz``.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        Earlier messages, later ones, or both.
    version : {"text", "matlab"}, default="text"
        The messages with headers, or the matrix of word counts.
    data_home : path, optional
        Folder of the archive; by default the environment variable ``BAYESPA_DATA``.
    shuffle : bool, default=True
        Whether to shuffle the messages. The files are sorted by newsgroup, which suits no online learner.
    random_state : int, optional
        Seed of the shuffling.
    remove_stop_words : bool, default=False
        Drop the columns of scikit-learn's ``ENGLISH_STOP_WORDS``, for ``version="matlab"`` only.
    download_if_missing : bool, default=True
        Whether ``version="text"`` may call `sklearn.datasets.fetch_20newsgroups` if there is no archive.

    Returns
    -------
    Bunch with
        data : list of str, or (n_messages, n_words) CSR matrix of int32 counts;
        target : (n_messages,) int array, the newsgroup;
        target_names : list of 20 str;
        ids : list of str such as "sci.space/60191" (``version="text"``);
        feature_names : (n_words,) array of str (``version="matlab"``);
        DESCR : str.

    Examples
    --------
    >>> from bayespa.datasets import fetch_20newsgroups
    >>> fetch_20newsgroups("test", version="matlab", data_home="data").data.shape  # doctest: +SKIP
    (7505, 61188)
    """
    parts = subset_parts(subset)
    if version == "text":
        if remove_stop_words:
            raise ValueError(
                "remove_stop_words=True needs version='matlab'; with text use CountVectorizer(stop_words=...)"
            )
        bunch = _text(parts, data_home, download_if_missing)
    elif version == "matlab":
        bunch = _matlab(parts, locate("20news-matlab.tar.xz", data_home), remove_stop_words)
    else:
        raise ValueError(f"version={version!r} is unknown; use 'text' or 'matlab'")
    if shuffle:
        order = check_random_state(random_state).permutation(len(bunch.target))
        bunch.target = bunch.target[order]
        if version == "text":
            bunch.data = [bunch.data[i] for i in order]
            bunch.ids = [bunch.ids[i] for i in order]
        else:
            bunch.data = bunch.data[order]
    return Bunch(**bunch, DESCR=_DESCR.format(version=version, content=_CONTENT[version]))


def _text(
    parts: tuple[str, ...], data_home: str | os.PathLike[str] | None, download_if_missing: bool
) -> Bunch:
    try:
        archive = Archive(locate("20news-bydate-text.tar.xz", data_home))
    except FileNotFoundError as missing:
        if not download_if_missing:
            raise
        messages = _download(parts, data_home, missing)
    else:
        messages = {name: content.decode("latin-1") for name, content in archive.items()}
    ids: list[str] = []
    data: list[str] = []
    for part in parts:
        folder = f"20news-bydate-{part}/"
        # Sorted, so that archive and download give the same order.
        names = sorted(name for name in messages if name.startswith(folder))
        if not names:
            raise ValueError(f"20news-bydate-text.tar.xz has no messages in a folder {folder}; copy it again")
        ids.extend(name.removeprefix(folder) for name in names)
        data.extend(messages[name] for name in names)
    groups = [name.split("/")[0] for name in ids]
    target_names, target = np.unique(groups, return_inverse=True)
    return Bunch(data=data, target=target, target_names=target_names.tolist(), ids=ids)


def _download(
    parts: tuple[str, ...], data_home: str | os.PathLike[str] | None, missing: FileNotFoundError
) -> dict[str, str]:
    messages = {}
    for part in parts:
        try:
            bunch = sklearn.datasets.fetch_20newsgroups(data_home=data_home, subset=part)
        except OSError as error:
            raise FileNotFoundError(f"{missing}; the download failed too: {error}") from error
        for path, message in zip(bunch.filenames, bunch.data, strict=True):
            messages["/".join(Path(path).parts[-3:])] = message
    return messages


def _matlab(parts: tuple[str, ...], path: Path, remove_stop_words: bool) -> Bunch:
    archive = Archive(path)
    words = np.array(archive["vocabulary.txt"].decode("ascii").split())
    names = [line.split()[0] for line in archive["train.map"].decode("ascii").splitlines()]
    counts, targets = [], []
    for part in parts:
        (label,) = _columns(archive, f"{part}.label", [len(names)])
        largest = [len(label), len(words), np.iinfo(np.int32).max]
        document, word, count = _columns(archive, f"{part}.data", largest)
        entries = (count, (document - 1, word - 1))
        counts.append(sp.csr_matrix(entries, shape=(len(label), len(words)), dtype=np.int32))
        targets.append(label - 1)
    data = sp.vstack(counts, format="csr")
    if remove_stop_words:
        kept = ~np.isin(words, list(ENGLISH_STOP_WORDS))
        data, words = data[:, kept], words[kept]
    return Bunch(data=data, target=np.concatenate(targets), target_names=names, feature_names=words)


def _columns(archive: Archive, name: str, largest: Sequence[int]) -> NDArray[np.int64]:
    """Read the columns of a table of whole numbers, each from 1 to its entry of `largest`."""
    try:
        columns = np.loadtxt(io.BytesIO(archive[name]), dtype=np.int64, ndmin=2).T
    except ValueError as error:
        raise ValueError(f"{archive.path}:{name} is not a table of whole numbers ({error})") from error
    if len(columns) != len(largest):
        raise ValueError(f"{archive.path}:{name} has {len(columns)} columns, not {len(largest)}")
    outside = (columns < 1) | (columns > np.reshape(largest, (-1, 1)))
    if outside.any():
        column, row = np.argwhere(outside)[0]
        raise ValueError(
            f"{archive.path}:{name}, line {row + 1}: {columns[column, row]} is outside 1..{largest[column]}"
        )
    return columns
