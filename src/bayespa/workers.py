"""Workers on Ray: processes of this machine or of a cluster, to which `bayespa.learning` hands its steps.

A step is a pure function, so Ray may make one twice, or again where a worker or a machine was lost: it is
added once, in its turn. What is learned depends on none of this.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from bayespa import _native

if TYPE_CHECKING:
    from typing_extensions import Self

RETRIES = 10  # of a call whose worker was lost: one that kills its worker each time comes to an end
AHEAD = 2  # calls of `map` to each worker that are under way or whose results wait


class Workers:
    """Workers of a Ray cluster: an `Executor` for `learn_stream`, `fit` and `partial_fit`.

    Parameters
    ----------
    n : int, optional
        Start Ray on this machine, with so many workers; it ends with `close` or with this process.
    address : str, optional
        Use a cluster: the address of its head, or "auto" on one of its machines.
    **options
        Of `ray.init`.

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
        self._folder: str | None = None
        self.calls: Counter[str] = Counter()  # made by each worker
        self.busy: Counter[str] = Counter()  # seconds that each has computed
        options = {"logging_level": "error", "log_to_driver": False, **options}
        if address is None:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # else it reports to its makers
            os.environ.setdefault("RAY_worker_niceness", "0")  # else workers yield to all other programs
            self._folder = tempfile.mkdtemp(prefix="bayespa-ray-")
            options = {"num_cpus": n, "include_dashboard": False, "_temp_dir": self._folder, **options}
        self._ray.init(address=address or "local", **options)  # another Ray of this machine is not ours
        self._call = self._ray.remote(max_retries=RETRIES)(_timed)

    @property
    def n(self) -> int:
        """How many calls can be made at once now."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> _Call:
        """Begin to compute a pure function on some worker."""
        return _Call(self, self._call.remote((function, arguments)))

    def map(self, function: Callable[..., Any], items: Iterable[Any], *, shared: Any = None) -> Iterator[Any]:
        """Yield a pure function of each item, in their order; what waits to be taken is bounded.

        Parameters
        ----------
        function : callable
            Called with an item, or with what is shared and an item.
        items : iterable
            Read as results are taken.
        shared : optional
            A large argument of all calls, such as a model, which each worker is given once.
        """
        if shared is not None:
            box = [self._ray.put(shared)]  # in a list it is not fetched for every call
            function = partial(_with_shared, box, function)
        calls: deque[_Call] = deque()
        for item in items:
            calls.append(self.submit(function, item))
            if len(calls) >= AHEAD * self.n:
                yield calls.popleft().result()
        while calls:
            yield calls.popleft().result()

    def close(self) -> None:
        """End the workers of this machine, or leave the cluster."""
        self._ray.shutdown()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Call:
    """A result to come."""

    def __init__(self, workers: Workers, reference: Any) -> None:
        self._workers, self._reference = workers, reference

    def result(self) -> Any:
        """Wait for it; raise what its computation has raised, or a RuntimeError if no worker survives it."""
        ray, workers = self._workers._ray, self._workers
        try:
            value, worker, seconds = ray.get(self._reference)
        except ray.exceptions.RayTaskError as error:
            raise error.cause from error
        except ray.exceptions.RayError as error:
            raise RuntimeError(
                f"{RETRIES + 1} workers were lost while they computed it, the last so: {error}"
            ) from error
        workers.calls[worker] += 1
        workers.busy[worker] += seconds
        return value


def _timed(call: tuple[Callable[..., Any], tuple[Any, ...]]) -> tuple[Any, str, float]:
    """Call a function on a worker, in one thread; return which one it was, too, and how long it took.

    It comes as one object with its arguments: each object that is sent costs the driver half a millisecond.
    """
    function, arguments = call
    _native.limit_threads(1)
    begin = time.process_time()
    value = function(*arguments)
    return value, f"{socket.gethostname()}:{os.getpid()}", time.process_time() - begin


_SHARED: dict[str, Any] = {}  # of a worker: what it was given last


def _with_shared(box: list[Any], function: Callable[..., Any], item: Any) -> Any:
    """Call a function on a worker with what is shared, fetched when it is first asked for."""
    (reference,) = box
    if reference.hex() not in _SHARED:
        _SHARED.clear()
        _SHARED[reference.hex()] = _imported().get(reference)
    return function(_SHARED[reference.hex()], item)


def _imported() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ImportError('workers run on Ray, which is not installed: pip install "bayespa[ray]"') from error
    return ray
