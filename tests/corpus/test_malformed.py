"""Malformed input is reported with its file and line, counted, and does not stop what follows."""

import csv
import gzip
import io
import json
import lzma
import warnings

import numpy as np
import pytest

from bayespa.corpus import CorpusWarning, MalformedInput, Problem, Problems, read, read_vocabulary
from bayespa.corpus.sources import Lines


def problems_of(path, **options):
    """Return the contents that could be read, and the problems as (line, message)."""
    problems = Problems(keep=100)
    contents = [d.content for d in read(path, problems=problems, **options)]
    assert len(problems) == len(problems.first)
    assert all(p.source == str(path) for p in problems.first)
    if problems:
        with pytest.raises(MalformedInput) as caught:
            list(read(path, strict=True, **options))
        assert str(caught.value) == str(problems.first[0])
    return contents, [(p.line, p.message) for p in problems.first]


def test_jsonl(tmp_path):
    path = tmp_path / "docs.jsonl"
    good = b'{"text": "good", "label": "a"}'
    lines = [
        good,
        b'{"text": "bad"',
        b'{"label": "a"}',
        b'{"text": "no label"}',
        b'{"text": 3, "label": "a"}',
        b'{"text": "\xff", "label": "a"}',
        b'{"text": "a\0b", "label": "a"}',
        b"[1, 2]",
        b'{"text": "x", "label": {"a": 1}}',
        b'{"text": "x", "label": ["a", null]}',
        b'{"text": "\\ud800", "label": "a"}',
        b'{"text": "x", "label": "\\udc00"}',
        b"[" * 100_000,
        b'{"text": "' + b"x" * 200_000 + b'", "label": "a"}',
        b'{"text": "escaped \\u00e9 \\ud83d\\ude00", "label": "a"}',
        good,
    ]
    path.write_bytes(b"\n".join(lines))
    contents, problems = problems_of(path, max_bytes=150_000, encoding="utf-8")
    assert contents == ["good", "escaped é 😀", "good"]
    expected = {
        2: "not JSON (Expecting ',' delimiter",
        3: "no field 'text', only 'label'; name it with text=",
        4: "no field 'label', only 'text'; name it with label=, or label=None for no labels",
        5: "field 'text' is 3, not a text",
        6: "byte 11 (0xff) is not utf-8; give the right encoding=",
        7: "NUL at byte 12; is it text?",
        8: "a JSON list instead of an object",
        9: "label {'a': 1} is neither a text nor a number",
        10: "label None is neither a text nor a number",
        11: "half of a surrogate pair, \\ud800, is not a character",
        12: "half of a surrogate pair, \\udc00, is not a character",
        13: "not JSON (maximum recursion depth exceeded",
        14: "longer than max_bytes=150000",
    }
    assert [line for line, _ in problems] == list(expected)
    for (_, message), start in zip(problems, expected.values(), strict=True):
        assert message.startswith(start)


@pytest.mark.parametrize("newline", [b"\n", b""])
def test_fifty_megabytes_without_a_line(tmp_path, newline):
    path = tmp_path / "docs.txt"
    path.write_bytes(b"one\n" + b"x" * 50_000_000 + newline)
    contents, problems = problems_of(path)
    assert (contents, problems) == (["one"], [(2, "longer than max_bytes=10000000")])


def test_a_line_of_just_the_limit(tmp_path):
    path = tmp_path / "docs.txt"
    path.write_bytes(b"12345\n123456\n12345")
    assert problems_of(path, max_bytes=6) == (["12345", "12345"], [(2, "longer than max_bytes=6")])


@pytest.mark.parametrize(
    ("name", "document", "blank"),
    [
        ("docs.jsonl.gz", b'{"text": "good", "label": "a"}\n', b"\n"),
        ("docs.jsonl.gz", b'{"text": "good", "label": "a"}\n', b"    \n"),
        ("docs.csv.gz", b"text,label\ngood,a\n", b"\n"),
        ("docs.svm.gz", b"1 3:1\n", b"\n"),
        ("docs.svm.gz", b"1 3:1\n", b"# no document\n"),
    ],
    ids=str,
)
def test_very_many_lines_without_a_document_are_told(tmp_path, monkeypatch, name, document, blank):
    monkeypatch.setattr("bayespa.corpus.texts._SILENT", 3000 * len(blank) if name[5] != "c" else 3000)
    path, before = tmp_path / name, document.count(b"\n")
    path.write_bytes(gzip.compress(document + 2999 * blank))
    assert problems_of(path)[1] == []
    rows = document.splitlines(keepends=True)[-1]
    path.write_bytes(gzip.compress(document + 7000 * blank + rows + 2000 * blank + rows + 2999 * blank))
    contents, problems = problems_of(path)
    assert len(contents) == 3
    message = "neither it nor the 2,999 lines before it hold anything; is the file damaged?"
    assert problems == [(before + 3000, message), (before + 6000, message)]


