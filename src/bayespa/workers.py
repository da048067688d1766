"""Workers on Ray: processes of this machine or of a cluster that compute steps of `bayespa.learning`.

A step is a pure function. Ray may compute one twice, or again after a worker or a machine was lost; it is
added once, in its turn. The result does not depend on this. So a call that is not answered for long is sent
again, too: its worker may hang, or Ray may have lost count of its processors. Ray takes as long for a short
call as for a long one, so calls wait until a result is asked for, and then several are sent as one.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import tempfile
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from bayespa import _native
from bayespa.learning import Done

if TYPE_CHECKING:
    from typing_extensions import Self

Call = tuple[Callable[..., Any], tuple[Any, ...]]  # a function and its arguments
RETRIES = 10  # of a call whose worker was lost, so that a call that always kills its worker ends
FOLDER = "bayespa-ray-"  # how the names of the folders begin in which Ray works on this machine
PATIENCE = 30.0  # seconds without an answer after which a call is sent again; then twice as long, and so on
AHEAD = 2  # calls of `map` per worker that are in progress, or whose results wait


class Workers:
    """Workers of a Ray cluster: an `Executor` for `learn_stream`, `fit` and `partial_fit`.

    Parameters
    ----------
    n : int, optional
        Start Ray on this machine with n workers; it stops with `close` or with this process.
    address : str, optional
        Use a cluster: the address of its head node, or "auto" on one of its machines.
    **options
        Options of `ray.init`.

    Examples
    --------
    ::

        with Workers(8) as workers:
            model = MedLDAClassifier(lag=32, random_state=0).fit(X, y, workers=workers)
    """

    def __init__(self, n: int | None = None, *, address: str | None = None, **options: Any) -> None:
        if (n is None) == (address is None):
            raise ValueError("give n, to start workers on this machine, or the address of a cluster")
        self._ray = _imported()
        self._folder: tuple[str, int] | None = None
        self.calls: Counter[str] = Counter()  # calls of each worker
        self.busy: Counter[str] = Counter()  # seconds of computation of each worker
        options = {"logging_level": "error", "log_to_driver": False, **options}
        if address is None:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # do not send usage reports
            os.environ.setdefault("RAY_worker_niceness", "0")  # else workers have a low priority
            self._folder = _new_folder()
            options = {"num_cpus": n, "include_dashboard": False, "_temp_dir": self._folder[0], **options}
        self._ray.init(address=address or "local", **options)  # another Ray of this machine is not ours
        self._call = self._ray.remote(max_retries=RETRIES)(_timed)
        self._again = self._call.options(num_cpus=0)  # even where no processor seems to be free
        self._waiting: list[tuple[Callable[..., Any], tuple[Any, ...], _Call]] = []
        self._sent = WeakSet[_Sent]()  # whose results nobody has taken yet
        self._lock = threading.Lock()  # of both

    @property
    def n(self) -> int:
        """Number of calls that can run at once."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> _Call:
        """Compute a pure function on a worker; it begins when the result of any call is asked for."""
        call = _Call(self)
        with self._lock:
            self._waiting.append((function, arguments, call))
        return call

    def _send(self) -> None:
        """Send what waits, in calls of as many parts as leave each worker two of all that is in progress."""
        with self._lock:
            n, parts = 1, self._waiting
            if len(parts) > 1:
                n = max(1, (len(parts) + sum(sent.n for sent in self._sent)) // (2 * self.n))
            for begin in range(0, len(parts), n):
                some = parts[begin : begin + n]
                sent = _Sent(self, [part[:2] for part in some])
                self._sent.add(sent)
                for place, (*_, call) in enumerate(some):
                    call.sent = sent, place
            self._waiting = []

    def map(self, function: Callable[..., Any], items: Iterable[Any], *, shared: Any = None) -> Iterator[Any]:
        """Yield a pure function of each item, in their order; the number of waiting results is bounded.

        Parameters
        ----------
        function : callable
            Called with an item, or with `shared` and an item.
        items : iterable
            Read as results are taken.
        shared : optional
            A large argument of all calls, such as a model; each worker gets it once.
        """
        if shared is not None:
            function = partial(_with_shared, self.keep(shared), function)
        calls: deque[_Sent] = deque()
        for item in items:
            calls.append(_Sent(self, [(function, (item,))]))
            if len(calls) >= AHEAD * self.n:
                yield calls.popleft().results[0].result()
        while calls:
            yield calls.popleft().results[0].result()

    def keep(self, value: Any) -> Kept:
        """Store a value from which workers take it, as long as the result is held."""
        return Kept(self._ray.put(value))

    def close(self) -> None:
        """Stop the workers of this machine, or leave the cluster."""
        self._ray.shutdown()
        if self._folder is not None:
            path, lock = self._folder
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)
            self._folder = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Call:
    """A future result."""

    sent: tuple[_Sent, int] | None = None  # and which of its parts this is

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def result(self) -> Any:
        """Wait for the result; raise its exception, or a RuntimeError if every worker is lost."""
        if self.sent is None:
            self._workers._send()
        assert self.sent is not None
        sent, place = self.sent
        return sent.results[place].result()


