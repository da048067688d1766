"""Every format, compression and kind of path gives back what was written."""

import csv
import gzip
import io
import json
import lzma
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.datasets import dump_svmlight_file

from bayespa.corpus import BagVectorizer, Document, MalformedInput, batches, read, read_vocabulary

TEXTS = ["to be,\nor not", "été “quoted”", ""]
LABELS = ["a", None, "b"]


def write_table(path, texts, labels):
    """Write the same table in the format that the ending asks for."""
    if path.suffix == ".jsonl":
        records = [{"text": t, "label": y, "other": 1} for t, y in zip(texts, labels, strict=True)]
        path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), encoding="utf-8")
    elif path.suffix in (".csv", ".tsv"):
        with open(path, "w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, delimiter="," if path.suffix == ".csv" else "\t")
            writer.writerows(
                [["other", "label", "text"], *([1, *row] for row in zip(labels, texts, strict=True))]
            )
    else:
        pa = pytest.importorskip("pyarrow")
        table = pa.table({"other": [1] * len(texts), "text": texts, "label": labels})
        if path.suffix == ".parquet":
            pytest.importorskip("pyarrow.parquet").write_table(table, path)
        else:
            new = pa.ipc.new_stream if path.suffix == ".stream" else pa.ipc.new_file
            with new(path, table.schema) as writer:
                writer.write_table(table, max_chunksize=2)
    return path


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".tsv", ".parquet", ".arrow"])
def test_tables(tmp_path, suffix):
    path = write_table(tmp_path / f"docs{suffix}", TEXTS, LABELS)
    documents = list(read(path, strict=True))
    # In CSV the first text takes the lines 2 and 3.
    lines = {".csv": [2, 4, 5], ".tsv": [2, 4, 5]}.get(suffix, [1, 2, 3])
    assert documents == [Document(t, y, f"{path}:{i}") for t, y, i in zip(TEXTS, LABELS, lines, strict=True)]
    assert [d.label for d in read(path, label=None)] == [None] * 3
    assert [d.id for d in read(path, id="other")] == ["1"] * 3


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_csv_of_spreadsheets(tmp_path, delimiter):
    """The header tells the delimiter: what names the fields, though another may occur more often."""
    path = tmp_path / "docs.csv"
    rows = [["ID", "a,b;c|d\te,f;g|h\ti", "text", "label"], ["1", "x", "one, two; three|four", "a;b"]]
    with open(path, "w", encoding="utf-8-sig", newline="") as stream:
        csv.writer(stream, delimiter=delimiter).writerows(rows)
    (document,) = read(path, strict=True)
    assert document == Document("one, two; three|four", "a;b", f"{path}:2")
    with pytest.raises(MalformedInput, match=r"no column 'body', only 'ID', .*, 'text', 'label'; name it"):
        next(read(path, text="body", strict=True))


def test_a_header_of_several_lines(tmp_path):
    path = tmp_path / "docs.csv"
    path.write_text('"text\nin English",label\none,a\n')
    (document,) = read(path, text="text\nin English", strict=True)
    assert document == Document("one", "a", f"{path}:3")


def test_arrow_stream(tmp_path):
    path = write_table(tmp_path / "docs.stream", TEXTS, LABELS)
    assert [(d.content, d.label) for d in read(path, format="arrow")] == list(zip(TEXTS, LABELS, strict=True))


def test_text_of_several_fields(tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_text('{"title": "A", "body": "B"}\n\n \n{"title": "C", "body": "D"}')
    assert [d.content for d in read(path, text=["title", "body"], label=None)] == ["A\nB", "C\nD"]


def compress(path, data):
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(data))
    elif path.suffix == ".xz":
        path.write_bytes(lzma.compress(data))
    elif path.suffix == ".zst":
        pa = pytest.importorskip("pyarrow")
        with pa.CompressedOutputStream(str(path), "zstd") as stream:
            stream.write(data)
    else:
        path.write_bytes(data)
    return path


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zst"])
def test_compression(tmp_path, suffix):
    lines = [f"line {i}" for i in range(5000)]
    path = compress(tmp_path / f"docs.txt{suffix}", "\r\n".join(lines).encode())
    assert [d.content for d in read(path)] == lines
    two = path.read_bytes() * 2  # as cat makes of two compressed files
    path.write_bytes(two)
    assert len(list(read(path))) == 9999


def test_zstandard_without_pyarrow(tmp_path, monkeypatch):
    path = tmp_path / "docs.jsonl.zst"
    path.write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"docs.jsonl.zst needs pyarrow.*pip install bayespa\[data\]"):
        list(read(path))


