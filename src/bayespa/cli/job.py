"""Learning documents into a model file, as ``bayespa train`` and ``bayespa update`` do."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import bayespa
from bayespa.cli.options import Reading, show
from bayespa.cli.progress import Line, count_documents
from bayespa.corpus import Document
from bayespa.corpus.sources import expand
from bayespa.text.model import TextModel
from bayespa.text.stream import Interrupted, Interrupts, StreamRun, learn_stream


class Job:
    """Learns documents into a model, with progress, checkpoints and a summary."""

    def __init__(self, model: TextModel, source: Reading, path: Path, checkpoint: Path, every: int) -> None:
        self._model, self._source, self._path = model, source, path
        self._checkpoint, self._every = checkpoint, every

    def run(
        self,
        inputs: tuple[str, ...],
        documents: Iterator[Document],
        batch_size: int | None,
        as_json: bool,
        keep_rest: bool = False,
    ) -> None:
        """Learn the documents, save the model, and print a summary."""
        begin, model, interrupts = time.monotonic(), self._model, Interrupts()
        before = 0 if model.run is None else int(model.run["documents"])
        line = Line(count_documents(inputs, self._source.format), before)
        self._source.clear = line.clear
        run: StreamRun | None = None
        stream = learn_stream(
            model,
            documents,
            interrupts,
            batch_size=batch_size,
            ahead=all(os.path.isfile(source.path) for source in expand(inputs)),
            keep_rest=keep_rest,
            checkpoint=self._save,
            every=self._every,
        )
        with interrupts.held():
            try:
                for run in stream:
                    line.show(run)
            except Interrupted:
                line.clear()
                self._interrupted(run)
                raise
            line.clear()
            if run is None and not before:
                raise ValueError("the input has no documents")
            model.run = None
            bayespa.save(model, self._path)
        self._source.finish()
        show(self._summary(run, before, time.monotonic() - begin), as_json)

    def _save(self, run: StreamRun) -> None:
        self._model.run = run.to_state()
        bayespa.save(self._model, self._checkpoint)

    def _interrupted(self, run: StreamRun | None) -> None:
        self._source.finish()
        if run is None:
            click.echo("interrupted; nothing was learned", err=True)
            return
        self._save(run)
        click.echo(f"interrupted; {run.documents:,} documents are learned, in {self._checkpoint}", err=True)

    def _summary(self, run: StreamRun | None, before: int, seconds: float) -> dict[str, Any]:
        model = self._model
        documents = before if run is None else run.documents
        scores = {} if run is None or run.scores is None else run.scores.summary()
        return {
            "model": str(self._path),
            "documents": documents,
            "without a label": self._source.unlabelled,
            "malformed": len(self._source.problems),
            "not UTF-8": self._source.problems.guessed,
            "words": model.n_words,
            **({} if model.target == "number" else {"classes": len(model.classes)}),
            **{f"{name} before learning": value for name, value in scores.items()},
            "seconds": round(seconds, 2),
            "documents a second": round((documents - before) / max(seconds, 1e-9)),
        }
