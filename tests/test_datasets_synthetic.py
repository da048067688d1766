import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linear_sum_assignment
from scipy.stats import chi2
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.preprocessing import normalize

from bayespa.datasets import make_topic_corpus

SMALL = {"n_documents": 50, "n_words": 40, "n_topics": 6, "n_labels": 3, "random_state": 7}


def test_shapes_and_ground_truth():
    corpus = make_topic_corpus(**SMALL)
    assert (corpus.data.shape, corpus.data.dtype) == ((50, 40), np.int32)
    assert corpus.data.has_canonical_format
    assert corpus.data.sum(axis=1).min() >= 1
    assert_array_equal(corpus.topic_label, [0, 1, 2, 0, 1, 2])
    assert_allclose(corpus.topic_word.sum(axis=1), np.ones((6, 1)), rtol=1e-12)
    assert_allclose(corpus.document_topic.sum(axis=1), np.ones(50), rtol=1e-12)
    assert (corpus.target.shape, len(corpus.target_names)) == ((50,), 3)


def test_same_seed_same_corpus_other_seed_another():
    first, again = (make_topic_corpus(**SMALL) for _ in range(2))
    other = make_topic_corpus(**SMALL | {"random_state": 8})
    assert (first.data != again.data).nnz == 0
    assert_array_equal(first.target, again.target)
    assert (first.data != other.data).nnz > 0


@pytest.mark.parametrize("batch_size", [1, 7, 50, 1000])
def test_batches_are_the_corpus_in_pieces(batch_size):
    sizes = SMALL | {"labels_per_document": 1.6}
    whole = make_topic_corpus(**sizes)
    batches = list(make_topic_corpus(**sizes, batch_size=batch_size))
    assert [len(b.target) for b in batches[:-1]] == [batch_size] * (len(batches) - 1)
    assert (sp.vstack([b.data for b in batches]) != whole.data).nnz == 0
    assert_array_equal(np.concatenate([b.target for b in batches]), whole.target)
    assert_array_equal(np.concatenate([b.document_topic for b in batches]), whole.document_topic)


def test_longer_corpus_starts_like_the_shorter_one():
    short, long = make_topic_corpus(**SMALL), make_topic_corpus(**SMALL | {"n_documents": 9000})
    assert (long.data[:50] != short.data).nnz == 0
    assert (long.topic_word != short.topic_word).nnz == 0


