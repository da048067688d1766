"""Files that a URL names give the documents of the same files here, whatever their format."""

import gzip
import lzma

import pytest
from tests.corpus.test_formats import LABELS, TEXTS, write_table

from bayespa.corpus import MalformedInput, Problems, read, sources

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: its file systems read URLs")
fs = pytest.importorskip("pyarrow.fs")
NAMES = ["a.jsonl", "a.csv", "a.tsv", "a.parquet", "a.arrow", "a.txt", "a.jsonl.gz", "a.csv.xz", "a.tsv.zst"]
NAMES += ["a.svm", "a.data", "b.data", "docword.a.txt", "classes"]


def fill(folder):
    """Write a file of every format, some compressed, some with others beside them."""
    for suffix in (".jsonl", ".csv", ".tsv", ".parquet", ".arrow"):
        write_table(folder / f"a{suffix}", TEXTS, LABELS)
    (folder / "a.txt").write_text("to be\nor not\n", encoding="utf-8")
    (folder / "a.jsonl.gz").write_bytes(gzip.compress((folder / "a.jsonl").read_bytes()))
    (folder / "a.csv.xz").write_bytes(lzma.compress((folder / "a.csv").read_bytes()))
    with pa.CompressedOutputStream(str(folder / "a.tsv.zst"), "zstd") as stream:
        stream.write((folder / "a.tsv").read_bytes())
    (folder / "a.svm").write_text("1 1:2 3:1\n2 2:1\n")
    for stem in "ab":
        (folder / f"{stem}.data").write_text("1 1 2\n2 1 1\n")
    (folder / "a.label").write_text("1\n2\n")
    (folder / "b.label.gz").write_bytes(gzip.compress(b"2\n1\n"))
    (folder / "docword.a.txt").write_text("2\n3\n2\n1 1 2\n2 3 1\n")
    for name in "xy":
        (folder / "classes" / name).mkdir(parents=True)
        (folder / "classes" / name / "1.txt").write_text(f"a text of {name}")


@pytest.fixture(params=["file", "memory"])
def url(request, tmp_path, monkeypatch):
    """Return the URL of a full folder: on this machine, and in a file system that is nowhere else."""
    fill(tmp_path)
    if request.param == "file":
        return tmp_path.as_uri()
    memory = fs._MockFileSystem()
    for path in sorted(tmp_path.rglob("*")):
        name = path.relative_to(tmp_path).as_posix()
        if path.is_dir():
            memory.create_dir(f"bucket/{name}")
        else:
            memory.create_dir(f"bucket/{name}".rpartition("/")[0])
            with memory.open_output_stream(f"bucket/{name}", compression=None) as stream:
                stream.write(path.read_bytes())
    monkeypatch.setattr(sources, "file_system", lambda url: (memory, url.removeprefix("memory://")))
    return "memory://bucket"


class Mapping:
    """Whoever reads, in this thread."""

    def map(self, function, items):
        return map(function, items)


def told(documents):
    return [
        (d.content if isinstance(d.content, str) else [a.tolist() for a in d.content], d.label)
        for d in documents
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_url_gives_what_the_file_gives(name, url, tmp_path):
    here = told(read(tmp_path / name, strict=True))
    assert len(here) > 1
    for workers in (None, Mapping()):
        documents = list(read(f"{url}/{name}", strict=True, workers=workers))
        assert told(documents) == here
        assert all(document.id.startswith(url) for document in documents)


def test_what_is_damaged_or_missing_is_named_by_its_url(url, tmp_path):
    whole = (tmp_path / "a.jsonl.gz").read_bytes()
    (tmp_path / "cut.jsonl.gz").write_bytes(whole[:-20])
    cut, problems = (tmp_path / "cut.jsonl.gz").as_uri(), Problems()
    if url.startswith("file:"):
        list(read(cut, problems=problems))
        assert problems.first[0].source == cut
        assert "damaged or truncated" in problems.first[0].message
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read(f"{url}/nothing.jsonl")
    with pytest.raises(MalformedInput, match="no column 'body'"):
        list(read(f"{url}/a.csv", text="body", strict=True))
