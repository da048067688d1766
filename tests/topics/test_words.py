"""Words beside topics."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayespa import MedHDPClassifier, MedLDAClassifier, MedLDARegressor
from bayespa.datasets import make_topic_corpus
from bayespa.estimators import Features
from bayespa.posteriors import Joint
from bayespa.reference import linear as reference
from bayespa.topics.documents import Corpus
from bayespa.topics.part import rounded
from bayespa.topics.words import BIAS, SHARE, Words, draw_words

COUNTS = np.array([[4, 1, 0, 0], [0, 1, 9, 0], [1, 0, 0, 1], [0, 0, 0, 0]])
LABELS = np.array([[1, -1], [-1, np.nan], [np.nan, 1], [-1, 1]], np.float32)
WORDS = Words(scale=2.0, margin=2.0)


def batch_of(counts, labels=None):
    corpus = Corpus.of(counts, name="a test")
    return corpus.batch(np.arange(len(corpus)), labels)


def learned(words, batch, margin, times=1):
    posterior = Joint(**words.prior(batch.labels.shape[1], COUNTS.shape[1]))
    for _ in range(times):
        posterior += Joint(**words.propose(posterior, batch, margin, np.ones(len(batch)))[0])
    return posterior


def rows_of(posterior, batch):
    return WORDS.features(batch, posterior["documents"].counts[0][places_of(batch)])


def places_of(batch):
    """The words of a batch, and the bias, as columns of what was learned."""
    return np.append(1 + batch.documents.vocabulary, 0)


def test_features_are_words_by_frequency_and_rarity_at_length_1_and_a_bias():
    batch = batch_of(COUNTS, LABELS)
    posterior = learned(WORDS, batch, np.zeros((4, 2)))
    assert_array_equal(posterior["documents"].counts, [[4, 3, 3, 2, 2]])  # one more than there are
    x = (COUNTS > 0) * (1 + np.log(np.maximum(COUNTS, 1))) * (1 + np.log(4 / np.array([3, 3, 2, 2])))
    x[:3] /= np.linalg.norm(x[:3], axis=1, keepdims=True)
    rows = rows_of(posterior, batch)
    found = np.zeros((4, 5))
    found[:, places_of(batch)] = rows.dense()
    assert_allclose(found, np.hstack([np.full((4, 1), BIAS), x]), rtol=1e-14)


def test_runs_of_words_stand_beside_words_and_change_nothing_of_them():
    """Columns 1 and 3 are runs: half their value, in the unit in which words have length 1."""
    runs = np.array([False, True, False, True])
    corpus = Corpus.of(COUNTS, name="a test").with_roles(Features(4, None, None, runs))
    batch, seen = corpus.batch(np.arange(4)), np.array([3.0, 3, 2, 2, 4])
    x = (COUNTS > 0) * (1 + np.log(np.maximum(COUNTS, 1))) * (1 + np.log(4 / seen[:4]))
    x[:, runs] *= 0.5
    words, both = (np.linalg.norm(x * kind, axis=1) for kind in (~runs, runs))
    assert (words[:3] > both[:3]).all()
    x[:3] /= words[:3, None]
    assert_allclose(WORDS.features(batch, seen).dense()[:, :4], x, rtol=1e-14)
    alone = batch_of(COUNTS * ~runs)
    own = WORDS.features(alone, seen[[0, 2, 4]]).dense()
    assert_array_equal(WORDS.features(batch, seen).dense()[:, [0, 2, 4]], own)
    assert batch.first(2).runs is batch.runs


def test_runs_alone_have_length_1():
    """Where a document's words are unknown, its runs are not scaled by nothing."""
    features_ = Features(2, None, None, np.array([False, True]))
    corpus = Corpus.of(np.array([[1, 1], [0, 3]]), name="a test").with_roles(features_)
    x = WORDS.features(corpus.batch(np.arange(2)), np.array([2.0, 3.0, 3.0])).dense()[:, :2]
    assert_allclose(x, [[1.0, 0.5 / (1 + np.log(1.5))], [0.0, 1.0]], rtol=1e-14)


