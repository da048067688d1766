"""Peak memory of `bayespa train` on few and on many generated documents: it must not depend on their number.

python benchmarks/train_memory.py [--documents 65000 650000]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

N_WORDS, N_TOKENS, N_CLASSES = 200_000, 61, 20
PROGRAM = (sys.executable, "-c", "from bayespa.cli import main; main()")
OPTIONS = ("--max-words", "20000", "--topics", "20")  # a vocabulary that is full before 65,000 documents


def documents(n: int, seed: int = 0) -> Iterator[str]:
    """Yield documents as lines of JSON: Zipfian words, to which each class adds some of its own."""
    rng = np.random.default_rng(seed)
    words = np.array([f"word{i}" for i in range(N_WORDS)])
    for start in range(0, n, 5000):
        size = min(5000, n - start)
        ranks = np.exp(rng.uniform(0.0, np.log(N_WORDS), (size, N_TOKENS))).astype(int) - 1
        labels = rng.integers(N_CLASSES, size=size)
        ranks[:, :5] = 100 + 50 * labels[:, None] + rng.integers(50, size=(size, 5))
        for row, label in zip(words[ranks], labels, strict=True):
            yield json.dumps({"text": " ".join(row), "label": f"class {label}"}) + "\n"


def train(path: Path, model: Path) -> tuple[float, float, str]:
    """Return peak memory (MB), CPU seconds and what the program printed."""
    command = [*PROGRAM, "train", path, "-o", model, "--json"]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([*map(str, command), *OPTIONS], stdout=output)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        return used.ru_maxrss / 1e3, used.ru_utime + used.ru_stime, output.read().decode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--documents", type=int, nargs="+", default=[65_000, 650_000])
    for n in parser.parse_args().documents:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "documents.jsonl")
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(documents(n))
            peak, seconds, printed = train(path, Path(folder, "model.bayespa"))
            size = path.stat().st_size / 1e6
        words = json.loads(printed)["words"]
        print(
            f"{n:8,} documents ({size:,.0f} MB, {words:,} words): peak {peak:,.0f} MB, CPU {seconds:,.0f} s"
        )


if __name__ == "__main__":
    main()
