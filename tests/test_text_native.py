"""The native vocabulary and its twin in Python: the same words, columns and counts of any text."""

import copy
import pickle
import random
import re
import sys
import tarfile
import threading
from itertools import islice

import numpy as np
import pytest
from fuzz.texts import assert_twins, random_texts
from numpy.testing import assert_array_equal
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

from bayespa import _native
from bayespa.corpus import OnlineVocabulary, read
from bayespa.native.text import NativeVocabulary, WordRules, characters
from bayespa.reference.text import PythonVocabulary, Tokenizer

ALL = WordRules(min_count=1, min_length=1)
THREADS = [1, 2, 3, 7]


def words_of(text, rules=ALL):
    vocabulary = NativeVocabulary(rules)
    vocabulary.learn([text])
    return vocabulary.words


def distinct(words):
    return list(dict.fromkeys(words))


@pytest.mark.parametrize("lowercase", [True, False])
def test_every_code_point_is_what_it_is_to_this_python(lowercase):
    """Between letters, where it divides or not, and with its lower case."""
    for begin in range(0, sys.maxunicode + 1, 1024):
        text = " ".join(f"a{chr(code)}b_{code:x}" for code in range(begin, begin + 1024))
        expected = re.findall(r"\w+", text.lower() if lowercase else text)
        assert words_of(text, WordRules(min_count=1, min_length=1, lowercase=lowercase)) == distinct(expected)


def test_every_code_point_beside_a_sigma():
    """Whose lower case depends on what stands before and behind it, some of which is passed over."""
    for begin in range(0, sys.maxunicode + 1, 1024):
        codes = [chr(code) for code in range(begin, begin + 1024)]
        text = " ".join(f"x{i}aΣ{c} {c}Σ a{c}Σ aΣ{c}b {c}ΣΣ" for i, c in enumerate(codes))
        assert words_of(text) == distinct(re.findall(r"\w+", text.lower()))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Σ",
        "ΑΣ",
        "ΑΣ.",
        "Α" + "\u0301" * 1000 + "Σ" + "\u0301" * 1000,
        "Α" + "\u0301" * 1000 + "Σ" + "\u0301" * 1000 + "a",
        "İİİ İstanbul",
        "\0a\0b",
        "\ud800a\udfff b\udc80",
        "\U0001d400bold \U00010400\U00010428",
        "K Å ſ ß ẞ ŉ ǰ",
        "a" * 128 + " " + "b" * 129 + " " + "é" * 128 + " " + "İ" * 128 + " " + "𐐀" * 128 + " " + "𐐀" * 129,
        "_" * 127 + "Σ",
        "1٣²Ⅷ㊿ x",
    ],
)
def test_texts_that_are_hard(text):
    for rules in (ALL, WordRules(min_count=1), WordRules(min_count=1, lowercase=False, n_grams=3)):
        assert_twins([text, text + " Ā", text + " 𐐀", text * 2], rules)


def test_random_texts():
    """`python -m fuzz.texts` compares many more."""
    assert_twins(list(random_texts(2000, seed=1)), WordRules(min_count=2, max_candidates=50))
    assert_twins(list(random_texts(1000, seed=2)), WordRules(min_count=1, n_grams=3, max_words=300))
    runs = {"n_grams": 2, "min_run_count": 2, "max_runs": 200}
    assert_twins(list(random_texts(1000, seed=3)), WordRules(min_count=1, max_candidates=100, **runs))


def test_runs_are_found_when_no_more_are_learned():
    """More of them than the filter for runs has room for in the beginning; also loaded, and taken back."""
    words = random.Random(0).choices(["of", *map(str, range(40))], k=10_000)
    texts = [" ".join(words[i : i + 125]) for i in range(0, 10_000, 125)]
    rules = WordRules(min_count=1, n_grams=4, max_runs=2500, left_out=frozenset(["of"]))
    assert_twins(texts, rules)
    vocabulary = NativeVocabulary(rules)
    vocabulary.learn(texts[:40])
    mark, expected = vocabulary.mark(), vocabulary.transform(texts)
    assert vocabulary.n_runs > 1024
    vocabulary.learn(texts[40:])
    vocabulary.back_to(mark)
    again = NativeVocabulary(rules)
    again.load(*vocabulary.at())
    for one in (vocabulary, again):
        for found, known in zip(one.transform(texts), expected, strict=True):
            assert_array_equal(found, known)


