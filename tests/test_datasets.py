import io
import lzma
import runpy
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.datasets
from numpy.testing import assert_array_equal
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils import Bunch

from bayespa import datasets

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "src" / "bayespa" / "datasets" / "arxiv_sample.jsonl.xz"


def write_archive(path, files):
    with tarfile.open(path, "w:xz") as archive:
        folder = tarfile.TarInfo(next(iter(files)).split("/")[0])
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


# The sample inside the package


def test_sample_is_small_and_whole():
    assert SAMPLE.stat().st_size < 3e6
    papers = datasets.load_arxiv_sample()
    assert len(papers.data) == len(set(papers.ids)) == 5000
    assert papers.created == sorted(papers.created)
    assert_array_equal(np.bincount(papers.target), np.full(20, 250))
    assert [papers.target_names[t] for t in papers.target] == [labels[0] for labels in papers.labels]
    assert all(len(text) > 50 for text in papers.data)
    assert "CC0" in papers.DESCR
    assert "5000" in papers.DESCR


def test_sample_splits_by_time():
    train, test = (datasets.load_arxiv_sample(subset=subset) for subset in ("train", "test"))
    papers = datasets.load_arxiv_sample(subset="all")
    assert (len(train.data), len(test.data)) == (4000, 1000)
    assert train.ids + test.ids == papers.ids
    assert train.created[-1] <= test.created[0]
    assert set(train.target) == set(test.target) == set(range(20))


def test_sample_with_several_labels():
    papers = datasets.load_arxiv_sample(multilabel=True)
    expected = [[name in labels for name in papers.target_names] for labels in papers.labels]
    assert_array_equal(papers.target, np.array(expected, dtype=int))
    assert papers.target.sum() > 5200


def test_sample_as_a_pair_can_be_learned():
    text, label = datasets.load_arxiv_sample(subset="train", return_X_y=True)
    model = make_pipeline(TfidfVectorizer(stop_words="english", sublinear_tf=True), LinearSVC()).fit(
        text, label
    )
    assert model.score(*datasets.load_arxiv_sample(subset="test", return_X_y=True)) > 0.8


def test_sample_is_what_the_tool_makes(data_home):
    tool = runpy.run_path(str(ROOT / "tools" / "make_arxiv_sample.py"))
    assert tool["make_sample"](data_home) == lzma.decompress(SAMPLE.read_bytes())


# The published corpora, where they are


def test_20newsgroups_text_counts(data_home):
    both = datasets.fetch_20newsgroups("all", data_home=data_home, shuffle=False)
    train = datasets.fetch_20newsgroups("train", data_home=data_home)
    assert (len(train.data), len(both.data)) == (11_314, 11_314 + 7_532)
    assert train.target_names == both.target_names
    assert len(train.target_names) == 20
    assert sorted(train.ids) == sorted(both.ids[:11_314])
    assert all(
        identifier.startswith(train.target_names[t])
        for identifier, t in zip(train.ids, train.target, strict=True)
    )


def test_20newsgroups_matlab_counts(data_home):
    train = datasets.fetch_20newsgroups("train", version="matlab", data_home=data_home)
    test = datasets.fetch_20newsgroups("test", version="matlab", data_home=data_home, remove_stop_words=True)
    assert train.data.shape == (11_269, 61_188)
    assert (train.data.nnz, train.data.dtype) == (1_467_345, np.int32)
    assert train.data.sum(axis=1).min() > 0
    assert len(train.feature_names) == 61_188
    assert test.data.shape == (7_505, len(test.feature_names))
    assert len(test.feature_names) < 61_188
    assert not {"the", "and"} & set(test.feature_names)
    assert set(train.target) == set(test.target) == set(range(20))


def test_reuters21578_counts(data_home):
    both = datasets.fetch_reuters21578("all", data_home=data_home)
    train = datasets.fetch_reuters21578("train", data_home=data_home)
    assert train.target.shape == (7_770, 90)
    assert both.target.shape == (7_770 + 3_019, 90)
    assert round(both.target.sum() / len(both.target), 2) == 1.24
    assert len(both.target_names) == 90
    assert (train.target.sum(axis=0) > 0).all()
    assert all(both.data)


def test_arxiv20_counts(data_home):
    train = datasets.fetch_arxiv20(data_home=data_home)
    test = datasets.fetch_arxiv20("test", data_home=data_home, multilabel=False)
    assert (train.target.shape, test.target.shape) == ((60_000, 20), (5_000,))
    assert train.created[-1] <= test.created[0]


