"""What MedHDP has that other topic models do not: topics are born and die, and keep their numbers."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linear_sum_assignment

from bayespa import MedHDPClassifier, MedHDPRegressor
from bayespa.datasets import make_topic_corpus
from bayespa.posteriors import Gaussian, Joint, Sticks
from bayespa.topics.regressor import Numbers
from bayespa.topics.topic_sums import TopicStatistics

EXPERT = {"first_documents": None, "first_sweeps": 40, "min_tokens": 0.0}
SMALL = {"batch_size": 64, "expert": EXPERT, "random_state": 0}


def by_id(model):
    return dict(zip(model.topic_ids_.tolist(), model.topic_word_ - model.topic_word_.min(), strict=True))


def test_finds_how_many_topics_there_are():
    corpus = make_topic_corpus(3000, n_words=500, n_topics=10, n_labels=5, random_state=0)
    model = MedHDPClassifier(eta=0.2, expert={"first_documents": 1024, "first_sweeps": 150}, random_state=0)
    model.fit(corpus.data, corpus.target)
    assert 8 <= model.n_topics_ <= 14
    planted, found = corpus.topic_word.toarray(), model.components_
    cosine = planted @ found.T / np.linalg.norm(planted, axis=1)[:, None] / np.linalg.norm(found, axis=1)
    assert cosine[linear_sum_assignment(-cosine)].mean() > 0.9


@pytest.mark.parametrize("seed", [0, 1])
def test_a_topic_that_appears_late_is_found(seed):
    """Of 20 planted topics one appears at half of the stream, and is born then."""
    corpus = make_topic_corpus(6000, n_words=1000, n_topics=20, n_labels=5, random_state=seed)
    has = corpus.document_topic[:, -1] > 0.01
    early = np.flatnonzero(~has)[:2048]
    late = np.setdiff1d(np.arange(6000), early)[:2048]
    assert has[late].mean() > 0.4
    model = MedHDPClassifier(random_state=0).partial_fit(
        corpus.data[early], corpus.target[early], classes=range(5)
    )
    before, planted = model.topic_ids_.max(), corpus.topic_word[[-1]].toarray()[0]
    assert np.minimum(model.components_, planted).sum(axis=1).max() < 0.2
    for rows in np.split(late, 8):
        model.partial_fit(corpus.data[rows], corpus.target[rows])
    shared = np.minimum(model.components_, planted).sum(axis=1)
    assert shared.max() > 0.8
    assert model.topic_ids_[shared.argmax()] > before


def test_no_topic_is_born_where_nothing_is_new():
    corpus = make_topic_corpus(5120, n_words=1000, n_topics=20, n_labels=5, random_state=0)
    model = MedHDPClassifier(random_state=0).partial_fit(
        corpus.data[:2048], corpus.target[:2048], classes=range(5)
    )
    before = model.topic_ids_.max()
    model.partial_fit(corpus.data[2048:], corpus.target[2048:])
    new = model.topic_ids_ > before
    assert model.topic_tokens_[new].sum() < 0.01 * model.topic_tokens_.sum()


def test_topics_keep_their_numbers(corpus):
    model = MedHDPClassifier(**SMALL).partial_fit(corpus.X[:64], corpus.y[:64], classes=[0, 1, 2])
    orders = set()
    for start in range(64, 700, 64):
        before = by_id(model)
        model.partial_fit(corpus.X[start : start + 64], corpus.y[start : start + 64])
        after = by_id(model)
        assert set(before) <= set(after)  # nothing forgets here, so nothing dies
        assert all((after[topic] >= before[topic]).all() for topic in before)
        orders.add(tuple(topic for topic in model.topic_ids_.tolist() if topic in before))
    assert len(orders) > 1  # though they changed places
    assert model.n_topics_ == len(model.topic_ids_) == len(model.stick_.u) == len(model.coef_[0])
    assert_array_equal(np.sort(model.stick_.u)[::-1], model.stick_.u)
    assert isinstance(model.stick_, Sticks)


def test_topics_are_born_and_die(corpus):
    """Other words bring other topics, and topics that forgetting has worn down go."""
    n_words = corpus.X.shape[1]
    wide = corpus.X.copy()
    wide.resize(wide.shape[0], 2 * n_words)
    other = wide[:, np.arange(-n_words, n_words)]
    ready = {**SMALL, "eta": 0.02, "gamma": 20.0}
    model = MedHDPClassifier(**ready).partial_fit(wide, corpus.y, classes=[0, 1, 2])
    before = model.topic_ids_
    model.partial_fit(other, corpus.y)
    new = model.topic_ids_ > before.max()  # numbers are never used again
    assert new.sum() >= 3
    model.set_params(discount=0.5, expert={**EXPERT, "min_tokens": 20.0})
    for _ in range(3):
        model.partial_fit(other, corpus.y)
    assert np.isin(model.topic_ids_, before).sum() < 0.5 * len(before)
    assert model.n_topics_ < len(new)
    assert model.score(other, corpus.y) > 0.85


@pytest.mark.parametrize("multi_class", ["shared", "ovr"])
def test_most_topics(corpus, multi_class):
    model = MedHDPClassifier(**{**SMALL, "max_topics": 4, "multi_class": multi_class})
    model.fit(corpus.X, corpus.y)
    assert model.coef_.shape == (3, 4)
    assert model.n_topics_ == (4 if multi_class == "shared" else 12)
    assert np.size(model.stick_) == (1 if multi_class == "shared" else 3)


def test_small_topics_go(corpus):
    all_, large = (
        MedHDPClassifier(**{**SMALL, "expert": {**EXPERT, "min_tokens": n}}).fit(corpus.X, corpus.y)
        for n in (0.0, 1000.0)
    )
    threshold = 1e-3 * corpus.X.sum()  # a thousandth of all is enough for a topic to stay
    assert min(counts.sum() for counts in by_id(large).values()) >= 0.9 * threshold
    assert large.n_topics_ <= all_.n_topics_


def test_first_mini_batch_is_larger(corpus):
    expert = {**EXPERT, "first_documents": 200}
    model = MedHDPClassifier(**{**SMALL, "n_passes": 1, "expert": expert}).fit(corpus.X, corpus.y)
    assert len(model.objective_) == 1 + 8  # 200 documents, then 64 at a time
    model.partial_fit(corpus.X, corpus.y)
    assert len(model.objective_) == 1 + 8 + 11
    assert len(MedHDPClassifier(**{**SMALL, "batch_size": None}).fit(corpus.X, corpus.y).objective_) == 1


def test_no_topic_at_all():
    """Documents without a word teach no topic: a model without topics still answers."""
    model = MedHDPClassifier(**SMALL, decides="topics").partial_fit(
        np.zeros((3, 5)), [0, 1, 2], classes=[0, 1, 2]
    )
    assert model.n_topics_ == 0
    assert model.transform(np.eye(5)).shape == (5, 0)
    assert_array_equal(model.decision_function(np.eye(5)), 0.0)
    assert (model.decision_std(np.eye(5)) > 0.3).all()
    assert model.topics() == []
    assert model.partial_fit(np.eye(5) * 9, [0, 1, 2, 0, 1]).n_topics_ > 0


@pytest.mark.parametrize("bias_scale", [0.0, 0.7])
def test_weights_have_the_prior_of_a_bias(bias_scale):
    """Weights beside a bias are those of the correlated prior v² I + v_b² 11ᵀ."""
    rng = np.random.default_rng(0)
    n_tasks, n_topics = 2, 4
    root = rng.normal(size=(n_tasks, n_topics, n_topics))
    shift, precision = rng.normal(size=(n_tasks, n_topics)), root @ root.swapaxes(1, 2)
    precision = (precision + precision.swapaxes(1, 2)) / 2
    prior = Gaussian.prior(n_tasks, n_topics, scale=0.5, bias_scale=bias_scale)
    mean, covariance = (prior + Gaussian(shift, precision)).moments()

    estimator = MedHDPRegressor(weight_scale=0.5, expert={"bias_scale": bias_scale})
    model = estimator._made(Numbers(n_tasks), key=0)["model"].topics
    both = np.hstack([np.eye(n_topics), np.ones((n_topics, 1))])  # z̄ and the 1 of the bias, given z̄
    ids, counts = np.arange(n_topics), np.ones((1, n_topics))
    tables = np.arange(n_topics, 0.0, -1.0)
    learned = TopicStatistics(ids, np.array([1]), counts, tables, shift @ both, both.T @ precision @ both)
    view = model.view(model.prior(n_words=3) + Joint(topics=[learned]))
    assert_allclose(view.mean, mean, rtol=1e-9)
    assert_allclose(view.covariance, covariance, rtol=1e-9)


def test_merge_of_common_ancestor_goes_by_numbers(corpus):
    def learn(model, rows):
        return copy.deepcopy(model).partial_fit(corpus.X[rows], corpus.y[rows], classes=[0, 1, 2])

    base = learn(MedHDPClassifier(**SMALL), slice(64))
    left, right = learn(base, slice(64, 350)), learn(base, slice(350, 700))
    mine, theirs, old = by_id(left), by_id(right), by_id(base)
    merged = by_id(copy.deepcopy(left).merge(right, ancestor=base))
    assert len(merged) == len(set(mine) - set(old)) + len(set(theirs) - set(old)) + len(old)
    for topic, counts in mine.items():
        expected = counts + theirs[topic] - old[topic] if topic in old else counts
        assert_allclose(merged[topic], expected, atol=1e-9)


def test_merge_of_strangers_joins_topics_that_are_alike(corpus):
    left = MedHDPClassifier(**SMALL).fit(corpus.X[:350], corpus.y[:350])
    right = MedHDPClassifier(**{**SMALL, "random_state": 1}).fit(corpus.X[350:], corpus.y[350:])
    n_left, n_right = left.n_topics_, right.n_topics_
    ids = left.topic_ids_
    left.merge(right)
    assert max(n_left, n_right) <= left.n_topics_ < n_left + n_right
    assert np.isin(ids, left.topic_ids_).all()


@pytest.mark.parametrize(
    ("multi_class", "values"),
    [
        ("shared", {"eta": 0.05, "cost": 64.0, "expert": {"first_sweeps": 100, "start_gamma": 100.0}}),
        ("ovr", {"eta": 0.45, "cost": 512.0, "expert": {"first_sweeps": 3, "start_gamma": 1000.0}}),
    ],
)
def test_none_stands_for_what_multi_class_needs(corpus, multi_class, values, state):
    silent = MedHDPClassifier(multi_class=multi_class, random_state=0)
    said = MedHDPClassifier(multi_class=multi_class, random_state=0, **values)
    assert state(silent.fit(corpus.X, corpus.y)) == state(said.fit(corpus.X, corpus.y))
    assert silent.score(corpus.X_test, corpus.y_test) > 0.85


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0.0}, "alpha is 0"),
        ({"gamma": -1.0}, "gamma is -1"),
        ({"max_topics": 0}, "max_topics is 0"),
        ({"expert": {"first_documents": 1.5}}, "first_documents is 1.5"),
        ({"expert": {"first_sweeps": 0}}, "first_sweeps is 0"),
        ({"expert": {"start_gamma": 0.0}}, "start_gamma is 0"),
        ({"eta": 0.0}, "eta is 0"),
        ({"expert": {"min_tokens": np.nan}}, "min_tokens is nan"),
    ],
    ids=str,
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ValueError, match=message):
        MedHDPClassifier(**parameters).fit([[1, 2], [3, 0]], [0, 1])