@pytest.mark.parametrize("regression", [False, True])
def test_learning_is_the_linear_step_given_a_share_of_the_topics_margins(regression):
    words = Words(scale=2.0, margin=2.0, regression=regression)
    batch, margin = batch_of(COUNTS, LABELS), np.random.default_rng(0).normal(size=(4, 2))
    posterior = learned(words, batch, margin)
    rows, places = rows_of(posterior, batch), places_of(batch)
    prior = words.prior(2, 4)["words"]
    mean, variance = prior.moments()
    for i, t in np.argwhere(~np.isnan(LABELS)):  # one document, one task at a time: [PA-5] of what is left
        y, x = float(LABELS[i, t]), rows.slice(i, i + 1).dense()[0]
        s, rest = float((x * x * variance[t, places]).sum()), SHARE * margin[i, t]
        wish = reference.Wish(y, 2.0 - y * rest, np.inf, 1.0)
        if regression:
            wish = reference.Wish(1.0, y - rest - 2.0, y - rest + 2.0, 1.0)
        cost = 0.5 if regression else 0.125
        tilt = reference.tilt_wish(wish, float(x @ mean[t, places]), s, cost, "squared")
        pull = x * variance[t, places]
        mean[t, places] += pull * tilt.gain
        variance[t, places] += pull**2 * (tilt.ratio - 1) / s
    assert_allclose(posterior["words"].precision, rounded(1 / variance), atol=1e-12)
    assert_allclose(posterior["words"].shift, rounded(mean / variance), atol=1e-12)


def test_words_are_passive_where_the_topics_are_right_or_no_label_is_known():
    batch = batch_of(COUNTS, LABELS)
    prior = Joint(**WORDS.prior(2, 4))["words"]
    assert learned(WORDS, batch, 1e3 * np.nan_to_num(LABELS.astype(float)))["words"] == prior
    unknown = batch_of(COUNTS, np.full_like(LABELS, np.nan))
    found = learned(WORDS, unknown, np.zeros((4, 2)))
    assert found["words"] == prior
    assert found["documents"].counts[0, 0] == 4


def test_margins_and_contributions_agree():
    batch = batch_of(COUNTS, LABELS)
    posterior = learned(WORDS, batch, np.zeros((4, 2)), times=3)
    view = WORDS.view(posterior)
    mean, variance = WORDS.margins(view, batch), WORDS.variances(view, batch)
    for i in range(4):
        alone = batch_of(COUNTS[i : i + 1])
        assert_array_equal(WORDS.margins(view, alone), mean[i : i + 1])
        assert_array_equal(WORDS.variances(view, alone), variance[i : i + 1])
        for task in range(2):
            added = WORDS.contributions(view, alone, task)
            bias = BIAS * posterior["words"].mean()[task, 0]
            assert_allclose(added.sum() + bias, mean[i, task], atol=1e-15)
    assert (mean[0] * LABELS[0] > 0).all()
    assert (variance[:3] > variance[3]).all()  # the last one has no words: of it only the bias is said


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
    assert set(model.posterior_).isdisjoint({"words", "documents"})
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
    added = explanation.base + sum(part.contribution for part in explanation.topics) + explanation.beside
    assert added == pytest.approx(explanation.decision, abs=1e-6)
    for shown in (repr(explanation), explanation._repr_html_()):
        assert "words beside their topics" in shown


def test_regressors_have_words_in_the_unit_of_their_first_targets(corpus):
    rng = np.random.default_rng(0)
    X = np.hstack([corpus.X.toarray(), 5 * rng.integers(0, 2, (700, 1))])
    y = 2000.0 + 10.0 * X[:, 300]
    model = MedLDARegressor(4, random_state=0).fit(X[:500], y[:500])
    assert model.score(X[500:], y[500:]) > 0.5
    assert np.abs(model.word_coef_[0]).argmax() == 300
    mean, std = model.predict(X[500:], return_std=True)
    assert ((mean > 1900) & (mean < 2150)).all()
    assert ((std > 0) & (std < 50)).all()
    later = MedLDARegressor(4, random_state=0).partial_fit(X[:500], y[:500])
    units = later._learned.meaning
    assert later.partial_fit(X[500:], y[500:] + 1e6)._learned.meaning == units  # those of the first call


def test_models_with_other_units_do_not_merge(corpus):
    a, b = (MedLDARegressor(4, random_state=0).fit(corpus.X, corpus.y * unit) for unit in (1.0, 2.0))
    with pytest.raises(ValueError, match="numbers in different units"):
        a.merge(b)


