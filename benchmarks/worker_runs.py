"""Whole runs of `bayespa train`, with workers and without: time, CPU time and memory.

    python -m benchmarks.worker_runs [--documents 60000 600000] [--workers 0 1 2] [--option=--model=medhdp]

The arXiv sample of the package, over and over, in a Parquet file of row groups of 2,000 documents. CPU
seconds are those of the driver, of the workers, and of all processes with Ray's own. Memory is the most that
the driver had of its own, and the most of the object store that a process had touched (of Linux: /proc
tells). Runs without workers have the same lag and no Ray.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bayespa.datasets import load_arxiv_sample

TICK = os.sysconf("SC_CLK_TCK")


@dataclass
class Watched:
    """What a process and those that it has started have used so far."""

    pid: int
    names: dict[int, str] = field(default_factory=dict)
    seconds: dict[int, float] = field(default_factory=dict)  # of CPU time
    most: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))  # MB

    def look(self) -> None:
        """Look once more."""
        known = {self.pid}
        for path in sorted(Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name)):
            try:
                name, _, rest = (path / "stat").read_text().partition(" (")[2].rpartition(") ")
                fields, pid = rest.split(), int(path.name)
                if pid not in known and int(fields[1]) not in known:
                    continue
                known.add(pid)
                status = dict(line.split(":", 1) for line in (path / "status").read_text().splitlines())
            except (OSError, ValueError):
                continue  # it has ended
            self.names[pid] = name
            self.seconds[pid] = (int(fields[11]) + int(fields[12])) / TICK
            own, shared = (float(status.get(key, "0").split()[0]) / 1e3 for key in ("RssAnon", "RssShmem"))
            self.most["store"] = max(self.most["store"], shared)
            if pid == self.pid:
                self.most["driver"] = max(self.most["driver"], own)

    def cpu(self, *kinds: str) -> float:
        """Return CPU seconds of processes whose name begins so."""
        return sum(s for pid, s in self.seconds.items() if self.names[pid].startswith(kinds))


def run(path: Path, workers: int, options: list[str]) -> str:
    """Learn a file; return a line of what it took."""
    shared = ["--workers", str(workers)] if workers else []
    program = [sys.executable, "-c", "from bayespa.cli import main; main()", "train", str(path)]
    output = ["-o", str(path.with_suffix(".bayespa")), "--lag", "32", "--shuffle", "0"]
    begin = time.monotonic()
    driver = subprocess.Popen([*program, *output, *shared, *options], stdout=subprocess.DEVNULL)
    watched = Watched(driver.pid)
    while driver.poll() is None:
        watched.look()
        time.sleep(0.3)
    if driver.returncode:
        raise RuntimeError(f"train has ended with {driver.returncode}")
    own, others = watched.seconds[driver.pid], watched.cpu("ray::")
    return (
        f"{workers:>7} {time.monotonic() - begin:>8.1f} {own:>10.1f} {others:>10.1f} {watched.cpu(''):>8.1f} "
        f"{watched.most['driver']:>9.0f} {watched.most['store']:>8.0f}"
    )


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=[60_000, 600_000])
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--option", action="append", default=[], help="of bayespa train")
    options = parser.parse_args()
    papers = load_arxiv_sample(subset="train")
    table = pa.table({"text": papers.data, "label": [own[0] for own in papers.labels]})
    for n in options.documents:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "papers.parquet")
            with pq.ParquetWriter(path, table.schema) as writer:
                for begin in range(0, n, len(table)):
                    writer.write_table(table.slice(0, n - begin), row_group_size=2000)
            print(f"\n{n} documents, {' '.join(options.option)}")
            print("workers  seconds cpu driver    workers      all driver MB store MB", flush=True)
            for workers in options.workers:
                print(run(path, workers, options.option), flush=True)


if __name__ == "__main__":
    main()
