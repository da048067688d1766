"""The page: ratios first, then plots, then absolute numbers; and the same as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

Cell = str | float | None


@dataclass(frozen=True)
class Table:
    """A table; in one of ratios the last column says in a sentence what was compared."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True)
class Part:
    """What one part of the benchmarks found."""

    title: str
    about: str
    ratios: Sequence[Table] = ()
    plots: Mapping[str, str] = field(default_factory=dict)  # caption: SVG
    absolute: Sequence[Table] = ()
    load: float | None = None  # of the machine, when it began
    quick: bool = False

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Part:
        """Return the part that a page's JSON describes."""
        tables = {name: [Table(**one) for one in record[name]] for name in ("ratios", "absolute")}
        return cls(**{**record, **tables})


def parts_of(folder: Path, date: str) -> list[Part]:
    """Return the parts of the page of a day; none if there is no page."""
    path = folder / f"{date}.json"
    if not path.exists():
        return []
    return [Part.from_record(one) for one in json.loads(path.read_text(encoding="utf-8"))["parts"]]


def _cell(value: Cell) -> str:
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _markdown(table: Table, level: str) -> str:
    def row(cells: Sequence[Cell]) -> str:
        return f"| {' | '.join(map(_cell, cells))} |"

    body = [row(table.columns), row(["---"] * len(table.columns)), *map(row, table.rows)]
    return f"{level} {table.title}\n\n" + "\n".join(body) + "\n"


def _names(items: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in items.items())


def write(
    folder: Path, date: str, parts: Sequence[Part], machine: Mapping[str, Any], versions: Mapping[str, str]
) -> Path:
    """Write `date`.json, `date`.md and its plots; return the path of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    record = {
        "date": date,
        "machine": machine,
        "versions": versions,
        "parts": [asdict(part) for part in parts],
    }
    folder.joinpath(f"{date}.json").write_text(json.dumps(record, indent=1, allow_nan=False) + "\n")
    blocks = [
        f"# bayespa beside other programs, {date}",
        f"Machine: {machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, "
        f"{machine['system']}.\n\nVersions: {_names(versions)}.",
        "A ratio above 1 says that bayespa is better. Seconds are CPU seconds of all threads unless the "
        "clock is named. Programs take turns on the same machine and ratios are medians over rounds: they "
        "mean more than the absolute numbers, which come last. With two workers, tomotopy's results change "
        "from run to run; ours do not.",
        "## Ratios",
        *(_markdown(table, "###") for part in parts for table in part.ratios),
        "## Plots",
        *(_plot(folder, date, caption, svg) for part in parts for caption, svg in part.plots.items()),
        "## What was measured",
    ]
    for part in parts:
        load = [] if part.load is None else [f"The load of the machine was {part.load} when this part began."]
        quick = ["This part was measured with `--quick`."] if part.quick else []
        blocks += [f"### {part.title}", part.about, *load, *quick]
        blocks += [_markdown(table, "####") for table in part.absolute]
    page = folder / f"{date}.md"
    page.write_text("\n\n".join(block.rstrip() for block in blocks) + "\n", encoding="utf-8")
    return page


def _plot(folder: Path, date: str, caption: str, svg: str) -> str:
    name = f"{date}-{''.join(c if c.isalnum() else '-' for c in caption.lower())}.svg"
    folder.joinpath(name).write_text(svg, encoding="utf-8")
    return f"![{caption}]({name})\n\n{caption}"
