"""A document: its words, its label and its id."""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespa.corpus.problems import MalformedInput

Label = str | float | tuple[str, ...] | None
Target = Literal["class", "classes", "number"]
_FRACTION = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?", re.ASCII)


class Bag(NamedTuple):
    """Words by number: columns (n,) in any order, and their counts (n,), int32 or float64."""

    columns: NDArray[np.int64]
    counts: NDArray[np.int32] | NDArray[np.float64]


class CountedText(NamedTuple):
    """A text whose words a worker has counted, for one vocabulary: see `bayespa.corpus.sifting`."""

    texts: Any  # CountedTexts
    row: int

    @property
    def blank(self) -> bool:
        """Whether the text has only white space."""
        return bool(self.texts.blank[self.row])


class Document(NamedTuple):
    """A text or a bag of words, with its label and an id that tells where it came from.

    The label is a class, several classes (a tuple, perhaps empty), a number, or None if there is none. A
    document of a broker's stream has an offset: the name of the stream, and the position after the document,
    in plain data.
    """

    content: str | Bag | CountedText
    label: Label
    id: str
    offset: tuple[str, Any] | None = None

    def to_line(self) -> str:
        """Return the document as JSON in one line."""
        content: Any = self.content
        if isinstance(content, Bag):
            content = [content.columns.tolist(), content.counts.tolist(), content.counts.dtype.str]
        return json.dumps([content, *self[1:]])

    @classmethod
    def from_line(cls, line: str | bytes) -> Document:
        """Return the document of a line that `to_line` has made.

        >>> document = Document(Bag(np.array([7]), np.array([0.1])), ("a", "b"), "1")
        >>> Document.from_line(document.to_line()) == document
        True
        """
        content, label, id_, offset = json.loads(line)
        if isinstance(content, list):
            columns, counts, kind = content
            content = Bag(np.array(columns, np.int64), np.array(counts, kind))
        label = tuple(label) if isinstance(label, list) else label
        return cls(content, label, id_, None if offset is None else (offset[0], offset[1]))


def checksum(content: str | Bag | CountedText) -> int:
    """Return the CRC-32 of a text, in UTF-8, or of the arrays of a bag.

    >>> checksum("some words")
    1606230551
    """
    if isinstance(content, str):
        return zlib.crc32(content.encode())
    if isinstance(content, Bag):
        return zlib.crc32(b"".join(part.tobytes() for part in content))
    found: int = content.texts.checksums[content.row]
    return found


def is_blank(content: str | Bag | CountedText) -> bool:
    """Return whether a text has only white space.

    >>> is_blank(" "), is_blank("x")
    (True, False)
    """
    if isinstance(content, CountedText):
        return content.blank
    return isinstance(content, str) and (not content or content.isspace())  # without a copy


@dataclass(frozen=True)
class Fields:
    """Which fields of a record are text, label and id, and how to read them."""

    text: tuple[str, ...] = ("text",)
    label: str | None = "label"
    id: str | None = None
    target: Target | None = None
    separator: str | None = None
    encoding: str | None = None  # None: UTF-8, else latin-1 in text formats
    max_bytes: int = 10_000_000

    @cached_property  # needed for every document
    def names(self) -> tuple[str, ...]:
        """The fields to read: those of the text, then label and id, if any."""
        return (*self.text, *(name for name in (self.label, self.id) if name is not None))

    def document(self, values: Sequence[Any], default_id: str) -> Document:
        """Make a document from the values of the fields `names` of a record."""
        n = len(self.text)
        for name, text in zip(self.text, values, strict=False):
            if not isinstance(text, str):
                raise MalformedInput(f"field {name!r} is {brief(text)}, not a text")
        label = None if self.label is None else self.make_label(values[n])
        id_ = default_id if self.id is None else name_of(values[-1], "identifier")
        return Document(values[0] if n == 1 else "\n".join(values[:n]), label, id_)

    def typed(self, cell: str) -> str | float:
        """Return the label in a cell of a table of texts: a text, or a fraction.

        Whole numbers stay texts, and so are classes by default. If options say what labels are, all stay
        texts.

        >>> [Fields().typed(cell) for cell in ("0.5", "-1.0", "7", "v1.0", "")]
        [0.5, -1.0, '7', 'v1.0', '']
        >>> Fields(target="class").typed("0.5")
        '0.5'
        """
        bare = cell.strip()  # of more kinds of white space than float() strips
        plain = self.target is None and self.separator is None
        return float(bare) if plain and _FRACTION.fullmatch(bare) else cell

    def make_label(self, value: object) -> Label:
        """Turn the value of the label's field into a label.

        None, NaN and an empty text are no label. Otherwise `target` decides. By default a list, or a text if
        there is a `separator`, is several classes; a float is a number; and anything else is the name of a
        class.

        >>> Fields().make_label(["a", "b"]), Fields(separator=";").make_label("a; b"), Fields().make_label(3)
        (('a', 'b'), ('a', 'b'), '3')
        >>> Fields(target="number").make_label("3"), Fields(target="classes").make_label("a")
        (3.0, ('a',))
        """
        if self.label is None or value is None or value == "" or value != value:
            return None
        if self.target == "number":
            return _number(value)
        if isinstance(value, str) and self.separator is not None:
            value = [part for part in map(str.strip, value.split(self.separator)) if part]
        if isinstance(value, list):
            classes = tuple(dict.fromkeys([name_of(one, "label") for one in value]))
            if self.target != "class":
                return classes
            if len(classes) > 1:
                raise MalformedInput(f"{len(classes)} labels {brief(value)}, but target='class' allows one")
            return classes[0] if classes else None
        if self.target is None and isinstance(value, float):
            return _number(value)
        name = name_of(value, "label")
        return (name,) if self.target == "classes" else name


def _number(value: object) -> float:
    try:
        number = float(value) if isinstance(value, str | float | int) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise MalformedInput(f"label {brief(value)} is not a finite number")
    return number


def name_of(value: object, what: str) -> str:
    """Return the name of a class or a document, given a text or a number."""
    if isinstance(value, str) and value:
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise MalformedInput(f"{what} {brief(value)} is neither a text nor a number")


def brief(value: object) -> str:
    """Return the repr of a value, in at most 60 characters."""
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