def test_bytes_are_utf8():
    texts = ["été ΟΔΥΣΣΕΥΣ 𐐀b", "plain", "", "日本語 text", "ΑΣ"]
    first, second = NativeVocabulary(ALL), NativeVocabulary(ALL)
    for ours, theirs in zip(first.learn(texts), second.learn([text.encode() for text in texts]), strict=True):
        assert_array_equal(ours, theirs)
    assert first.words == second.words
    assert OnlineVocabulary(min_count=1).learn([b"some words"]).sum() == 2


BROKEN = [
    b"\xff",
    b"\x80",
    b"a\xc3",
    b"\xc0\xaf",
    b"\xe0\x80\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xf5\x80\x80\x80",
]


@pytest.mark.parametrize("broken", BROKEN)
def test_bytes_that_are_not_utf8(broken):
    with pytest.raises(UnicodeDecodeError) as python:
        broken.decode()
    place = python.value.start + 1
    with pytest.raises(ValueError, match=rf"byte {place} of texts\[1\] is not utf-8"):
        _native.Texts([b"fine", broken])


def test_utf8_is_what_python_says():
    generator = random.Random(0)
    pieces = [*BROKEN, "é".encode(), "日".encode(), "𐐀".encode(), b"a", b"\xbf", b"\xe6\x97", b"\xf0\x90"]
    for _ in range(3000):
        text = b"".join(generator.choices(pieces, k=generator.randint(0, 6)))
        try:
            text.decode()
        except UnicodeDecodeError as error:
            with pytest.raises(ValueError, match=rf"byte {error.start + 1} of texts\[0\] is not utf-8"):
                _native.Texts([text])
        else:
            assert len(_native.Texts([text])) == 1


def test_what_is_no_text():
    with pytest.raises(TypeError, match=r"texts\[1\] is neither str nor bytes"):
        _native.Texts(["a", 1])
    with pytest.raises(TypeError, match=r"texts\[1\] is None, not a text"):
        OnlineVocabulary().learn(["a", None])
    with pytest.raises(ValueError, match="need to know characters"):
        _native.TextVocabulary(9, 1, 9, True, 1, 1, 1, 9, [], 0).learn(_native.Texts(["é"]))


def shuffled_corpus(n, seed):
    generator = random.Random(seed)
    known = [f"w{i}" for i in range(4000)] + ["été", "ΣΑΣ", "the", "x" * 40]
    weights = [1 / (i + 1) for i in range(len(known))]
    return [" ".join(generator.choices(known, weights, k=generator.randint(0, 400))) for _ in range(n)]


@pytest.mark.parametrize(
    "rules",
    [
        WordRules(max_candidates=300),
        WordRules(n_grams=2, max_words=3000),
        WordRules(min_count=1, n_grams=2, min_run_count=2, max_runs=500),
    ],
)
def test_any_number_of_threads_gives_the_same_bits(rules):
    texts = shuffled_corpus(600, seed=0)
    results = []
    for n_threads in THREADS:
        vocabulary = NativeVocabulary(rules)
        counts = [*vocabulary.learn(texts, n_threads), *vocabulary.transform(texts[::-1], n_threads)]
        results.append([*(np.asarray(part).tolist() for part in counts), *vocabulary.at()])
    assert all(result == results[0] for result in results)


def test_threads_that_read_while_one_learns():
    texts = shuffled_corpus(300, seed=3)
    vocabulary, expected = OnlineVocabulary(min_count=1), OnlineVocabulary(min_count=1)
    X, stop, found = expected.learn(texts), threading.Event(), []

    def read():
        while not stop.is_set():
            counts = vocabulary.transform(texts[:20])
            found.append(counts.has_canonical_format and counts.shape[1] <= len(vocabulary.words))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    rows = [vocabulary.learn(texts[i : i + 10]) for i in range(0, 300, 10)]
    stop.set()
    for thread in threads:
        thread.join()
    assert found
    assert all(found)
    assert vocabulary.words == expected.words
    assert sum(row.sum() for row in rows) == X.sum()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_runs_of_words_are_those_of_count_vectorizer(n):
    texts = ["To be, or not to be: that is the question", "été_1 À la carte 42", "", "the x question; y z"]
    for stop_words in (None, "english"):
        ours = OnlineVocabulary(min_count=1, ngrams=n, stop_words=stop_words)
        theirs = CountVectorizer(ngram_range=(1, n), stop_words=stop_words)
        X, expected = ours.learn(texts), theirs.fit_transform(texts)
        assert sorted(ours.words) == theirs.get_feature_names_out().tolist()
        assert_array_equal(X.toarray()[:, np.argsort(ours.words)], expected.toarray())


