"""Learn a stream of documents, with progressive validation, checkpoints and safe interrupts."""

from __future__ import annotations

import queue
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import chain, islice, pairwise, repeat
from typing import Any, NamedTuple

from bayespa.checks import require_number
from bayespa.corpus import Document, Label, MalformedInput, Problem, Problems, Target
from bayespa.corpus.documents import checksum as of_content
from bayespa.learning import HERE, Executor, Feed, Flight, level
from bayespa.text.interrupts import Interrupted, Interrupts
from bayespa.text.model import Counted, Launched, TextModel
from bayespa.text.predictor import Recorder
from bayespa.text.scores import MAIN, Scores
from bayespa.text.targets import target_of

PREDICTED = 32  # documents of a mini-batch to predict before learning, unless learning predicts them
_MOST_LABELS = 10_000  # different ones that are remembered


@dataclass(frozen=True)
class StreamRun:
    """Progress in a stream."""

    documents: int  # number of documents learned from this stream
    checksum: int  # of their contents, to recognise the same stream
    scores: Scores | None  # of predictions made before learning; None: not begun
    started: dict[str, Any] | None = None  # plain data about how it was started

    def to_state(self) -> dict[str, Any]:
        """Return plain data for `from_state`."""
        scores = None if self.scores is None else self.scores.to_state()
        run = {"documents": self.documents, "checksum": self.checksum, "scores": scores}
        return run if self.started is None else {**run, "started": self.started}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> StreamRun:
        """Restore the run that `to_state` described."""
        for name in ("documents", "checksum"):
            require_number(name, state[name], 0, 2**53, whole=True)
        scores = None if state["scores"] is None else Scores.from_state(state["scores"])
        return cls(state["documents"], state["checksum"], scores, state.get("started"))

    def skip(self, stream: Iterator[Document]) -> None:
        """Skip the documents that were learned already, and check that they are the same."""
        checksum = n = 0
        for document in islice(stream, self.documents):
            checksum, n = _checksum([document], checksum), n + 1
        if (n, checksum) != (self.documents, self.checksum):
            raise ValueError(
                f"the first {self.documents} documents differ from those of the checkpoint; resume with the "
                "same input and options, or start again"
            )

    def after(self, chunk: list[Document], scores: Scores, checksum: int | None = None) -> StreamRun:
        """Return the run after these documents, with the checksum if it is known."""
        checksum = _checksum(chunk, self.checksum) if checksum is None else checksum
        return StreamRun(self.documents + len(chunk), checksum, scores, self.started)


def _checksum(documents: list[Document], checksum: int) -> int:
    """Return the checksum of a stream after these further documents."""
    told = [f"{of_content(content)}{label!r}" for content, label, *_ in documents]
    return zlib.crc32("".join(told).encode(), checksum)


class StreamBatch(NamedTuple):
    """A mini-batch that was read."""

    documents: list[Document]
    counted: Counted  # their words
    checksum: int  # of the stream up to its end; computed here, while the texts are in the cache


