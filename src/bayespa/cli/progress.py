"""The progress line: documents, speed, time left, running accuracy."""

from __future__ import annotations

import os
import sys
import time
from typing import IO

import click

from bayespa.corpus.sources import expand
from bayespa.text.stream import StreamRun

_SAMPLE = 1 << 20  # bytes
_EVERY = 0.1  # seconds
_EVERY_LINE = 10.0  # seconds, without a terminal


class Line:
    """On a terminal one line that is rewritten; elsewhere a new line every ten seconds."""

    def __init__(self, total: int | None, before: int = 0, stream: IO[str] | None = None) -> None:
        self._stream = stream or sys.stderr
        self._on = self._stream.isatty()
        self._total = total
        self._before = before  # documents of an earlier run; they do not count for the speed
        self._begin = self._shown = time.monotonic()

    def show(self, run: StreamRun) -> None:
        """Show the progress of a run."""
        now = time.monotonic()
        if now - self._shown < (_EVERY if self._on else _EVERY_LINE):
            return
        self._shown = now
        text = self.text(run, now - self._begin)
        click.echo(f"\r\x1b[K{text}" if self._on else text, file=self._stream, nl=not self._on)

    def text(self, run: StreamRun, seconds: float) -> str:
        """Return the line."""
        speed = (run.documents - self._before) / max(seconds, 1e-9)
        parts = [f"{run.documents:,} documents", f"{speed:,.0f}/s"]
        if self._total is not None:
            share = min(1.0, run.documents / max(1, self._total))
            parts.append(f"{share:.0%}, {_clock((self._total - run.documents) / max(speed, 1e-9))} left")
        if run.scores is not None and run.scores.n:
            name, value = next(iter(run.scores.summary().items()))
            parts.append(f"{name} {value:.3f}")
        return " · ".join(parts)

    def clear(self) -> None:
        """Remove the line, so that something else can be printed."""
        if self._on:
            click.echo("\r\x1b[K", file=self._stream, nl=False)


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def count_documents(inputs: tuple[str, ...], format: str | None) -> int | None:
    """Return about how many documents there are, if it can be estimated without reading them."""
    total = 0
    for source in expand(inputs):
        form = format or source.guess_format()
        if form == "files":
            total += 1
        elif form == "parquet" and source.path != "-":
            try:
                import pyarrow.parquet as pq

                total += pq.read_metadata(source.path).num_rows
            except (ImportError, OSError, ValueError):  # the reader will report it
                return None
        elif form in ("jsonl", "lines", "csv", "tsv", "libsvm", "gml") and os.path.isfile(source.path):
            if source.compressed:
                return None
            with open(source.path, "rb") as file:
                sample = file.read(_SAMPLE)
            size = os.path.getsize(source.path)
            total += round(sample.count(b"\n") * size / max(1, len(sample)))
        else:
            return None
    return total
