"""Readers of bags of words: libsvm, UCI bag-of-words, 20 Newsgroups for Matlab, the authors' gml."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from bayespa.corpus.documents import Bag, Document, Fields, Label
from bayespa.corpus.problems import MalformedInput
from bayespa.corpus.sources import Lines, Source
from bayespa.corpus.texts import Reporter, open_lines, parse_lines, refuse

_LARGEST = np.iinfo(np.int32).max  # columns and counts of a sparse matrix have 32 bits


def read_libsvm(source: Source, fields: Fields, report: Reporter) -> Iterator[Document]:
    """Read ``label column:value ...  # comment``; columns are taken as they are, from 0 or from 1.

    Several labels are written ``label,label``; a line that begins with ``column:value`` has no label.
    """

    def parse(line: str, number: int) -> Document | None:
        label, *pairs = line.partition("#")[0].split() or [""]
        if not label:
            return None
        if ":" in label:
            label, pairs = "", [label, *pairs]
        try:
            bag = _pairs(pairs)
        except (ValueError, OverflowError) as error:
            raise MalformedInput(
                f"{line[:60]!r} is not of the form 'label column:value ...' ({error})"
            ) from error
        return Document(bag, _libsvm_label(label, fields), f"{source.name}:{number}")

    with open_lines(source, fields) as lines:
        yield from parse_lines(lines, parse, report)


def _pairs(pairs: list[str]) -> Bag:
    parts = [pair.split(":") for pair in pairs]
    columns_, values_ = zip(*parts, strict=True) if parts else ((), ())
    columns, values = np.array(columns_, np.int64), np.array(values_, np.float64)
    if (np.diff(columns, prepend=-1, append=_LARGEST + 1) <= 0).any():
        raise ValueError(f"columns must increase, from 0 to at most {_LARGEST}")
    if not np.isfinite(values).all():
        raise ValueError("values must be finite")
    return Bag(columns, values)


def _libsvm_label(label: str, fields: Fields) -> Label:
    def value(text: str) -> float:
        try:
            return float(text)
        except ValueError:
            raise MalformedInput(f"label {text[:60]!r} is not a number") from None

    if fields.target == "classes" or "," in label:
        return fields.make_label([value(text) for text in label.split(",") if text])
    if not label:
        return None
    number = value(label)
    # +1, 1 and 1.0 are the same class; 1.5 is a number.
    return fields.make_label(int(number) if number.is_integer() else number)


def read_gml(source: Source, fields: Fields, report: Reporter) -> Iterator[Document]:
    """Read the authors' format from a file."""
    with source.open() as stream:
        yield from parse_gml(stream, source.name, fields, report)


def parse_gml(stream: BinaryIO, name: str, fields: Fields, report: Reporter) -> Iterator[Document]:
    """Read the authors' format, with several labels per document if the target is ``"classes"``.

    The first line has the number of documents, every other line a document: ``n_tokens label word word ...``
    with one label each, ``n_tokens n_labels label ... word ...`` with several. Words and labels are numbered
    from 0; a word is repeated as often as it occurs.
    """
    several = fields.target == "classes"
    lines = Lines(stream, fields.encoding, fields.max_bytes)

    def parse(line: str, number: int) -> Document:
        try:
            labels, words = _parse_gml_line(line, several)
        except (ValueError, IndexError, OverflowError) as error:
            form = "n_tokens n_labels label... word..." if several else "n_tokens label word..."
            other = "one label" if several else "several labels"
            raise MalformedInput(
                f"{line[:60]!r} is not of the form '{form}' with numbers from 0 ({error}); does the file "
                f"have {other} per document?"
            ) from error
        columns, counts = np.unique(words, return_counts=True)
        label = fields.make_label(labels.tolist() if several else int(labels[0]))
        return Document(Bag(columns, counts.astype(np.int32)), label, f"{name}:{number}")

    try:
        header = next(lines, "").strip()
    except MalformedInput as error:
        header = str(error)
    yield from parse_lines(lines, parse, report)
    n_documents = max(0, lines.number - 1)
    if header != str(n_documents) or not n_documents:
        report(None, f"line 1 is {header[:40]!r} and {n_documents} follow; it must be their number (> 0)")


