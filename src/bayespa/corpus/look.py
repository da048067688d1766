"""A first look at the labels of files, before learning: what they are, and in which order."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from bayespa.corpus.documents import Document, Label
from bayespa.corpus.order import LabelOrder
from bayespa.corpus.problems import Problem, Problems
from bayespa.corpus.reading import read_labels
from bayespa.corpus.sources import Paths, expand

_KEPT = 10_000  # different labels; later ones are only counted
_MANY = 50  # so few different labels may all differ
_IN_A_ROW = 20  # malformed records in a row that end the look; `read` reports them
_BEGINNING = 1 << 20  # bytes in which to find the first record
_WHOLE = re.compile(r"[+-]?\d{1,15}", re.ASCII)
_COMMA = re.compile(r"[+-]?\d+(,\d+)?", re.ASCII)  # a number with a decimal comma, or a whole one
_DATE = re.compile(r"\d{4}-\d\d")  # the beginning of one
_TIME = re.compile(r"(.*_)?(date|time|datetime|timestamp|created|published|posted)(_.*)?", re.IGNORECASE)
_BETWEEN = (";", "|", ",")  # possible separators of labels


@dataclass
class Look:
    """What the labels of files look like.

    Attributes
    ----------
    documents : int
        Number of documents, with or without a label.
    labels : dict
        The first 10,000 different labels, and their counts.
    fractions, whole, names, several : int
        Numbers of labels that are fractions, whole numbers, other texts, and lists.
    order : LabelOrder
    time : str or None
        A field of dates or times that increases over the documents.
    """

    documents: int = 0
    labels: dict[Label, int] = field(default_factory=dict)
    fractions: int = 0
    whole: int = 0
    names: int = 0
    several: int = 0
    order: LabelOrder = field(default_factory=LabelOrder)
    time: str | None = None

    def add(self, label: Label) -> None:
        """Count the label of a document."""
        self.documents += 1
        self.order.add(label)
        if label is None:
            return
        if label in self.labels or len(self.labels) < _KEPT:
            self.labels[label] = self.labels.get(label, 0) + 1
        if isinstance(label, float):
            self.fractions += 1
        elif isinstance(label, tuple):
            self.several += 1
        elif _WHOLE.fullmatch(label):
            self.whole += 1
        else:
            self.names += 1

    @property
    def numeric(self) -> bool:
        """Whether all labels are numbers, and some have a fraction."""
        return bool(self.fractions) and not self.names and not self.several

    @property
    def all_whole(self) -> bool:
        """Whether all labels are whole numbers."""
        return bool(self.whole) and self.whole == self.order.n

    @property
    def nearly_all_differ(self) -> bool:
        """Whether most of many labels are different, as ids or texts are."""
        return not self.several and len(self.labels) > max(_MANY, sum(self.labels.values()) // 2)

    def decimal_comma(self) -> str | None:
        """Return a label with a decimal comma, if all labels are whole numbers or have one.

        >>> look = Look()
        >>> for label in ("0,5", "1", "12,25"):
        ...     look.add(label)
        >>> look.decimal_comma()
        '0,5'
        """
        texts = [label for label in self.labels if isinstance(label, str)]
        if len(texts) < len(self.labels) or not all(map(_COMMA.fullmatch, texts)):
            return None
        return next((text for text in texts if "," in text), None)

    def separator(self) -> tuple[str, str] | None:
        """Return the likely separator of several labels in a text, and an example; None: there is none.

        Parts of labels must repeat: there are fewer different parts than different labels, and a tenth of the
        labels have more than one part.

        >>> look = Look()
        >>> for label in ("a;b", "b;c", "a;c", "a;b;c", "b"):
        ...     look.add(label)
        >>> look.separator()
        (';', 'a;b')
        """
        texts = [label for label in self.labels if isinstance(label, str)]
        for mark in _BETWEEN:
            joined = [text for text in texts if mark in text.strip(mark)]
            parts = {part.strip() for text in texts for part in text.split(mark)}
            if len(joined) > max(1, len(texts) / 10) and len(parts) < len(texts):
                return mark, joined[0]
        return None


def look_at(
    paths: Paths, *, format: str | None = None, skip: int = 0, limit: int | None = None, **fields: Any
) -> Look:
    r"""Read the labels of files, and return what they look like.

    Malformed records are skipped, because `read` reports them; if there is hardly anything else, the look
    ends early.

    Parameters
    ----------
    paths : path or sequence of paths
        Files that can be read again.
    format : str, optional
    skip : int
        Documents to skip first.
    limit : int, optional
        Largest number of documents.
    **fields
        ``label``, ``target``, ``separator`` and ``encoding`` of `read`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "docs.csv")
    ...     _ = path.write_text("date,text,label\n2024-01-02,a,0.5\n2024-01-03,b,2\n2024-01-04,c,1.0\n")
    ...     look = look_at(path)
    >>> look.documents, look.numeric, look.time
    (3, True, 'date')
    """
    end = None if limit is None else skip + limit
    time = _field_of_time(paths, format)
    for named in [time, None] if time is not None else [None]:
        look, times, wrong = Look(), _Times(), _Wrong()
        problems = Problems(keep=0, on_problem=wrong.add)
        labels = read_labels(paths, format=format, id=named, problems=problems, **fields)
        with suppress(_EnoughSeen):
            for document in islice(wrong.passed(labels), skip, end):
                look.add(document.label)
                if named is not None:
                    times.add(document.id)
        if named is None:
            return look
        if not problems:  # else the field may be missing in some records: look again without it
            look.time = named if times.ascending else None
            return look
    raise AssertionError  # the last look has no field of time


class _EnoughSeen(Exception):
    """There is hardly anything but malformed input."""


class _Wrong:
    """Ends a look after many malformed records in a row."""

    def __init__(self) -> None:
        self._in_a_row = _IN_A_ROW - 1  # before the first document

    def add(self, problem: Problem) -> None:
        self._in_a_row += 1
        if self._in_a_row >= _IN_A_ROW:
            raise _EnoughSeen

    def passed(self, documents: Iterator[Document]) -> Iterator[Document]:
        for document in documents:
            self._in_a_row = 0
            yield document


class _Times:
    """Whether dates or times, as numbers or as texts that sort like them, increase."""

    def __init__(self) -> None:
        self._last: float | str | None = None
        self._falls = False
        self._steps = 0

    def add(self, value: str) -> None:
        now = _time(value)
        if now is None or (self._last is not None and type(now) is not type(self._last)):
            self._falls = True
        elif self._last is not None and not self._falls:
            self._falls = now < self._last  # type: ignore[operator]  # both are texts, or numbers
            self._steps += now > self._last  # type: ignore[operator]
        self._last = now

    @property
    def ascending(self) -> bool:
        return not self._falls and self._steps > 1


def _time(value: str) -> float | str | None:
    """Return a number, or a text that begins with a year as in ISO 8601; None: neither.

    >>> _time("2012-05-01 10:00"), _time("1335866400"), _time("May 1")
    ('2012-05-01 10:00', 1335866400.0, None)
    """
    if _DATE.match(value):
        return value
    try:
        return float(value)
    except ValueError:
        return None


def _field_of_time(paths: Paths, format: str | None) -> str | None:
    """Return the field of the first record that is named like a time, in formats with fields."""
    source = expand(paths)[0]
    form = format or source.guess_format()
    names: list[str] = []
    with suppress(Exception):  # the reader will report problems
        if form == "parquet":
            import pyarrow.parquet as pq

            names = pq.read_schema(source.path).names
        elif form in ("jsonl", "csv", "tsv"):
            with source.open() as stream:
                line = stream.readline(_BEGINNING).decode("utf-8-sig")
            if form == "jsonl":
                names = list(json.loads(line))
            else:
                names = max((next(csv.reader([line], delimiter=mark)) for mark in ",;\t|"), key=len)
    return next((name for name in names if isinstance(name, str) and _TIME.fullmatch(name)), None)
