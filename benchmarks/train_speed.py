"""How much CPU time of `bayespa train` is reading and counting words, and how much is learning.

python benchmarks/train_speed.py [FILE OR FOLDER] [--text FIELD] [--label FIELD] [--model KIND] [--jobs N]

Without a file it reads arxiv20.parquet of the folder that BAYESPA_DATA names.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from bayespa.corpus import OnlineVocabulary, read, shuffle
from bayespa.text.model import TextModel
from bayespa.text.predictor import KINDS
from bayespa.text.stream import learn_stream


class Clock:
    """Adds up the time spent in calls, or in an iterator: of all threads' CPU, or of the clock."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self.seconds, self.now = 0.0, now

    def call(self, function: Any) -> Any:
        """Return the function, with its time added up."""

        def timed(*arguments: Any, **options: Any) -> Any:
            begin = self.now()
            result = function(*arguments, **options)
            self.seconds += self.now() - begin
            return result

        return timed

    def iterate(self, items: Iterator[Any]) -> Iterator[Any]:
        """Yield items, with the time to get them added up."""
        step = self.call(lambda: list(islice(items, 64)))  # few calls of the clock
        while some := step():
            yield from some


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "file", nargs="?", default=os.path.join(os.environ.get("BAYESPA_DATA", ""), "arxiv20.parquet")
    )
    parser.add_argument("--text", default="text")
    parser.add_argument("--label", default="labels")
    parser.add_argument("--limit", type=int, default=20_000)
    parser.add_argument("--model", choices=list(KINDS), default="medlda")
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    if not os.path.exists(options.file):
        print(f"skipped: there is no {options.file}; name a file, or set BAYESPA_DATA")
        return

    def stream() -> Iterator[Any]:
        documents = islice(read(options.file, text=options.text, label=options.label), options.limit)
        return shuffle(documents, 10_000, random_state=0)

    def learn(
        documents: Iterator[Any], counting: Clock, learning: Clock, *, ahead: bool
    ) -> tuple[int, float]:
        vocabulary = OnlineVocabulary(500_000, min_count=1, min_length=1)
        # Methods are replaced by timed ones.
        vocabulary.count = counting.call(vocabulary.count)  # type: ignore[method-assign]
        model = TextModel(options.model, vectorizer=vocabulary, random_state=0, n_jobs=options.jobs)
        model.learn_counts = learning.call(model.learn_counts)  # type: ignore[method-assign]
        model.predict_counts = learning.call(model.predict_counts)  # type: ignore[method-assign]
        begin = counting.now()
        *_, run = learn_stream(model, documents, ahead=ahead)
        return run.documents, counting.now() - begin

    reading, counting, learning = (Clock(time.process_time) for _ in range(3))
    n_documents, cpu = learn(reading.iterate(stream()), counting, learning, ahead=False)
    print(f"{n_documents:,} documents")
    print(f"one after the other: {cpu:.2f} CPU s, {n_documents / cpu:,.0f} a CPU second")
    for name, clock in (("reading", reading), ("counting words", counting), ("learning", learning)):
        print(f"  {name:<15} {clock.seconds:6.2f} s  {clock.seconds / cpu:5.1%}")
    alone, beside = Clock(), Clock()
    learn(stream(), Clock(), alone, ahead=False)
    n_documents, wall = learn(stream(), Clock(), beside, ahead=True)
    waiting, slower = wall - beside.seconds, beside.seconds - alone.seconds
    print(f"reading ahead, as `train` does: {wall:.2f} s, {n_documents / wall:,.0f} a second")
    print(f"  learning waits  {waiting:6.2f} s  {waiting / wall:5.1%}")
    print(
        f"  and is slower by{slower:6.2f} s  {slower / wall:5.1%}, as reading has the interpreter and a core"
    )


if __name__ == "__main__":
    main()
