"""Run the study: `python -m experiments.quality choose` on held-out training documents, `test` at the end.

Finished runs are kept in a file of JSON lines and not run again. Corpora are found where BAYESPA_DATA points.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
from benchmarks.corpora import words
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import accuracy_score, f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from bayespa import MedHDPClassifier, MedLDAClassifier, PassiveAggressiveClassifier
from bayespa.inspect import diversity, npmi
from bayespa.reproduce.cells import code
from bayespa.reproduce.methods import made
from experiments.quality.splits import NAMED, OTHERS, Split, split
from experiments.suite.measures import calibration_error

MODELS: dict[str, Any] = {"MedLDA": MedLDAClassifier, "MedHDP": MedHDPClassifier}
# What was tried on held-out documents; the test documents are for the defaults and for topics alone.
CHOICES = {
    "topics alone": {"decides": "topics"},
    "defaults": {},
    "word_scale 0.5": {"word_scale": 0.5},
    "word_scale 2": {"word_scale": 2.0},
    "80 topics": {"n_topics": 80},
    "no first sweeps": {"first_sweeps": 0},
    "1024 first documents": {"first_documents": 1024},
    "50 first sweeps": {"first_sweeps": 50},
    "65 first sweeps": {"first_sweeps": 65},
    "80 first sweeps": {"first_sweeps": 80},
    "200 first sweeps": {"first_sweeps": 200},
    "one alpha": {"learn_alpha": False},
    "one alpha of 0.4": {"learn_alpha": False, "alpha": 0.4},
    "alpha 0.4": {"alpha": 0.4},
    "cost 4": {"cost": 4.0},
    "cost 32": {"cost": 32.0},
    "cost 128": {"cost": 128.0},
}
# Parameters that MedHDP has not, or whose values say something else.
OF_MEDLDA = {"n_topics", "alpha", "learn_alpha", "first_sweeps", "first_documents"}
TESTED = ("topics alone", "defaults")
CEILINGS = ("linear SVM, tf-idf", "PA, one pass, tf-idf")
PEER = "tomotopy LDA, 40 topics, 200 sweeps"  # whose topics are compared, where it is installed
PEER_SEEDS = 2  # which take longer than all others together


def measures(y: Any, said: Any) -> dict[str, float]:
    """Return accuracy, or micro- and macro-averaged F1 where there are many labels."""
    if y.ndim == 1:
        return {"score": float(accuracy_score(y, said))}
    micro, macro = (f1_score(y, said, average=how, zero_division=0) for how in ("micro", "macro"))
    return {"score": float(micro), "macro": float(macro)}


def run_ours(model: str, settings: dict[str, Any], data: Split, seed: int) -> dict[str, float]:
    """Learn in one pass and judge predictions, probabilities and topics."""
    begin = time.process_time()
    fitted = made(MODELS[model], random_state=seed, **settings).fit(data.X, data.y)
    seconds = time.process_time() - begin
    expected = data.y_test if data.y.ndim == 2 else np.searchsorted(fitted.classes_, data.y_test)
    probability = fitted.predict_proba(data.X_test)
    topics = fitted.topics(10, data.words)
    tokens = fitted.topic_word_.sum(axis=1)
    margin = fitted.transform(data.X_test) @ fitted.coef_.T
    if margin.shape[1] == 1:
        margin = np.hstack([-margin, margin])
    by_topics = {} if data.y.ndim == 2 else {"by topics": float((margin.argmax(axis=1) == expected).mean())}
    return {
        **measures(data.y_test, fitted.predict(data.X_test)),
        **by_topics,
        "ece": calibration_error(expected, probability),
        "seconds": seconds,
        "topics": len(topics),
        "npmi": float(np.mean(npmi(topics, data.X, feature_names=data.words))),
        "diversity": diversity(topics),
        "smallest": float(tokens.min() / tokens.sum() * len(tokens)),
    }


def run_ceiling(name: str, data: Split, seed: int) -> dict[str, float]:
    """Learn a linear model of tf-idf."""
    linear: Any = LinearSVC(random_state=seed)
    if name.startswith("PA"):
        linear = PassiveAggressiveClassifier(max_iter=1, tol=None, random_state=seed)
    if data.y.ndim == 2:
        linear = OneVsRestClassifier(linear)
    begin = time.process_time()
    model = make_pipeline(TfidfTransformer(sublinear_tf=True), linear).fit(data.X, data.y)
    seconds = time.process_time() - begin
    return {**measures(data.y_test, model.predict(data.X_test)), "seconds": seconds}


def run_peer(data: Split, seed: int) -> dict[str, float]:
    """Learn topics without labels with tomotopy."""
    import tomotopy

    begin, model = time.process_time(), tomotopy.LDAModel(k=40, seed=seed + 1)
    for document in words(data.X[data.X.getnnz(axis=1) > 0]):
        model.add_doc(document)
    model.train(200, workers=1)
    topics = [[data.words[int(word)] for word, _ in model.get_topic_words(k, 10)] for k in range(40)]
    return {
        "seconds": time.process_time() - begin,
        "topics": 40,
        "npmi": float(np.mean(npmi(topics, data.X, feature_names=data.words))),
        "diversity": diversity(topics),
    }


def run(model: str, name: str, data: Split, seed: int) -> dict[str, float]:
    """Return the measures of one run."""
    if model:
        return run_ours(model, CHOICES[name], data, seed)
    return run_peer(data, seed) if name == PEER else run_ceiling(name, data, seed)


def main() -> None:
    """Run what is missing, and print a table a corpus."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["choose", "test"])
    parser.add_argument("--corpora", nargs="+", choices=[*NAMED, *OTHERS])
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--choices", nargs="+", choices=list(CHOICES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("quality.jsonl"))
    options = parser.parse_args()
    done = {}
    if options.output.exists():
        done = {tuple(r["key"]): r["found"] for r in map(json.loads, options.output.read_text().splitlines())}
    others = (*CEILINGS, PEER) if importlib.util.find_spec("tomotopy") else CEILINGS
    corpora = options.corpora or (NAMED if options.what == "choose" else (*NAMED, *OTHERS))
    for corpus in corpora:
        data = split(corpus, holdout=options.what == "choose")
        n_labels = data.y.shape[1] if data.y.ndim == 2 else len(np.unique(data.y))
        print(
            f"\n{corpus}: {data.X.shape[0]} documents, {data.X_test.shape[0]} to judge by, {n_labels} labels"
        )
        print()
        columns = ("score", "macro", "by topics", "ece", "topics", "npmi", "diversity", "smallest", "seconds")
        print("| | seeds | " + " | ".join(columns) + " |\n" + "|---" * (len(columns) + 2) + "|")
        rows = [
            (model, name)
            for model in options.models
            for name in options.choices or (CHOICES if options.what == "choose" else TESTED)
        ]
        for model, name in rows + [("", other) for other in others]:
            if model == "MedHDP" and OF_MEDLDA & set(CHOICES[name]):
                continue
            found = []
            for seed in range(min(options.seeds, PEER_SEEDS) if name == PEER else options.seeds):
                key = (code(), options.what, corpus, model, name, str(seed))
                if key not in done:
                    done[key] = run(model, name, data, seed)
                    with options.output.open("a") as file:
                        file.write(json.dumps({"key": key, "found": done[key]}) + "\n")
                found.append(done[key])
            print(
                f"| {model} {name} | {len(found)} | " + " | ".join(shown(found, c) for c in columns) + " |",
                flush=True,
            )


def shown(found: list[dict[str, float]], column: str) -> str:
    """Return mean and standard deviation over the seeds."""
    values = [run[column] for run in found if column in run]
    if not values:
        return ""
    return f"{mean(values):.4g}" + (f" ± {stdev(values):.2g}" if len(values) > 1 else "")


if __name__ == "__main__":
    main()
