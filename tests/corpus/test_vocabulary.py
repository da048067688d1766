import json
import re
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import (
    ENGLISH_STOP_WORDS,
    CountVectorizer,
    HashingVectorizer,
    TfidfVectorizer,
)

from bayespa.corpus import (
    BagVectorizer,
    OnlineVocabulary,
    Tokenizer,
    stop_words,
    vectorizer_from_state,
    vectorizer_to_state,
)

TEXTS = ["To be, or not to be: that is the question", "été_1 À la carte 42", "", "the question; x y z"]


@settings(derandomize=True, deadline=None)
@given(st.text(), st.booleans())
def test_words_are_runs_of_word_characters(text, lowercase):
    assert Tokenizer(lowercase).words([text]) == [re.findall(r"\w+", text.lower() if lowercase else text)]


@settings(derandomize=True, deadline=None)
@given(st.text(st.characters(max_codepoint=127)))
def test_words_of_ascii(text):
    assert Tokenizer().words([text]) == [re.findall(r"\w+", text.lower())]


def test_token_pattern():
    assert Tokenizer(token_pattern=r"#(\w+)").words(["#One two #three"]) == [["one", "three"]]
    with pytest.raises(ValueError, match=r"has 2 groups; use \(\?:...\) for all but one"):
        Tokenizer(token_pattern="(a)(b)")


@pytest.mark.parametrize(
    "options", [{}, {"stop_words": "english"}, {"stop_words": ["be", "question"]}, {"lowercase": False}]
)
def test_counts_are_those_of_count_vectorizer(options):
    ours = OnlineVocabulary(min_count=1, **options)
    theirs = CountVectorizer(**options)
    X, expected = ours.learn(TEXTS), theirs.fit_transform(TEXTS)
    order = np.argsort(ours.words)
    assert sorted(ours.words) == theirs.get_feature_names_out().tolist()
    assert_array_equal(X.toarray()[:, order], expected.toarray())
    assert_array_equal(ours.transform(TEXTS).toarray(), X.toarray())
    assert isinstance(X, sp.csr_matrix)
    assert X.has_canonical_format
    assert X.dtype == np.int32


def test_a_word_counts_from_its_admission_on():
    vocabulary = OnlineVocabulary(min_count=3)
    assert vocabulary.learn(["aa aa bb"]).shape == (1, 0)
    assert vocabulary.learn(["bb aa aa", "bb bb"]).toarray().tolist() == [[2, 0], [0, 2]]
    assert vocabulary.words == ["aa", "bb"]


def test_columns_come_in_order_of_admission_and_stay():
    vocabulary = OnlineVocabulary(max_words=2, min_count=1)
    assert vocabulary.learn(["one two three two"]).toarray().tolist() == [[1, 2]]
    assert vocabulary.learn(["three two three"]).toarray().tolist() == [[0, 1]]
    assert vocabulary.words == ["one", "two"]


def test_fixed_width():
    vocabulary = OnlineVocabulary(max_words=4, min_count=1, fixed_width=True)
    assert vocabulary.learn(["one two"]).toarray().tolist() == [[1, 1, 0, 0]]


def test_stop_words_are_those_of_scikit_learn():
    assert stop_words.ENGLISH_STOP_WORDS == ENGLISH_STOP_WORDS


def test_length_of_words():
    vocabulary = OnlineVocabulary(min_count=1, min_length=3)
    vocabulary.learn([f"a be see {'x' * 128} {'y' * 129}"])
    assert vocabulary.words == ["see", "x" * 128]
    assert vocabulary.learn(["a be see"]).sum() == 1
    single = OnlineVocabulary(min_count=1, min_length=1)
    single.learn(["a be"])
    assert single.words == ["a", "be"]


words = st.sampled_from(["aa", "bb", "cc", "dd", "ee", "ff", "gg", "hh"])
streams = st.lists(st.lists(words, max_size=12).map(" ".join), max_size=20)


@settings(derandomize=True, deadline=None)
@given(streams, st.integers(1, 4), st.integers(1, 4), st.integers(1, 6), st.integers(1, 5))
def test_where_batches_end_does_not_matter(texts, min_count, max_candidates, max_words, size):
    options = {
        "min_count": min_count,
        "max_candidates": max_candidates,
        "max_words": max_words,
        "fixed_width": True,
    }
    whole, cut = OnlineVocabulary(**options), OnlineVocabulary(**options)
    X = whole.learn(texts).toarray()
    rows = [cut.learn(texts[i : i + size]).toarray() for i in range(0, len(texts), size)]
    assert_array_equal(np.vstack([np.zeros((0, max_words)), *rows]), X)
    assert cut.to_state() == whole.to_state()


@settings(derandomize=True, deadline=None)
@given(streams, st.integers(1, 4), st.integers(1, 4), st.integers(1, 6))
def test_admission_is_never_early_and_bounded(texts, min_count, max_candidates, max_words):
    vocabulary = OnlineVocabulary(max_words, min_count=min_count, max_candidates=max_candidates)
    vocabulary.learn(texts)
    occurrences = Counter(" ".join(texts).split())
    assert all(occurrences[word] >= min_count for word in vocabulary.words)
    assert len(vocabulary.words) <= max_words
    assert len(vocabulary.to_state()["candidates"]) <= max_candidates


