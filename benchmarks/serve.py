"""Load on the service: single abstracts while it learns, and calls of 256; beside a bare service. Or memory.

    python -m benchmarks.serve [--seconds 10]
    python -m benchmarks.serve --minutes 30

The load generator is wrk (Debian's package), on the same machine. What is compared is CPU time a text, of the
service and of wrk, so that a busy machine does not matter; requests a second and latencies are those of the
clock. The other service is FastAPI around scikit-learn's TfidfVectorizer and LogisticRegression, which
predicts only. With --minutes a small load goes on for so long, and memory is read 30 times: after the first
tenth of the time it may not grow by more than 5 %.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import bayespa
from bayespa.datasets import load_arxiv_sample
from benchmarks.memory import resident_megabytes

LEARNED = 200  # documents a second
QUIET_LEARNED, QUIET_PREDICTED, GROWTH = 50, 150, 1.05  # a second, while memory is watched
CONNECTIONS = 16
MANY = 256
_SERVE = [sys.executable, "-c", "from bayespa.cli import main; main()", "serve"]
_SCRIPT = """
local bodies, at = {}, 0
for line in io.lines(os.getenv("BODIES")) do bodies[#bodies + 1] = line end
request = function()
  at = at % #bodies + 1
  return wrk.format("POST", "/api/v1/predict", {["Content-Type"] = "application/json"}, bodies[at])
end
"""
_BARE = """
import sys
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from bayespa.datasets import load_arxiv_sample

papers = load_arxiv_sample(subset="train")
labels = [names[0] for names in papers.labels]
model = make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=200)).fit(papers.data, labels)
app = FastAPI()

class Texts(BaseModel):
    texts: list[str]

@app.post("/api/v1/predict")
async def predict(body: Texts):
    best = model.predict_proba(body.texts)
    return [{"label": model.classes_[p.argmax()], "probability": float(p.max())} for p in best]

uvicorn.run(app, port=int(sys.argv[1]), access_log=False, log_level="error", loop="uvloop", http="httptools")
"""


Papers = Sequence[tuple[str, str]]  # texts and labels


class Load(NamedTuple):
    """What a load has cost."""

    requests: float  # a second
    p50: float  # milliseconds
    p99: float
    errors: int
    service: float  # CPU seconds a request
    wrk: float


def cpu(pid: int) -> float:
    """Return the CPU seconds of a process, of all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def running(command: Sequence[str], port: int) -> Iterator[int]:
    """Run a service until the block ends; give its process."""
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                ask(port, {"texts": ["a"]})
                break
            except OSError:
                if process.poll() is not None:
                    raise RuntimeError(f"the service has ended with {process.returncode}") from None
                time.sleep(0.2)
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def ask(port: int, body: object, what: str = "predict") -> None:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/v1/{what}",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    urllib.request.urlopen(request, timeout=60).read()


