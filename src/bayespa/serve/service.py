"""A model that answers while it learns: a log, a thread that learns from it, and a published state.

A document to learn passes two threads. The first, `Writer`, puts it into the log, with all others that have
come meanwhile, and acknowledges it. The second learns mini-batches, publishes the model after each, and saves
it now and then. The log says which documents form a mini-batch, so a service that was killed learns exactly
the same again. Readers answer from the published model, and wait for nobody.
"""

from __future__ import annotations

import itertools
import logging
import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bayespa
from bayespa.corpus import Document
from bayespa.corpus.documents import brief
from bayespa.serve.log import Log, LogError, Record
from bayespa.serve.store import Database
from bayespa.serve.writer import Entry, Labelled, Refused, Submission, Writer, checksum
from bayespa.text import files
from bayespa.text.model import TextModel
from bayespa.text.predictor import Answers
from bayespa.text.saving import load_text_model
from bayespa.text.stream import StreamRun, learn_batch
from bayespa.text.targets import as_target, names_of, plain_label

_LOGGER = logging.getLogger("bayespa.serve")
_SLOWEST_RATE = 10.0  # documents learned per second, to estimate how long to wait


class Busy(Exception):
    """Too much waits; `retry_after` says in how many seconds to try again."""

    def __init__(self, retry_after: int, why: str = "too many documents wait to be learned") -> None:
        super().__init__(f"{why}; try again in {retry_after} s")
        self.retry_after = retry_after


class Stopped(Exception):
    """The service has stopped learning."""


@dataclass(frozen=True)
class Published:
    """A model that does not change any more, and how many documents of the log it has learned."""

    version: int
    model: TextModel


class Predicted(NamedTuple):
    """An event: n texts were predicted."""

    version: int  # of the model
    ids: list[str]
    texts: Sequence[str]
    answers: Answers

    @property
    def uncertainty(self) -> list[float]:
        """How unsure the model is of each text.

        For one class, the probability that it is wrong. For several classes, the probability that the least
        certain decision is wrong. For numbers, the standard deviation.
        """
        said = self.answers
        if said.probabilities is None:
            return said.deviations or []
        several = any(isinstance(label, tuple) for label in said.labels)
        P = said.probabilities
        doubt = np.minimum(P, 1.0 - P).max(axis=1) if several else 1.0 - P.max(axis=1)
        unsure: list[float] = doubt.round(6).tolist()
        return unsure

    def described(self, top: int) -> list[dict[str, Any]]:
        """Return plain data for each text: id, label, uncertainty, probabilities of the `top` classes."""
        said = self.answers
        best: list[dict[str, float] | None] = [None] * len(self.ids)
        if said.probabilities is not None:
            P, names = said.probabilities, said.class_names
            order = np.argsort(-P, axis=1, kind="stable")[:, :top]
            values = np.take_along_axis(P, order, axis=1).round(6).tolist()
            best = [
                {names[i]: p for i, p in zip(row, ps, strict=True)}
                for row, ps in zip(order.tolist(), values, strict=True)
            ]
        fields = ("id", "label", "uncertainty", "probabilities")
        rows = zip(self.ids, said.labels, self.uncertainty, best, strict=True)
        return [dict(zip(fields, row, strict=True)) for row in rows]


class LearnedBatch(NamedTuple):
    """An event: a mini-batch was learned. Records say whether labels were given or reviewed."""

    version: int  # of the model that has learned it
    records: list[Record]
    answers: Answers  # what the model had said of them before


Event = Predicted | LearnedBatch


@dataclass(frozen=True)
class Settings:
    """How a service learns and saves.

    Attributes
    ----------
    batch_size : int, optional
        Largest mini-batch; by default that of the model.
    delay : float
        Seconds that a document waits for others to fill its mini-batch.
    capacity : int
        How many documents may wait to be learned.
    save_every : int
        The model is saved after so many learned documents,
    save_seconds : float
        and after so many seconds, if it has learned anything.
    trim : bool
        Whether to remove files of the log that the saved model has learned completely, and old ids.
    remembered : int
        How many ids of documents to keep at least, if files of the log are removed.
    waiting : int
        How many predictions to keep until their label is known.
    max_classes : int
        How many classes the model may have; labels beyond that are refused.
    """

    batch_size: int | None = None
    delay: float = 0.1
    capacity: int = 10_000
    save_every: int = 20_000
    save_seconds: float = 60.0
    trim: bool = False
    remembered: int = 1_000_000
    waiting: int = 100_000
    max_classes: int = 1000