class _Sent:
    """Some calls that a worker computes one after the other, and their results."""

    def __init__(self, workers: Workers, calls: list[Call]) -> None:
        self._workers, self.n = workers, len(calls)
        self._calls = workers._ray.put(calls)
        self._references = [workers._call.remote(self._calls)]

    @cached_property
    def results(self) -> list[Done]:
        """Wait for the results."""
        ray, workers, patience = self._workers._ray, self._workers, PATIENCE
        while not (ready := ray.wait(self._references, timeout=patience)[0]):
            self._references.append(workers._again.remote(self._calls))
            patience *= 2.0
        found: list[Done]
        try:
            found, worker, seconds = ray.get(ready[0])
        except ray.exceptions.RayTaskError as error:
            raise error.cause from error
        except ray.exceptions.RayError as error:
            raise RuntimeError(
                f"{RETRIES + 1} workers were lost while computing it; the last error: {error}"
            ) from error
        del self._calls, self._references
        with workers._lock:
            workers._sent.discard(self)
        workers.calls[worker] += self.n
        workers.busy[worker] += seconds
        return found


class WorkerTraceback(Exception):
    """Where an exception was raised on a worker, as a text: its cause on the driver."""


class _Travelling(Done):
    """A result whose exception keeps its traceback, which pickle would lose."""

    def __getstate__(self) -> dict[str, Any]:
        error = self._error
        told = None if error is None else "".join(traceback.format_exception(error))
        return {**vars(self), "told": told}

    def __setstate__(self, state: dict[str, Any]) -> None:
        told = state.pop("told")
        self.__dict__.update(state)
        if self._error is not None:
            self._error.__cause__ = WorkerTraceback(f"on a worker:\n{told}")


def _new_folder() -> tuple[str, int]:
    """Make a folder, locked by an open file while this process lives; remove those of killed processes."""
    for path in Path(tempfile.gettempdir()).glob(f"{FOLDER}*"):
        with suppress(OSError):  # it is in use, or somebody else's, or gone
            if time.time() - path.stat().st_mtime > 60.0:  # a new one may not be locked yet
                lock = _lock(path)
                shutil.rmtree(path, ignore_errors=True)
                os.close(lock)
    made = tempfile.mkdtemp(prefix=FOLDER)
    return made, _lock(made)


def _lock(folder: str | Path) -> int:
    """Return an open file that locks a folder; raise BlockingIOError if it is locked."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise
    return file


def _timed(calls: list[Call]) -> tuple[list[Done], str, float]:
    """Compute calls on a worker, in one thread; return the results, the worker's name and the seconds.

    They come as one object: each object that is sent costs the driver half a millisecond.
    """
    _native.limit_threads(1)
    begin = time.process_time()
    results: list[Done] = [_Travelling(function, *arguments) for function, arguments in calls]
    return results, f"{socket.gethostname()}:{os.getpid()}", time.process_time() - begin


class Kept:
    """A value that is stored for workers."""

    def __init__(self, reference: Any) -> None:
        self._box = [reference]  # in a list it is not fetched for every call

    @property
    def name(self) -> str:
        """A name that no other value has."""
        return str(self._box[0].hex())

    def value(self) -> Any:
        """Fetch it."""
        return _imported().get(self._box[0])


_SHARED: dict[str, Any] = {}  # in a worker: the last shared argument


def _with_shared(shared: Kept, function: Callable[..., Any], item: Any) -> Any:
    """Call a function on a worker with the shared argument, which is fetched on first use."""
    if shared.name not in _SHARED:
        _SHARED.clear()
        _SHARED[shared.name] = shared.value()
    return function(_SHARED[shared.name], item)


def _imported() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ImportError('workers need Ray: pip install "bayespa[ray]"') from error
    return ray
