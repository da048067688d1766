"""How a stream develops: accuracy with its interval, calibration, labels and topics over time, and drift.

Predictions are judged when their labels become known, by what was said before they were learned. A label is
given with a document, or reviewed for a document that was drawn at random. Documents that were chosen for
review because the model was unsure are harder than the stream: `bayespa.serve.review` counts them, and
nothing here does.
"""

from __future__ import annotations

import json
import math
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from prometheus_client import CollectorRegistry, Gauge

from bayespa.inspect.calibration import Reliability
from bayespa.serve.drift import Drift
from bayespa.serve.service import LearnedBatch, Predicted, Service
from bayespa.text.targets import names_of
from bayespa.topics.relevance import CONTRAST

Classes = str | tuple[str, ...]  # a label: one class, or several
MOST = 64  # points; if there are more, neighbours are joined
FIRST = 50  # documents per point at first
BINS = 10  # of calibration
Z = 1.959963984540054  # a normal variable is within ± Z with probability 0.95


def interval(right: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share that was `right` / n in a sample.

    >>> low, high = interval(80, 100)
    >>> round(low, 3), round(high, 3), interval(0, 0)
    (0.711, 0.867, (0.0, 1.0))
    """
    if not n:
        return 0.0, 1.0
    share, square = right / n, Z * Z
    centre = (share + square / (2 * n)) / (1.0 + square / n)
    half = Z * math.sqrt(share * (1.0 - share) / n + square / (4 * n * n)) / (1.0 + square / n)
    return centre - half if right else 0.0, centre + half if right < n else 1.0


def chance(probabilities: Mapping[str, float], label: Classes) -> float:
    """Return the probability of a label; a label of several classes means all of these and no other.

    >>> chance({"a": 0.9, "b": 0.1}, "a"), chance({"a": 0.5, "b": 0.25}, ("a",)), chance({"a": 0.9}, "new")
    (0.9, 0.375, 0.0)
    """
    if isinstance(label, str):
        return min(1.0, probabilities.get(label, 0.0))
    product = float(all(name in probabilities for name in label))
    for name, p in probabilities.items():
        product *= p if name in label else 1.0 - p
    return min(1.0, max(0.0, product))


@dataclass
class Judged:
    """How many predictions were judged, and how many of them were right."""

    n: int = 0
    right: int = 0

    def add(self, right: bool) -> None:
        """Count one."""
        self.n += 1
        self.right += right

    def summary(self) -> dict[str, Any]:
        """Return the share that is right, with its interval; None if nothing was judged."""
        low, high = interval(self.right, self.n)
        value = self.right / self.n if self.n else None
        return {"n": self.n, "right": self.right, "value": value, "low": low, "high": high}


@dataclass
class StreamPoint:
    """What is known of some consecutive documents."""

    first: int  # documents before them
    documents: int = 0
    judged: Judged = field(default_factory=Judged)
    labels: Counter[str] = field(default_factory=Counter)  # as predicted
    topics: Mapping[str, float] = field(default_factory=dict)  # before them: words learned by each topic

    def join(self, after: StreamPoint) -> None:
        """Add the documents that follow."""
        self.documents += after.documents
        self.judged = Judged(self.judged.n + after.judged.n, self.judged.right + after.judged.right)
        self.labels += after.labels

    def summary(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "first": self.first,
            "documents": self.documents,
            "accuracy": self.judged.summary(),
            "labels": dict(sorted(self.labels.items())),
            "topics": dict(self.topics),
        }


class Monitor:
    """Watches predictions, and judges them when labels become known; memory does not grow.

    Several threads may call.

    Parameters
    ----------
    rate : float, default=1e-4
        Rate of false alarms, see `bayespa.serve.drift.Drift`.

    Examples
    --------
    >>> monitor = Monitor()
    >>> for n in range(100):
    ...     monitor.predicted(["a"])
    ...     monitor.judged({"a": 0.8, "b": 0.2}, "a", "a" if n % 5 else "b", given=True)
    >>> summary = monitor.summary()
    >>> summary["accuracy"]["given"]["value"], summary["calibration"]["error"] < 1e-9
    (0.8, True)
    >>> len(summary["points"]), summary["drift"]["alarms"]
    (2, [])
    """

    def __init__(self, rate: float = 1e-4) -> None:
        self.documents = 0  # predicted
        self.given = Judged()  # by labels that came with documents
        self.points: list[StreamPoint] = []
        self.born: dict[str, int] = {}  # topics, by the documents before them
        self.alarms: list[int] = []  # by the documents before them
        self.drift = Drift(rate)
        self._lock = threading.Lock()
        self._stride = FIRST
        self._bins = np.zeros((3, BINS))  # predictions, the sum of their confidences, those right

    def predicted(self, labels: Sequence[Classes], topics: Callable[[], Mapping[str, float]] = dict) -> None:
        """Count predictions; `topics` returns how many words each topic has learned."""
        if not labels:
            return
        with self._lock:
            self._begin(topics)
            self.points[-1].documents += len(labels)
            self.points[-1].labels.update(name for label in labels for name in names_of(label))
            self.documents += len(labels)

    def _begin(self, topics: Callable[[], Mapping[str, float]]) -> None:
        """Begin a new point, if the last one is complete."""
        if self.points and self.points[-1].documents < self._stride:
            return
        if len(self.points) == MOST:
            for point, after in zip(self.points[::2], self.points[1::2], strict=True):
                point.join(after)
            self.points = self.points[::2]
            self._stride *= 2
        self.points.append(StreamPoint(self.documents, topics=dict(topics())))
        for name in self.points[-1].topics:
            self.born.setdefault(name, self.documents)

    def judged(
        self, probabilities: Mapping[str, float], said: Classes, label: Classes, *, given: bool
    ) -> None:
        """Judge the prediction of a document by its label, given or reviewed."""
        right = set(names_of(said)) == set(names_of(label))
        confidence, loss = chance(probabilities, said), 1.0 - chance(probabilities, label)
        with self._lock:
            if given:
                self.given.add(right)
            if not self.points:
                self.points.append(StreamPoint(self.documents))
            self.points[-1].judged.add(right)
            self._bins[:, min(int(confidence * BINS), BINS - 1)] += 1.0, confidence, right
            if self.drift.add(loss):
                self.alarms.append(self.documents)

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data."""
        with self._lock:
            return self._summary()

    def _summary(self) -> dict[str, Any]:
        n, sure, right = self._bins
        full = n > 0
        some = np.where(full, n, 1.0)
        groups = Reliability(sure / some, right / some, n.astype(np.int64))
        return {
            "documents": self.documents,
            "accuracy": {"given": self.given.summary()},
            "calibration": {
                "error": groups.error if full.any() else None,
                "bins": [
                    {
                        "confidence": float(groups.confidence[i]),
                        "n": int(n[i]),
                        "accuracy": Judged(int(n[i]), int(right[i])).summary(),
                    }
                    for i in np.flatnonzero(full)
                ],
            },
            "points": [point.summary() for point in self.points],
            "topics": [{"name": name, "born": born} for name, born in self.born.items()],
            "drift": {
                "rate": self.drift.rate,
                "evidence": self.drift.evidence,
                "threshold": self.drift.threshold,
                "judged": self.drift.n,
                "alarms": list(self.alarms),
            },
        }

    def to_state(self) -> dict[str, Any]:
        """Return plain data, which `from_state` restores."""
        with self._lock:
            return self._state()

    def _state(self) -> dict[str, Any]:
        return {
            "documents": self.documents,
            "given": [self.given.n, self.given.right],
            "points": [
                [p.first, p.documents, p.judged.n, p.judged.right, dict(p.labels), dict(p.topics)]
                for p in self.points
            ],
            "born": self.born,
            "alarms": self.alarms,
            "drift": self.drift.to_state(),
            "stride": self._stride,
            "bins": self._bins.tolist(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Monitor:
        """Restore the monitor that `to_state` returned."""
        monitor = cls()
        monitor.documents = state["documents"]
        monitor.given = Judged(*state["given"])
        monitor.points = [
            StreamPoint(first, documents, Judged(n, right), Counter(labels), topics)
            for first, documents, n, right, labels, topics in state["points"]
        ]
        monitor.born, monitor.alarms = dict(state["born"]), list(state["alarms"])
        monitor.drift = Drift.from_state(state["drift"])
        monitor._stride, monitor._bins = state["stride"], np.array(state["bins"])
        return monitor


_TABLE = "CREATE TABLE IF NOT EXISTS monitor (one INTEGER PRIMARY KEY CHECK (one = 1), state TEXT NOT NULL)"
_EVERY = 2.0  # seconds between two times that the monitor is saved


class StreamWatch:
    """Lets a monitor watch a service, and saves it in the service's store; a kill loses the last seconds.

    Parameters
    ----------
    service : Service
        One that has started.
    """

    def __init__(self, service: Service) -> None:
        self._service, self._kept, self._noticed = service, time.monotonic(), False
        with service.store.transaction() as connection:
            connection.execute(_TABLE)
            row = connection.execute("SELECT state FROM monitor").fetchone()
        self.monitor = Monitor() if row is None else Monitor.from_state(json.loads(row[0]))
        service.subscribe(self._notice)
        service.store.often(self._keep_sometimes)

    def report_to(self, registry: CollectorRegistry) -> None:
        """Tell Prometheus about drift, too."""
        drift = self.monitor.drift
        for name, what, value in (
            ("evidence", f"Evidence for drift; {drift.threshold:g} raises an alarm.", lambda: drift.evidence),
            ("alarms", "Alarms so far.", lambda: len(drift.alarms)),
        ):
            Gauge(f"bayespa_drift_{name}", what, registry=registry).set_function(value)

    def _notice(self, event: Predicted | LearnedBatch) -> None:
        answers = event.answers
        if answers.probabilities is None:
            return  # numbers have none
        if isinstance(event, Predicted):
            self._predicted(answers.labels)
        else:
            given = [n for n, record in enumerate(event.records) if record.origin == "given"]
            before = self._service.store.waiting([event.records[n].id for n in given])
            self._predicted([answers.labels[n] for n in given if event.records[n].id not in before])
            for n in given:
                said = dict(zip(answers.class_names, answers.probabilities[n].tolist(), strict=True))
                labels: tuple[Any, Any] = answers.labels[n], event.records[n].label
                self.monitor.judged(said, *labels, given=True)
        self._noticed = True

    def _predicted(self, labels: Sequence[Any]) -> None:
        self.monitor.predicted(labels, lambda: self._service.published.model.topic_sizes())

    def keep(self) -> None:
        """Save the monitor in the store."""
        with self._service.store.transaction() as connection:
            self._write(connection)

    def _keep_sometimes(self, connection: sqlite3.Connection) -> None:
        if self._noticed and time.monotonic() - self._kept > _EVERY:
            self._write(connection)

    def _write(self, connection: sqlite3.Connection) -> None:
        self._kept, self._noticed = time.monotonic(), False
        state = json.dumps(self.monitor.to_state())
        connection.execute("INSERT OR REPLACE INTO monitor VALUES (1, ?)", (state,))

    def summary(self) -> dict[str, Any]:
        """Return the summary of the monitor, with words of the topics."""
        found, model = self.monitor.summary(), self._service.published.model
        words: dict[str, list[str]] = {}
        if model.has_topics:
            words = dict(zip(model.topic_sizes(), model.topics(3, CONTRAST), strict=True))
        return {
            **found,
            "topics": [{**topic, "words": words.get(topic["name"], [])} for topic in found["topics"]],
        }
