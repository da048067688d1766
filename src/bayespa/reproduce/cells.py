"""Cells: the runs of a figure or table, described as data, and their results."""

from __future__ import annotations

import ast
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import sklearn

import bayespa
from bayespa import _native

SHOW = {"cli", "inspect", "reproduce"}  # packages that only show results,
RUN = {"data.py", "methods.py", "regret.py", "trial.py"}  # except these files of the last


@lru_cache(maxsize=1)
def code() -> str:
    """Return a digest of all code behind the results, so that runs of other code are not reused.

    >>> len(code())
    64
    """
    found, package = hashlib.sha256(sklearn.__version__.encode()), Path(bayespa.__file__).parent
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package)
        if name.parts[0] not in SHOW or (name.parts[0] == "reproduce" and name.name in RUN):
            found.update(str(name).encode() + _statements(path.read_text("utf-8")).encode())
    found.update(Path(_native.__file__).read_bytes())
    return found.hexdigest()


def _statements(source: str) -> str:
    """Return the statements of a source: without docstrings and comments, which change no result.

    >>> _statements("total = 1  # so far") == _statements("total = 1")
    True
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = node.body[ast.get_docstring(node) is not None :]
    return ast.dump(tree)


@dataclass(frozen=True)
class Cell:
    """One method with its settings on one data set, from one seed.

    Parameters
    ----------
    method, data : str
        Names in `bayespa.reproduce.methods.METHODS` and `bayespa.reproduce.data.LOADERS`.
    settings : mapping
        Parameters that differ from the estimator's defaults.
    seed : int
    passes : int
        Passes over the training documents, at most.
    tries : tuple of float
        Passes after which the model is evaluated; it always is at the end.
    tol : float
        Stop when the objective of a pass changes by less than this, relative to the pass before.
    documents : int, optional
        Largest number of training documents.
    """

    method: str
    data: str
    settings: Mapping[str, Any]
    seed: int
    passes: int = 1
    tries: tuple[float, ...] = ()
    tol: float = 0.0
    documents: int | None = None

    @property
    def key(self) -> str:
        """Return the key of this cell: the same description and the same code give the same key.

        >>> one, other = (Cell("paMedLDA", "sample", {"n_topics": 5}, seed=seed) for seed in (0, 1))
        >>> one.key == Cell("paMedLDA", "sample", {"n_topics": 5}, seed=0).key, one.key == other.key
        (True, False)
        """
        text = json.dumps([code(), asdict(self)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    @property
    def work(self) -> float:
        """The expected time, relative to other cells, to estimate the time left."""
        one_vs_rest = 20.0 if self.settings.get("multi_class") == "ovr" else 1.0
        sweeps = self.settings.get("n_sweeps", 4) * self.settings.get("n_iterations", 1)
        small = 1.0 + 200.0 / (self.settings.get("batch_size") or 1e9)  # a mini-batch has a fixed cost
        tried = 3.0 * (1.0 + len(self.tries))
        topics = self.settings.get("n_topics", 40)
        return float((self.passes * (2.0 + sweeps) * small + tried) * topics * one_vs_rest)


@dataclass(frozen=True)
class Point:
    """A point of a run: passes, time, and the score on the test documents."""

    passes: float
    seconds: float  # CPU time of learning, without evaluation
    score: float  # accuracy, or F1 of several labels
    n_topics: int
    objective: float  # of the pass, per document


@dataclass(frozen=True)
class Run:
    """A finished cell."""

    cell: Cell
    points: tuple[Point, ...] = field(default=())

    @property
    def last(self) -> Point:
        """The finished model."""
        return self.points[-1]

    @property
    def best(self) -> float:
        """The best score of the run."""
        return max(point.score for point in self.points)

    def at(self, passes: float) -> Point:
        """Return the point after so many passes, or the last one."""
        return next((point for point in self.points if point.passes >= passes - 1e-9), self.last)

    def first(self, score: float) -> Point:
        """Return the first point that reached a score; if none did, one with infinite time."""
        never = Point(math.inf, math.inf, score, 0, math.nan)
        return next((point for point in self.points if point.score >= score), never)

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return {"key": self.cell.key, **asdict(self)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Run:
        """Read what `to_json` wrote.

        >>> run = Run(Cell("paMedLDA", "sample", {"n_topics": 5}, 0), (Point(1.0, 0.5, 0.8, 5, 2.0),))
        >>> Run.from_json(json.loads(json.dumps(run.to_json()))) == run
        True
        """
        cell = {**record["cell"], "tries": tuple(record["cell"]["tries"])}
        return cls(Cell(**cell), tuple(Point(**point) for point in record["points"]))