@pytest.mark.parametrize("name", ["docs.parquet", "docs.arrow"])
def test_tables_without_pyarrow(tmp_path, monkeypatch, name):
    (tmp_path / name).write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=rf"{name} needs pyarrow.*pip install bayespa\[data\]"):
        list(read(tmp_path / name))


def test_lines_keep_empty_documents(tmp_path):
    path = tmp_path / "docs.txt"
    path.write_bytes("\ufeffone\n\r\n\nfour".encode())
    assert list(read(path)) == [
        Document(text, None, f"{path}:{i}") for i, text in enumerate(["one", "", "", "four"], 1)
    ]


def test_folder_of_files(tmp_path):
    for name, text in {"b/2.txt": "two", "b/10.txt": "ten", "a/x": "été", "a/.hidden": "no"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="latin-1")
    documents = list(read(tmp_path, encoding="latin-1"))
    assert [(d.content, d.label) for d in documents] == [("été", "a"), ("ten", "b"), ("two", "b")]
    assert documents[0].id == str(tmp_path / "a" / "x")
    assert [d.label for d in read(tmp_path / "a", label=None, encoding="latin-1")] == [None]
    files = read(str(tmp_path / "*" / "*.txt"), format="files")
    assert [(d.content, d.label) for d in files] == [("ten", "b"), ("two", "b")]


def test_folder_of_tables(tmp_path):
    for part in (1, 0):
        write_table(tmp_path / f"{part}.jsonl", [f"text {part}"], ["a"])
    assert [d.content for d in read(tmp_path)] == ["text 0", "text 1"]


def test_globs_are_sorted_and_paths_keep_their_order(tmp_path):
    for name in ("b.txt", "a.txt", "z.txt"):
        (tmp_path / name).write_text(name)
    names = [d.content for d in read([tmp_path / "z.txt", str(tmp_path / "[ab].txt")])]
    assert names == ["z.txt", "a.txt", "b.txt"]
    (tmp_path / "odd[1].txt").write_text("a name that looks like a glob")
    assert len(list(read(tmp_path / "odd[1].txt"))) == 1


