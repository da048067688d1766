import math
import re

import numpy as np
import pytest
from scipy import sparse

from bayespa import MedLDAClassifier
from bayespa.datasets import make_topic_corpus
from bayespa.inspect import c_v, coherence, diversity, npmi, pyldavis_data


def progressions():
    """Documents of 20 to 198 tokens that never repeat within a document."""
    return [[f"w{(1 + n % 7) * (i + 5 * n) % 211}" for i in range(20 + 37 * n % 180)] for n in range(60)]


def repetitions():
    """Documents of 0 to 146 tokens, in which words repeat."""
    return [["abcdefghij"[(n + 1) * i * i % 97 % 10] for i in range(37 * n % 147)] for n in range(60)]


def by_definition(topic, documents, window):
    """NPMI and C_v of one topic as in the paper, window by window."""
    windows = [
        set(tokens[s : s + window]) for tokens in documents for s in range(max(1, len(tokens) - window + 1))
    ]

    def share(*words):
        return sum(set(words) <= found for found in windows) / len(windows)

    def value(a, b):
        joint = share(a, b) + 1e-12
        return math.log(joint / (share(a) * share(b))) / -math.log(joint)

    vectors = np.array([[value(a, b) for b in topic] for a in topic])
    total = vectors.sum(axis=0)
    cosines = vectors @ total / np.linalg.norm(vectors, axis=1) / np.linalg.norm(total)
    return vectors[np.triu_indices(len(topic), 1)].mean(), cosines.mean()


def test_npmi_by_hand():
    documents = [["a", "b"], ["a", "b"], ["a"], ["c"]]  # P(a) = 3/4, P(b) = P(a, b) = 1/2
    expected = math.log((1 / 2) / (3 / 8)) / math.log(2)
    assert npmi([["a", "b"]], documents)[0] == pytest.approx(expected, abs=1e-11)
    # Independent words: P(a) = P(b) = 1/2, P(a, b) = 1/4.
    assert npmi([["a", "b"]], [["a", "b"], ["a"], ["b"], []])[0] == pytest.approx(0.0, abs=1e-11)


def test_c_v_by_hand():
    documents = [["a", "b"], ["a", "b"], ["a"], ["c"]]
    u = math.log((1 / 2) / (3 / 8)) / math.log(2)  # vectors (1, u) and (u, 1), whose sum is along (1, 1)
    expected = (1 + u) / math.sqrt(2 * (1 + u * u))
    assert c_v([["a", "b"]], documents)[0] == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("window", [1, 2, 10, 110])
def test_windows_are_those_of_the_definition(window):
    documents, topics = repetitions(), [list("abc"), list("adgj"), list("hi")]
    for topic, mean, cosine in zip(
        topics, npmi(topics, documents, window=window), c_v(topics, documents, window=window), strict=True
    ):
        assert (mean, cosine) == pytest.approx(by_definition(topic, documents, window), abs=1e-12)


def test_values_of_gensim():
    """What gensim 4.4.0 gives: CoherenceModel(topics=..., texts=..., coherence="c_v" and "c_npmi").

    No word occurs twice in a window here: gensim forgets the second when the first leaves the window.
    """
    topics = [[f"w{i}" for i in t] for t in ((0, 1, 2, 3), (0, 30, 60, 90), (5, 10, 15, 100), (0, 7, 14, 21))]
    np.testing.assert_allclose(
        c_v(topics, progressions()),
        [0.462502016878522, 0.8148539480836015, 0.5330374489463852, 0.5998088357685846],
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        npmi(topics, progressions(), window=10),
        [0.26873609965781015, -0.30161783631072636, -0.2517895622435368, 0.22279766368534126],
        rtol=1e-12,
    )


