"""Fuzz one target after the other, each in a process of its own.

python -m fuzz [target ...] [--seconds 45]

Needs atheris. An input that is wrongly handled is written to build/fuzz/TARGET, and fails the run.
"""

from __future__ import annotations

import argparse
import gc
import re
import subprocess
import sys
from pathlib import Path
from types import FunctionType


def fuzz(name: str, seconds: int) -> None:
    """Run a target, which ends the process."""
    import atheris

    from fuzz.targets import FUZZED, GOLDEN, SEEDS

    # Not atheris.instrument_imports: it has no effect on packages that are installed to be edited.
    for found in gc.get_objects():
        if isinstance(found, FunctionType) and (found.__module__ or "").startswith("bayespa."):
            atheris.instrument_func(found)
    work = Path("build", "fuzz", name)
    work.mkdir(parents=True, exist_ok=True)
    given = GOLDEN if name == "model" else SEEDS / name
    limits = [f"-max_total_time={seconds}", "-max_len=8192", "-rss_limit_mb=2048", "-timeout=20"]
    atheris.Setup(
        [name, str(work), str(given), *limits, f"-artifact_prefix={work}/", "-print_final_stats=1"],
        FUZZED[name],
    )
    atheris.Fuzz()


def main() -> None:
    """Fuzz all targets, or those named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=int, default=45, help="for each target")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        return fuzz(options.targets[0], options.seconds)
    from fuzz.targets import FUZZED

    failed = []
    for name in options.targets or FUZZED:
        command = [sys.executable, "-m", "fuzz", name, "--seconds", str(options.seconds), "--alone"]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        covered = re.findall(r"cov: (\d+)", done.stderr)[-1:] or ["no"]
        runs = re.findall(r"number_of_executed_units: (\d+)", done.stderr) or ["no"]
        result = "failed" if done.returncode else "ok"
        print(f"{name:10} {result}, {runs[0]} inputs, {covered[0]} branches reached", flush=True)
        if done.returncode:
            failed.append(name)
            print(done.stderr[-3000:])
    if failed:
        raise SystemExit(f"inputs that are wrongly handled: see build/fuzz, {', '.join(failed)}")


if __name__ == "__main__":
    main()