def test_gml_counts(data_home):
    train, test, wiki = (
        datasets.fetch_gml(name, data_home=data_home) for name in ("binary_train", "binary_test", "wiki_test")
    )
    assert (train.data.shape, test.data.shape) == ((856, 61_188), (569, 61_188))
    # As many as the messages of the two groups in the matrix version.
    assert_array_equal(np.bincount(train.target), [480, 376])
    assert_array_equal(np.bincount(test.target), [318, 251])
    assert (wiki.data.shape, wiki.target.shape) == ((5_000, 2_085_162), (5_000, 20))
    assert round(wiki.target.sum() / 5_000, 2) == 1.57


# Finding and opening files

FETCH = {
    "20news-bydate-text.tar.xz": lambda home: datasets.fetch_20newsgroups(
        data_home=home, download_if_missing=False
    ),
    "20news-matlab.tar.xz": lambda home: datasets.fetch_20newsgroups(version="matlab", data_home=home),
    "reuters21578.tar.xz": lambda home: datasets.fetch_reuters21578(data_home=home),
    "arxiv20.parquet": lambda home: datasets.fetch_arxiv20(data_home=home),
    "authors-gml.tar.xz": lambda home: datasets.fetch_gml("wiki_test", data_home=home),
}
ARCHIVES = [name for name in FETCH if name.endswith(".tar.xz")]


@pytest.mark.parametrize("name", FETCH)
def test_missing_file_names_file_place_and_remedy(name, tmp_path, monkeypatch):
    monkeypatch.delenv("BAYESPA_DATA", raising=False)
    with pytest.raises(
        FileNotFoundError, match=f"^{name} not found: data_home= was not given .* BAYESPA_DATA"
    ):
        FETCH[name](None)
    with pytest.raises(
        FileNotFoundError, match=rf"looked for {tmp_path}/{name} \(data_home=\); give its folder"
    ):
        FETCH[name](tmp_path)
    monkeypatch.setenv("BAYESPA_DATA", str(tmp_path))
    with pytest.raises(
        FileNotFoundError, match=rf"looked for {tmp_path}/{name} \(environment variable BAYESPA_"
    ):
        FETCH[name](None)


@pytest.mark.parametrize("name", FETCH)
def test_file_of_another_kind(name, tmp_path):
    (tmp_path / name).write_bytes(b"not what the name says")
    with pytest.raises(ValueError, match=f"{name} is not a complete .*; copy it again"):
        FETCH[name](tmp_path)


@pytest.mark.parametrize("name", ARCHIVES)
def test_truncated_archive(name, tmp_path):
    path = tmp_path / name
    noise = np.random.default_rng(0).bytes(100_000)
    write_archive(path, {"top/file": noise})
    path.write_bytes(path.read_bytes()[:50_000])
    with pytest.raises(ValueError, match=r"is not a complete \.tar\.xz archive"):
        FETCH[name](tmp_path)


@pytest.mark.parametrize("name", ARCHIVES)
def test_archive_without_the_files(name, tmp_path):
    write_archive(tmp_path / name, {"top/file": b""})
    with pytest.raises(ValueError, match=rf"{name} has no .*; copy it again"):
        FETCH[name](tmp_path)


@pytest.mark.parametrize("fetch", [datasets.fetch_20newsgroups, datasets.fetch_reuters21578])
def test_unknown_subset(fetch):
    with pytest.raises(ValueError, match=r"subset='dev' is unknown; use 'train', 'test' or 'all'"):
        fetch("dev")


def test_data_home_of_the_environment(tmp_path, monkeypatch):
    write_archive(tmp_path / "20news-matlab.tar.xz", MATLAB)
    monkeypatch.setenv("BAYESPA_DATA", str(tmp_path))
    assert datasets.fetch_20newsgroups(version="matlab").data.shape == (2, 4)


# 20 Newsgroups

MESSAGES = {
    "20news_bydate/20news-bydate-train/sci.space/7": b"launch",
    "20news_bydate/20news-bydate-train/sci.med/12": "From: J\xf6rg\n\nmedicine".encode("latin-1"),
    "20news_bydate/20news-bydate-train/sci.med/11": b"health",
    "20news_bydate/20news-bydate-test/sci.space/9": b"orbit",
    "20news_bydate/20news-bydate-test/sci.med/20": b"cure",
}
MATLAB = {
    "20news-matlab/vocabulary.txt": b"atheism\nthe\nspace\nhealth\n",
    "20news-matlab/train.map": b"sci.med 1\nsci.space 2\n",
    "20news-matlab/train.label": b"1\n2\n",
    "20news-matlab/train.data": b"1 2 5\n1 4 1\n2 3 7\n",
    "20news-matlab/test.label": b"2\n",
    "20news-matlab/test.data": b"1 3 1\n1 2 2\n",
}


