"""Read documents as the options of the program say."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import click

from bayespa.cli.options import in_flags
from bayespa.corpus import Document, MalformedInput, OnlineVocabulary, Problem, Problems, read
from bayespa.corpus.documents import Fields, is_blank
from bayespa.corpus.look import Look, look_at
from bayespa.corpus.sources import expand
from bayespa.sources import BrokerSource, read_stream

SHOWN = 5  # malformed records that are reported one by one
HOPELESS = 100  # malformed records before the first good one: the options must be wrong


def fields_of_messages(fields: dict[str, Any]) -> Fields:
    """Return the fields of messages, given options or `TextModel.reading`."""
    named = {name: value for name, value in fields.items() if name != "encoding"}
    return Fields(**{**named, **({"text": tuple(named["text"])} if "text" in named else {})})


class Reading:
    """The options for reading; those not given come from the model."""

    def __init__(self, options: dict[str, Any], learned: dict[str, Any] | None = None) -> None:
        self._skip, self._limit = options["skip"], options["limit"]
        self.strict, self.format = options["strict"], options["format"]
        names = ("label", "id", "target", "separator", "encoding")
        given = {name: options[name] for name in names if options[name] is not None}
        if options["text"]:
            given["text"] = list(options["text"])
        if given.get("label") == "none":
            given["label"] = None
        self.fields = {**(learned or {}), **given}
        self.problems = Problems(keep=0, on_problem=self._report)
        self.read = self.unlabelled = self.empty = 0  # documents
        self.clear: Callable[[], object] = lambda: None  # removes the progress line

    def described(self) -> dict[str, Any]:
        """Return the options in plain data: see `again`."""
        return {"skip": self._skip, "limit": self._limit, "format": self.format, **self.fields}

    @classmethod
    def again(cls, options: dict[str, Any], described: dict[str, Any]) -> Reading:
        """Return a reading from `described` options; only `strict` is that of the new options."""
        reading = cls({**options, **{name: described[name] for name in ("skip", "limit", "format")}})
        names = ("text", "label", "id", "target", "separator", "encoding")
        reading.fields = {name: described[name] for name in names if name in described}
        return reading

    def documents(
        self, inputs: tuple[str, ...], workers: Any = None, vectorizer: Any = None
    ) -> Iterator[Document]:
        """Read the documents, or let workers do it; they also count for an `OnlineVocabulary`."""
        return self._counted(
            read(
                inputs,
                format=self.format,
                strict=self.strict,
                problems=self.problems,
                workers=workers,
                vocabulary=vectorizer if isinstance(vectorizer, OnlineVocabulary) else None,
                **self.fields,
            )
        )

    def stream(self, source: BrokerSource, drain: bool) -> Iterator[Document]:
        """Read the documents of a broker's stream."""
        problems = None if self.strict else self.problems
        return self._counted(read_stream(source, fields_of_messages(self.fields), problems, drain=drain))

    def _counted(self, documents: Iterator[Document]) -> Iterator[Document]:
        """Apply --skip and --limit, and count."""
        end = None if self._limit is None else self._skip + self._limit
        for document in islice(documents, self._skip, end):
            self.read += 1
            self.unlabelled += document.label is None
            self.empty += is_blank(document.content)
            yield document

    def look(self, inputs: tuple[str, ...]) -> Look | None:
        """Read the labels of files before learning; None: no labels, or not files."""
        if self.fields.get("label", "label") is None:
            return None
        if not all(os.path.isfile(source.path) for source in expand(inputs)):
            return None  # a pipe can be read only once
        names = ("label", "target", "separator", "encoding")
        fields = {name: self.fields[name] for name in names if name in self.fields}
        look = look_at(inputs, format=self.format, skip=self._skip, limit=self._limit, **fields)
        return look if look.order.n else None

    def expected(self, total: int | None) -> int | None:
        """Return how many of `total` documents will be read."""
        if total is None:
            return None
        left = max(0, total - int(self._skip))
        return left if self._limit is None else min(left, int(self._limit))

    @property
    def texts(self) -> str:
        """The option that names the fields of texts."""
        return " ".join(f"--text {name}" for name in self.fields.get("text", ["text"]))

    def _report(self, problem: Problem) -> None:
        if self.strict:
            return  # it will be raised
        if len(self.problems) <= SHOWN:
            self.clear()
            click.echo(f"malformed: {in_flags(str(problem))}", err=True)
        if len(self.problems) >= HOPELESS and not self.read:
            raise MalformedInput(
                f"the first {HOPELESS} records are all malformed; check the options. {problem}"
            )

    def nothing(self) -> ValueError:
        """Return the error that no document could be used."""
        if self.problems:
            return ValueError("the whole input is malformed: no document could be used")
        return ValueError("the input has no documents")

    def finish(self) -> None:
        """Print how much was malformed, empty, or not UTF-8."""
        if self.problems.guessed:
            click.echo(f"{self.problems.guesses()} (--encoding names another)", err=True)
        if self.empty:
            some = "1 document has" if self.empty == 1 else f"{self.empty:,} documents have"
            click.echo(f"{some} an empty text ({self.texts})", err=True)
        if n := len(self.problems):
            shown = f"; the first {SHOWN} are listed above" if n > SHOWN else ""
            left_out = "1 malformed record" if n == 1 else f"{n:,} malformed records"
            click.echo(f"left out {left_out}{shown}", err=True)
