"""Metrics for Prometheus: rates, latencies, accuracy of the model, and documents that wait."""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from bayespa.serve.service import Event, LearnedBatch, Predicted, Service
from bayespa.text.scores import ProbabilityScores

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Counts what a service does.

    Attributes
    ----------
    registry : CollectorRegistry
        Accepts further metrics.
    """

    def __init__(self, service: Service) -> None:
        self.registry = registry = CollectorRegistry()
        self._service = service
        self._requests = Counter(
            "bayespa_requests", "Requests answered.", ("route", "status"), registry=registry
        )
        self._seconds = Histogram(
            "bayespa_request_seconds", "Time to answer.", ("route",), buckets=_SECONDS, registry=registry
        )
        self._predictions = Counter("bayespa_predictions", "Texts predicted.", registry=registry)
        self._learned = Counter("bayespa_learned", "Documents learned.", ("origin",), registry=registry)
        self._probable: ProbabilityScores | None = None
        self._names: list[str] = []
        self._measures = Gauge(
            "bayespa_before_learning",
            "How right the model was of documents before it learned them: accuracy or F1 since the log "
            "began, calibration error (ECE) and log loss since the service started or a class was added.",
            ("measure",),
            registry=registry,
        )
        for name, what, value in (
            ("version", "Documents of the log that the published model has learned.", self._version),
            ("backlog", "Documents that wait to be learned.", lambda: service.backlog),
            (
                "snapshot_age_seconds",
                "Time since the model was saved.",
                lambda: time.time() - service.saved_at,
            ),
            ("learning", "1 while it learns, 0 if learning has failed.", lambda: service.failure is None),
        ):
            Gauge(f"bayespa_{name}", what, registry=registry).set_function(value)
        service.subscribe(self._count)

    def _version(self) -> int:
        return self._service.published.version

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """Return all metrics in Prometheus's format."""
        scores = self._service.progress.scores
        measures = {} if scores is None else scores.summary()
        probable = {} if self._probable is None else self._probable.summary()
        for name, value in {**measures, **probable}.items():
            self._measures.labels(name).set(value)
        return generate_latest(self.registry)

    def _count(self, event: Event) -> None:
        if isinstance(event, Predicted):
            self._predictions.inc(len(event.ids))
        else:
            self._count_learned(event)

    def _count_learned(self, event: LearnedBatch) -> None:
        for record in event.records:
            self._learned.labels(record.origin).inc()
        target, said = self._service.published.model.target, event.answers
        if said.probabilities is None or target is None:
            return
        if self._probable is None or said.class_names != self._names:
            self._probable, self._names = ProbabilityScores(target, said.class_names), said.class_names
        self._probable.add([record.label for record in event.records], said.probabilities)