def test_a_line_without_an_end_is_told_before_all_of_it_is_read():
    stream = io.BytesIO(b"x" * 5_000_000 + b"\nlast")
    lines = Lines(stream, "utf-8", 100)
    with pytest.raises(MalformedInput, match="longer than max_bytes=100"):
        next(lines)
    assert stream.tell() == 101
    assert list(lines) == ["last"]
    assert lines.number == 2


def test_csv(tmp_path):
    path = tmp_path / "docs.csv"
    rows = [
        b"text,label",
        b'"good\nin two lines",a',
        b"one",
        b"one,two,three",
        b"",
        b'"quoted"badly,a',
        b"\xff,a",
        b'"a NUL\n\0in a quoted field",a',
        b"good,b",
        b'"never closed,a',
        b"good,c",
    ]
    path.write_bytes(b"\r\n".join(rows))
    contents, problems = problems_of(path, encoding="utf-8")
    assert contents == ["good\nin two lines", "good"]
    assert [line for line, _ in problems] == [4, 5, 7, 8, 9, 12]
    assert problems[0][1] == "1 fields, but the header has 2"
    assert problems[2][1].startswith("not a row of values (',' expected after '\"'")
    assert problems[4][1].startswith("NUL")
    assert (
        problems[5][1] == "a quote that opens here is never closed; all up to the last line, 13, is left out"
    )


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "the file is empty; its first line must name the columns"),
        (
            "body,label\nx,a\n",
            1,
            "the header line has no column 'text', only 'body', 'label'; name it with text=",
        ),
        (
            "text\nx\n",
            1,
            "the header line has no column 'label', only 'text'; name it with label=, or label=None for no "
            "labels",
        ),
        ("text,label,text\nx,a,y\n", 1, "2 columns are called 'text'"),
        ("t,l;m\nx,a\n", 1, "the header line has no column 'text', only 't', 'l;m'; name it with text="),
        (
            "w" * 99 + ",a\n",
            1,
            f"the header line has no column 'text', only '{'w' * 56}..., 'a'; name it with text=",
        ),
        ("\ufefft\0e\0", 1, "NUL at byte 2; is it text? If it is UTF-16: iconv -f utf-16 -t utf-8"),
        (
            '"text\nlabel',
            1,
            "a quote that opens here is never closed; all up to the last line, 2, is left out",
        ),
    ],
)
def test_csv_without_the_columns(tmp_path, text, line, message):
    path = tmp_path / "docs.csv"
    path.write_text(text)
    assert problems_of(path) == ([], [(line, message)])


def test_an_unclosed_quote_is_bounded(tmp_path):
    csv.field_size_limit(131_072)  # its default, which other tests have raised
    path = tmp_path / "docs.csv"
    path.write_text('text,label\n"open,a\n' + "x,b\n" * 100_000)
    _, problems = problems_of(path, max_bytes=200_000)
    assert problems[0] == (2, "not a row of values (field larger than field limit (200000))")


def test_a_cell_above_the_limit_of_the_csv_module(tmp_path):
    path = tmp_path / "docs.csv"
    path.write_text(f"text,label\n{'x' * 1_000_000},a\n")
    assert [len(text) for text in problems_of(path)[0]] == [1_000_000]


@pytest.mark.parametrize(
    ("target", "bad", "message"),
    [
        ("number", '"three"', "label 'three' is not a finite number"),
        ("number", "1e999", "label inf is not a finite number"),
        ("number", "[1]", "label [1] is not a finite number"),
        ("class", '["a", "b"]', "2 labels ['a', 'b'], but target='class' allows one"),
    ],
)
def test_labels_of_another_kind(tmp_path, target, bad, message):
    path = tmp_path / "docs.jsonl"
    path.write_text(f'{{"text": "x", "label": {bad}}}\n')
    assert problems_of(path, target=target) == ([], [(1, message)])