@settings(derandomize=True, deadline=None)
@given(streams, st.integers(1, 4))
def test_with_room_for_all_words_those_of_enough_occurrences_are_admitted(texts, min_count):
    vocabulary = OnlineVocabulary(min_count=min_count)
    vocabulary.learn(texts)
    occurrences = Counter(" ".join(texts).split())
    assert set(vocabulary.words) == {word for word, n in occurrences.items() if n >= min_count}


def test_forgetting_is_misra_and_gries():
    vocabulary = OnlineVocabulary(min_count=9, max_candidates=2)
    vocabulary.learn(["aa aa aa bb"])
    assert vocabulary.to_state()["candidates"] == {"aa": 3, "bb": 1}
    vocabulary.learn(["cc"])
    assert vocabulary.to_state()["candidates"] == {"aa": 2}
    vocabulary.learn(["cc dd"])
    assert vocabulary.to_state()["candidates"] == {"aa": 1}


def test_a_frequent_word_gets_through_the_noise():
    vocabulary = OnlineVocabulary(min_count=5, max_candidates=20)
    vocabulary.learn([f"noise{i} frequent" if i % 10 == 0 else f"noise{i}" for i in range(1000)])
    assert vocabulary.words == ["frequent"]


@settings(derandomize=True, deadline=None)
@given(streams, streams)
def test_learning_goes_on_from_a_state(before, after):
    vocabulary = OnlineVocabulary(6, min_count=2, max_candidates=3, stop_words={"aa", "bb"}, min_length=2)
    vocabulary.learn(before)
    restored = OnlineVocabulary.from_state(json.loads(json.dumps(vocabulary.to_state())))
    assert_array_equal(restored.learn(after).toarray(), vocabulary.learn(after).toarray())
    assert restored.to_state() == vocabulary.to_state()


@pytest.mark.parametrize(
    "change",
    [
        {"words": "ab"},
        {"words": [1]},
        {"words": ["aa", "aa"]},
        {"words": ["aa", "bb", "cc"]},
        {"words": ["the"]},
        {"candidates": ["aa"]},
        {"candidates": {"aa": 9}},
        {"candidates": {"aa": 0}},
        {"candidates": {"aa": 1.5}},
        {"candidates": {"aa": 1, "bb": 1, "cc": 1, "dd": 1}},
        {"words": ["aa"], "candidates": {"aa": 1}},
        {"max_words": 0},
        {"stop_words": "french"},
    ],
)
def test_damaged_state(change):
    state = OnlineVocabulary(2, min_count=3, max_candidates=3, stop_words="english").to_state()
    with pytest.raises(ValueError, match=r"OnlineVocabulary|must be at least 1|'english'"):
        OnlineVocabulary.from_state(state | change)


# The state of any vectorizer


@pytest.mark.parametrize(
    "vectorizer",
    [
        OnlineVocabulary(min_count=1, stop_words="english"),
        HashingVectorizer(n_features=64, norm=None, alternate_sign=False, ngram_range=(1, 2)),
        CountVectorizer(stop_words=list(ENGLISH_STOP_WORDS), dtype=np.int32, min_df=1, max_features=5),
    ],
)
def test_vectorizers_survive_json(vectorizer):
    if isinstance(vectorizer, OnlineVocabulary):
        vectorizer.learn(TEXTS)
    else:
        vectorizer.fit(TEXTS)
    restored = vectorizer_from_state(json.loads(json.dumps(vectorizer_to_state(vectorizer))))
    assert type(restored) is type(vectorizer)
    before, after = vectorizer.transform(TEXTS), restored.transform(TEXTS)
    assert before.dtype == after.dtype
    assert_array_equal(before.toarray(), after.toarray())


@pytest.mark.parametrize("words", [None, ["to", "be"]])
def test_bag_vectorizer_survives_json(words):
    vectorizer = BagVectorizer(words)
    vectorizer.n_columns = 2
    restored = vectorizer_from_state(json.loads(json.dumps(vectorizer_to_state(vectorizer))))
    assert (restored.words, restored.n_columns) == (words, 2)
    for change in ({"words": [1, 2]}, {"n_columns": -1}, {"n_columns": "2"}, {"words": ["one"]}):
        with pytest.raises(ValueError, match="the state of BagVectorizer"):
            BagVectorizer.from_state(vectorizer.to_state() | change)


def test_vectorizers_without_plain_state():
    with pytest.raises(
        TypeError, match=r"a TfidfVectorizer has no plain state; use one of OnlineVocabulary, "
    ):
        vectorizer_to_state(TfidfVectorizer())
    with pytest.raises(TypeError, match=r"HashingVectorizer\(tokenizer=<.*>\) has no plain state"):
        vectorizer_to_state(HashingVectorizer(tokenizer=str.split, token_pattern=None))
    with pytest.raises(NotFittedError):
        vectorizer_to_state(CountVectorizer())
    with pytest.raises(ValueError, match="'Pickle' is not a vectorizer"):
        vectorizer_from_state({"kind": "Pickle"})


@pytest.mark.parametrize("name", ["max_words", "min_count", "max_candidates", "min_length"])
def test_sizes_below_one(name):
    with pytest.raises(ValueError, match=f"{name}=0 must be at least 1"):
        OnlineVocabulary(**{name: 0})


def test_a_token_pattern_that_is_none():
    with pytest.raises(ValueError, match=r"token_pattern='\(' is no regular expression: missing \)"):
        OnlineVocabulary(token_pattern="(")
