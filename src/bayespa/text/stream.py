"""Learning a stream of documents: progressive validation, checkpoints, and stopping where nothing is lost."""

from __future__ import annotations

import queue
import signal
import threading
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice, pairwise, repeat
from types import FrameType
from typing import Any

import scipy.sparse as sp

from bayespa.corpus import Document
from bayespa.inspect.view import topic_names, topic_sizes
from bayespa.text.model import TextModel
from bayespa.text.scores import MAIN, Scores

PREDICTED = 32  # documents of each mini-batch that are predicted before it is learned: enough for a mean


class Interrupted(BaseException):
    """The process was asked to stop; what was learned until then is whole.

    >>> Interrupted(signal.SIGINT).exit_code
    130
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number
        self.exit_code = 128 + number


class Interrupts:
    """Lets SIGINT and SIGTERM stop a program only where it waits for input; a second one acts at once."""

    def __init__(self) -> None:
        self._waiting = False
        self._pending: int | None = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._waiting or self._pending is not None:
            raise Interrupted(number)
        self._pending = number

    @contextmanager
    def held(self) -> Iterator[None]:
        """Take the signals over."""
        before = {number: signal.signal(number, self._handle) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def remember(self, interrupted: Interrupted) -> None:
        """Take an interrupt back, to raise it later."""
        self._pending = interrupted.number

    @property
    def pending(self) -> bool:
        """Whether a signal has come."""
        return self._pending is not None

    def check(self) -> None:
        """Raise `Interrupted` if a signal has come."""
        if self._pending is not None:
            raise Interrupted(self._pending)

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Let signals act in this block, and those that came before it."""
        self._waiting = True
        try:
            self.check()
            yield
        finally:
            self._waiting = False


@dataclass
class StreamRun:
    """How far learning a stream has come."""

    documents: int  # learned, of this stream
    checksum: int  # of their contents, by which the same stream is known again
    scores: Scores | None  # of predictions made before documents were learned; None: not begun

    def to_state(self) -> dict[str, Any]:
        """Return plain data for `from_state`."""
        scores = None if self.scores is None else self.scores.to_state()
        return {"documents": self.documents, "checksum": self.checksum, "scores": scores}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> StreamRun:
        """Make the run that `to_state` described."""
        scores = None if state["scores"] is None else Scores.from_state(state["scores"])
        return cls(int(state["documents"]), int(state["checksum"]), scores)

    def skip(self, stream: Iterator[Document]) -> None:
        """Pass over what was learned already, and make sure that it is."""
        checksum = n = 0
        for document in islice(stream, self.documents):
            checksum, n = _checksum(document, checksum), n + 1
        if (n, checksum) != (self.documents, self.checksum):
            raise ValueError(
                f"the first {self.documents} documents are not those that the checkpoint was made from; "
                "resume with the same input and options, or start anew"
            )


def _checksum(document: Document, checksum: int) -> int:
    content = document.content
    pieces = [content.encode()] if isinstance(content, str) else [part.tobytes() for part in content]
    for piece in [*pieces, repr(document.label).encode()]:
        checksum = zlib.crc32(piece, checksum)
    return checksum


Counted = tuple[list[Document], sp.csr_matrix]  # a mini-batch, and its words


