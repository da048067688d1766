"""How far a mini-batch and a document walk: the modules that `partial_fit` and `predict` call into.

    python -m benchmarks.walk

A fitted MedLDAClassifier learns one more mini-batch, counted until the native step begins, and predicts one
document, counted to the end. What predictions need, the call that learned has computed. A change is a call
into another module than that of the call before.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from contextlib import contextmanager, suppress
from itertools import pairwise
from types import FrameType
from typing import Any

from bayespa import MedLDAClassifier, _native
from bayespa.datasets import make_topic_corpus

STEP = "medlda_step"


class Arrived(BaseException):
    """The native step was called."""


def walk(call: Callable[[], object]) -> list[str]:
    """Return the modules of bayespa that are called into, one for each call, until it ends or arrives."""
    visited: list[str] = []

    def note(frame: FrameType, event: str, argument: Any) -> None:
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith("bayespa."):
            visited.append(name)

    sys.setprofile(note)
    try:
        with suppress(Arrived):
            call()
    finally:
        sys.setprofile(None)
    return visited


@contextmanager
def arriving():
    """Let the native step end a walk."""

    def arrive(*arguments: Any) -> None:
        raise Arrived

    step = getattr(_native, STEP)
    setattr(_native, STEP, arrive)
    try:
        yield
    finally:
        setattr(_native, STEP, step)


def walks() -> dict[str, list[str]]:
    """Return the walks, by name."""
    corpus = make_topic_corpus(201, n_words=300, n_topics=6, n_labels=3, random_state=0)
    X, y = corpus.data, corpus.target
    made = (MedLDAClassifier(n_topics=6, batch_size=100, random_state=0) for _ in range(2))
    one, two = (model.fit(X[:100], y[:100]) for model in made)
    with arriving():
        learned = walk(lambda: one.partial_fit(X[100:200], y[100:200]))
    return {
        "partial_fit of a mini-batch, up to the native step": learned,
        "predict of a document": walk(lambda: two.predict(X[200:])),
    }


def changes(visited: list[str]) -> int:
    """Return how often the module changes from call to call.

    >>> changes(["a", "a", "b", "a"])
    2
    """
    return sum(here != there for here, there in pairwise(visited))


def main() -> None:
    for name, visited in walks().items():
        modules = sorted({module.removeprefix("bayespa.") for module in visited})
        print(f"{name}: {len(modules)} modules, {changes(visited)} changes")
        print(textwrap.fill(", ".join(modules), 110, initial_indent="    ", subsequent_indent="    "))


if __name__ == "__main__":
    main()
