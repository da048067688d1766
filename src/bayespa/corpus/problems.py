"""Malformed input: reported with file and line, and counted. Nothing is dropped silently."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class MalformedInput(ValueError):
    """A record does not have the form of its format."""


class CorpusWarning(UserWarning):
    """Malformed records were left out, or texts were read with a guessed encoding."""


class Problem(NamedTuple):
    """One malformed record.

    >>> print(Problem("docs.jsonl", 3, "no field 'text'"))
    docs.jsonl, line 3: no field 'text'
    """

    source: str
    line: int | None  # from 1; None: the whole file
    message: str
    unit: str = "line"  # or "row", in formats without lines
    left_out: bool = True  # False: read with a guessed encoding

    def __str__(self) -> str:
        place = "" if self.line is None else f", {self.unit} {self.line}"
        return f"{self.source}{place}: {self.message}"


class Problems:
    """The malformed records of the input: their number, and the first ones.

    Texts that are not UTF-8, and were read with a guessed encoding, are counted separately.

    Parameters
    ----------
    keep : int, default=20
        Number of problems to keep; the others are only counted, to bound memory.
    on_problem : callable, optional
        Called with each `Problem` that is left out.

    Attributes
    ----------
    count : int
        Number of records that were left out.
    first : list of Problem
        The first of them.
    guessed : int
        Number of texts that were read with a guessed encoding.
    first_guessed : Problem or None
        The first of them.

    Examples
    --------
    >>> problems = Problems(keep=1)
    >>> for line in (3, 8):
    ...     problems.add(Problem("docs.jsonl", line, "no field 'text'"))
    >>> len(problems), bool(problems)
    (2, True)
    >>> print(problems)
    left out 2 malformed records:
      docs.jsonl, line 3: no field 'text'
      and 1 more
    """

    def __init__(self, keep: int = 20, on_problem: Callable[[Problem], object] | None = None) -> None:
        self.count = 0
        self.first: list[Problem] = []
        self.guessed = 0
        self.first_guessed: Problem | None = None
        self._keep = keep
        self._on_problem = on_problem

    def add(self, problem: Problem) -> None:
        """Count a problem, and keep it if it is one of the first."""
        if not problem.left_out:
            self.guessed += 1
            self.first_guessed = self.first_guessed or problem
            return
        self.count += 1
        if len(self.first) < self._keep:
            self.first.append(problem)
        if self._on_problem is not None:
            self._on_problem(problem)

    def __len__(self) -> int:
        return self.count

    def guesses(self) -> str:
        """Return how many texts were read with a guessed encoding, and the first; empty if there are none."""
        if not self.guessed:
            return ""
        some = "1 line or file is" if self.guessed == 1 else f"{self.guessed:,} lines or files are"
        return f"{some} not UTF-8 and read as latin-1, each byte a character; the first: {self.first_guessed}"

    def __str__(self) -> str:
        if not self.count:
            return self.guesses() or "no malformed input"
        records = "1 malformed record" if self.count == 1 else f"{self.count} malformed records"
        lines = [f"left out {records}:", *map(str, self.first)]
        if self.count > len(self.first):
            lines.append(f"and {self.count - len(self.first)} more")
        if self.guessed:
            lines.append(self.guesses())
        return "\n  ".join(lines)
