"""A guard against slow code: instructions of a token-sample under callgrind, the same on a busy machine.

    python -m benchmarks guard            compare with guard.json; fails if a row has grown by more than 2 %
    python -m benchmarks guard --update   write guard.json, after a change that is meant

Needs valgrind. The kernels are those of x86-64-v3, which valgrind knows. The counts depend on the compiler,
whose name is written down with them.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from bayespa.datasets import make_topic_corpus
from bayespa.native.medlda import Documents, Schedule, Tasks, Topics, step

KEPT = Path(__file__).with_name("guard.json")
TOLERANCE = 0.02
ROWS = {"no labels": 0, "1 task": 1, "20 tasks": 20}
N_TOPICS, SWEEPS = 40, 4


def work(n_tasks: int) -> None:
    """Sample a small mini-batch; callgrind counts the step and nothing else."""
    corpus = make_topic_corpus(64, n_words=500, n_topics=20, n_labels=20, random_state=0)
    documents = Documents.from_csr(corpus.data)
    rng = np.random.default_rng(0)
    phi = rng.random((len(documents.vocabulary), N_TOPICS), np.float32) ** 8
    topics = Topics(phi, np.full(N_TOPICS, 0.4, np.float32))
    labels = np.where(corpus.target[:, None] == np.arange(n_tasks), 1, -1).astype(np.float32)
    covariance = np.tile(np.eye(N_TOPICS), (n_tasks, 1, 1))
    mean = rng.normal(size=(n_tasks, N_TOPICS))
    tasks = Tasks(mean, covariance, labels, np.full(n_tasks, 8.0), 32.0)
    _instrument("on")
    step(documents, topics, tasks, Schedule(1, 1, SWEEPS, 0) if n_tasks else Schedule(1 + SWEEPS, 1, 0, 0))
    _instrument("off")
    print(int(corpus.data.sum()) * (1 + SWEEPS))


def _instrument(state: str) -> None:
    subprocess.run(["callgrind_control", "-i", state, str(os.getpid())], check=True, capture_output=True)


def instructions(n_tasks: int) -> float:
    """Return the instructions of a token-sample."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "callgrind.out")
        valgrind = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}"]
        run = [sys.executable, "-c", f"from benchmarks.guard import work; work({n_tasks})"]
        environment = {**os.environ, "BAYESPA_ISA": "v3", "PYTHONHASHSEED": "0"}
        done = subprocess.run([*valgrind, *run], env=environment, check=True, capture_output=True, text=True)
        totals = re.search(r"^totals: (\d+)", out.read_text(), re.MULTILINE)
    if totals is None:
        raise RuntimeError(f"callgrind counted nothing: {done.stderr}")
    return int(totals[1]) / int(done.stdout)


def grown(now: dict[str, float], kept: dict[str, float]) -> list[str]:
    """Return a sentence for every row that has grown by more than the tolerance."""
    return [
        f"{name}: {now[name]:.1f} instructions a token-sample were {kept[name]:.1f}"
        for name in kept
        if now[name] > kept[name] * (1 + TOLERANCE)
    ]


def main(*, update: bool) -> int:
    """Count, print, compare; return the exit status."""
    if shutil.which("callgrind_control") is None:
        print("the guard needs valgrind: sudo apt-get install valgrind", file=sys.stderr)
        return 2
    now = {name: round(instructions(n_tasks), 2) for name, n_tasks in ROWS.items()}
    for name, count in now.items():
        print(f"{name:12} {count:8.1f} instructions a token-sample, K = {N_TOPICS}")
    compiler = subprocess.run(["c++", "--version"], capture_output=True, text=True).stdout.splitlines()[:1]
    if update:
        record = {"instructions": now, "compiler": compiler, "machine": platform.machine()}
        KEPT.write_text(json.dumps(record, indent=1) + "\n")
        return 0
    kept = json.loads(KEPT.read_text())
    if kept["compiler"] != compiler:
        print(f"counted before with {kept['compiler']}, now with {compiler}: small changes mean nothing")
    found = grown(now, kept["instructions"])
    print("\n".join(found) or "none has grown")
    return int(bool(found))
