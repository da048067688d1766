"""Counting words: megabytes of text a second on one core, from texts in memory to a sparse matrix.

Abstracts of arxiv20.parquet in the folder of the corpora, or else those that come with the package. All
programs leave out the same English stop words. The vocabulary is learned in one call ("learn") or known
("count"); scikit-learn's CountVectorizer is the measure of both.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

from bayespa.corpus import OnlineVocabulary, read
from bayespa.datasets import load_arxiv_sample
from benchmarks.measure import Watch, in_turns, median_ratio
from benchmarks.page import Part, Table
from benchmarks.settings import Settings

SAME = {"stop_words": "english"}
WORD = r"\w+(?#)"  # no other words, and a pattern that is not the default: these are found by Python


def texts(settings: Settings) -> list[str]:
    """Return the texts to count."""
    path = Path(settings.data_home or os.environ.get("BAYESPA_DATA", ""), "arxiv20.parquet")
    if not path.exists():
        sample: list[str] = load_arxiv_sample(subset="train").data
        return sample
    found = [str(document.content) for document in read(path, label=None)]
    return found[:10_000] if settings.quick else found


def programs(documents: list[str]) -> dict[str, Callable[[], Any]]:
    """Return what is timed."""
    known = OnlineVocabulary(min_count=1, **SAME)
    known.learn(documents)
    theirs = CountVectorizer(**SAME).fit(documents)
    return {
        "CountVectorizer, learn": lambda: CountVectorizer(**SAME).fit_transform(documents),
        "bayespa, learn": lambda: OnlineVocabulary(min_count=1, **SAME).learn(documents),
        "bayespa, learn pairs, too": lambda: OnlineVocabulary(ngrams=2, **SAME).learn(documents),
        "bayespa in Python, learn": lambda: OnlineVocabulary(min_count=1, token_pattern=WORD, **SAME).learn(
            documents
        ),
        "CountVectorizer, count": lambda: theirs.transform(documents),
        "HashingVectorizer, count": lambda: HashingVectorizer(norm=None, **SAME).transform(documents),
        "bayespa, count": lambda: known.transform(documents),
    }


def run(settings: Settings) -> Part:
    """Measure all."""
    documents = texts(settings)
    megabytes = sum(len(text.encode()) for text in documents) / 1e6

    def timed(program: Callable[[], Any]) -> float:
        with Watch() as watch:
            program()
        return watch.cpu

    named = {name: (lambda p=program: timed(p)) for name, program in programs(documents).items()}
    seconds = in_turns(named, settings.repeats)
    rows = [
        [name, megabytes / min(own), median_ratio(seconds[f"CountVectorizer, {how}"], own)]
        for name, own in seconds.items()
        for how in ("learn", "count")
        if how in name
    ]
    return Part(
        "Counting words",
        f"{len(documents):,} abstracts, {megabytes:.1f} MB. {str(__doc__).partition(chr(10))[2].strip()}",
        [
            Table(
                "Speed",
                ["program", "MB a second", "times CountVectorizer", "compared"],
                [[*row, "CPU time of the same call, in turns."] for row in rows],
            )
        ],
    )
