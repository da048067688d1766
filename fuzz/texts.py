"""Compare the native vocabulary with its twin in Python, on random texts.

python -m fuzz.texts [--number 100000] [--seed 0]
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Sequence

import numpy as np

from bayespa.native.text import NativeVocabulary, SiftedTexts, WordCounts, WordRules
from bayespa.reference.text import PythonVocabulary, Tokenizer

RANGES = [
    (0x20, 0x7F),
    (0x41, 0x5B),
    (0x00, 0x100),
    (0x100, 0x250),
    (0x300, 0x400),
    (0x391, 0x3CA),
    (0x400, 0x600),
    (0x900, 0x980),
    (0x1E00, 0x2200),
    (0x2C00, 0x2E00),
    (0x4E00, 0x4F00),
    (0xA640, 0xA800),
    (0xD7F0, 0xE010),
    (0xFE00, 0x10000),
    (0x10400, 0x10500),
    (0x118A0, 0x118E0),
    (0x1D400, 0x1D500),
    (0x1E900, 0x1E960),
    (0xE0000, 0xE0100),
    (0, sys.maxunicode + 1),
]
OFTEN = [" ", " ", " ", "Σ", "İ", "\u0301", "'", "a", "_"]


def random_texts(number: int, seed: int) -> Iterator[str]:
    """Yield texts of one or a few alphabets, with what is treated specially more often than by chance.

    Some repeat words of those before, without which nothing would be known.
    """
    generator = random.Random(seed)
    words: list[str] = []
    for _ in range(number):
        ranges = generator.choices(RANGES, k=generator.randint(1, 3))
        pieces: list[str] = []
        for _ in range(generator.choice([0, 1, 3, 10, 40, 40])):
            kind = generator.random()
            if kind < 0.25:
                pieces.append(generator.choice(OFTEN))
            elif kind < 0.35 and words:
                pieces.append(f" {generator.choice(words)} ")
            elif kind < 0.36:
                pieces.append(chr(generator.randrange(0x41, 0x400)) * generator.randint(120, 135))
            else:
                pieces.append(chr(generator.randrange(*generator.choice(ranges))))
        text = "".join(pieces)
        words = (words + text.split())[-200:]
        yield text


def assert_twins(texts: Sequence[str | bytes], rules: WordRules, n_threads: int = 2) -> None:
    """Learn texts in pieces and count them again, by both; raise AssertionError where they differ."""
    native, python = NativeVocabulary(rules), PythonVocabulary(rules, Tokenizer(rules.lowercase))
    half = len(texts) // 2
    for some in (texts[:half], texts[half:]):
        _assert_same(native.learn(some, n_threads), python.learn(some), some)
    _assert_same(native.transform(texts, n_threads), python.transform(texts), texts)
    (words, candidates), (their_words, their_candidates) = native.at(), python.at()
    assert words == their_words, "other words"
    assert list(candidates.items()) == list(their_candidates.items()), "other candidates"
    _assert_sifted_alike(texts, rules)


def _assert_sifted_alike(texts: Sequence[str | bytes], rules: WordRules) -> None:
    """Learn texts that others have sifted, who know more and more of the columns; compare all."""
    native, python = NativeVocabulary(rules), PythonVocabulary(rules, Tokenizer(rules.lowercase))
    known, also_known = NativeVocabulary(rules), PythonVocabulary(rules, Tokenizer(rules.lowercase))
    plain = NativeVocabulary(rules)
    some = max(1, len(texts) // 5)
    for begin in range(0, len(texts), some):
        pieces = [texts[begin : begin + some // 2], texts[begin + some // 2 : begin + some]]
        sifted = [known.sift(piece) for piece in pieces]
        for ours, piece in zip(sifted, pieces, strict=True):
            _assert_same(ours, also_known.sift(piece), piece)
        places = np.array([(i, row) for i, piece in enumerate(pieces) for row in range(len(piece))])
        places = places.reshape(-1, 2)[:: -1 if begin else 1]
        own = [pieces[i][row] for i, row in places.tolist()]
        expected = plain.learn(own)
        _assert_same(native.learn_sifted(sifted, places), expected, own)
        _assert_same(python.learn_sifted(sifted, places), expected, own)
        if begin != some:  # perhaps it hears of some later
            new = native.words_between(known.n_words, native.n_words)
            known.load(new, {})
            also_known.load(new, {})
    assert native.at() == python.at() == plain.at(), "other words or candidates"


def _assert_same(
    ours: WordCounts | SiftedTexts, theirs: WordCounts | SiftedTexts, texts: Sequence[str | bytes]
) -> None:
    for name, one, other in zip(theirs._fields, ours, theirs, strict=True):
        assert np.array_equal(one, other), f"{name} differ: {texts!r:.2000}"


def main() -> None:
    """Compare as many as the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--number", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    generator = random.Random(options.seed)
    for done in range(0, options.number, 1000):
        texts = list(random_texts(min(1000, options.number - done), options.seed + done))
        rules = WordRules(
            max_words=generator.choice([50, 100_000]),
            min_count=generator.randint(1, 3),
            max_candidates=generator.choice([20, 200_000]),
            lowercase=generator.random() < 0.8,
            min_length=generator.randint(1, 3),
            n_grams=generator.choice([1, 1, 2, 3]),
            min_run_count=generator.choice([None, 1, 2]),
            max_runs=generator.choice([None, 30]),
            left_out=frozenset(" ".join(texts).lower().split()[:5]),
        )
        for some in (texts, *([text] for text in texts[:100])):
            assert_twins(some, rules, generator.randint(1, 3))
    print(f"{options.number} texts: the same")


if __name__ == "__main__":
    main()