def test_counts_and_tokens_agree(monkeypatch):
    documents, topics, names = repetitions(), [list("abc"), list("jxa")], list("abcdefghij")
    counts = sparse.csr_matrix([[tokens.count(name) for name in names] for tokens in documents])
    expected = npmi(topics, documents)
    monkeypatch.setattr(coherence, "DOCUMENTS_AT_ONCE", 7)
    np.testing.assert_array_equal(npmi(topics, counts, feature_names=names), expected)
    np.testing.assert_array_equal(npmi(topics, counts.toarray(), feature_names=names), expected)
    np.testing.assert_array_equal(npmi(topics, iter(documents)), expected)
    np.testing.assert_array_equal(
        c_v(topics, counts, feature_names=names, window=None), c_v(topics, documents, window=None)
    )


def test_words_that_are_everywhere_and_nowhere():
    everywhere = [["a", "b"], ["a", "b", "c"]]
    assert npmi([["a", "b"]], everywhere)[0] == 1.0
    assert npmi([["a", "c"]], everywhere)[0] == pytest.approx(0.0, abs=1e-11)
    assert npmi([["a", "zebra"]], everywhere)[0] == 0.0
    assert c_v([["zebra", "gnu"]], everywhere)[0] == 0.0


def test_diversity():
    assert diversity([["a", "b"], ["c", "d"]]) == 1.0
    assert diversity([["a", "b"], ["b", "a"]]) == 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: npmi([["a"]], [["a"]]), "topics[0] is ['a']; a coherence needs two"),
        (lambda: npmi([["a", "b"], ["a", "a"]], [["a"]]), "topics[1] is ['a', 'a']"),
        (lambda: npmi([["a", "b"]], []), "documents is empty"),
        (lambda: npmi([["a", "b"]], ["a b"]), "a document is the text 'a b'"),
        (lambda: npmi([["a", "b"]], np.eye(2)), "name their columns by feature_names"),
        (lambda: npmi([["a", "b"]], np.eye(2), feature_names=["a"]), "2 columns, and feature_names 1"),
        (lambda: c_v([["a", "b"]], np.eye(2), feature_names=["a", "b"]), "window is 110, but documents are"),
        (lambda: c_v([["a", "b"]], [["a"]], window=0), "window is 0"),
        (lambda: diversity([]), "no words at all"),
    ],
)
def test_errors_name_the_place(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


@pytest.mark.parametrize("multi_class", ["shared", "ovr"])
def test_pyldavis_gets_distributions(multi_class):
    corpus = make_topic_corpus(60, n_words=40, n_topics=3, n_labels=3, random_state=0)
    model = MedLDAClassifier(n_topics=3, multi_class=multi_class, random_state=0)
    model.fit(corpus.data, corpus.target)
    counts = corpus.data[:20].tolil()
    counts[0] = 0
    counts[:, 5] = 0
    data = pyldavis_data(model, counts.tocsr(), [f"w{i}" for i in range(40)])
    kept = np.asarray(counts.sum(axis=0)).ravel() > 0
    k = 3 if multi_class == "shared" else 9
    assert data["topic_term_dists"].shape == (k, kept.sum())
    assert data["doc_topic_dists"].shape == (19, k)
    np.testing.assert_allclose(data["topic_term_dists"].sum(axis=1), 1.0)
    np.testing.assert_allclose(data["doc_topic_dists"].sum(axis=1), 1.0)
    np.testing.assert_array_equal(data["doc_lengths"], counts.toarray()[1:].sum(axis=1))
    np.testing.assert_array_equal(data["term_frequency"], counts.toarray().sum(axis=0)[kept])
    assert data["vocab"] == [f"w{i}" for i in range(40) if kept[i]]
    assert "w5" not in data["vocab"]


def test_pyldavis_data_names_what_does_not_fit():
    corpus = make_topic_corpus(60, n_words=40, n_topics=3, n_labels=3, random_state=0)
    model = MedLDAClassifier(n_topics=3, random_state=0).fit(corpus.data, corpus.target)
    with pytest.raises(ValueError, match=re.escape("shape (1,), and counts 40 columns")):
        pyldavis_data(model, corpus.data, ["word"])
    with pytest.raises(ValueError, match="counts has no words"):
        pyldavis_data(model, 0 * corpus.data)
