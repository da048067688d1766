"""What ``bayespa train`` and ``bayespa update`` share: learn documents into a model file."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import bayespa
from bayespa.cli.answers import NAMED, predicted
from bayespa.cli.options import TOP, show
from bayespa.cli.progress import Line, count_documents
from bayespa.cli.reading import Reading
from bayespa.corpus import Document
from bayespa.corpus.documents import brief
from bayespa.corpus.order import LabelOrder
from bayespa.corpus.sources import expand
from bayespa.learning import HERE
from bayespa.sources import BrokerSink
from bayespa.text.interrupts import Interrupted, Interrupts
from bayespa.text.model import TextModel
from bayespa.text.saving import load_text_model
from bayespa.text.stream import StreamRun, learn_stream

GOES_ON = (
    "interrupted; learning continues to the next place from which --resume gives the same model, for at most "
    "16 mini-batches for each that is in progress; another signal ends it sooner"
)


def require_output(path: Path, inputs: tuple[str, ...]) -> None:
    """Raise an error unless a model can be written to `path`, and `path` is not an input."""
    if not path.parent.is_dir():
        raise ValueError(f"cannot write {path.name}: there is no folder {str(path.parent)!r}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise PermissionError(
            f"no permission to write to the folder {str(path.parent)!r}; use another for {path.name}"
        )
    if path.exists() and not path.is_file():
        raise OSError(f"{path} exists and is not a regular file; use another name")
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(f"no permission to write to {path}; use another name, or change its mode")
    for source in () if inputs == ("-",) else expand(inputs):
        if path.exists() and os.path.exists(source.path) and os.path.samefile(path, source.path):
            raise ValueError(f"{path} is an input, and the model would replace it; use another name")


def resumed(
    checkpoint: Path, finished: Path, jobs: int, options: dict[str, Any], given: set[str]
) -> tuple[TextModel, dict[str, Any]] | None:
    """Return the model of an earlier run, and the options it was started with; None: there is no such run.

    Parameters
    ----------
    checkpoint, finished : Path
        Files of a run that was interrupted, or is finished.
    jobs : int
    options : dict
        Options of this run, in plain data.
    given : set of str
        Options that the user gave. They must be the same as in the earlier run.
    """
    for path in (checkpoint, finished):
        model = load_text_model(path, jobs) if path.exists() else None
        if model is None or model.run is None:
            continue
        before = model.run.get("started") or {}
        same = all(before.get(name, options[name]) == options[name] for name in ("command", "inputs"))
        if path == finished and not same:
            continue  # the file is the result of another run
        differ = [
            f"{name} was {before[name]!r} and is {options[name]!r}"
            for name in options
            if name in before and before[name] != options[name] and name in {"command", "inputs", *given}
        ]
        if differ:
            raise click.UsageError(
                f"--resume cannot continue the run of {path}, which had other options: {'; '.join(differ)}; "
                "give the same options, or start again without --resume"
            )
        return model, {**options, **before}
    return None


class Job:
    """Learns documents into a model, with progress, checkpoints and a summary."""

    def __init__(
        self,
        model: TextModel,
        source: Reading,
        path: Path,
        checkpoint: Path,
        every: int,
        seconds: float | None,
        started: dict[str, Any],
        predictions: BrokerSink | None = None,
    ) -> None:
        self._predictions = predictions  # predictions, made before learning, go there
        self._model, self._source, self._path = model, source, path
        self._checkpoint, self._every, self._seconds, self._started = checkpoint, every, seconds, started
        self._order = LabelOrder()  # of the documents learned
        self._known = set(model.classes.names) if model.fitted else None  # classes, before an update
        self._changes = model.changes

    def run(
        self,
        inputs: tuple[str, ...],
        documents: Iterator[Document],
        batch_size: int | None,
        as_json: bool,
        together: int = 0,
        keep_rest: bool = False,
        sought: bool = False,
        workers: Any = None,
    ) -> None:
        """Learn the documents, save the model, and print a summary."""
        begin, model, interrupts = time.monotonic(), self._model, Interrupts()
        before = 0 if model.run is None else int(model.run["documents"])
        line = Line(self._source.expected(count_documents(inputs, self._source.format)), before)
        self._source.clear = line.clear
        run: StreamRun | None = None
        stream = learn_stream(
            model,
            self._watched(documents),
            interrupts,
            batch_size=batch_size,
            together=together,
            ahead=all(source.remote or os.path.isfile(source.path) for source in expand(inputs)),
            keep_rest=keep_rest,
            checkpoint=self._save,
            every=self._every,
            seconds=self._seconds,
            problems=None if self._source.strict else self._source.problems,
            started=self._started,
            sought=sought,
            tell=self._tell,
            workers=workers or HERE,
        )
        with interrupts.held():
            try:
                told = False
                for run in stream:
                    line.show(run)
                    if interrupts.pending and model.lag > 1 and not told:
                        line.clear()
                        click.echo(GOES_ON, err=True)
                        told = True
            except BaseException as reason:  # whatever ends the run, save what it learned
                line.clear()
                self._ended(run, reason)
                source = self._source
                if isinstance(reason, ValueError) and run is None and source.empty == source.read > 0:
                    raise ValueError(
                        f"all {source.read:,} texts are empty; name another field, now {source.texts}"
                    ) from reason
                raise
            line.clear()
            if run is None and not before and not sought:
                self._source.finish()
                raise self._source.nothing()
            self._save_to(self._path)
        self._source.finish()
        self._name_new_classes()
        self._name_changes()
        if not self._order.mixed:
            click.echo(
                f"in the order learned, {self._order}: one label predicts the next, so the scores before "
                "learning are too high; evaluate the model on other documents",
                err=True,
            )
        summary = self._summary(run, before, time.monotonic() - begin)
        if workers is not None:
            summary["workers"] = len(workers.busy)
            summary["their seconds"] = round(sum(workers.busy.values()), 2)
        show(summary, as_json)

    def _name_new_classes(self) -> None:
        """Say which classes an update has added: a wrong field of labels adds many."""
        if self._known is None:
            return
        new = [name for name in self._model.classes.names if name not in self._known]
        if new:
            shown = _named(new)
            some = "1 class is" if len(new) == 1 else f"{len(new):,} classes are"
            click.echo(f"{some} new to the model: {shown}", err=True)

    def _name_changes(self) -> None:
        """Say of which classes the model has forgotten what it knew, because they had changed."""
        changed = [name for name, n in self._model.changes.items() if n > self._changes.get(name, 0)]
        if changed:
            some = "1 class has" if len(changed) == 1 else f"{len(changed):,} classes have"
            click.echo(
                f"{some} changed, and what was learned of earlier documents was forgotten: "
                f"{_named(changed)} (a model trained with --set discount=1 forgets nothing)",
                err=True,
            )

    def _watched(self, documents: Iterator[Document]) -> Iterator[Document]:
        for document in documents:
            self._order.add(document.label)
            yield document

    def _tell(self, documents: list[Document]) -> None:
        if self._predictions is not None:
            lines = predicted(self._model, documents, TOP, as_json=True)
            for document, line in zip(documents, lines, strict=True):
                self._predictions.send(document.id, line)

    def _save(self, run: StreamRun) -> None:
        self._save_to(self._checkpoint)

    def _save_to(self, path: Path) -> None:
        """Save the model, after sending predictions, so that no prediction of a learned document is lost."""
        if self._predictions is not None:
            self._predictions.flush()
        bayespa.save(self._model, path)

    def _ended(self, run: StreamRun | None, reason: BaseException) -> None:
        """Save what was learned before the run ended, and print how much."""
        self._source.finish()
        what = "interrupted" if isinstance(reason, Interrupted) else "the run ended early"
        if run is None:
            click.echo(f"{what}; nothing was learned", err=True)
            return
        self._save(run)
        click.echo(f"{what}; {run.documents:,} documents learned, saved in {self._checkpoint}", err=True)

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
            **({} if self._order.mixed else {"flattered by the order": True}),
            "seconds": round(seconds, 2),
            "documents a second": round((documents - before) / max(seconds, 1e-9)),
        }


def _named(names: list[str]) -> str:
    """Return some names, the first ones of many."""
    return ", ".join(map(brief, names[:NAMED])) + (", ..." if len(names) > NAMED else "")