def _parse_gml_line(line: str, several: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the labels and the words of a document."""
    values = np.array(line.split(), dtype=np.int64)
    n_tokens, n_labels, start = (values[0], values[1], 2) if several else (values[0], 1, 1)
    if values.min() < 0 or values.max() > _LARGEST or len(values) != start + n_labels + n_tokens:
        raise ValueError(f"{len(values)} numbers, {start + n_labels + n_tokens} announced")
    return values[start : start + n_labels], values[start + n_labels :]


def read_uci(source: Source, fields: Fields, report: Reporter) -> Iterator[Document]:
    """Read ``docword.NAME.txt``: three lines with the numbers of documents, words and entries, then entries.

    An entry is ``document word count``, with documents and words from 1; word w is column w - 1. There are no
    labels.
    """
    with open_lines(source, fields) as lines:
        try:
            n_documents, n_words, n_entries = (_numbers(line, 1)[0] for line in islice(lines, 3))
        except ValueError as error:
            report(
                lines.number,
                f"the first three lines must be the numbers of documents, words and entries ({error})",
            )
            return
        for number, bag in _group(lines, n_documents, n_words, report):
            yield Document(bag, None, f"{source.name}:{number}")
        if lines.number != n_entries + 3:
            report(None, f"line 3 promises {n_entries} entries; there are {lines.number - 3}")


def read_matlab(source: Source, fields: Fields, report: Reporter) -> Iterator[Document]:
    """Read ``NAME.data``, with entries ``document word count``, and ``NAME.label`` in the same folder.

    Documents and words are numbered from 1; word w is column w - 1. Line d of the labels is the class of
    document d; ``NAME.map``, if it exists, names the classes.
    """
    stem = Path(source.path.removesuffix(Path(source.path).suffix) if source.compressed else source.path).stem
    label_source = source.beside(f"{stem}.label") if fields.label is not None else None
    if label_source is None and fields.label is not None:
        report(None, f"no file {stem}.label beside it; use label=None for no labels")
        return
    names = _read_map(source.beside(f"{stem}.map"), fields, report)
    with ExitStack() as stack:
        lines = stack.enter_context(open_lines(source, fields))
        labels = stack.enter_context(open_lines(label_source, fields)) if label_source is not None else None
        for number, bag in _group(lines, _LARGEST, _LARGEST, report):
            label: Label = None
            if labels is not None:
                try:
                    text = next(labels).strip()
                    label = fields.make_label(names.get(text, text))
                except StopIteration:
                    report(None, f"{labels.number} labels in {stem}.label, but there is a document {number}")
                    return
                except MalformedInput as error:
                    report(
                        None, f"document {number} has no label: line {labels.number} of {stem}.label: {error}"
                    )
                    continue
            yield Document(bag, label, f"{source.name}:{number}")
        if labels is not None and (
            n_more := sum(1 for _ in parse_lines(labels, lambda line, _: line, report))
        ):
            report(None, f"{n_more} more labels in {stem}.label than documents; is the file truncated?")


def _read_map(source: Source | None, fields: Fields, report: Reporter) -> dict[str, str]:
    """Return the names of the classes by number, from lines ``name number``."""
    names: dict[str, str] = {}
    if source is not None:
        with open_lines(source, fields) as lines:
            for line in parse_lines(lines, lambda line, _: line, report):
                name, _, number = line.strip().rpartition(" ")
                names[number] = name
    return names


def _numbers(line: str, n: int) -> list[int]:
    numbers = [int(part) for part in line.split()]
    if len(numbers) != n or min(numbers) < 1:
        raise ValueError(f"{line[:60]!r} is not {n} numbers from 1")
    return numbers


def _group(lines: Lines, n_documents: int, n_words: int, report: Reporter) -> Iterator[tuple[int, Bag]]:
    """Collect entries, sorted by document, into bags; documents without entries give empty bags."""
    current = 1
    columns: list[int] = []
    counts: list[int] = []
    while True:
        try:
            document, word, count = _numbers(next(lines), 3)
            if not (current <= document <= n_documents and word <= n_words and count <= _LARGEST):
                raise ValueError(
                    f"document {document}, word {word}, count {count}: documents must be in order up to "
                    f"{n_documents}, words at most {n_words}"
                )
        except StopIteration:
            break
        except ValueError as error:  # including MalformedInput
            report(lines.number, str(error))
            continue
        while current < document:
            yield current, Bag(np.array(columns, np.int64), np.array(counts, np.int32))
            columns, counts = [], []
            current += 1
        columns.append(word - 1)
        counts.append(count)
    if columns:
        yield current, Bag(np.array(columns, np.int64), np.array(counts, np.int32))


def read_vocabulary(path: str | os.PathLike[str], encoding: str = "utf-8") -> list[str]:
    r"""Read the words of columns, one per line, as in ``vocab.NAME.txt`` and ``vocabulary.txt``.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "vocab.tiny.txt")
    ...     _ = path.write_text("topic\nword\n")
    ...     read_vocabulary(path)
    ['topic', 'word']
    """
    source = Source(os.fspath(path))
    with open_lines(source, Fields(encoding=encoding)) as lines:
        return list(parse_lines(lines, lambda line, _: line.rstrip("\r\n"), refuse(source.name)))