@pytest.mark.parametrize("name", ["20news-bydate-text.tar.xz", "reuters21578.tar.xz", "arxiv20.parquet"])
def test_published_corpora(data_home, name):
    path = data_home / name
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow")
        texts = [document.content for document in islice(read(path, label=None), 6000)]
    else:
        with tarfile.open(path) as tar:  # as latin-1, which gives letters beyond ASCII where there are none
            files = islice((tar.extractfile(member) for member in tar if member.isfile()), 4000)
            texts = [file.read(100_000).decode("latin-1") for file in files]
    assert_twins(texts, WordRules(left_out=ENGLISH_STOP_WORDS, max_candidates=5000))
    beginnings = [text[:10_000] for text in texts[:1000]]
    assert_twins(beginnings, WordRules(min_count=2, n_grams=2, max_words=20_000, max_candidates=10_000))


def test_a_long_text_of_runs():
    text = " ".join(f"w{i % 97}" for i in range(5000))
    assert_twins([text], WordRules(min_count=2, n_grams=4))


@pytest.mark.parametrize("n", [0, 9])
def test_how_long_runs_may_be(n):
    with pytest.raises(ValueError, match=f"ngrams={n} must be from 1 to 8"):
        OnlineVocabulary(ngrams=n)


def test_state_with_runs():
    vocabulary = OnlineVocabulary(min_count=2, ngrams=2)
    vocabulary.learn(["to be or not to be", "not to be"])
    state = vocabulary.to_state()
    assert state["ngrams"] == 2
    again = OnlineVocabulary.from_state(state)
    assert (again.words, again.to_state()) == (["to", "be", "to be", "not", "not to"], state)
    assert "ngrams" not in OnlineVocabulary().to_state()
    with pytest.raises(ValueError, match="ngrams of OnlineVocabulary"):
        OnlineVocabulary.from_state(state | {"ngrams": 10**9})


@pytest.mark.parametrize("pattern", [r"\w+", r"[a-z]+"])
def test_runs_are_admitted_later_than_words_and_up_to_a_number(pattern):
    """A pair is counted from its second occurrence on; a third pair has no room, and words still have."""
    vocabulary = OnlineVocabulary(min_count=1, ngrams=2, min_run_count=2, max_runs=2, token_pattern=pattern)
    counts = vocabulary.learn(["to be or", "to be or", "or not or not not"])
    assert vocabulary.words == ["to", "be", "or", "to be", "be or", "not"]
    assert vocabulary.runs(vocabulary.words).tolist() == [False, False, False, True, True, False]
    assert counts.toarray().tolist() == [[1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 0], [0, 0, 2, 0, 0, 3]]
    assert (vocabulary.n_words, vocabulary.n_runs) == (6, 2)
    mark = vocabulary.mark()
    state = vocabulary.to_state()
    assert (state["min_run_count"], state["max_runs"]) == (2, 2)
    again = OnlineVocabulary.from_state(state)
    assert (again.n_runs, again.to_state()) == (2, state)
    assert vocabulary.learn(["more words, more words"]).sum() == 4
    vocabulary.back_to(mark)
    assert (vocabulary.n_words, vocabulary.n_runs) == (6, 2)
    with pytest.raises(ValueError, match="max_runs of OnlineVocabulary"):
        OnlineVocabulary.from_state(state | {"max_runs": 0})
    with pytest.raises(ValueError, match="min_run_count=0 must be at least 1"):
        OnlineVocabulary(min_run_count=0)
    assert OnlineVocabulary().runs(["credit card"]) is None


@pytest.mark.parametrize("pattern", [r"\w+", r"[a-z]+"])
def test_copies_and_pickles_go_on_alone(pattern):
    vocabulary = OnlineVocabulary(min_count=2, stop_words={"the"}, token_pattern=pattern)
    vocabulary.learn(["one two the two"])
    vocabulary.mark()
    for other in (copy.deepcopy(vocabulary), pickle.loads(pickle.dumps(vocabulary))):
        assert other.to_state() == vocabulary.to_state()
        other.learn(["one three three"])
        assert other.words == ["two", "one", "three"]
    assert vocabulary.words == ["two"]


