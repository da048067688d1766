"""Runs: what each is known by, and what was found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from experiments.suite import learners
from experiments.suite.corpora import Task, read, read_stream
from experiments.suite.measures import measured

KEY = ("corpus", "learner", "settings", "seed", "mode", "order", "stream", "limit", "version")


def key(record: dict[str, Any]) -> str:
    """Return what a run is known by."""
    return json.dumps([record[name] for name in KEY], sort_keys=True)


def kept(path: Path) -> list[dict[str, Any]]:
    """Return the runs of a file, in their order."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(task: Task, wanted: dict[str, Any]) -> dict[str, Any]:
    """Return a run with its measures, or with why there are none."""
    try:
        rows = task.order(wanted["order"], wanted["seed"])
        arguments = (wanted["learner"], task, rows, wanted["seed"], wanted["settings"])
        progressive = {}
        with threadpool_limits(1):
            if wanted["stream"]:
                said, seconds, share = learners.run_stream(*arguments)
                progressive = {"progressive": share}
            else:
                said, seconds = learners.run(*arguments)
    except learners.Skipped as error:
        return {**wanted, "skipped": str(error)}
    found = {**measured(task.y_test, said), **progressive, "seconds": seconds}
    sizes = {"documents": len(rows), "judged": len(task.y_test)}
    return {**wanted, **sizes, "found": found}


def run_corpus(name: str, wanted: list[dict[str, Any]], output: Path) -> None:
    """Run what is wanted of a corpus, and keep each result at once."""
    first = wanted[0]
    task = (read_stream if first["stream"] else read)(name, first["mode"], first["limit"])
    for one in wanted:
        record = run(task, one)
        with output.open("a") as file:
            file.write(json.dumps(record) + "\n")
        found = record.get("found")
        said = record["skipped"] if found is None else " ".join(f"{k} {v:.4g}" for k, v in found.items() if v)
        print(f"{name}, {one['learner']} {one['settings'] or ''} seed {one['seed']}: {said}", flush=True)
