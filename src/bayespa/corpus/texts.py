"""Readers of texts: lines, files, JSONL, CSV and TSV."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import Any, Protocol, TypeVar

from bayespa.corpus.documents import Document, Fields, Label, brief
from bayespa.corpus.problems import MalformedInput, Problem
from bayespa.corpus.sources import Lines, Source, read_whole
from bayespa.native.text import json_lines

T = TypeVar("T")
_SILENT = 2_000_000  # characters of blank lines in a row before they are reported


class Reporter(Protocol):
    """Takes a problem of the present source: the line from 1 (None: the whole file), and a message."""

    def __call__(self, line: int | None, message: str, unit: str = "line", *, left_out: bool = True) -> None:
        """Count the problem; raise `MalformedInput` if reading is strict."""


def refuse(name: str) -> Reporter:
    """Return a reporter that raises `MalformedInput` at the first problem of the source called `name`."""

    def report(line: int | None, message: str, unit: str = "line", *, left_out: bool = True) -> None:
        raise MalformedInput(str(Problem(name, line, message, unit)))

    return report


@contextmanager
def open_lines(
    source: Source,
    fields: Fields,
    report: Reporter | None = None,
    cut: Callable[[bytes], list[Any] | None] | None = None,
) -> Iterator[Lines]:
    """Open the lines of a source; the reporter, if any, learns of guessed encodings."""
    on_guess = None if report is None else partial(report, left_out=False)
    with source.open() as stream:
        yield Lines(stream, fields.encoding, fields.max_bytes, on_guess, cut)


class Blanks:
    """Reports very many blank lines: a compressed megabyte may have 10⁹.

    A few are no problem. Every `_SILENT` characters of blank lines in a row are one malformed record, so that
    the user hears of it, and strict reading stops.
    """

    def __init__(self, report: Reporter) -> None:
        self._report = report
        self.end()

    def end(self) -> None:
        """Start again: the last line was not blank."""
        self.lines = self._characters = 0

    def add(self, number: int, n_characters: int = 1) -> None:
        """Count the line with this number, which is blank."""
        self.lines += 1
        self._characters += n_characters
        if self._characters >= _SILENT:
            lines = self.lines
            self.end()
            self._report(
                number,
                f"neither it nor the {lines - 1:,} lines before it hold anything; is the file damaged?",
            )


def parse_lines(lines: Lines, parse: Callable[[Any, int], T | None], report: Reporter) -> Iterator[T]:
    """Yield what `parse` returns for each line and its number; report malformed lines and continue."""
    blanks = Blanks(report)
    while True:
        try:
            line = next(lines)
            document = parse(line, lines.number)
        except StopIteration:
            return
        except MalformedInput as error:
            blanks.end()
            report(lines.number, str(error))
            continue
        if document is None:
            blanks.add(lines.number, len(line))
        else:
            if blanks.lines:
                blanks.end()
            yield document


def read_lines(source: Source, fields: Fields, report: Reporter) -> Iterator[Document]:
    """Read one document per line, without labels; an empty line is an empty document."""

    def parse(line: str, number: int) -> Document:
        return Document(line.rstrip("\r\n"), None, f"{source.name}:{number}")

    with open_lines(source, fields, report) as lines:
        yield from parse_lines(lines, parse, report)


def read_file(source: Source, fields: Fields, report: Reporter) -> Iterator[Document]:
    """Read a file as one document; its label is the name of its folder."""
    folder = os.path.basename(os.path.dirname(os.path.abspath(source.path)))
    try:
        guessed = partial(report, None, left_out=False)
        text = read_whole(source, fields.encoding, fields.max_bytes, guessed) if fields.text else ""
        label = fields.make_label(folder)
    except MalformedInput as error:
        report(None, str(error))
    else:
        yield Document(text, label, source.name)


def read_jsonl(source: Source, fields: Fields, report: Reporter) -> Iterator[Document]:
    """Read one JSON object per line; blank lines do not count."""
    remedy = "; if it is not meant to be, give format=" if source.path == "-" else ""

    name = source.name

    def parse(line: str | tuple[Any, ...], number: int) -> Document | None:
        if isinstance(line, tuple):
            return fields.document(line, f"{name}:{number}")
        return None if line.isspace() else json_document(line, fields, f"{name}:{number}", remedy)

    with open_lines(source, fields, report, partial(json_lines, names=fields.names)) as lines:
        yield from parse_lines(lines, parse, report)


def json_document(text: str, fields: Fields, name: str, remedy: str = "") -> Document:
    """Return the document of a JSON object; its id is `name`, unless it has one.

    >>> json_document('{"text": "some words", "label": "a"}', Fields(), "first")
    Document(content='some words', label='a', id='first', offset=None)
    """
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedInput(f"not JSON ({error}){remedy}") from error
    if not isinstance(record, dict):
        raise MalformedInput(f"a JSON {type(record).__name__} instead of an object")
    document = record_document(record, fields, name)
    if "\\u" in text:
        _check_surrogates(document)
    return document


def record_document(record: dict[str, object], fields: Fields, name: str) -> Document:
    """Return the document of a record that must have all fields; its id is `name` by default."""
    for field in fields.names:
        if field not in record:
            raise MalformedInput(no_such("field", field, list(record), fields))
    return fields.document([record[field] for field in fields.names], name)


def _check_surrogates(document: Document) -> None:
    """Refuse half of a surrogate pair: JSON can escape it, but no encoding can write it."""
    try:
        "".join([str(document.content), document.id, *_strings(document.label)]).encode()
    except UnicodeEncodeError as error:
        raise MalformedInput(
            f"half of a surrogate pair, \\u{ord(error.object[error.start]):04x}, is not a character"
        ) from error


def _strings(label: Label) -> tuple[str, ...]:
    return label if isinstance(label, tuple) else (label,) if isinstance(label, str) else ()


def no_such(what: str, name: str, present: list[str], fields: Fields) -> str:
    """Return a message about a missing field or column, with the remedy."""
    shown = ", ".join(map(brief, present[:10])) or "none"
    option = "text=" if name in fields.text else "id="
    if name == fields.label:
        option = "label=, or label=None for no labels"
    return f"no {what} {name!r}, only {shown}{', ...' if len(present) > 10 else ''}; name it with {option}"


def read_csv(source: Source, fields: Fields, report: Reporter) -> Iterator[Document]:
    """Read a table whose first line names the columns.

    The separator is a comma. If the first line has the fields only with another one, it is a semicolon, a tab
    or a bar, as spreadsheets write.
    """
    return _read_rows(source, fields, report, ",;\t|")


def read_tsv(source: Source, fields: Fields, report: Reporter) -> Iterator[Document]:
    """Read tab-separated values whose first line names the columns; quotes work as in CSV."""
    return _read_rows(source, fields, report, "\t")


def _read_rows(source: Source, fields: Fields, report: Reporter, delimiters: str) -> Iterator[Document]:
    # The csv module's limit for a cell is 128 KiB; it is global, so only raise it.
    csv.field_size_limit(max(csv.field_size_limit(), fields.max_bytes))
    with open_lines(source, fields, report) as lines:
        try:
            first = next(lines)
            delimiter = _delimiter(first, fields, delimiters)
            header = next(csv.reader(chain([first], lines), delimiter=delimiter, strict=True))
            columns = _columns(header, fields)
        except StopIteration:
            report(None, "the file is empty; its first line must name the columns")
            return
        except (csv.Error, MalformedInput) as error:
            report(1, _what_is_wrong(error, lines.number))
            return
        rows = csv.reader(lines, delimiter=delimiter, strict=True)
        blanks = Blanks(report)
        while True:
            first_line = lines.number + 1
            try:
                row = next(rows)
                if row and len(row) != len(header):
                    raise MalformedInput(f"{len(row)} fields, but the header has {len(header)}")
                document = None
                if row:
                    values: list[Any] = [row[columns[name]] for name in fields.names]
                    if fields.label is not None and fields.label not in fields.text:
                        values[len(fields.text)] = fields.typed(row[columns[fields.label]])
                    document = fields.document(values, f"{source.name}:{first_line}")
            except StopIteration:
                break
            except (csv.Error, MalformedInput) as error:
                blanks.end()
                report(first_line, _what_is_wrong(error, lines.number))
                continue
            if document is None:
                blanks.add(first_line)
            else:
                blanks.end()
                yield document


def _delimiter(line: str, fields: Fields, delimiters: str) -> str:
    """Return the separator that gives all fields of a header; if none does, the most frequent one.

    >>> _delimiter("text;label,checked", Fields(label=None), ",;"), _delimiter("a,b;c", Fields(), ",;")
    (';', ',')
    """

    def cut(delimiter: str) -> tuple[bool, int]:
        header = next(csv.reader([line], delimiter=delimiter))
        return set(fields.names) <= set(header), len(header)

    return max(delimiters, key=cut)


def _columns(header: list[str], fields: Fields) -> dict[str, int]:
    for name in fields.names:
        if header.count(name) != 1:
            if name in header:
                raise MalformedInput(f"{header.count(name)} columns are called {name!r}")
            raise MalformedInput(f"the header line has {no_such('column', name, header, fields)}")
    return {name: header.index(name) for name in fields.names}


def _what_is_wrong(error: Exception, last_line: int) -> str:
    if isinstance(error, MalformedInput):
        return str(error)
    if str(error) == "unexpected end of data":
        return f"a quote that opens here is never closed; all up to the last line, {last_line}, is left out"
    return f"not a row of values ({error})"
