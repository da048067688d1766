"""Two signals, one soon after the other, at random moments of `train` and `update -`.

    python -m fuzz.signals --tries 100

Whatever they cut short, every file loads, and a run that goes on has the bits of one that was never cut. The
moments come from a seed, but how far a program is then depends on the machine: every run tries others.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bayespa
from bayespa.datasets import load_arxiv_sample

PROGRAM = [sys.executable, "-c", "from bayespa.cli import main; main()"]
FAST = [
    "--topics",
    "4",
    "--batch-size",
    "32",
    "--set",
    "first_documents=64",
    "--set",
    "first_sweeps=3",
    "--jobs",
    "1",
]
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def documents(n: int) -> str:
    """Return the first papers of two categories as JSON lines."""
    sample = load_arxiv_sample()
    some = sorted({labels[0] for labels in sample.labels})[:2]
    rows = [(t, labels[0]) for t, labels in zip(sample.data, sample.labels, strict=True) if labels[0] in some]
    return "\n".join(json.dumps({"text": text, "label": label}) for text, label in rows[:n]) + "\n"


def run(*arguments: object, **options: object) -> subprocess.Popen[bytes]:
    """Start the program."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([*PROGRAM, *map(str, arguments)], **{**quiet, **options})  # type: ignore[call-overload, no-any-return]


def strike(process: subprocess.Popen[bytes], chance: random.Random, seconds: float) -> None:
    """Send two signals: the first after some time, the second a moment later."""
    time.sleep(chance.uniform(0.3, seconds))
    for _ in range(2):
        if process.poll() is None:
            process.send_signal(chance.choice(SIGNALS))
        time.sleep(chance.choice([0.0, 0.0005, 0.002, 0.01]))
    process.wait(60)


def train(folder: Path, whole: bytes, seconds: float, chance: random.Random) -> None:
    """Cut `train` short, load what it has left, go on, and compare."""
    path, checkpoint = folder / "cut.bayespa", folder / "cut.bayespa.checkpoint"
    command = ["train", folder / "data.jsonl", "-o", path, *FAST, "--checkpoint-every", 64]
    strike(run(*command), chance, seconds)
    for file in (path, checkpoint):
        if file.exists():
            bayespa.load(file)
    assert run(*command, "--resume").wait(120) == 0
    assert path.read_bytes() == whole, "a run that was cut short and went on has other bits"
    path.unlink()


def update(folder: Path, seconds: float, chance: random.Random) -> None:
    """Cut `update -` short: the model loads, and has learned what it says."""
    path = folder / "stream.bayespa"
    path.write_bytes((folder / "whole.bayespa").read_bytes())
    before = bayespa.load(path).estimator.n_documents_seen_
    process = run("update", path, "-", "--jobs", 1, stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write((folder / "data.jsonl").read_bytes())
    process.stdin.flush()  # and it stays open, as that of a stream does
    strike(process, chance, seconds)
    process.stdin.close()
    model = bayespa.load(path)
    assert model.estimator.n_documents_seen_ >= before
    model.predict(["some words of a paper"])


def main() -> None:
    """Try as often as the command line says."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--tries", type=int, default=100)
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "data.jsonl").write_text(documents(400), encoding="utf-8")
        begin = time.monotonic()
        done = run(
            "train", folder / "data.jsonl", "-o", folder / "cut.bayespa", *FAST, "--checkpoint-every", 64
        )
        assert done.wait(120) == 0
        seconds = time.monotonic() - begin
        whole = (folder / "cut.bayespa").read_bytes()
        (folder / "cut.bayespa").rename(folder / "whole.bayespa")
        for number in range(given.tries):
            if number % 2:
                update(folder, seconds, chance)
            else:
                train(folder, whole, seconds, chance)
    print(f"{given.tries} pairs of signals, and nothing was lost or torn")


if __name__ == "__main__":
    main()