def learn_stream(
    model: TextModel,
    documents: Iterable[Document],
    interrupts: Interrupts | None = None,
    *,
    batch_size: int | None = None,
    ahead: bool = True,
    keep_rest: bool = False,
    checkpoint: Callable[[StreamRun], None] = lambda run: None,
    every: int = 50_000,
) -> Iterator[StreamRun]:
    """Learn documents a mini-batch at a time, predicting some of each before it is learned.

    Parameters
    ----------
    model : TextModel
        If it holds a run (``model.run``), the documents of that run are passed over.
    documents : iterable of Document
    interrupts : Interrupts, optional
        Whose signals are obeyed between mini-batches; by default signals act as ever.
    batch_size : int, optional
        Documents of a mini-batch; by default the model's.
    ahead : bool
        Whether a thread reads ahead: for files. Otherwise an interrupt ends the waiting for a stream.
    keep_rest : bool
        Whether an interrupt learns an incomplete mini-batch first: for streams that cannot be read again.
    checkpoint : callable
        Called with the run after each `every` documents, when model and vocabulary can be saved together.
    every : int

    Yields
    ------
    StreamRun
        After each mini-batch, when the model is whole.

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
    interrupts = interrupts or Interrupts()
    run = StreamRun(0, 0, None) if model.run is None else StreamRun.from_state(model.run)
    stream = iter(documents)
    with interrupts.allowed():
        run.skip(stream)
    size = batch_size or model.batch_size
    first = size if model.fitted else max(size, model.first_batch_size)
    sizes = chain([first], repeat(size))
    if ahead:
        batches = _ahead(model, stream, sizes, every, interrupts)
    else:
        batches = _wait(model, stream, sizes, interrupts, keep_rest)
    since = 0
    with closing(batches):
        for chunk, counts in batches:
            whole = model.fitted or len(chunk) == first
            # Fewer documents than the first mini-batch takes: the second half of them is predicted first.
            edges = [0] if whole else [0, *range(max(size, len(chunk) // 2), len(chunk), size)]
            for begin, end in pairwise([*edges, len(chunk)]):
                _learn(model, chunk[begin:end], counts[begin:end], run)
            since += len(chunk)
            if since >= every:
                checkpoint(run)
                since = 0
            yield run
    interrupts.check()


def _learn(model: TextModel, chunk: list[Document], counts: sp.csr_matrix, run: StreamRun) -> None:
    labels = [document.label for document in chunk]
    predicted = model.predict_counts(counts[:PREDICTED]) if model.fitted else []
    topics = _topics(model) if model.history.due else {}
    model.learn_counts(counts, labels)
    assert model.target is not None  # it has learned
    run.scores = run.scores or Scores(model.target)
    now = Scores(model.target)
    for scores in (run.scores, now):
        scores.add(labels[: len(predicted)], predicted)
    if model.history.due:
        model.history.begin(topics)
    model.history.add(now.summary().get(MAIN[model.target]), now.n, len(chunk))
    run.documents += len(chunk)
    for document in chunk:
        run.checksum = _checksum(document, run.checksum)


def _topics(model: TextModel) -> dict[str, float]:
    """Return the names and sizes of the topics, of a model in which they come and go."""
    if not model.fitted or not hasattr(model.estimator, "topic_ids_"):
        return {}
    names, sizes = topic_names(model.estimator), topic_sizes(model.estimator)
    return dict(zip(names, sizes.tolist(), strict=True))


def _counted(model: TextModel, chunk: list[Document]) -> Counted:
    return chunk, model.count([document.content for document in chunk])


def _wait(
    model: TextModel,
    stream: Iterator[Document],
    sizes: Iterator[int],
    interrupts: Interrupts,
    keep_rest: bool,
) -> Generator[Counted, None, None]:
    """Read mini-batches; an interrupt ends them, perhaps with one of what was read."""
    interrupted = False
    while not interrupted:
        chunk: list[Document] = []
        try:
            with interrupts.allowed():
                for document in islice(stream, next(sizes)):
                    chunk.append(document)  # one by one, so that an interrupt leaves them here
        except Interrupted as reason:
            interrupts.remember(reason)
            interrupted = True
        if not chunk or (interrupted and not keep_rest):
            return
        yield _counted(model, chunk)


def _ahead(
    model: TextModel, stream: Iterator[Document], sizes: Iterator[int], every: int, interrupts: Interrupts
) -> Generator[Counted, None, None]:
    """Read mini-batches in a thread while others are learned, but never past a checkpoint.

    The vocabulary learns while reading, and is to be saved as it was after the mini-batch learned last.
    """
    batches: queue.Queue[Counted | BaseException | None] = queue.Queue(maxsize=2)
    learned = threading.Semaphore(0)  # released when all mini-batches up to a checkpoint are learned
    ended = threading.Event()

    def read() -> None:
        since = 0
        try:
            while not ended.is_set() and (chunk := list(islice(stream, next(sizes)))):
                batches.put(_counted(model, chunk))
                since += len(chunk)
                if since >= every:
                    learned.acquire()
                    since = 0
            batches.put(None)
        except BaseException as error:  # to be raised where it is noticed
            batches.put(error)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    since = 0
    try:
        while (batch := batches.get()) is not None:
            if isinstance(batch, BaseException):
                raise batch
            yield batch
            since += len(batch[0])
            if interrupts.pending:
                ended.set()  # what was read by then is still learned
            if since >= every:
                learned.release()
                since = 0
    finally:
        ended.set()
        learned.release()
        while thread.is_alive():  # it may wait for room
            with suppress(queue.Empty):
                batches.get(timeout=0.01)