class Service:
    """Serves the model of a file, which learns.

    The log and a database are in the folder ``NAME.serve``, next to the file ``NAME``. Meanwhile no other
    program can update the model.

    Parameters
    ----------
    path : Path
        Model file that `bayespa.save` or ``bayespa train`` wrote.
    settings : Settings, optional
    jobs : int
        Threads for a mini-batch and for a prediction; the number changes no result.

    Attributes
    ----------
    published : Published
        The model that readers answer from.
    failure : BaseException or None
        Why learning has stopped; None while it works.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> model = bayespa.TextModel("linear", random_state=0)
    >>> _ = model.learn(["good film", "bad film"], ["positive", "negative"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.bayespa")
    ...     bayespa.save(model, path)
    ...     with Service(path) as service:
    ...         (entry,) = service.learn([Labelled("a great film", "positive", "review 1")]).result()
    ...         learned = service.wait_for(entry.seq)
    ...         service.predict(["great"]).answers.labels, service.published.version
    (['positive'], 1)
    """

    def __init__(self, path: Path, settings: Settings | None = None, *, jobs: int = 1) -> None:
        self.path, self.settings, self._jobs = path, settings or Settings(), jobs
        self.folder = path.with_name(f"{path.name}.serve")
        self.failure: BaseException | None = None
        self._subscribers: list[Callable[[Event], None]] = []
        self._stack = ExitStack()
        self._lock = threading.Lock()
        self._open = False
        self._backlog = 0  # documents submitted and not yet learned
        self._rate = _SLOWEST_RATE
        self._batches: queue.SimpleQueue[list[Record] | None] = queue.SimpleQueue()
        self._news = threading.Condition()
        self._prefix, self._numbers = f"p{secrets.token_hex(6)}-", itertools.count()

    # Life

    def __enter__(self) -> Service:
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _start(self) -> None:
        """Load the model and its log, and learn the part of the log that the model has not learned."""
        self._stack.enter_context(files.locked(self.path, wait=False))
        self._model = model = load_text_model(self.path, self._jobs)
        self._classes = frozenset(model.classes.names)  # and those of documents that wait
        self._log = Log(self.folder / "log")
        self._stack.callback(self._log.close)
        self.store = Database(self.folder / "store.sqlite", self.settings.waiting)
        self._stack.callback(self.store.close)
        self._run = self._begun()
        self._saved, self.saved_at = self._run.documents, time.time()
        batch_size = min(self.settings.batch_size or model.batch_size, self.settings.capacity)
        self._writer = Writer(
            self._log, self.store, batch_size, self.settings.delay, self._batches.put, self._batches.empty
        )
        self.store.add_learned((r, checksum(r.text, r.label)) for r in self._log.read(self.store.seq))
        self.published = Published(self._run.documents, copy(self._model))
        for _, records in itertools.groupby(self._log.read(self._run.documents), lambda record: record.batch):
            self._learn_batch(list(records))
        self._learner = threading.Thread(target=self._learn_all, name="bayespa-learn", daemon=True)
        self._writer.start()
        self._learner.start()
        self._open = True

    def _begun(self) -> StreamRun:
        """Return how much of the log the model has learned."""
        run = self._model.run
        if run is not None and (run.get("started") or {}).get("log") == self._log.id:
            return StreamRun.from_state(run)
        if self._log.next_seq > 1:
            raise LogError(
                f"{self.path} is not the model that {self.folder} belongs to; bring back the model, or move "
                "the folder away to begin a new log"
            )
        begun = StreamRun(0, 0, None, {"command": "serve", "log": self._log.id})
        bayespa.save(self._model.with_run(begun.to_state()), self.path)
        return begun

    def close(self) -> None:
        """Learn everything that was acknowledged, save the model and end."""
        with self._lock:
            was_open, self._open = self._open, False
        if was_open:
            self._writer.end()
            self._learner.join()
        self._stack.close()

    # Reading

    def predict(self, texts: Sequence[str], ids: Sequence[str] | None = None) -> Predicted:
        """Predict texts with the published model, and keep them, so that they can be labelled by id later."""
        if ids is None:
            ids = [f"{self._prefix}{n:x}" for n in itertools.islice(self._numbers, len(texts))]
        event = self.answer(texts, ids)
        self.store.keep_waiting(list(zip(ids, texts, strict=True)))
        self._tell(event)
        return event

    def answer(self, texts: Sequence[str], ids: Sequence[str]) -> Predicted:
        """Predict texts with the published model, and keep nothing."""
        published = self.published
        answers = published.model.answer(texts)
        return Predicted(published.version, list(ids), texts, answers)

    @property
    def backlog(self) -> int:
        """Documents that wait to be learned."""
        return self._backlog

    @property
    def progress(self) -> StreamRun:
        """How much of the log the model has learned, and its accuracy before it learned."""
        return self._run

    def records(self) -> Iterator[Record]:
        """Yield the documents that the published model has learned, except those trimmed from the log."""
        first = self._log.first_seq
        return itertools.islice(self._log.read(first - 1), max(0, self.published.version + 1 - first))

    def subscribe(self, callback: Callable[[Event], None]) -> None:
        """Call `callback` with every event, in the thread where it happens; it must be fast."""
        self._subscribers.append(callback)

    def _tell(self, event: Event) -> None:
        for callback in self._subscribers:
            try:
                callback(event)
            except Exception:
                _LOGGER.exception("a subscriber has failed")

    # Learning

    def learn(self, documents: Sequence[Labelled], *, at_once: bool = False) -> Future[list[Entry]]:
        """Put documents into the log, and learn them from there.

        Parameters
        ----------
        documents : sequence of Labelled
            A document whose id is already in the log is not learned again.
        at_once : bool
            Whether to learn without waiting for more documents.

        Returns
        -------
        Future of a list of Entry
            Done when all of them are safe on the disk. It fails, and none of them is learned, with `Refused`
            if an id belongs to another text or label, and with OSError if they cannot be written.

        Raises
        ------
        Refused
            If the model cannot learn one of them.
        Busy, Stopped
        """
        submission = Submission([self._checked(document) for document in documents], at_once, Future())
        submission.logged.set_running_or_notify_cancel()  # a caller who gives up does not cancel it
        n = len(documents)
        with self._lock:
            if not self._open or self.failure is not None:
                raise Stopped("the service does not learn any more; its messages say why")
            if self._backlog + n > self.settings.capacity:
                raise Busy(1 + int(self._backlog / self._rate))
            self._backlog += n
            self._writer.submit(submission)
        submission.logged.add_done_callback(lambda logged: self._forget_known(logged, n))
        return submission.logged

    def _forget_known(self, logged: Future[list[Entry]], n: int) -> None:
        """Remove from the backlog what does not need to be learned."""
        new = 0 if logged.exception() is not None else sum(entry.new for entry in logged.result())
        with self._lock:
            self._backlog -= n - new

    def wait_for(self, version: int, timeout: float | None = None) -> bool:
        """Wait until the published model has learned `version` documents; return whether it has."""
        with self._news:
            return self._news.wait_for(lambda: self.published.version >= version, timeout)

    def _checked(self, document: Labelled) -> Labelled:
        """Return the document with its label as the model takes it."""
        target = self._model.target
        assert target is not None  # it has learned
        why = "it has no label"
        if document.label is not None:
            why = self._model.refusal(Document(document.text, document.label, document.id), target) or ""
        if why:
            raise Refused(f"document {document.id!r} cannot be learned: {why}")
        label = as_target(plain_label(document.label), target, 0)
        if target != "number" and label is not None:
            self._require_few_classes(names_of(label))
        return document._replace(label=label)

    def _require_few_classes(self, names: tuple[str, ...]) -> None:
        """Refuse a label that would exceed the limit of classes."""
        with self._lock:
            classes = self._classes.union(names)
            if len(classes) > max(len(self._classes), self.settings.max_classes):
                most = self.settings.max_classes
                raise Refused(f"label {brief(names)} is a class too many; {most} is the most")
            self._classes = classes

    def _learn_all(self) -> None:
        """Learn mini-batches until the end, and save the model now and then."""
        try:
            while True:
                wait = max(0.0, self.saved_at + self.settings.save_seconds - time.time())
                try:
                    records = self._batches.get(timeout=wait if self._unsaved else None)
                except queue.Empty:
                    self.save()
                    continue
                if records is None:
                    break
                self._learn_batch(records)
                with self._lock:
                    self._backlog -= len(records)
                if self._unsaved >= self.settings.save_every:
                    self.save()
            if self._unsaved:
                self.save()
        except BaseException as error:
            self.failure = error
            _LOGGER.exception(
                "learning has failed after document %d; all that was acknowledged is in %s and is learned "
                "when the service is started again",
                self.published.version,
                self.folder,
            )

    @property
    def _unsaved(self) -> int:
        return self.published.version - self._saved

    def _learn_batch(self, records: list[Record]) -> None:
        """Learn a mini-batch and publish the model."""
        begin, model = time.monotonic(), self._model
        documents = [Document(record.text, record.label, record.id, record.offset) for record in records]
        try:
            counted = model.count([record.text for record in records])
            before = model.answer_counts(counted.counts)
            self._run = learn_batch(model, documents, counted, self._run)
        except BaseException:
            model.take_back()
            raise
        snapshot = copy(model)
        snapshot.answer_counts(counted.counts[:1])  # moments and totals are computed here, not by readers
        self._writer.keep_ids(records)
        self._tell(LearnedBatch(records[-1].seq, records, before))  # before waiting callers are woken up
        with self._news:
            self.published = Published(records[-1].seq, snapshot)
            self._news.notify_all()
        rate = len(records) / max(time.monotonic() - begin, 1e-6)
        self._rate = max(_SLOWEST_RATE, 0.9 * self._rate + 0.1 * rate)

    def save(self) -> None:
        """Replace the model file by the published model, and trim the log."""
        published = self.published
        bayespa.save(published.model, self.path)
        self._saved, self.saved_at = published.version, time.time()
        if self.settings.trim:
            self.store.sync()
            self._log.trim(published.version)
            self.store.forget(min(self._log.first_seq, published.version + 1 - self.settings.remembered))