def test_text_messages(tmp_path):
    write_archive(tmp_path / "20news-bydate-text.tar.xz", MESSAGES)
    bunch = datasets.fetch_20newsgroups("all", data_home=tmp_path, shuffle=False)
    assert bunch.ids == ["sci.med/11", "sci.med/12", "sci.space/7", "sci.med/20", "sci.space/9"]
    assert bunch.data == ["health", "From: Jörg\n\nmedicine", "launch", "cure", "orbit"]
    assert bunch.target_names == ["sci.med", "sci.space"]
    assert_array_equal(bunch.target, [0, 0, 1, 0, 1])


def test_shuffle_moves_fields_together(tmp_path):
    write_archive(tmp_path / "20news-bydate-text.tar.xz", MESSAGES)
    plain = datasets.fetch_20newsgroups("all", data_home=tmp_path, shuffle=False)
    mixed, again = (datasets.fetch_20newsgroups("all", data_home=tmp_path, random_state=3) for _ in range(2))
    assert mixed.ids == again.ids != plain.ids
    triples = [sorted(zip(b.ids, b.data, b.target.tolist(), strict=True)) for b in (plain, mixed)]
    assert triples[0] == triples[1]


def test_download_gives_what_the_archive_gives(tmp_path, monkeypatch):
    def download(data_home, subset):
        assert data_home == tmp_path / "empty"
        chosen = {name: text for name, text in MESSAGES.items() if f"-{subset}/" in name}
        return Bunch(
            filenames=np.array([f"/cache/{name}" for name in chosen]),
            data=[text.decode("latin-1") for text in chosen.values()],
        )

    monkeypatch.setattr(sklearn.datasets, "fetch_20newsgroups", download)
    write_archive(tmp_path / "20news-bydate-text.tar.xz", MESSAGES)
    for subset in ("train", "test", "all"):
        local = datasets.fetch_20newsgroups(subset, data_home=tmp_path)
        remote = datasets.fetch_20newsgroups(subset, data_home=tmp_path / "empty")
        assert (local.ids, local.data, local.target_names) == (remote.ids, remote.data, remote.target_names)
        assert_array_equal(local.target, remote.target)


def test_failed_download(tmp_path, monkeypatch):
    def download(**_):
        raise OSError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_20newsgroups", download)
    with pytest.raises(
        FileNotFoundError, match=r"text.tar.xz not found: .*; the download failed too: no network"
    ):
        datasets.fetch_20newsgroups(data_home=tmp_path)


def test_matlab_matrix(tmp_path):
    write_archive(tmp_path / "20news-matlab.tar.xz", MATLAB)
    bunch = datasets.fetch_20newsgroups("all", version="matlab", data_home=tmp_path, shuffle=False)
    assert_array_equal(bunch.data.toarray(), [[0, 5, 0, 1], [0, 0, 7, 0], [0, 2, 1, 0]])
    assert bunch.data.has_sorted_indices
    assert_array_equal(bunch.target, [0, 1, 1])
    assert_array_equal(bunch.feature_names, ["atheism", "the", "space", "health"])
    assert bunch.target_names == ["sci.med", "sci.space"]
    mixed = datasets.fetch_20newsgroups("all", version="matlab", data_home=tmp_path, random_state=1)
    rows = [
        sorted([*row, t] for row, t in zip(b.data.toarray(), b.target, strict=True)) for b in (bunch, mixed)
    ]
    assert rows[0] == rows[1]


def test_matlab_without_stop_words(tmp_path):
    write_archive(tmp_path / "20news-matlab.tar.xz", MATLAB)
    options = {"version": "matlab", "data_home": tmp_path, "shuffle": False}
    bunch = datasets.fetch_20newsgroups("train", **options, remove_stop_words=True)
    assert_array_equal(bunch.feature_names, ["atheism", "space", "health"])
    assert_array_equal(bunch.data.toarray(), [[0, 0, 1], [0, 7, 0]])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("train.data", b"1 2 5\n1 x 1\n", "train.data is not a table of whole numbers .*'x'"),
        ("train.data", b"1 2\n", "train.data has 2 columns, not 3"),
        ("train.data", b"1 2 5\n3 1 1\n", r"train.data, line 2: 3 is outside 1\.\.2"),
        ("train.data", b"1 2 5\n1 0 1\n", r"train.data, line 2: 0 is outside 1\.\.4"),
        ("train.label", b"1\n3\n", r"train.label, line 2: 3 is outside 1\.\.2"),
    ],
)
def test_damaged_matlab_files(tmp_path, name, content, message):
    write_archive(tmp_path / "20news-matlab.tar.xz", MATLAB | {f"20news-matlab/{name}": content})
    with pytest.raises(ValueError, match=message):
        datasets.fetch_20newsgroups(version="matlab", data_home=tmp_path)