def learn_stream(
    model: TextModel,
    documents: Iterable[Document],
    interrupts: Interrupts | None = None,
    *,
    batch_size: int | None = None,
    together: int = 0,
    ahead: bool = True,
    keep_rest: bool = False,
    checkpoint: Callable[[StreamRun], None] = lambda run: None,
    every: int = 50_000,
    seconds: float | None = None,
    problems: Problems | None = None,
    started: dict[str, Any] | None = None,
    workers: Executor = HERE,
    sought: bool = False,
    tell: Callable[[list[Document]], None] = lambda documents: None,
) -> Iterator[StreamRun]:
    """Learn documents in mini-batches, and predict some of each before learning it.

    Parameters
    ----------
    model : TextModel
        If it has a run (``model.run``), the documents of that run are skipped.
    documents : iterable of Document
    interrupts : Interrupts, optional
        Its signals are handled between mini-batches; by default signals act as usual. With a lag, the first
        one ends the run where no step is in progress, so that it can be resumed to the same bits; the second
        ends it after the steps in progress.
    batch_size : int, optional
        Size of a mini-batch; by default the model's.
    together : int
        If the stream has at most so many documents, they are learned in mini-batches, for the scores, and
        then anew as a whole, as by `TextModel.learn`: in several passes if they are few.
    ahead : bool
        Whether a thread reads ahead, for files. Otherwise an interrupt ends the wait for a stream.
    keep_rest : bool
        Whether an interrupt learns an incomplete mini-batch first, for streams that cannot be read again.
    checkpoint : callable
        Called with the run after every `every` documents, when model and vocabulary can be saved together
        and, with a lag, no step is in progress (see `bayespa.learning.level`). The result is the same.
    every : int
    seconds : float, optional
        Also call `checkpoint` when so many seconds have passed since the last call and something was learned,
        even while waiting for the stream, unless the model has a lag. Only in the main thread.
    problems : Problems, optional
        Collects documents that cannot be learned, such as those whose label is of another kind; they are left
        out. By default the first one raises `MalformedInput`.
    started : dict, optional
        Plain data about how the run was started; saved with it.
    workers : Executor
        Computes steps. If the model has a `lag` above 1, so many mini-batches are in progress at once.
    sought : bool
        Whether the documents of the model's run were skipped already, as in a broker's stream.
    tell : callable
        Called with each mini-batch before it is learned.

    Yields
    ------
    StreamRun
        After each mini-batch, when the model is complete.

    Raises
    ------
    Interrupted
        When model and vocabulary can be saved together.

    Examples
    --------
    >>> from bayespa.datasets import load_arxiv_sample
    >>> papers = load_arxiv_sample(subset="train")
    >>> model = TextModel("linear", random_state=0)
    >>> labelled = zip(papers.data, papers.labels, papers.ids)
    >>> for run in learn_stream(model, (Document(text, labels[0], id) for text, labels, id in labelled)):
    ...     pass
    >>> run.documents, run.scores.summary()["accuracy"] > 0.5
    (4000, True)
    """
    interrupts, lag = interrupts or Interrupts(), model.lag
    run = StreamRun(0, 0, None, started) if model.run is None else StreamRun.from_state(model.run)
    if model.fitted:
        model.settle()
    counter = model.take_back()
    stream = _sound(model, documents, problems)
    if not sought:
        with interrupts.allowed():
            run.skip(stream)
    size = batch_size or model.batch_size
    begins = size if model.fitted else max(size, model.first_batch_size)
    first = begins if model.fitted else max(begins, together + 1)
    sizes = chain([first], repeat(size))
    since, saved = 0, time.monotonic()
    flight, waiting = Flight[Any](workers, lag), deque[tuple[StreamBatch, Launched]]()

    def ended() -> bool:
        return interrupts.pending and (not waiting or interrupts.insisted)

    if ahead:
        batches = _ahead(model, stream, sizes, run.checksum, ended, counter)
    else:
        batches = _wait(model, stream, sizes, run.checksum, interrupts, keep_rest)

    def save() -> None:
        nonlocal since, saved
        if since:
            checkpoint(run)
        since, saved = 0, time.monotonic()

    def land() -> StreamRun:
        (chunk, counted, checksum), launched = waiting[0]
        try:
            after = learn_batch(
                model,
                chunk,
                counted,
                run,
                lambda record: model.land(flight, launched, record),
                checksum=checksum,
            )
        except Exception as error:
            where = f"the {len(chunk)} documents from {chunk[0].id} to {chunk[-1].id}"
            raise RuntimeError(f"{where} could not be learned: {error}") from error
        waiting.popleft()
        return after

    try:
        with interrupts.meanwhile(save, None if lag > 1 else seconds), closing(batches):
            source = Feed(batches)
            while source.more():
                batch = source.take()
                chunk, counted, checksum = batch
                tell(chunk)
                since += len(chunk)
                several = lag > 1 and model.fitted
                if several:
                    labels = [document.label for document in chunk]
                    last = waiting[-1][1] if waiting else None
                    waiting.append((batch, model.launch(flight, counted, labels, last)))
                else:
                    whole = model.fitted or len(chunk) == first
                    # If there are too few documents for the first mini-batch, predict the second half first.
                    half = min(begins, max(size, len(chunk) // 2))
                    edges = [0] if whole else [0, *range(half, len(chunk), size)]
                    for begin, end in pairwise([*edges, len(chunk)]):
                        part, known = counted, checksum
                        if len(edges) > 1:
                            part, known = counted[begin:end], None  # a copy
                        run = learn_batch(model, chunk[begin:end], part, run, workers=workers, checksum=known)
                    if together and len(edges) > 1:
                        labels = [document.label for document in chunk]
                        model.learn_counts(counted, labels, workers=workers, anew=True)
                due = since >= every or (seconds is not None and time.monotonic() - saved >= seconds)
                while waiting and not flight.room(model.version):
                    run = land()
                    yield run
                if due and not waiting and level(lag, model.version):
                    save()
                if not several:
                    yield run
        while waiting:
            run = land()
            yield run
        source.check()
    finally:
        model.take_back()
    interrupts.check()


def _sound(model: TextModel, documents: Iterable[Document], problems: Problems | None) -> Iterator[Document]:
    """Yield the documents that the model can learn; the first label shows the kind of labels."""
    target = model.target
    sound = set[Label]()  # labels that are known to be: most come again
    for document in documents:
        if document.label in sound and isinstance(document.content, str):
            yield document
            continue
        message = model.refusal(document, target)
        if message is None:
            target = target or (None if document.label is None else target_of([document.label]))
            if target is not None and len(sound) < _MOST_LABELS:
                sound.add(document.label)
            yield document
        elif problems is None:
            raise MalformedInput(f"{document.id}: {message}")
        else:
            problems.add(Problem(document.id, None, message))


def learn_batch(
    model: TextModel,
    chunk: list[Document],
    counted: Counted,
    run: StreamRun,
    learn: Callable[[Recorder], object] | None = None,
    workers: Executor = HERE,
    checksum: int | None = None,
) -> StreamRun:
    """Learn a mini-batch; publish the progress in the stream and the scores before learning with it.

    `learn` takes a `Recorder`; by default it is `TextModel.learn_counts`, with these `workers`. `checksum` is
    that of the stream after the mini-batch, if it is known.
    """
    labels = [document.label for document in chunk]
    topics = _topics(model) if model.history.due else {}
    after = run

    def record(said: list[Label], target: Target) -> dict[str, Any]:
        nonlocal after
        now = Scores(target)
        now.add(labels[: len(said)], said)
        history = model.history.copy()
        if history.due:
            history.begin(topics)
        history.add(now.summary().get(MAIN[target]), now.n, len(chunk))
        after = run.after(chunk, now if run.scores is None else run.scores + now, checksum)
        offsets = dict(document.offset for document in chunk if document.offset is not None)
        return {"history": history, "run": after.to_state(), "offsets": {**model.offsets, **offsets}}

    learn = learn or (lambda recorded: model.learn_counts(counted, labels, recorded, workers))
    model.learn_and_tell(counted.counts, labels, record, learn, PREDICTED)
    return after


def _topics(model: TextModel) -> dict[str, float]:
    """Return the names and sizes of the topics, if their number changes."""
    return model.topic_sizes() if model.fitted and model.kind == "medhdp" else {}


def _counted(model: TextModel, chunk: list[Document], before: int, counter: object = None) -> StreamBatch:
    counted = model.count([document.content for document in chunk], counter)
    return StreamBatch(chunk, counted, _checksum(chunk, before))


def _wait(
    model: TextModel,
    stream: Iterator[Document],
    sizes: Iterator[int],
    checksum: int,
    interrupts: Interrupts,
    keep_rest: bool,
) -> Generator[StreamBatch, None, None]:
    """Read mini-batches; an interrupt ends them, perhaps with an incomplete one."""
    interrupted = False
    while not interrupted:
        chunk: list[Document] = []
        try:
            with interrupts.allowed():
                for document in islice(stream, next(sizes)):
                    chunk.append(document)  # one by one, so that an interrupt leaves them here
        except Interrupted:
            interrupted = True
        if not chunk or (interrupted and not keep_rest):
            return
        batch = _counted(model, chunk, checksum)
        checksum = batch.checksum
        yield batch


def _ahead(
    model: TextModel,
    stream: Iterator[Document],
    sizes: Iterator[int],
    checksum: int,
    interrupted: Callable[[], bool],
    counter: object,
) -> Generator[StreamBatch, None, None]:
    """Read mini-batches in a thread while others are learned; an interrupt ends them.

    The vocabulary learns while reading. What it counted ahead of learning is neither saved nor kept: after
    `TextModel.take_back` this `counter` counts no more, even if the thread still waits for input.
    """
    batches: queue.Queue[StreamBatch | BaseException | None] = queue.Queue(maxsize=2)
    ended = threading.Event()

    def put(batch: StreamBatch | BaseException | None) -> None:
        while not ended.is_set():
            with suppress(queue.Full):
                batches.put(batch, timeout=0.1)
                return

    def read() -> None:
        try:
            before = checksum
            while chunk := list(islice(stream, next(sizes))):
                batch = _counted(model, chunk, before, counter)
                before = batch.checksum
                put(batch)
            put(None)
        except BaseException as error:  # raised again in the main thread
            put(error)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    try:
        while not interrupted():
            try:
                batch = batches.get(timeout=0.1)
            except queue.Empty:
                if thread.is_alive() or not batches.empty():
                    continue
                raise RuntimeError(  # it could not say why
                    "the reading thread has died; the model is complete, so continue from there"
                ) from None
            if batch is None:
                return
            if isinstance(batch, BaseException):
                raise batch
            yield batch
    finally:
        ended.set()
