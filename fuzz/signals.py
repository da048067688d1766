"""Two signals, one soon after the other, at random moments of `train`, `update -` and `partial_fit`.

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

# Signals mean what they mean on a terminal, wherever this runs; SIGUSR1 shows where a program hangs.
START = """
import faulthandler, signal
faulthandler.register(signal.SIGUSR1)
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from bayespa.cli import main, start
start.MOST_CLASSES = -1  # a small corpus is learned at once: here are many mini-batches
main()
"""
PROGRAM = [sys.executable, "-c", START]
PATIENCE = 900  # seconds: also of a busy machine only a hang takes longer
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
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
IMPORTING = 0.4  # about the share of a run that imports take, when there is little to tear
# A script whose user presses Ctrl-C: whatever that hits, the model goes on, or what was saved of it does.
LEARN = """
import signal, sys
import bayespa
from bayespa.datasets import make_topic_corpus

path, loads = sys.argv[1], sys.argv[2] == "loads"
corpus = make_topic_corpus(960, n_words=300, n_topics=6, n_labels=3, random_state=0)
model = bayespa.MedLDAClassifier(
    6, batch_size=32, expert={"first_documents": 64, "first_sweeps": 3}, random_state=0, n_jobs=1
)
model.partial_fit(corpus.data[:64, :200], corpus.target[:64], classes=[0, 1, 2])
bayespa.save(model, path)


def learn():
    global model
    if loads and struck:
        model = bayespa.load(path)
    while (seen := model.n_documents_seen_) < 960:
        rows = slice(seen, seen + 32)
        model.partial_fit(corpus.data[rows, : 200 + seen // 10], corpus.target[rows])
        if seen % 128 == 0:
            bayespa.save(model, path)
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def strike(number, frame):
    struck.append(number)
    raise KeyboardInterrupt


SIGNALS, struck = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP), []
for number in SIGNALS:
    signal.signal(number, strike)
print("ready", flush=True)
try:  # there are two signals, of which the second may hit what answers the first
    try:
        try:
            learn()
        except KeyboardInterrupt:
            learn()
    except KeyboardInterrupt:
        learn()
except KeyboardInterrupt:
    learn()
bayespa.save(model, path)
"""


def documents(n: int) -> str:
    """Return the first papers of two categories as JSON lines."""
    sample = load_arxiv_sample()
    some = sorted({labels[0] for labels in sample.labels})[:2]
    rows = [(t, labels[0]) for t, labels in zip(sample.data, sample.labels, strict=True) if labels[0] in some]
    return "\n".join(json.dumps({"text": text, "label": label}) for text, label in rows[:n]) + "\n"


def run(folder: Path, *arguments: object, **options: object) -> subprocess.Popen[bytes]:
    """Start the program."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": (folder / "said.txt").open("wb")}
    return subprocess.Popen([*PROGRAM, *map(str, arguments)], **{**quiet, **options})  # type: ignore[call-overload, no-any-return]


def strike(process: subprocess.Popen[bytes], chance: random.Random, first: float, last: float) -> None:
    """Send two signals: the first between two points of time, the second a moment later."""
    time.sleep(chance.uniform(first, last))
    for _ in range(2):
        if process.poll() is None:
            process.send_signal(chance.choice(SIGNALS))
        time.sleep(chance.choice([0.0, 0.0005, 0.002, 0.01]))
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGUSR1)
        time.sleep(1.0)
        raise


def train(folder: Path, whole: bytes, seconds: float, chance: random.Random) -> None:
    """Cut `train` short, load what it has left, go on, and compare."""
    path, checkpoint = folder / "cut.bayespa", folder / "cut.bayespa.checkpoint"
    command = ["train", folder / "data.jsonl", "-o", path, *FAST, "--checkpoint-every", 64]
    strike(run(folder, *command), chance, IMPORTING * seconds, seconds)
    for file in (path, checkpoint):
        if file.exists():
            bayespa.load(file)
    assert run(folder, *command, "--resume").wait(PATIENCE) == 0
    assert path.read_bytes() == whole, "a run that was cut short and went on has other bits"
    path.unlink()


def update(folder: Path, seconds: float, chance: random.Random) -> None:
    """Cut `update -` short: the model has learned the first documents, as if there had been no others."""
    path, lines = folder / "stream.bayespa", (folder / "data.jsonl").read_bytes().splitlines(keepends=True)
    command = ["update", path, "-", "--jobs", 1, "--checkpoint-every", 64]

    def begun() -> subprocess.Popen[bytes]:
        path.write_bytes((folder / "whole.bayespa").read_bytes())
        return run(folder, *command, stdin=subprocess.PIPE)

    process = begun()
    before = bayespa.load(path).estimator.n_documents_seen_
    assert process.stdin is not None
    process.stdin.write(b"".join(lines))
    process.stdin.flush()  # and it stays open, as that of a stream does
    strike(process, chance, IMPORTING * seconds, seconds)
    process.stdin.close()
    cut, learned = path.read_bytes(), bayespa.load(path).estimator.n_documents_seen_ - before
    bayespa.load(path).predict(["some words of a paper"])
    if learned:
        process = begun()
        process.communicate(b"".join(lines[:learned]), PATIENCE)
        assert process.returncode == 0
    else:
        path.write_bytes((folder / "whole.bayespa").read_bytes())
    assert path.read_bytes() == cut, f"a stream cut after {learned} documents has other bits than these"


def start_script(path: Path, how: str) -> subprocess.Popen[bytes]:
    """Start the script, and wait until it is about to learn."""
    process = subprocess.Popen([sys.executable, "-c", LEARN, str(path), how], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.stdout.close()
    return process


def partial_fit(folder: Path, whole: bytes, seconds: float, chance: random.Random) -> None:
    """Cut `partial_fit`, `save` and `load` of a script short, which goes on."""
    path = folder / "script.bayespa"
    process = start_script(path, chance.choice(["loads", "goes on"]))
    strike(process, chance, 0.0, seconds)
    assert process.returncode == 0
    assert path.read_bytes() == whole, "a script that was cut short and went on has other bits"


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
            folder,
            "train",
            folder / "data.jsonl",
            "-o",
            folder / "cut.bayespa",
            *FAST,
            "--checkpoint-every",
            64,
        )
        assert done.wait(PATIENCE) == 0
        seconds = time.monotonic() - begin
        whole = (folder / "cut.bayespa").read_bytes()
        (folder / "cut.bayespa").rename(folder / "whole.bayespa")
        process, begin = start_script(folder / "script.bayespa", "goes on"), time.monotonic()
        assert process.wait(PATIENCE) == 0
        seconds_of_script = time.monotonic() - begin
        script = (folder / "script.bayespa").read_bytes()
        for number in range(given.tries):
            try:
                if number % 3 == 0:
                    train(folder, whole, seconds, chance)
                elif number % 3 == 1:
                    update(folder, seconds, chance)
                else:
                    partial_fit(folder, script, seconds_of_script, chance)
            except BaseException:
                print(f"try {number} of --seed {given.seed}; the program said:", file=sys.stderr)
                print((folder / "said.txt").read_text(), file=sys.stderr)
                raise
    print(f"{given.tries} pairs of signals, and nothing was lost or torn")


if __name__ == "__main__":
    main()
