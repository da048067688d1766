"""Malformed input: reported with file and line, counted, and never passed over in silence."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class MalformedInput(ValueError):
    """A piece of input that is not of the form its format asks for."""


class CorpusWarning(UserWarning):
    """Pieces of input were left out because they are malformed, or read by a guess of their encoding."""


class Problem(NamedTuple):
    """One malformed piece of input.

    >>> print(Problem("docs.jsonl", 3, "no field 'text'"))
    docs.jsonl, line 3: no field 'text'
    """

    source: str
    line: int | None  # from 1; None: the file as a whole
    message: str
    unit: str = "line"  # or "row", in formats without lines
    left_out: bool = True  # False: read all the same, by a guess

    def __str__(self) -> str:
        place = "" if self.line is None else f", {self.unit} {self.line}"
        return f"{self.source}{place}: {self.message}"


class Problems:
    """What was malformed in the input: how often, and the first cases.

    Pieces that were not left out but read by a guess, as they are not UTF-8, are counted apart.

    Parameters
    ----------
    keep : int, default=20
        Number of problems to keep; the others are counted only, so that memory is bounded.
    on_problem : callable, optional
        Called with each `Problem` that was left out, as it is found.

    Attributes
    ----------
    count : int
        Pieces of input that were left out.
    first : list of Problem
        The first of them.
    guessed : int
        Pieces of input that were read by a guess.
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
    2 malformed pieces of input left out:
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
        """Say how much was read by a guess, and where first; nothing if none was."""
        if not self.guessed:
            return ""
        some = "1 line or file is" if self.guessed == 1 else f"{self.guessed:,} lines or files are"
        return f"{some} not UTF-8 and read as latin-1, each byte a character; the first: {self.first_guessed}"

    def __str__(self) -> str:
        if not self.count:
            return self.guesses() or "no malformed input"
        pieces = "1 malformed piece" if self.count == 1 else f"{self.count} malformed pieces"
        lines = [f"{pieces} of input left out:", *map(str, self.first)]
        if self.count > len(self.first):
            lines.append(f"and {self.count - len(self.first)} more")
        if self.guessed:
            lines.append(self.guesses())
        return "\n  ".join(lines)