@pytest.mark.parametrize(
    ("paths", "options", "error", "message"),
    [
        ("none.txt", {}, FileNotFoundError, "there is no file 'none.txt'"),
        ("no*.txt", {}, FileNotFoundError, r"no file matches 'no\*.txt'"),
        ("empty", {}, FileNotFoundError, "the folder 'empty' has no files"),
        ([], {}, ValueError, "no path to read"),
        (["-", "-"], {}, ValueError, "given twice"),
        (
            "a.xyz",
            {},
            ValueError,
            "the format of 'a.xyz' is unknown from its name; give format= one of lines, files, jsonl",
        ),
        ("a.xlsx", {}, ValueError, "'a.xlsx' is a spreadsheet, which is not read; save it as CSV"),
        ("a.txt", {"format": "json"}, ValueError, "format='json' is unknown; use one of lines"),
        ("a.txt", {"target": "many"}, ValueError, "target='many' is unknown"),
        ("a.txt", {"separator": ""}, ValueError, "separator='' must not be empty"),
        ("a.txt", {"text": []}, ValueError, "text is empty"),
        ("a.txt", {"encoding": "utf-16"}, ValueError, "encoding='utf-16' cannot be split .*iconv -f utf-16"),
        ("a.txt", {"encoding": "klingon"}, ValueError, "klingon"),
    ],
)
def test_wrong_arguments_are_told_at_once(tmp_path, monkeypatch, paths, options, error, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    for name in ("a.xyz", "a.xlsx", "a.txt"):
        (tmp_path / name).write_text("")
    with pytest.raises(error, match=message):
        read(paths, **options)


def test_byte_order_mark(tmp_path):
    path = tmp_path / "docs.csv"
    path.write_bytes("text,label\né,a\n".encode("utf-8-sig"))
    for encoding in ("utf-8", "utf-8-sig"):
        assert [(d.content, d.label) for d in read(path, encoding=encoding)] == [("é", "a")]


def test_standard_input(monkeypatch):
    for format, data in ((None, b'{"text": "x", "label": "a"}\n'), ("csv", b"text,label\nx,a\n")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        (document,) = read("-", format=format)
        assert document == Document("x", "a", f"standard input:{1 if format is None else 2}")
        assert not sys.stdin.buffer.closed
    with pytest.raises(ValueError, match="Parquet cannot be read from standard input"):
        list(read("-", format="parquet"))


def test_a_live_stream_is_read_as_it_comes():
    program = "from bayespa.corpus import read\nfor d in read('-'): print(d.content, flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as child:
        for text in ("one", "two"):
            child.stdin.write(json.dumps({"text": text, "label": None}) + "\n")
            assert child.stdout.readline() == f"{text}\n"  # while standard input is still open
        child.stdin.close()
        assert child.wait() == 0


def test_named_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["sh", "-c", "printf 'one\\ntwo\\n' > pipe"], cwd=tmp_path):
        assert [d.content for d in read(tmp_path / "pipe", format="lines")] == ["one", "two"]


words = st.text(st.characters(exclude_categories=["Cs"]))
labels = (
    st.none()
    | words.filter(bool)
    | st.lists(words.filter(bool), unique=True)
    | st.floats(allow_nan=False, allow_infinity=False)
)


@settings(derandomize=True, deadline=None)
@given(st.lists(st.tuples(words, labels)))
def test_any_documents_survive_jsonl(tmp_path_factory, documents):
    path = tmp_path_factory.mktemp("jsonl") / "docs.jsonl"
    lines = (json.dumps({"text": text, "label": label}) + "\n" for text, label in documents)
    path.write_text("".join(lines), encoding="utf-8")
    expected = [(text, tuple(label) if isinstance(label, list) else label) for text, label in documents]
    assert [(d.content, d.label) for d in read(path, strict=True)] == expected


# Bags of words


def columns(path, vectorizer=None, **options):
    (batch,) = batches(read(path, strict=True, **options), vectorizer or BagVectorizer())
    return batch.X.toarray().tolist(), batch.labels


def test_libsvm(tmp_path):
    path = tmp_path / "docs.svm"
    path.write_text("# a comment\n+1 1:2 3:0.5 # another\n\n-1\n1.0 0:1\n2.5 1:1\n")
    X, y = columns(path)
    assert X == [[0, 2, 0, 0.5], [0] * 4, [1, 0, 0, 0], [0, 1, 0, 0]]
    assert y == ["1", "-1", "1", 2.5]
    assert columns(path, target="number")[1] == [1.0, -1.0, 1.0, 2.5]
    path.write_text("1,3 0:1\n 1:1\n2\n")
    assert columns(path)[1] == [("1", "3"), None, "2"]
    assert columns(path, target="classes")[1] == [("1", "3"), (), ("2",)]
    assert columns(path, label=None)[1] == [None] * 3


def test_libsvm_of_scikit_learn(tmp_path):
    X = np.random.default_rng(0).poisson(0.3, (20, 7))
    X[0, 6] = 1
    dump_svmlight_file(X, np.arange(20) % 3, str(tmp_path / "docs.svm"))
    rows, y = columns(tmp_path / "docs.svm")
    assert_array_equal(rows, X)
    assert y == [str(i % 3) for i in range(20)]


def test_uci_bag_of_words(tmp_path):
    (tmp_path / "docword.tiny.txt.gz").write_bytes(gzip.compress(b"4\n3\n4\n1 1 5\n1 3 1\n3 2 7\n4 2 1\n"))
    (tmp_path / "vocab.tiny.txt").write_text("to\nbe\nor\n")
    words = BagVectorizer(read_vocabulary(tmp_path / "vocab.tiny.txt"))
    X, y = columns(tmp_path / "docword.tiny.txt.gz", words)
    assert X == [[5, 0, 1], [0, 0, 0], [0, 7, 0], [0, 1, 0]]  # document 2 is empty
    assert (y, words.words) == ([None] * 4, ["to", "be", "or"])


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_newsgroups_for_matlab(tmp_path, suffix):
    compress(tmp_path / f"train.data{suffix}", b"1 2 5\n1 4 1\n2 3 7\n")
    compress(tmp_path / f"train.label{suffix}", b"2\n1\n")
    X, y = columns(tmp_path / f"train.data{suffix}")
    assert (X, y) == ([[0, 5, 0, 1], [0, 0, 7, 0]], ["2", "1"])
    compress(tmp_path / f"train.map{suffix}", b"sci.med 1\nsci.space 2\n")
    assert columns(tmp_path / f"train.data{suffix}")[1] == ["sci.space", "sci.med"]
    assert columns(tmp_path / f"train.data{suffix}", label=None)[1] == [None, None]


def test_gml(tmp_path):
    path = tmp_path / "docs.gml"
    path.write_text("2\n3 1 0 4 0\n2 0 2 3\n")
    assert columns(path) == ([[2, 0, 0, 0, 1], [0, 0, 1, 1, 0]], ["1", "0"])
    path.write_text("2\n3 2 0 2 5 1 5\n1 0 4\n")
    X, y = columns(path, target="classes")
    assert (X, y) == ([[0, 1, 0, 0, 0, 2], [0, 0, 0, 0, 1, 0]], [("0", "2"), ()])
