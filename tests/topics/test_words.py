"""Words beside topics."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayespa import MedLDAClassifier
from bayespa.posteriors import Gaussian, Joint
from bayespa.reference import linear as reference
from bayespa.topics.documents import Corpus
from bayespa.topics.words import Words, draw_words, features

COUNTS = np.array([[4, 1, 0, 0], [0, 1, 9, 0], [1, 0, 0, 1], [0, 0, 0, 0]])
LABELS = np.array([[1, -1], [-1, np.nan], [np.nan, 1], [-1, 1]], np.float32)
WORDS = Words(scale=2.0, margin=2.0)


def batch_of(counts, labels=None):
    corpus = Corpus.of(counts, name="a test")
    return corpus.batch(np.arange(len(corpus)), labels)


def learned(words, batch, margin, times=1):
    posterior = Joint(**words.prior(batch.labels.shape[1], COUNTS.shape[1]))
    for _ in range(times):
        posterior += Joint(**words.propose(posterior, batch, margin)[0])
    return posterior


def rows_of(posterior, batch):
    seen = posterior["documents"].counts[0]
    return features(batch, seen[0], seen[1 + batch.documents.vocabulary])


def test_features_are_rare_words_at_length_1():
    batch = batch_of(COUNTS, LABELS)
    posterior = learned(WORDS, batch, np.zeros((4, 2)))
    assert_array_equal(posterior["documents"].counts, [[3.5, 2.5, 2.5, 1.5, 1.5]])
    x = np.sqrt(COUNTS) * np.log(4 / np.array([2.5, 2.5, 1.5, 1.5]))
    x[:3] /= np.linalg.norm(x[:3], axis=1, keepdims=True)
    rows = rows_of(posterior, batch)
    found = np.zeros_like(x)
    found[:, batch.documents.vocabulary] = rows.dense()[:, :-1]
    assert_allclose(found, x, rtol=1e-14)


def test_learning_is_the_linear_step_given_the_topics_margins():
    batch, margin = batch_of(COUNTS, LABELS), np.random.default_rng(0).normal(size=(4, 2))
    posterior = learned(WORDS, batch, margin)
    rows, vocabulary = rows_of(posterior, batch), batch.documents.vocabulary
    expected = WORDS.prior(2, 4)["words"]
    for i, t in np.argwhere(~np.isnan(LABELS)):  # one document, one task at a time: [PA-3] of the margin left
        row, y = rows.slice(i, i + 1), float(LABELS[i, t])
        mean, variance = expected.moments()
        x = row.dense()[0, :-1]
        s = float((x * x * variance[t, vocabulary]).sum())
        if not s:
            continue
        wish = reference.Wish(y, 2.0 - y * margin[i, t], np.inf, 1.0)
        tilt = reference.tilt_wish(wish, float(x @ mean[t, vocabulary]), s, 0.5, "moments")
        pull = x * variance[t, vocabulary]
        after = variance[t, vocabulary] + pull**2 * (tilt.ratio - 1) / s
        shift, precision = expected.shift.copy(), expected.precision.copy()
        precision[t, vocabulary] = 1 / after
        shift[t, vocabulary] = (mean[t, vocabulary] + pull * tilt.gain) / after
        expected = Gaussian(shift, precision)
    assert_allclose(posterior["words"].shift, expected.shift, atol=1e-12)
    assert_allclose(posterior["words"].precision, expected.precision, atol=1e-12)


def test_words_are_passive_where_the_topics_are_right_or_no_label_is_known():
    batch = batch_of(COUNTS, LABELS)
    prior = Joint(**WORDS.prior(2, 4))["words"]
    assert learned(WORDS, batch, 1e3 * np.nan_to_num(LABELS.astype(float)))["words"] == prior
    unknown = batch_of(COUNTS, np.full_like(LABELS, np.nan))
    found = learned(WORDS, unknown, np.zeros((4, 2)))
    assert found["words"] == prior
    assert found["documents"].counts[0, 0] == 3.5


def test_margins_and_contributions_agree():
    batch = batch_of(COUNTS, LABELS)
    posterior = learned(WORDS, batch, np.zeros((4, 2)), times=3)
    view = WORDS.view(posterior)
    mean, variance = WORDS.margins(view, batch)
    for i in range(4):
        alone = batch_of(COUNTS[i : i + 1])
        assert_array_equal(WORDS.margins(view, alone), [mean[i : i + 1], variance[i : i + 1]])
        for task in range(2):
            added = WORDS.contributions(view, alone, task)
            assert_allclose(added.sum(), mean[i, task], atol=1e-15)
    assert (mean[0] * LABELS[0] > 0).all()
    assert_array_equal(variance > 0, [[True] * 2] * 3 + [[False] * 2])  # the last one has no words


def test_draws_have_the_moments_of_the_posterior():
    posterior = learned(WORDS, batch_of(COUNTS, LABELS), np.zeros((4, 2)), times=3)["words"]
    drawn = np.array([draw_words(key, posterior) for key in range(4000)])
    mean, variance = posterior.moments()
    assert_allclose(drawn.mean(axis=0), mean, atol=4 * np.sqrt(variance.max() / 4000))
    assert_allclose(drawn.var(axis=0), variance, rtol=0.12)


def test_a_batch_of_all_data_counts_once_in_every_pass(corpus):
    def fitted(n_passes):
        model = MedLDAClassifier(8, batch_size=None, n_passes=n_passes, random_state=0)
        return model.fit(corpus.X, corpus.y)

    documents = [fitted(n).posterior_["documents"] for n in (1, 3)]
    assert documents[0] == documents[1]
    precision = [fitted(n).posterior_["words"].precision.sum() for n in (1, 3)]
    assert 0.8 < precision[1] / precision[0] < 1.25


def test_without_words_there_are_no_weights_of_them(classifier, corpus):
    model = classifier(decides="topics").fit(corpus.X, corpus.y)
    assert set(model.posterior_.parts).isdisjoint({"words", "documents"})
    assert_array_equal(model.word_coef_, np.zeros((3, 300)))
    assert model.explain(corpus.X_test[0]).beside == 0.0


def test_words_add_what_topics_miss(corpus):
    """Two words decide, in documents whose topics are the same."""
    rng = np.random.default_rng(0)
    X = np.hstack([corpus.X.toarray(), np.zeros((700, 2), int)])
    y = rng.integers(0, 2, 700)
    X[np.arange(700), 300 + y] = 5
    scores = {}
    for decides in ("topics", "topics+words"):
        model = MedLDAClassifier(4, decides=decides, random_state=0).fit(X[:500], y[:500])
        scores[decides] = model.score(X[500:], y[500:])
    assert scores["topics"] < 0.8 < 0.9 < scores["topics+words"]
    assert set(np.abs(model.word_coef_[0]).argsort()[-2:]) == {300, 301}
    assert model.word_coef_[0, 301] > 0.0 > model.word_coef_[0, 300]
    explanation = model.explain(X[500])
    assert explanation.words[0].word in ("300", "301")
    added = sum(part.contribution for part in explanation.topics) + explanation.beside
    assert added == pytest.approx(explanation.decision, abs=1e-6)
    for shown in (repr(explanation), explanation._repr_html_()):
        assert "words beside their topics" in shown


def test_regressors_have_no_words_beside_topics(regressor, corpus):
    model = regressor().fit(corpus.X, corpus.y.astype(float))
    assert "words" not in model.posterior_.parts
    assert "decides" not in model.get_params()
    assert "word_scale" not in model.expert_
    assert_array_equal(model.word_coef_, np.zeros((1, 300)))


def test_who_decides_cannot_change_while_learning(corpus):
    model = MedLDAClassifier(4, random_state=0).fit(corpus.X, corpus.y)
    with pytest.raises(
        ValueError, match=r"decides was 'topics\+words' when learning began; set it back, or fit"
    ):
        model.set_params(decides="topics").partial_fit(corpus.X, corpus.y)
    model = MedLDAClassifier(4, decides="topics", random_state=0).fit(corpus.X, corpus.y)
    with pytest.raises(ValueError, match="decides was 'topics' when learning began"):
        model.set_params(decides="topics+words").partial_fit(corpus.X, corpus.y)
    with pytest.raises(ValueError, match="decides is 'words'"):
        MedLDAClassifier(decides="words").fit(corpus.X, corpus.y)
    for scale in (-1, 0):
        with pytest.raises(ValueError, match=f"word_scale is {scale}"):
            MedLDAClassifier(expert={"word_scale": scale}).fit(corpus.X, corpus.y)