@pytest.mark.parametrize("kind", [MedLDAClassifier, MedHDPClassifier])
def test_words_alone_need_no_topics(kind, corpus):
    model = kind(decides="words", random_state=0).fit(corpus.X, corpus.y)
    assert set(model.posterior_) == {"words", "documents", "temperature", "classes", "change"}
    assert model.topics() == []
    assert model.transform(corpus.X_test).shape == (len(corpus.y_test), 0)
    assert model.score(corpus.X_test, corpus.y_test) > 0.8
    explanation = model.explain(corpus.X_test[0])
    assert explanation.topics == ()
    more = model.partial_fit(np.hstack([corpus.X.toarray(), np.ones((700, 1), int)]), corpus.y)
    assert more.word_coef_.shape == (3, 301)


def test_topics_are_made_of_the_words_that_are_named(classifier, corpus):
    named = np.arange(300) % 3 > 0
    model = classifier().fit(corpus.X, corpus.y, topic_words=named)
    topics, words = model.components_, model.word_coef_
    least = topics[:, ~named].max(axis=1)  # the prior of each topic
    assert (topics[:, named].max(axis=1) > 10 * least).all()
    assert np.abs(words[:, ~named]).max() > 0.0
    explanation = model.explain(corpus.X_test[0])
    assert len(explanation.words) == corpus.X_test[0].nnz
    grown = model.partial_fit(np.hstack([corpus.X.toarray(), np.ones((700, 2), int)]), corpus.y)
    assert_array_equal(grown._learned.features.topical, [*named, True, True])
    with pytest.raises(ValueError, match="give True or False for each of the 300 columns"):
        classifier().fit(corpus.X, corpus.y, topic_words=[True])


def test_who_decides_cannot_change_while_learning(corpus):
    model = MedLDAClassifier(4, random_state=0).fit(corpus.X, corpus.y)
    with pytest.raises(
        ValueError, match=r"decides was 'topics\+words' when learning began; set it back, or fit"
    ):
        model.set_params(decides="topics").partial_fit(corpus.X, corpus.y)
    model = MedLDAClassifier(4, decides="topics", random_state=0).fit(corpus.X, corpus.y)
    with pytest.raises(ValueError, match="decides was 'topics' when learning began"):
        model.set_params(decides="topics+words").partial_fit(corpus.X, corpus.y)
    with pytest.raises(ValueError, match="decides is 'nobody'"):
        MedLDAClassifier(decides="nobody").fit(corpus.X, corpus.y)
    model = MedLDAClassifier(decides="words").fit(corpus.X, corpus.y)
    with pytest.raises(ValueError, match="decides was 'words' when learning began"):
        model.set_params(decides="topics").partial_fit(corpus.X, corpus.y)
    for scale in (-1, 0):
        with pytest.raises(ValueError, match=f"word_scale is {scale}"):
            MedLDAClassifier(expert={"word_scale": scale}).fit(corpus.X, corpus.y)


@pytest.mark.parametrize("kind", [MedLDAClassifier, MedHDPClassifier])
@pytest.mark.parametrize("multi_class", ["shared", "ovr"])
def test_columns_that_topics_do_not_use_change_no_topic(kind, multi_class):
    """As many more of them make no difference, neither to topics nor to how many there are."""
    corpus = make_topic_corpus(200, n_words=60, n_topics=4, n_labels=3, random_state=0)
    more = np.random.default_rng(0).poisson(0.1, (200, 300))
    wide, topical = np.hstack([corpus.data.toarray(), more]), np.repeat([True, False], [60, 300])
    expert = {"first_sweeps": 5}
    plain, model = (
        kind(decides="topics", multi_class=multi_class, batch_size=50, expert=expert, random_state=0)
        for _ in range(2)
    )
    plain.fit(corpus.data, corpus.target)
    model.fit(wide, corpus.target, topic_words=topical)
    assert_array_equal(model.coef_, plain.coef_)
    assert_array_equal(model.topic_word_[:, :60], plain.topic_word_)
    for (_, found), (_, expected) in zip(
        model._learned.knowledge.views, plain._learned.knowledge.views, strict=True
    ):
        assert_array_equal(found.totals, expected.totals)
