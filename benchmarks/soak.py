"""Feed `bayespa update` a stream for a long time: its memory must stay flat, and the model whole.

    python -m benchmarks.soak [--minutes 30] [--rate 0]

Documents are generated and piped into one process that saves its model as it goes. Resident memory is read
30 times; after the first tenth of the time it may not grow by more than 5 %.
"""

import argparse
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.memory import resident_megabytes
from benchmarks.train_memory import OPTIONS, PROGRAM, documents

FIRST, GROWTH = 20_000, 1.05


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument(
        "--rate", type=float, default=0.0, help="documents a second; 0: as fast as they are learned"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, model = Path(folder, "documents.jsonl"), str(Path(folder, "model.bayespa"))
        path.write_text("".join(documents(FIRST)), encoding="utf-8")
        subprocess.run([*PROGRAM, "train", str(path), "-o", model, *OPTIONS], check=True)
        process = subprocess.Popen(
            [*PROGRAM, "update", model, "-", "--checkpoint-every", "20000"], stdin=subprocess.PIPE, text=True
        )
        begin, sizes, n = time.monotonic(), [], 0
        for n, line in enumerate(documents(10**12, seed=1), 1):
            process.stdin.write(line)
            elapsed = time.monotonic() - begin
            if options.rate and n > options.rate * elapsed:
                time.sleep(n / options.rate - elapsed)
            if elapsed >= options.minutes * 60 * (len(sizes) + 1) / 30:
                sizes.append(resident_megabytes(process.pid))
                print(f"{elapsed / 60:6.1f} min  {n:10,} documents  {sizes[-1]:7.1f} MB", flush=True)
            if len(sizes) == 30:
                break
        process.stdin.close()
        process.wait()
        subprocess.run([*PROGRAM, "topics", model, "--words", "3"], check=True, stdout=subprocess.DEVNULL)
    early, late = max(sizes[:4]), max(sizes[-3:])
    print(f"{n:,} documents; memory {early:.1f} MB after a tenth of the time, {late:.1f} MB in the end")
    if process.returncode or late > GROWTH * early:
        raise SystemExit(f"exit code {process.returncode}, memory {late / early:.3f} times what it was")


if __name__ == "__main__":
    main()
