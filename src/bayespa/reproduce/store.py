"""Finished cells on disk, one per line; lines are only added."""

from __future__ import annotations

import json
import os
from pathlib import Path

from bayespa.reproduce.cells import Cell, Run


class Store:
    """Finished runs by the keys of their cells, in a file that is only ever added to.

    Parameters
    ----------
    path : Path
        A file of JSON lines. An incomplete last line, left by a killed program, is removed.

    Examples
    --------
    >>> import tempfile
    >>> from bayespa.reproduce.cells import Point
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path, cell = Path(folder, "runs.jsonl"), Cell("paMedLDA", "sample", {}, seed=0)
    ...     Store(path).add(Run(cell, (Point(1.0, 0.5, 0.8, 40, 2.0),)))
    ...     Store(path).get(cell).last.score
    0.8
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._runs: dict[str, Run] = {}
        if not path.exists():
            return
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            os.truncate(path, len(whole))
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                record = json.loads(line)
                self._runs[record["key"]] = Run.from_json(record)
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"{path}, line {number} is not a finished cell ({error!r}); delete that line, and the "
                    "cell will be run again"
                ) from error

    def get(self, cell: Cell) -> Run | None:
        """Return the finished run of a cell, if there is one."""
        return self._runs.get(cell.key)

    def add(self, run: Run) -> None:
        """Keep a finished run: it is on the disk when this returns."""
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(run.to_json()) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._runs[run.cell.key] = run
