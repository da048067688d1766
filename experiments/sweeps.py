"""How many Gibbs sweeps a prediction needs: scores by `prediction_sweeps`, on held-out training documents.

    python -m experiments.sweeps             what build/sweeps.jsonl does not have yet, then the table
    python -m experiments.sweeps --only trec

A model learns at most 3,000 documents of a corpus once, with all defaults, and predicts at most 1,500 that
were held out with each number of sweeps. What few sweeps cost is the difference to 50 of the same model.
The default where words decide too is the fewest that lose at most .0005 of accuracy and of log loss, as means
over corpora.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from bayespa import TextModel
from experiments.suite.corpora import Task, read
from experiments.suite.learners import answers, labels_of
from experiments.suite.measures import measured

CORPORA = (
    "20news-text",
    "20news-matlab",
    "arxiv20",
    "banking77",
    "bbc_news",
    "goemotions",
    "mr_sentiment",
    "reuters",
    "stackoverflow20",
    "trec",
    "webkb",
)
MODELS = {"words too": {}, "topics alone": {"decides": "topics"}}
SWEEPS, REFERENCE = (4, 8, 12, 16, 24, 50, 200), 50
MEASURES = ("accuracy", "log loss", "ece")
LEARNED, JUDGED, SEEDS = 3000, 1500, (0, 1, 2)
RUNS = Path("build/sweeps.jsonl")


def run(task: Task, kind: str, settings: dict[str, Any], seed: int) -> list[dict[str, Any]]:
    """Learn once; return the measures of each number of sweeps."""
    rows = task.order("shuffled", seed)
    model = TextModel(kind, random_state=seed, n_jobs=1, **settings)
    model.learn([task.train.texts[i] for i in rows], labels_of(task, rows))
    found = []
    for sweeps in SWEEPS:
        model.estimator.set_params(expert={"prediction_sweeps": sweeps})
        said = answers(model, task, task.test.texts)
        found.append({"sweeps": sweeps, **measured(task.y_test, said)})
    return found


def table(runs: list[dict[str, Any]]) -> str:
    """Return what others than the reference lose, for each model: the mean and the worst of the corpora."""
    lines = ["| model | sweeps | " + " | ".join(f"{name}, worst corpus" for name in MEASURES) + " |"]
    lines.append("|---" * (2 + len(MEASURES)) + "|")
    for model in dict.fromkeys(run["model"] for run in runs):
        own = [run for run in runs if run["model"] == model]
        corpora = dict.fromkeys(run["corpus"] for run in own)
        for sweeps in (sweeps for sweeps in SWEEPS if sweeps != REFERENCE):
            cells = []
            for name in MEASURES:
                by_corpus = {
                    c: _lost([run for run in own if run["corpus"] == c], sweeps, name) for c in corpora
                }
                worst = max(by_corpus, key=lambda c: by_corpus[c][0])
                mean = np.mean([lost for lost, _ in by_corpus.values()])
                lost, spread = by_corpus[worst]
                cells.append(f"{mean:+.4f}, {lost:+.4f} ± {spread:.4f} {worst}")
            lines.append(f"| {model} | {sweeps} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _lost(runs: list[dict[str, Any]], sweeps: int, name: str) -> tuple[float, float]:
    """Return by how much a measure is worse than with the reference: mean and deviation over seeds."""
    by_sweeps = [{one["sweeps"]: one[name] for one in run["found"]} for run in runs]
    sign = 1.0 if name == "accuracy" else -1.0
    lost = [sign * (values[REFERENCE] - values[sweeps]) for values in by_sweeps]
    return float(np.mean(lost)), float(np.std(lost))


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=CORPORA, default=CORPORA)
    parser.add_argument("--kind", default="medlda", choices=("medlda", "medhdp"))
    parser.add_argument("--output", type=Path, default=RUNS)
    options = parser.parse_args()
    options.output.parent.mkdir(exist_ok=True)
    kept = options.output.read_text().splitlines() if options.output.exists() else []
    runs = [json.loads(line) for line in kept]
    done = {(run["corpus"], run["model"], run["seed"]) for run in runs}
    for corpus in options.only:
        names = {name: f"{options.kind}, {name}" for name in MODELS}
        missing = [(m, s) for m in MODELS for s in SEEDS if (corpus, names[m], s) not in done]
        if not missing:
            continue
        whole = read(corpus, "dev", LEARNED)
        task = Task(corpus, whole.train, whole.test.take(np.arange(min(JUDGED, len(whole.test.texts)))))
        for model, seed in missing:
            with threadpool_limits(1):
                found = run(task, options.kind, MODELS[model], seed)
            runs.append({"corpus": corpus, "model": names[model], "seed": seed, "found": found})
            with options.output.open("a") as file:
                file.write(json.dumps(runs[-1]) + "\n")
            print(corpus, names[model], seed, [f"{one['sweeps']}: {one['accuracy']:.4f}" for one in found])
    print(table(runs))


if __name__ == "__main__":
    main()