def test_newsgroups_options_that_do_not_exist(tmp_path):
    with pytest.raises(ValueError, match="version='csv' is unknown; use 'text' or 'matlab'"):
        datasets.fetch_20newsgroups(version="csv")
    with pytest.raises(ValueError, match="remove_stop_words=True needs version='matlab'"):
        datasets.fetch_20newsgroups(remove_stop_words=True)


# Reuters-21578


def story(number, split, topics, text, used="YES"):
    tags = "".join(f"<D>{topic}</D>" for topic in topics)
    return (
        f'<REUTERS TOPICS="{used}" LEWISSPLIT="{split}" CGISPLIT="TRAINING-SET" OLDID="0" NEWID="{number}">\n'
        f"<DATE>1987</DATE>\n<TOPICS>{tags}</TOPICS>\n<PLACES><D>usa</D></PLACES>\n"
        f"<UNKNOWN>&#22;</UNKNOWN>\n<TEXT{text}</TEXT>\n</REUTERS>\n"
    )


STORIES = {
    "reuters21578/reut2-001.sgm": "<!DOCTYPE lewis>\n"
    + story(5, "TEST", ["earn"], ">&#2;\n<TITLE>Q1</TITLE><BODY>up\n Reuter\n&#3;</BODY>")
    + story(6, "TEST", ["grain", "rye"], ' TYPE="UNPROC">&#2;\nwheat\n prices\n&#3;')
    + story(7, "NOT-USED", ["earn"], ">unused"),
    "reuters21578/reut2-000.sgm": "<!DOCTYPE lewis>\n"
    + story(
        1,
        "TRAIN",
        ["grain", "oat", "earn"],
        ">\n<TITLE>A&lt;B></TITLE>\n<AUTHOR>x</AUTHOR><BODY>caf\xe9</BODY>",
    )
    + story(2, "TRAIN", ["oat"], "><TITLE>topic of training only</TITLE>")
    + story(3, "TRAIN", ["earn"], "><TITLE>left out of the split</TITLE>", used="BYPASS")
    + story(4, "TRAIN", [], "><TITLE>no topic</TITLE>")
    + story(8, "TRAIN", ["earn"], ' TYPE="BRIEF">&#2;\n***<TITLE>SHR 77 CTS\n</TITLE>Blah blah blah.'),
    "reuters21578/README.txt": "<REUTERS is described here",
}


def test_reuters_stories(tmp_path):
    write_archive(
        tmp_path / "reuters21578.tar.xz", {name: text.encode("latin-1") for name, text in STORIES.items()}
    )
    both = datasets.fetch_reuters21578("all", data_home=tmp_path)
    assert both.ids == ["1", "8", "5", "6"]
    assert both.data == ["A<B>\n\ncafé", "SHR 77 CTS", "Q1\n\nup\n Reuter", "wheat\n prices"]
    assert both.target_names == ["earn", "grain"]
    assert both.labels == [["grain", "earn"], ["earn"], ["earn"], ["grain"]]
    assert_array_equal(both.target, [[1, 1], [1, 0], [1, 0], [0, 1]])
    for subset, rows in (("train", slice(2)), ("test", slice(2, 4))):
        part = datasets.fetch_reuters21578(subset, data_home=tmp_path)
        assert part.data == both.data[rows]
        assert_array_equal(part.target, both.target[rows])


# arXiv stream


