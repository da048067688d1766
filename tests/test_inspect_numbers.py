"""Several numbers of topics, measured on documents that were not learned."""

import numpy as np
import pytest

from bayespa import MedHDPClassifier, MedLDAClassifier, MedLDARegressor, OnlineLDA
from bayespa.datasets import make_topic_corpus
from bayespa.inspect import compare_n_topics, diversity, npmi


@pytest.fixture(scope="module")
def corpus():
    return make_topic_corpus(600, n_words=200, n_topics=8, n_labels=4, random_state=0)


def test_numbers_are_those_of_a_model_that_has_not_seen_every_fifth_document(corpus):
    names = np.array([f"w{i}" for i in range(200)])
    (trial,) = compare_n_topics(
        MedLDAClassifier(random_state=0), corpus.data, corpus.target, [6], feature_names=names
    )
    test = np.arange(600) % 5 == 4
    model = MedLDAClassifier(6, random_state=0).fit(corpus.data[~test], corpus.target[~test])
    topics = model.topics(10, names)
    assert trial.n_topics == 6
    assert trial.scores["accuracy"] == model.score(corpus.data[test], corpus.target[test])
    assert trial.perplexity == model.perplexity(corpus.data[test])
    assert trial.coherence == npmi(topics, corpus.data[test], feature_names=names).mean()
    assert trial.diversity == diversity(topics)
    assert trial.seconds > 0.0


def test_words_tell_that_two_topics_are_too_few(corpus):
    model = MedLDAClassifier(random_state=0)
    trials = compare_n_topics(model, corpus.data, corpus.target, [2, 8])
    assert trials[1].perplexity < 0.9 * trials[0].perplexity
    assert not hasattr(model, "_learned")
    head, *rows = str(trials).splitlines()
    assert head.split()[:3] == ["topics", "accuracy", "perplexity"]
    assert [row.split()[0] for row in rows] == ["2", "8"]
    assert trials._repr_html_().count("<tr>") == 3


def test_numbers_and_no_labels(corpus):
    y = corpus.document_topic[:, 0]
    (trial,) = compare_n_topics(MedLDARegressor(random_state=0), corpus.data, y, [4])
    assert next(iter(trial.scores)) == "R²"
    (trial,) = compare_n_topics(OnlineLDA(random_state=0), corpus.data, n_topics=[4])
    assert trial.scores == {}


@pytest.mark.parametrize(
    ("model", "n", "n_topics", "message"),
    [
        (MedLDAClassifier(), 4, [2], "X has 4 documents"),
        (MedHDPClassifier(), 20, [2], "finds the number itself"),
        (MedLDAClassifier(), 20, [], "n_topics is empty"),
        (MedLDAClassifier(), 20, [1], "n_topics is 1"),
    ],
)
def test_refuses(corpus, model, n, n_topics, message):
    with pytest.raises(ValueError, match=message):
        compare_n_topics(model, corpus.data[:n], corpus.target[:n], n_topics)
