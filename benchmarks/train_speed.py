"""How much of `bayespa train` is reading and counting words, and how much is learning.

python benchmarks/train_speed.py [FILE OR FOLDER] [--text FIELD] [--label FIELD] [--model KIND] [--jobs N]

Without a file it reads arxiv20.parquet of the folder that BAYESPA_DATA names.
"""

import argparse
import os
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

from bayespa.corpus import OnlineVocabulary, read, shuffle
from bayespa.text.model import KINDS, TextModel
from bayespa.text.stream import learn_stream


class Clock:
    """Adds up the time spent in calls, or in an iterator."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def call(self, function: Any) -> Any:
        """Return the function, with its time added up."""

        def timed(*arguments: Any) -> Any:
            begin = time.perf_counter()
            result = function(*arguments)
            self.seconds += time.perf_counter() - begin
            return result

        return timed

    def iterate(self, items: Iterator[Any]) -> Iterator[Any]:
        """Yield items, with the time to get them added up."""
        step = self.call(lambda: next(items, None))
        while (item := step()) is not None:
            yield item


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
        vocabulary = OnlineVocabulary(stop_words="english", fixed_width=not KINDS[options.model].grows)
        vocabulary.learn = counting.call(vocabulary.learn)  # type: ignore[method-assign]
        vocabulary.transform = counting.call(vocabulary.transform)  # type: ignore[method-assign]
        model = TextModel(options.model, vectorizer=vocabulary, random_state=0, n_jobs=options.jobs)
        model.learn_counts = learning.call(model.learn_counts)  # type: ignore[method-assign]
        model.predict_counts = learning.call(model.predict_counts)  # type: ignore[method-assign]
        begin = time.perf_counter()
        *_, run = learn_stream(model, documents, ahead=ahead)
        return run.documents, time.perf_counter() - begin

    reading, counting, learning, beside = Clock(), Clock(), Clock(), Clock()
    n_documents, wall = learn(reading.iterate(stream()), counting, learning, ahead=False)
    print(f"{n_documents:,} documents")
    print(f"one after the other: {wall:.2f} s, {n_documents / wall:,.0f} a second")
    for name, clock in (("reading", reading), ("counting words", counting), ("learning", learning)):
        print(f"  {name:<15} {clock.seconds:6.2f} s  {clock.seconds / wall:5.1%}")
    n_documents, wall = learn(stream(), Clock(), beside, ahead=True)
    waiting, slower = wall - beside.seconds, beside.seconds - learning.seconds
    print(f"reading ahead, as `train` does: {wall:.2f} s, {n_documents / wall:,.0f} a second")
    print(f"  learning waits  {waiting:6.2f} s  {waiting / wall:5.1%}")
    print(
        f"  and is slower by{slower:6.2f} s  {slower / wall:5.1%}, as reading has the interpreter and a core"
    )


if __name__ == "__main__":
    main()
