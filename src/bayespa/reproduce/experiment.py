"""A figure or table of the paper: its cells, a drawing, numbers, and claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayespa.reproduce.cells import Cell
from bayespa.reproduce.claims import Claim
from bayespa.reproduce.methods import METHODS, Preset, settings_of
from bayespa.reproduce.runs import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LDA = [name for name, method in METHODS.items() if not method.nonparametric]
HDP = [name for name, method in METHODS.items() if method.nonparametric]
FAMILIES = [family for family in (LDA, HDP) if family]
ONLINE = [family[0] for family in FAMILIES]  # the paper's own methods stand first


@dataclass(frozen=True)
class Plan:
    """How much to run: everything on the published corpora, or a small version on the sample."""

    quick: bool = False
    preset: Preset = "ours"
    seeds: Sequence[int] = (0, 1)
    documents: int | None = None

    @property
    def data(self) -> str:
        """The single-label data set."""
        return "sample" if self.quick else "newsgroups"

    def cells(
        self,
        method: str,
        data: str | None = None,
        *,
        passes: int = 1,
        tries: Iterable[float] = (),
        tol: float = 0.0,
        **chosen: Any,
    ) -> list[Cell]:
        """Return the cells of a method with some settings, one for each seed."""
        settings = settings_of(method, self.preset, **chosen)
        passes *= METHODS[method].patience
        tried = tuple(float(at) for at in tries if at <= passes)
        name = data or self.data
        return [Cell(method, name, settings, seed, passes, tried, tol, self.documents) for seed in self.seeds]


@dataclass(frozen=True)
class ResultTable:
    """Numbers for the page, as text."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Experiment:
    """A figure or table of the paper."""

    name: str
    title: str
    set_up: str  # a paragraph on what is run, with what
    cells: Callable[[Plan], list[Cell]]
    draw: Callable[[Runs], Figure]
    table: Callable[[Runs], ResultTable]
    claims: Callable[[Runs], list[Claim]]
