"""Measure bayespa beside other programs and write a page.

    python -m benchmarks [part ...] [--quick] [--date DATE] [--results FOLDER] [--data-home FOLDER]

Without parts, all but the guard. --quick measures less and takes some five minutes on two cores. All parts in
full take hours, so they may be measured at different times: parts that are on the page of the date stay.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path

from benchmarks import (
    accuracy,
    counting,
    end_to_end,
    growth,
    guard,
    hdp_speed,
    kernel,
    limit,
    page,
    prediction,
)
from benchmarks.measure import fresh, machine, versions
from benchmarks.settings import Settings

MODULES = (kernel, hdp_speed, limit, prediction, accuracy, growth, counting, end_to_end)
PARTS = {module.__name__.split(".")[-1]: module for module in MODULES}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="part", help=f"{', '.join(PARTS)}, or guard alone")
    parser.add_argument("--quick", action="store_true", help="measure less: minutes")
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--date", default=time.strftime("%Y-%m-%d"), help="of the page; by default today")
    parser.add_argument("--data-home", help="folder of the corpora; by default BAYESPA_DATA")
    parser.add_argument("--update", action="store_true", help="guard: write the counts down as those to keep")
    options = parser.parse_args()
    if options.parts == ["guard"]:
        sys.exit(guard.main(update=options.update))
    if unknown := set(options.parts) - set(PARTS):
        parser.error(
            f"unknown part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}, and guard alone"
        )
    settings = Settings(options.quick, options.data_home)
    for name in options.parts or PARTS:
        start, load = time.monotonic(), round(os.getloadavg()[0], 2)
        try:
            part = replace(fresh(PARTS[name].run, settings)[0], load=load, quick=options.quick)
        except (
            BrokenProcessPool
        ) as error:  # a program ended the interpreter; the others are still worth a page
            part = page.Part(name, f"Not measured: a process died ({error}).")
        # A page after every part: hours of measuring are not lost with the last of them.
        others = [one for one in page.parts_of(options.results, options.date) if one.title != part.title]
        written = page.write(options.results, options.date, [*others, part], machine(), versions())
        print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)
    print(written)


if __name__ == "__main__":
    main()
