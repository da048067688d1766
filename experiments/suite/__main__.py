"""Run learners on the development corpora, and show how they stand.

    export BAYESPA_DATA=path/to/the/corpora
    python -m experiments.suite                        # dev: held-out training documents, to choose on
    python -m experiments.suite test --seeds 0 1 2     # the published test documents, at the end
    python -m experiments.suite --learners medlda --set word_scale=2 --set stop_words=null --corpora trec
    python -m experiments.suite test --stream          # predict, then learn, in the order of time
    python -m experiments.suite page --mode test       # print the tables, or with --output write the page

A result is a line of JSON, by default in build/suite/runs.jsonl. What is there is not run again. Our models
are known by a digest of their code, or by --tag; the page shows the latest.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from experiments.suite import learners, page
from experiments.suite.corpora import READERS, STREAMS, TIMED
from experiments.suite.runs import kept, key, run_corpus


def wanted_runs(options: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    """Return what the options ask for and the file does not have, by corpus."""
    done = {key(record) for record in kept(options.runs)}
    missing: dict[str, list[dict[str, Any]]] = {}
    order = options.order or ("time" if options.stream else "shuffled")
    possible = STREAMS if options.stream else TIMED if order == "time" else tuple(READERS)
    for corpus in (name for name in options.corpora or possible if name in possible):
        for seed in options.seeds:
            for learner in options.learners or (*learners.CALLED, *learners.PEERS):
                ours = learner in learners.OURS
                one = {
                    "corpus": corpus,
                    "learner": learner,
                    "settings": options.settings if ours else {},
                    "seed": seed,
                    "mode": options.what,
                    "order": order,
                    "stream": options.stream,
                    "limit": options.limit,
                    "tagged": ours and options.tag is not None,
                    "version": (options.tag if ours else None) or learners.version(learner),
                }
                if learners.applies(learner, corpus, options.stream) and key(one) not in done:
                    missing.setdefault(corpus, []).append(one)
    return missing


def setting(text: str) -> tuple[str, Any]:
    """Turn NAME=VALUE, where a value is JSON or else a text, into a pair."""
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def main(arguments: list[str] | None = None) -> None:
    """Run what is missing, or show what there is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["dev", "test", "page"], default="dev")
    parser.add_argument("--corpora", nargs="+", choices=list(READERS), metavar="NAME")
    parser.add_argument(
        "--learners",
        nargs="+",
        choices=learners.LEARNERS,
        help="by default all models by calls, and all peers",
        metavar="NAME",
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], help="of the order and of the models")
    parser.add_argument("--order", choices=["shuffled", "sorted", "time"], help="of the training documents")
    parser.add_argument(
        "--stream", action="store_true", help="predict 256 documents, then learn them, and so on"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="learn from N documents of a corpus at most")
    parser.add_argument(
        "--set",
        dest="settings",
        type=setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="of our models or their vocabulary",
    )
    parser.add_argument("--tag", help="name for our code, in place of its digest")
    parser.add_argument("--jobs", type=int, default=1, help="corpora at a time")
    parser.add_argument(
        "--runs", type=Path, default=Path("build/suite/runs.jsonl"), help="file of the results"
    )
    parser.add_argument("--mode", choices=["dev", "test"], default="dev", help="that a page shows")
    parser.add_argument("--output", type=Path, help="where the page goes; by default it is printed")
    options = parser.parse_args(arguments)
    options.settings = dict(options.settings)
    if options.what == "page":
        asked = [
            run
            for run in kept(options.runs)
            if run["corpus"] in (options.corpora or READERS)
            and run["learner"] in (options.learners or learners.LEARNERS)
        ]
        text = page.page(asked, options.mode, options.order or "shuffled")
        if options.output:
            options.output.write_text(text)
        else:
            print(text, end="")
        return
    options.runs.parent.mkdir(parents=True, exist_ok=True)
    missing = wanted_runs(options)
    if options.jobs == 1:
        for corpus, wanted in missing.items():
            run_corpus(corpus, wanted, options.runs)
        return
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        for future in [pool.submit(run_corpus, c, wanted, options.runs) for c, wanted in missing.items()]:
            future.result()


if __name__ == "__main__":
    main()
