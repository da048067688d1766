"""Published corpora, from file to mini-batches; skipped where they are not."""

import tarfile
from itertools import islice

import numpy as np
import pytest

from bayespa import datasets
from bayespa.corpus import BagVectorizer, ClassNames, OnlineVocabulary, batches, read, read_vocabulary


def unpack(archive, folder, wanted):
    if not archive.is_file():
        pytest.skip(f"{archive} is not there")
    with tarfile.open(archive) as tar:
        members = [member for member in tar if wanted(member)]
        for member in members:
            member.name = member.name.split("/", 1)[1]
        tar.extractall(folder, members=members, filter="data")


def test_arxiv(data_home):
    pytest.importorskip("pyarrow")
    path = data_home / "arxiv20.parquet"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    vocabulary, classes = OnlineVocabulary(stop_words="english"), ClassNames()
    n_tokens = 0
    for batch in batches(islice(read(path, label="labels", id="id", strict=True), 3000), vocabulary, 1000):
        classes.learn(batch.labels)
        assert classes.indicator(batch.labels).sum(axis=1).min() >= 1
        n_tokens += batch.X.sum()
    assert len(classes) == 20
    assert len(vocabulary.words) > 5000
    assert n_tokens > 150_000


def test_newsgroups(data_home, tmp_path):
    groups = ("20news-bydate-train/sci.med/", "20news-bydate-train/sci.space/")
    unpack(
        data_home / "20news-bydate-text.tar.xz",
        tmp_path,
        lambda m: m.isfile() and any(g in m.name for g in groups),
    )
    documents = list(read(tmp_path, encoding="latin-1", strict=True))
    (batch,) = batches(documents, OnlineVocabulary(min_count=2), 10_000)
    assert {y: batch.labels.count(y) for y in set(batch.labels)} == {"sci.med": 594, "sci.space": 593}
    assert batch.X.sum() > 200_000


def test_newsgroups_for_matlab(data_home, tmp_path):
    unpack(data_home / "20news-matlab.tar.xz", tmp_path, lambda m: m.isfile())
    words = BagVectorizer(read_vocabulary(tmp_path / "vocabulary.txt"))
    (batch,) = batches(islice(read(tmp_path / "test.data", strict=True), 1000), words, 1000)
    expected = datasets.fetch_20newsgroups("test", version="matlab", data_home=data_home, shuffle=False)
    assert (expected.data[:1000] != batch.X).nnz == 0
    assert batch.labels == [expected.target_names[t] for t in expected.target[:1000]]


def test_authors_files(data_home, tmp_path):
    unpack(data_home / "authors-gml.tar.xz", tmp_path, lambda m: m.name.endswith(".gml"))
    (batch,) = batches(
        read(tmp_path / "wiki_test.gml", target="classes", strict=True), BagVectorizer(), 10_000
    )
    expected = datasets.fetch_gml("wiki_test", data_home=data_home)
    assert (batch.X[:, : expected.data.shape[1]] != expected.data[:, : batch.X.shape[1]]).nnz == 0
    classes = ClassNames(map(str, range(20)))
    assert np.array_equal(classes.indicator(batch.labels), expected.target)