def load(
    pid: int, port: int, folder: Path, bodies: Sequence[object], connections: int, seconds: float
) -> Load:
    """Let wrk ask for so long."""
    (folder / "bodies").write_text("".join(f"{json.dumps(body)}\n" for body in bodies), encoding="utf-8")
    (folder / "script.lua").write_text(_SCRIPT, encoding="utf-8")
    command = [
        "wrk",
        "-t",
        "1",
        "-c",
        str(connections),
        "-d",
        f"{seconds:.0f}s",
        "--timeout",
        "30s",
        "--latency",
    ]
    before, children = cpu(pid), os.times()
    found = subprocess.run(
        [*command, "-s", str(folder / "script.lua"), f"http://127.0.0.1:{port}"],
        env={**os.environ, "BODIES": str(folder / "bodies")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    after = os.times()
    own = after.children_user + after.children_system - children.children_user - children.children_system
    n = int(re.findall(r"(\d+) requests in", found)[0])
    wrong = re.findall(r"Non-2xx or 3xx responses: (\d+)", found)
    p50, p99 = (_milliseconds(re.findall(rf"{q}%\s+([\d.]+)(\w+)", found)[0]) for q in (50, 99))
    rate = float(re.findall(r"Requests/sec:\s+([\d.]+)", found)[0])
    return Load(rate, p50, p99, int(wrong[0]) if wrong else 0, (cpu(pid) - before) / n, own / n)


def _milliseconds(value: tuple[str, str]) -> float:
    return float(value[0]) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[value[1]]


@contextmanager
def paced(rate: float, at_once: int, send: Callable[[range], None]) -> Iterator[list[int]]:
    """Send `at_once` documents again and again in this block, `rate` a second; give how many were sent."""
    ended, sent = threading.Event(), [0]

    def work() -> None:
        begin = time.monotonic()
        while not ended.is_set():
            send(range(sent[0], sent[0] + at_once))
            sent[0] += at_once
            ended.wait(max(0.0, begin + sent[0] / rate - time.monotonic()))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield sent
    finally:
        ended.set()
        thread.join()


def teacher(port: int, papers: Papers) -> Callable[[range], None]:
    """Return a function that teaches documents of these numbers."""

    def teach(numbers: range) -> None:
        pairs = [papers[n % len(papers)] for n in numbers]
        ask(port, {"documents": [{"text": text, "label": label} for text, label in pairs]}, "learn")

    return teach


def told(name: str, texts: int, found: Load) -> None:
    service, wrk = 1e6 * found.service / texts, 1e6 * found.wrk / texts
    print(
        f"{name:<42} {found.requests * texts:6.0f} texts/s, p50 {found.p50:.1f} ms, p99 {found.p99:.1f} ms, "
        f"{found.errors} errors; CPU a text: {service:.0f} us, and {wrk:.0f} us of wrk",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="of each load")
    parser.add_argument("--minutes", type=float, default=0.0, help="to watch memory, and nothing else")
    parser.add_argument("--port", type=int, default=18_417)
    options = parser.parse_args()
    if not options.minutes and shutil.which("wrk") is None:
        parser.error("wrk is missing: apt-get install wrk")
    train, test = (load_arxiv_sample(subset=subset) for subset in ("train", "test"))
    labels = [names[0] for names in train.labels]
    papers = list(zip(train.data, labels, strict=True))
    singles = [{"texts": [text]} for text in test.data]
    many = [{"texts": (test.data * 2)[i : i + MANY]} for i in range(0, 1000, MANY)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        services = {}
        for kind in ("medlda", "linear"):
            path = folder / f"{kind}.bayespa"
            bayespa.save(bayespa.TextModel(kind, random_state=0).learn(train.data, labels), path)
            services[kind] = [*_SERVE, str(path), "--port", str(options.port)]
        if options.minutes:
            with running(services["medlda"], options.port) as pid:
                return watch(pid, options.port, papers, test.data, options.minutes)
        services["FastAPI, scikit-learn tf-idf"] = [sys.executable, "-c", _BARE, str(options.port)]
        costs = {}
        for kind, command in services.items():
            with running(command, options.port) as pid:
                load(pid, options.port, folder, singles, CONNECTIONS, 2.0)  # to get warm
                costs[kind] = load(pid, options.port, folder, singles, CONNECTIONS, options.seconds)
                told(f"{kind}, single", 1, costs[kind])
                told(
                    f"{kind}, {MANY} a call", MANY, load(pid, options.port, folder, many, 2, options.seconds)
                )
                if kind not in ("medlda", "linear"):
                    continue
                with paced(LEARNED, LEARNED // 10, teacher(options.port, papers)) as taught:
                    found = load(pid, options.port, folder, singles, CONNECTIONS, options.seconds)
                told(f"{kind}, single, while it learns", 1, found)
                print(
                    f"{'':<34} {taught[0] / options.seconds:8.0f} documents a second were learned", flush=True
                )
        *ours, bare = costs.items()
        for kind, found in ours:
            print(f"CPU a single text, {kind} / {bare[0]}: {found.service / bare[1].service:.2f}")


def watch(pid: int, port: int, papers: Papers, texts: Sequence[str], minutes: float) -> None:
    """Read memory 30 times under a small load."""

    def predict(numbers: range) -> None:
        ask(port, {"texts": [texts[n % len(texts)] for n in numbers]})

    sizes: list[float] = []
    with (
        paced(QUIET_LEARNED, 10, teacher(port, papers)) as taught,
        paced(QUIET_PREDICTED, 1, predict) as predicted,
    ):
        for n in range(1, 31):
            time.sleep(2.0 * minutes)
            sizes.append(resident_megabytes(pid))
            print(
                f"{n * minutes / 30:5.1f} min  {sizes[-1]:7.1f} MB  {predicted[0]:,} texts predicted, "
                f"{taught[0]:,} documents learned",
                flush=True,
            )
    early, late = max(sizes[:3]), max(sizes[-3:])
    print(f"memory {early:.1f} MB in the first tenth, {late:.1f} MB in the last: {late / early:.3f} times")
    if late > GROWTH * early:
        raise SystemExit("memory grows")


if __name__ == "__main__":
    main()