COMPRESS = {".gz": gzip.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
@pytest.mark.parametrize("name", ["docs.txt", "docs.csv"])
def test_truncated_compressed_file(tmp_path, name, suffix):
    noise = np.random.default_rng(0).integers(10**9, size=40_000)
    data = b"text,label\n" + b"".join(b"%d,a\n" % number for number in noise)
    path = tmp_path / (name + suffix)
    if suffix == ".zst":
        pa = pytest.importorskip("pyarrow")
        packed = pa.compress(data, codec="zstd", asbytes=True)
    else:
        packed = COMPRESS[suffix](data)
    path.write_bytes(packed[: len(packed) // 2])
    contents, [(line, message)] = problems_of(path)
    header = 1 if name == "docs.csv" else 0
    assert 9000 < len(contents) < 25_000
    rows = data.decode().split("\n")[header : header + len(contents)]
    assert contents == [row.split(",")[0] if header else row for row in rows]
    assert line == len(contents) + header + 1
    assert message.startswith("the file is damaged or truncated here; the rest cannot be read (")


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_not_compressed_at_all(tmp_path, suffix):
    path = tmp_path / f"docs.txt{suffix}"
    path.write_bytes(b"not what the name says")
    contents, [(line, _)] = problems_of(path)
    assert (contents, line) == ([], 1)


def test_files(tmp_path):
    for name, data in {"a": b"good", "b": b"\xff", "c": b"x" * 101, "d": b"\0", "e.gz": b"no"}.items():
        (tmp_path / name).write_bytes(data)
    problems = Problems()
    assert [d.content for d in read(tmp_path, problems=problems, max_bytes=100, encoding="utf-8")] == ["good"]
    assert [str(p).removeprefix(str(tmp_path))[:22] for p in problems.first] == [
        "/b: byte 1 (0xff) is n",
        "/c: longer than max_by",
        "/d: NUL at byte 1; is ",
        "/e.gz: the file is dam",
    ]
    problems = Problems()
    assert list(read(tmp_path / "a", format="files", target="number", problems=problems)) == []
    assert f"label {tmp_path.name!r} is not a finite number" in str(problems.first[0])


@pytest.mark.parametrize(
    ("name", "content", "expected", "line"),
    [
        ("a.txt", b"caf\xe9\ncaf\xc3\xa9\nna\xefve\n", ["café", "café", "naïve"], 1),
        ("a.jsonl", b'{"text": "a", "label": 1}\n{"text": "\xe9", "label": 1}\n' * 2, ["a", "é"] * 2, 2),
        ("a.csv", b"text,label\n\xff,a\n\xfe,b\n", ["ÿ", "þ"], 2),
        ("a.tsv", b"text\tlabel\n\xff\ta\n\xfe\tb\n", ["ÿ", "þ"], 2),
        ("folder", b"caf\xe9", ["café"], None),
    ],
)
def test_what_is_not_utf8_is_read_by_a_guess_which_is_told(tmp_path, name, content, expected, line):
    path = file = tmp_path / name
    if name == "folder":
        path.mkdir()
        file = path / "file"
    file.write_bytes(content)
    problems = Problems()
    assert [d.content for d in read(path, problems=problems)] == expected
    n = 1 if line is None else 2
    assert (len(problems), problems.guessed) == (0, n)
    assert (problems.first_guessed.source, problems.first_guessed.line) == (str(file), line)
    assert "not utf-8; read as latin-1" in problems.first_guessed.message
    assert str(problems).startswith(
        f"{n} line{'s'[: n - 1]} or file{'s'[: n - 1]} {['is', 'are'][n - 1]} not"
    )
    with pytest.warns(CorpusWarning, match="read as latin-1") as caught:
        list(read(path))
    assert len(caught) == n
    assert problems_of(file, encoding="utf-8", format="lines" if line is None else None)[1][0][0] == (
        line or 1
    )
    with pytest.raises(MalformedInput, match="is not utf-8; give the right encoding="):
        list(read(path, strict=True))
    assert next(d.content for d in read(path, strict=True, encoding="latin-1")) == expected[0]


def test_numbers_are_utf8(tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes(b"1 0:1\n\xff 1:2\n")
    assert [line for line, _ in problems_of(path)[1]] == [2]


@pytest.mark.parametrize("name", ["docs.parquet", "docs.arrow"])
def test_damaged_tables(tmp_path, name):
    pa = pytest.importorskip("pyarrow")
    path = tmp_path / name
    table = pa.table({"text": ["x"] * 1000, "label": ["a"] * 1000})
    if name == "docs.parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, path)
    else:
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
    path.write_bytes(path.read_bytes()[:-200])
    contents, [(line, message)] = problems_of(path)
    assert (contents, line) == ([], None)
    assert message.startswith("the file is damaged or truncated")
    path.write_bytes(b"")
    assert len(problems_of(path)[1]) == 1


def test_rows_of_tables(tmp_path):
    pa = pytest.importorskip("pyarrow")
    path = tmp_path / "docs.parquet"
    texts = pa.array([b"good", b"\xff", None, b"good"]).view(pa.string())
    table = pa.table({"text": texts, "label": ["a"] * 4})
    pytest.importorskip("pyarrow.parquet").write_table(table, path)
    problems = Problems()
    assert [d.content for d in read(path, problems=problems)] == ["good", "good"]
    assert [str(p) for p in problems.first] == [
        f"{path}, row 2: byte 1 of a text is not utf-8",
        f"{path}, row 3: field 'text' is None, not a text",
    ]
    no_column = "no column 'topic', only 'text', 'label'; name it with label=, or label=None for no labels"
    assert problems_of(path, label="topic") == ([], [(None, no_column)])


@pytest.mark.parametrize(
    "line",
    [
        "x 1:1",
        "1 1",
        "1 1:1:1",
        "1 2:1 1:1",
        "1 1:1 1:2",
        "1 -1:1",
        "1 1:x",
        "1 1:inf",
        "1 9999999999:1",
        f"1 {9**99}:1",
    ],
)
def test_libsvm(tmp_path, line):
    path = tmp_path / "docs.svm"
    path.write_text(f"1 1:1\n{line}\n2 1:1\n")
    contents, [(number, _)] = problems_of(path)
    assert (len(contents), number) == (2, 2)


def test_uci(tmp_path):
    path = tmp_path / "docword.x.txt"
    path.write_text("3\n2\n6\n1 1 1\n2 3 1\n2 x 1\n2 1 1\n1 1 1\n4 1 1\n")
    contents, problems = problems_of(path)
    assert [bag.columns.tolist() for bag in contents] == [[0], [0]]
    assert [line for line, _ in problems] == [5, 6, 8, 9]
    path.write_text("1\n2\n3\n1 1 1\n")
    assert problems_of(path)[1] == [(None, "line 3 promises 3 entries; there are 1")]
    path.write_text("1\n2\n")
    assert problems_of(path)[1][0][0] == 2


def test_matlab(tmp_path):
    path = tmp_path / "train.data"
    path.write_text("1 1 1\n2 1 1\n3 1 1\n")
    assert problems_of(path)[1] == [(None, "no file train.label beside it; use label=None for no labels")]
    (tmp_path / "train.label").write_bytes(b"1\n\xff\n")
    contents, problems = problems_of(path)
    assert len(contents) == 1
    assert problems[0][1].startswith("document 2 has no label: line 2 of train.label: byte 1")
    assert problems[1][1] == "2 labels in train.label, but there is a document 3"
    (tmp_path / "train.label").write_bytes(b"1\n1\n1\n1\n1\n")
    cut_off = "2 more labels in train.label than documents; is the file truncated?"
    assert problems_of(path)[1] == [(None, cut_off)]


def test_gml(tmp_path):
    path = tmp_path / "docs.gml"
    path.write_text(f"3\n1 0 1\n2 0 1\n1 0 4\n1 0 4\n1 0 {9**99}\n")
    contents, problems = problems_of(path)
    assert len(contents) == 3
    assert "is not of the form 'n_tokens label word...'" in problems.pop(1)[1]
    assert problems[0][0] == 3
    assert problems[0][1].endswith(
        "(3 numbers, 4 announced); does the file have several labels per document?"
    )
    assert problems[1] == (None, "line 1 is '3' and 5 follow; it must be their number (> 0)")


def test_the_next_file_is_read(tmp_path):
    (tmp_path / "a.csv").write_text("no header\n")
    (tmp_path / "b.csv").write_text("text,label\nx,a\n")
    problems = Problems()
    assert [d.content for d in read(tmp_path, problems=problems)] == ["x"]
    assert problems.first == [
        Problem(
            str(tmp_path / "a.csv"),
            1,
            "the header line has no column 'text', only 'no header'; name it with text=",
        )
    ]


def test_nobody_listens(tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_text("x\n" * 5)
    documents = read(path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert list(documents) == []
    first, summary = (str(w.message) for w in caught)
    assert all(w.category is CorpusWarning for w in caught)
    assert first.startswith(f"{path}, line 1: not JSON")
    assert first.endswith("(left out; problems=Problems() collects these, strict=True stops)")
    assert summary.startswith("left out 5 malformed records:\n")
    assert summary.endswith("and 4 more")


def test_collected_problems_are_bounded_and_told_at_once(tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_text("x\n" * 50 + json.dumps({"text": "good", "label": "a"}))
    heard = []
    problems = Problems(keep=3, on_problem=heard.append)
    next(read(path, problems=problems))
    assert (len(problems), len(problems.first), len(heard), heard[49].line) == (50, 3, 50, 50)
    assert str(Problems()) == "no malformed input"
    assert not Problems()


def test_vocabulary(tmp_path):
    path = tmp_path / "vocab.x.txt"
    path.write_bytes(b"one\n\xff\n")
    with pytest.raises(MalformedInput, match=r"vocab.x.txt, line 2: byte 1 \(0xff\) is not utf-8"):
        read_vocabulary(path)
    assert read_vocabulary(path, encoding="latin-1") == ["one", "ÿ"]