@pytest.fixture
def tiny_arxiv(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    columns = {
        "id": ["a", "b", "c"],
        "created": ["2007-01-01", "2007-01-02", "2007-01-03"],
        "text": ["x", "y", "z"],
        "labels": [["cs.RO", "cs.DB"], ["cs.DB"], ["math.GR"]],
    }
    pq.write_table(pa.table(columns), tmp_path / "arxiv20.parquet")
    return tmp_path


def test_arxiv_stream(tiny_arxiv):
    train = datasets.fetch_arxiv20(data_home=tiny_arxiv, n_test=1)
    test = datasets.fetch_arxiv20("test", data_home=tiny_arxiv, n_test=1, multilabel=False)
    assert (train.data, train.ids, train.created[0]) == (["x", "y"], ["a", "b"], "2007-01-01")
    assert train.target_names == test.target_names == ["cs.DB", "cs.RO", "math.GR"]
    assert train.labels == [["cs.RO", "cs.DB"], ["cs.DB"]]
    assert_array_equal(train.target, [[1, 1, 0], [1, 0, 0]])
    assert_array_equal(test.target, [2])
    first = datasets.fetch_arxiv20("all", data_home=tiny_arxiv, n_test=1, multilabel=False)
    assert_array_equal(first.target, [1, 0, 2])


def test_arxiv_stream_too_short(tiny_arxiv):
    with pytest.raises(ValueError, match=r"n_test=5000 leaves no papers .*: there are 3"):
        datasets.fetch_arxiv20(data_home=tiny_arxiv)


def test_arxiv_stream_without_pyarrow(tiny_arxiv, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install bayespa\[data\]"):
        datasets.fetch_arxiv20(data_home=tiny_arxiv)


# The authors' format


def test_gml_with_several_labels(tmp_path):
    path = tmp_path / "wiki.gml"
    path.write_text("3\n3 2 0 2 5 1 5 \n0 1 1\n1 0 4\n")
    bunch = datasets.load_gml(path, multilabel=True)
    assert isinstance(bunch.data, sp.csr_matrix)
    assert_array_equal(bunch.data.toarray(), [[0, 1, 0, 0, 0, 2], [0] * 6, [0, 0, 0, 0, 1, 0]])
    assert_array_equal(bunch.target, [[1, 0, 1], [0, 1, 0], [0, 0, 0]])
    assert bunch.target_names == ["0", "1", "2"]


def test_gml_of_a_stated_shape(tmp_path):
    path = tmp_path / "binary.gml"
    path.write_text("1\n2 0 1 1\n")
    bunch = datasets.load_gml(path, n_words=9, target_names=["no", "yes"])
    assert (bunch.data.shape, bunch.data[0, 1], bunch.target_names) == ((1, 9), 2, ["no", "yes"])
    with pytest.raises(ValueError, match=r"binary.gml has word 1, outside n_words=1"):
        datasets.load_gml(path, n_words=1)
    with pytest.raises(ValueError, match=r"binary.gml has label 0; target_names has 0 names"):
        datasets.load_gml(path, target_names=[])


def test_published_gml(tmp_path):
    write_archive(tmp_path / "authors-gml.tar.xz", {"authors-gml/binary_test.gml": b"2\n1 1 61187\n0 0\n"})
    bunch = datasets.fetch_gml("binary_test", data_home=tmp_path)
    assert (bunch.data.shape, bunch.data[0, 61187]) == ((2, 61_188), 1)
    assert [bunch.target_names[t] for t in bunch.target] == ["talk.religion.misc", "alt.atheism"]
    with pytest.raises(
        ValueError, match=r"name='news' is unknown; use one of binary_train, binary_test, wiki_test"
    ):
        datasets.fetch_gml("news", data_home=tmp_path)


@pytest.mark.parametrize("line", ["3 0 1 1", "1 0 1 1", "1 0 x", "1 0 -1", "-1 0", "1", "", "1 0 1.5"])
def test_damaged_gml_line(tmp_path, line):
    path = tmp_path / "damaged.gml"
    path.write_text(f"2\n1 0 1\n{line}\n")
    with pytest.raises(
        ValueError, match=r"damaged.gml, line 3: .* is not of the form 'n_tokens label word\.\.\.'"
    ):
        datasets.load_gml(path)


@pytest.mark.parametrize("line", ["1 1 0", "1 -1 0", "1 2 0 1", "1"])
def test_damaged_gml_line_with_several_labels(tmp_path, line):
    path = tmp_path / "damaged.gml"
    path.write_text(f"1\n{line}\n")
    with pytest.raises(
        ValueError, match=r"damaged.gml, line 2: .*'n_tokens n_labels.*have one label per document\?"
    ):
        datasets.load_gml(path, multilabel=True)


@pytest.mark.parametrize("text", ["", "0\n", "3\n1 0 1\n", "documents\n1 0 1\n"])
def test_gml_of_another_length(tmp_path, text):
    path = tmp_path / "short.gml"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"short.gml: line 1 is .* it must be their number"):
        datasets.load_gml(path)
