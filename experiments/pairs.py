"""What pairs of adjacent words are worth to decisions, on held-out training documents. [MED-9].

    export BAYESPA_DATA=path/to/the/corpora
    python -m experiments.pairs                             # linear models of all settings
    python -m experiments.pairs --kind medlda --settings defaults

Each cell is the mean over the seeds of the difference to words alone, of accuracy (micro-F1 of several
labels, R² of numbers). A run is a line of JSON in the output; what is there is not run again.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import mean, stdev
from typing import Any
from unittest.mock import patch

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from bayespa.reproduce.cells import code
from bayespa.topics import words
from experiments.suite.corpora import READERS, Task, read
from experiments.suite.learners import run_ours
from experiments.suite.measures import measured

ALONE = "words alone"
# Settings of the vocabulary, and the value of a pair where that of a word is 1.
SETTINGS: dict[str, tuple[dict[str, Any], float]] = {
    ALONE: ({"ngrams": 1}, words.RUN),
    "defaults": ({}, words.RUN),
    "value 0.35": ({}, 0.35),
    "value 0.7": ({}, 0.7),
    "from the first": ({"min_run_count": 1}, words.RUN),
    "from the third": ({"min_run_count": 3}, words.RUN),
    "up to 50,000": ({"max_runs": 50_000}, words.RUN),
}


def run(kind: str, task: Task, seed: int, name: str) -> dict[str, float]:
    """Return accuracy and CPU seconds of a model on held-out documents."""
    settings, value = SETTINGS[name]
    with patch.object(words, "RUN", value), threadpool_limits(1):
        said, seconds = run_ours(kind, task, task.order("shuffled", seed), seed, settings)
    return {"accuracy": float(measured(task.y_test, said)["accuracy"] or 0.0), "seconds": seconds}


def main() -> None:
    """Run what is missing, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kind", choices=["linear", "medlda", "medhdp"], default="linear")
    parser.add_argument("--corpora", nargs="+", choices=list(READERS), default=list(READERS))
    parser.add_argument("--settings", nargs="+", choices=list(SETTINGS), default=list(SETTINGS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("pairs.jsonl"))
    options = parser.parse_args()
    done = {}
    if options.output.exists():
        done = {tuple(r["key"]): r["found"] for r in map(json.loads, options.output.read_text().splitlines())}
    others = [name for name in options.settings if name != ALONE]
    print(f"| {options.kind} | {ALONE} | {' | '.join(others)} |\n" + "|---" * (2 + len(others)) + "|")
    gains: dict[str, list[float]] = {name: [] for name in others}
    for corpus in options.corpora:
        task = read(corpus, "dev")
        found: dict[str, list[float]] = {}
        for name in (ALONE, *others):
            for seed in range(options.seeds):
                key = (code(), options.kind, corpus, name, str(seed))
                if key not in done:
                    done[key] = run(options.kind, task, seed, name)
                    with options.output.open("a") as file:
                        file.write(json.dumps({"key": key, "found": done[key]}) + "\n")
                found.setdefault(name, []).append(done[key]["accuracy"])
        cells = []
        for name in others:
            gain = [now - before for now, before in zip(found[name], found[ALONE], strict=True)]
            gains[name].append(mean(gain))
            cells.append(f"{mean(gain):+.4f}" + (f" ± {stdev(gain):.4f}" if len(gain) > 1 else ""))
        print(f"| {corpus} | {mean(found[ALONE]):.4f} | {' | '.join(cells)} |", flush=True)
    for how, of in (("mean", mean), ("least", min)):
        print(f"| {how} | | {' | '.join(f'{of(gains[name]):+.4f}' for name in others)} |")


if __name__ == "__main__":
    main()
