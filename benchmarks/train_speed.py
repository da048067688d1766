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
from bayespa.text_model import KINDS, TextModel
from bayespa.training import Interrupts, learn_stream


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

    vocabulary = OnlineVocabulary(stop_words="english", fixed_width=not KINDS[options.model].grows)
    model = TextModel(options.model, vectorizer=vocabulary, random_state=0, n_jobs=options.jobs)
    reading, counting = Clock(), Clock()
    vocabulary.learn, vocabulary.transform = (
        counting.call(vocabulary.learn),
        counting.call(vocabulary.transform),
    )  # type: ignore[method-assign]
    documents = islice(read(options.file, text=options.text, label=options.label), options.limit)
    stream = reading.iterate(shuffle(documents, 10_000, random_state=0))
    begin = time.perf_counter()
    *_, run = learn_stream(model, stream, Interrupts(), ahead=False)
    wall = time.perf_counter() - begin
    rest = wall - reading.seconds - counting.seconds
    print(f"{run.documents:,} documents in {wall:.2f} s, {run.documents / wall:,.0f} a second")
    for name, seconds in (
        ("reading", reading.seconds),
        ("counting words", counting.seconds),
        ("learning", rest),
    ):
        print(f"  {name:<15} {seconds:6.2f} s  {seconds / wall:5.1%}")


if __name__ == "__main__":
    main()