def test_topics_follow_zipf():
    n_words, n_topics, exponent = 3000, 5, 1.2
    sizes = {"n_words": n_words, "n_topics": n_topics, "zipf_exponent": exponent}
    topics = make_topic_corpus(1, **sizes, overlap=0, random_state=0).topic_word.toarray()
    ranked = -np.sort(-topics, axis=1)[:, : n_words // n_topics]
    # The i-th word of a topic is one of the ranks i * n_topics + 1 ... (i + 1) * n_topics.
    i = np.arange(n_words // n_topics)
    low, high = ((i + 1) * n_topics) ** -exponent, ((i * n_topics + 1) / n_topics) ** -exponent
    ratio = ranked / ranked[:, :1]
    assert ((low * (1 - 1e-12) <= ratio) & (ratio <= high * (1 + 1e-12))).all()
    assert_allclose(ranked.sum(axis=1), np.ones(n_topics), rtol=1e-12)


def test_words_have_a_first_and_a_second_topic():
    topics = make_topic_corpus(
        1, 500, 4, 2, overlap=0.25, zipf_exponent=0.0, random_state=0
    ).topic_word.tocsc()
    assert_array_equal(topics.getnnz(axis=0), np.full(500, 2))
    # Equal frequencies: within a topic, a word weighs 0.75 where it is at home and 0.25 where it is a guest.
    for topic in topics.toarray():
        weights = np.unique(topic[topic > 0])
        assert_allclose(weights[-1] / weights[0], 3.0)
    at_home = (topics.toarray() == topics.toarray().max(axis=1, keepdims=True)).sum(axis=1)
    assert_array_equal(at_home, np.full(4, 125))


def test_word_ids_say_nothing_of_frequency():
    frequency = np.asarray(make_topic_corpus(1, 5000, random_state=0).topic_word.mean(axis=0)).ravel()
    correlation = np.corrcoef(np.arange(5000), np.argsort(np.argsort(frequency)))[0, 1]
    assert abs(correlation) < 4 / np.sqrt(5000)


def test_numbers_of_tokens_and_labels():
    n = 20_000
    corpus = make_topic_corpus(
        n, 50, 20, 20, tokens_per_document=61, labels_per_document=1.6, overlap=0, random_state=0
    )
    lengths, labels = np.asarray(corpus.data.sum(axis=1)).ravel(), corpus.target.sum(axis=1)
    assert abs(lengths.mean() - 61) < 4 * np.sqrt(60 / n)
    assert abs(lengths.var() - 60) < 4 * 60 * np.sqrt(2.1 / n)
    assert abs(labels.mean() - 1.6) < 4 * np.sqrt(0.6 / n)
    assert labels.min() == 1
    # Every label is as frequent as every other.
    assert_allclose(corpus.target.mean(axis=0), np.full(20, 0.08), atol=4 * np.sqrt(0.08 / n))


def test_topics_follow_labels():
    corpus = make_topic_corpus(20_000, 50, 6, 3, label_strength=0.7, concentration=2.0, random_state=0)
    own = corpus.topic_label == corpus.target[:, None]
    share = (corpus.document_topic * own).sum(axis=1)
    # Beta distributed: 0.7 of the mass, and the topic's even part of the remaining 0.3.
    mean = 0.7 + 0.3 / 3
    variance = mean * (1 - mean) / (2.0 + 1)
    assert abs(share.mean() - mean) < 4 * np.sqrt(variance / 20_000)
    assert abs(share.var() / variance - 1) < 0.05


def test_words_follow_topics():
    """Counts agree with their expectation given the true proportions: Pearson's test, word by word."""
    corpus = make_topic_corpus(4000, 30, 4, 4, random_state=1)
    lengths = np.asarray(corpus.data.sum(axis=1)).ravel()
    for topic in range(4):
        # Documents weighted by their share of the topic: a wrong row of topic_word would move the statistic.
        weight = corpus.document_topic[:, topic]
        probability = corpus.document_topic @ corpus.topic_word.toarray()
        expected = (weight * lengths) @ probability
        variance = (weight**2 * lengths) @ (probability * (1 - probability))
        z = (weight @ corpus.data.toarray() - expected) / np.sqrt(variance)
        assert np.abs(z).max() < 4
        assert (z**2).sum() < chi2.ppf(0.9999, 30)


@pytest.mark.parametrize("seed", [0, 1])
def test_planted_topics_can_be_recovered(seed):
    corpus = make_topic_corpus(200, 60, 3, 3, random_state=seed)
    # Variational inference stops at local optima: of some starts, keep the one that explains the words best.
    starts = [
        LatentDirichletAllocation(3, max_iter=10, random_state=start).fit(corpus.data) for start in range(3)
    ]
    best = min(starts, key=lambda model: model.perplexity(corpus.data))
    cosine = normalize(best.components_) @ normalize(corpus.topic_word.toarray()).T
    assert cosine[linear_sum_assignment(-cosine)].min() > 0.97


def test_many_documents_of_many_words_in_little_memory():
    """The shape of the largest published corpus, its first mini-batches."""
    batches = make_topic_corpus(
        1_100_000,
        900_000,
        40,
        20,
        tokens_per_document=61,
        labels_per_document=1.6,
        batch_size=512,
        random_state=0,
    )
    for _ in range(3):
        batch = next(batches)
        assert (batch.data.shape, batch.target.shape) == ((512, 900_000), (512, 20))
        assert batch.data.nnz < 512 * 80


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"n_documents": 0}, r"n_documents=0 is outside \[1, inf\]"),
        ({"n_labels": 0}, r"n_labels=0 is outside"),
        ({"n_topics": 4}, r"n_topics=4 is outside \[5, inf\]"),
        ({"n_topics": 1, "n_labels": 1}, r"n_topics=1 is outside \[2, inf\]"),
        ({"n_words": 9}, r"n_words=9 is outside \[10, inf\]"),
        ({"tokens_per_document": 0.5}, r"tokens_per_document=0.5 is outside"),
        ({"labels_per_document": 6}, r"labels_per_document=6 is outside \[1, 5\]"),
        ({"label_strength": 1.1}, r"label_strength=1.1 is outside \[0, 1\]"),
        ({"concentration": 0.0}, r"concentration=0.0 is outside \[0.1, inf\]"),
        ({"overlap": -0.1}, r"overlap=-0.1 is outside \[0, 0.5\]"),
        ({"zipf_exponent": float("nan")}, r"zipf_exponent=nan is outside"),
        ({"batch_size": 0}, r"batch_size=0 is outside \[1, inf\]"),
    ],
)
def test_options_outside_their_range(option, message):
    with pytest.raises(ValueError, match=message):
        make_topic_corpus(**option)


def test_most_extreme_documents_have_proportions():
    corpus = make_topic_corpus(
        2000, 100, 50, 2, concentration=0.1, label_strength=1.0, overlap=0, random_state=0
    )
    assert np.isfinite(corpus.document_topic).all()