def test_words_of_a_state_that_cannot_be():
    """They have a column, are never counted, and come back."""
    state = OnlineVocabulary(min_length=3).to_state()
    words = ["ab", "fine", "x" * 200, "\ud800", "two words", "", "é"]
    for pattern in (r"\w+", r"(\w+)"):
        vocabulary = OnlineVocabulary.from_state(state | {"words": words, "token_pattern": pattern})
        assert vocabulary.words == words
        assert vocabulary.transform([f"ab fine {'x' * 200} two words é"]).toarray().tolist() == [
            [0, 1, *[0] * 5]
        ]


def test_the_order_of_candidates_is_when_they_came():
    vocabulary = OnlineVocabulary(min_count=3)
    vocabulary.learn(["bb aa cc aa"])
    mark = vocabulary.mark()
    vocabulary.learn(["aa dd bb bb"])
    assert list(vocabulary.to_state()["candidates"]) == ["cc", "dd"]
    assert list(vocabulary.to_state(mark)["candidates"].items()) == [("bb", 1), ("aa", 2), ("cc", 1)]
    vocabulary.back_to(mark)
    assert list(vocabulary.to_state()["candidates"].items()) == [("bb", 1), ("aa", 2), ("cc", 1)]
    with pytest.raises(ValueError, match="the mark 7 is forgotten"):
        vocabulary.back_to(7)
    with pytest.raises(ValueError, match="the mark 7 is forgotten"):
        vocabulary.to_state(7)


def test_marks_of_both_are_alike():
    """Learning, marking, going back and forgetting, in a random order."""
    for seed in range(150):
        generator = random.Random(seed)
        rules = WordRules(generator.randint(3, 30), generator.randint(1, 4), generator.randint(1, 12))
        native, python = NativeVocabulary(rules), PythonVocabulary(rules, Tokenizer())
        marks = []
        for _ in range(40):
            match generator.randint(0, 5):
                case 0:
                    marks.append(native.mark())
                    assert python.mark() == marks[-1]
                case 1 if marks:
                    mark = generator.choice(marks)
                    native.back_to(mark)
                    python.back_to(mark)
                    marks = [other for other in marks if other <= mark]
                case 2 if marks:
                    mark = generator.choice(marks)
                    native.forget(mark)
                    python.forget(mark)
                    marks = [other for other in marks if other >= mark]
                case _:
                    text = " ".join(f"w{generator.randint(0, 40)}" for _ in range(generator.randint(0, 30)))
                    for ours, theirs in zip(native.learn([text]), python.learn([text]), strict=True):
                        assert_array_equal(ours, theirs)
            assert native.at() == python.at()
            assert all(native.at(mark) == python.at(mark) for mark in marks)
            assert native.words == python.words


def test_words_that_are_gone_take_no_memory():
    """Noise for ever, with marks as a stream sets them: the same as the twin, and names are used again."""
    rules = WordRules(min_count=3, max_candidates=2000)
    native, python = NativeVocabulary(rules), PythonVocabulary(rules, Tokenizer())
    mark = None
    for i in range(30):
        text = " ".join(
            f"noise{j} frequent{j % 7} sometimes{j % 1900}" for j in range(1000 * i, 1000 * (i + 1))
        )
        before, mark = mark, native.mark()
        python.mark()
        if before is not None:
            native.forget(before)
            python.forget(before)
        for ours, theirs in zip(native.learn([text]), python.learn([text]), strict=True):
            assert_array_equal(ours, theirs)
        assert native.at() == python.at()
        assert native.at(mark) == python.at(mark)
        if i % 5 == 4:
            native.back_to(mark)
            python.back_to(mark)
            assert native.at() == python.at()


def test_a_stop_word_stands_not_between_others():
    vocabulary = OnlineVocabulary(min_count=1, ngrams=2, stop_words="english")
    vocabulary.learn(["state of the art"])
    assert vocabulary.words == ["state", "art", "state art"]
    assert "of" in ENGLISH_STOP_WORDS


def test_characters_are_asked_for_once():
    assert characters() is characters()
