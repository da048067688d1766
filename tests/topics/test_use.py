"""What the supervised topic models predict and show, and the company they keep: the battery's second half."""

import copy
import os
import pickle
import signal

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from bayespa import BayesPAClassifier, _native
from bayespa.datasets import make_topic_corpus

# Prediction


def test_prediction_ignores_its_company(classifier, corpus):
    model = classifier().fit(corpus.X, corpus.y)
    together = model.decision_function(corpus.X_test)
    order = np.random.default_rng(0).permutation(200)
    assert_array_equal(model.decision_function(corpus.X_test[order]), together[order])
    alone = [model.decision_function(corpus.X_test[i])[0] for i in range(5)]
    assert_array_equal(alone, together[:5])
    fractions = sparse.vstack([corpus.X_test[:3], 0.3 * corpus.X_test[3:5]]).tocsr()
    assert_array_equal(model.decision_function(fractions)[:3], together[:3])
    dense = corpus.X_test.toarray()
    assert_array_equal(model.decision_function(dense), together)
    assert_array_equal(model.decision_function(np.asfortranarray(dense.astype(np.float32))), together)


@pytest.mark.parametrize(
    "parameters", [{}, {"multi_class": "ovr"}, {"expert": {"rule": "averaging"}}], ids=str
)
def test_same_bits_for_any_threads_and_instructions(classifier, corpus, parameters, monkeypatch, state):
    def learn(n_jobs):
        model = classifier(n_jobs=n_jobs, **parameters).fit(corpus.X[:300], corpus.y[:300])
        return (
            state(model),
            model.predict_proba(corpus.X_test).tobytes(),
            model.transform(corpus.X_test).tobytes(),
        )

    first = learn(1)
    assert learn(2) == first
    assert learn(3) == first
    for isa in _native.available_isas():
        monkeypatch.setenv("BAYESPA_ISA", isa)
        assert learn(1) == first


def test_seeds(classifier, corpus, state):
    def fit(seed):
        return state(classifier(random_state=seed).fit(corpus.X[:100], corpus.y[:100]))

    assert fit(1) == fit(1) != fit(2)
    assert fit(np.random.RandomState(3)) == fit(np.random.RandomState(3))
    assert fit(None) != fit(None)


def test_gibbs_prediction_draws_weights(classifier, corpus):
    model = classifier(weight_scale=1.0).fit(corpus.X[:100], corpus.y[:100])
    mean = model.decision_function(corpus.X_test[:20])
    draws = [
        model.decision_function(corpus.X_test[:20], prediction="gibbs", random_state=seed)
        for seed in range(300)
    ]
    deviation = np.std(draws, axis=0)
    assert_allclose(np.mean(draws, axis=0), mean, atol=5 * deviation.max() / np.sqrt(300))
    assert (deviation <= 1.3 * model.decision_std(corpus.X_test[:20])).all()  # which has the topics' part too
    once, again = (model.predict(corpus.X_test, prediction="gibbs") for _ in range(2))
    assert_array_equal(once, again)
    with pytest.raises(ValueError, match="prediction is 'map'"):
        model.predict(corpus.X_test, prediction="map")


def test_probabilities_rank_like_decisions(classifier, corpus):
    model = classifier().fit(corpus.X, corpus.y == 0)
    probability, decision = model.predict_proba(corpus.X_test)[:, 1], model.decision_function(corpus.X_test)
    assert_array_equal(rankdata(probability.round(10)), rankdata(decision.round(10)))
    model = classifier().fit(corpus.X, corpus.y)
    assert_allclose(model.predict_proba(corpus.X_test).sum(axis=1), 1.0)
    assert_array_equal(
        model.classes_[model.predict_proba(corpus.X_test).argmax(axis=1)], model.predict(corpus.X_test)
    )


def test_probabilities_are_calibrated(classifier):
    """Noisy labels: one in five is drawn at random, however large the margin is."""
    corpus = make_topic_corpus(2500, n_words=300, n_topics=6, n_labels=3, random_state=5)
    rng = np.random.default_rng(0)
    y = np.where(rng.random(2500) < 0.2, rng.integers(3, size=2500), corpus.target)
    model = classifier(n_passes=None).fit(corpus.data[:1500], y[:1500])
    probability = model.predict_proba(corpus.data[1500:])
    hit = probability.argmax(axis=1) == y[1500:]
    assert abs(probability.max(axis=1).mean() - hit.mean()) < 0.06


def test_class_weights_are_odds(classifier, corpus):
    """A class of weight w has the odds of one that is w times as frequent; of two classes exactly."""
    model = classifier().fit(corpus.X, corpus.y == 0)
    before = model.predict_proba(corpus.X_test)
    noise = model._learned.knowledge.margin_meaning.noise
    assert noise < 0.5
    heavy = copy.deepcopy(model).set_params(class_weight={True: 3.0})
    plain, found = (
        (p[:, 1] - noise / 2) / (p[:, 0] - noise / 2) for p in (before, heavy.predict_proba(corpus.X_test))
    )
    sure = (plain > 1e-6) & (plain < 1e6)
    assert_allclose(found[sure], 3.0 * plain[sure], rtol=1e-6)
    assert_array_equal(model.predict_proba(corpus.X_test), before)  # the other is a copy
    model = classifier().fit(corpus.X, corpus.y)
    first = model.predict(corpus.X_test)
    for name in model.classes_.tolist():
        model.set_params(class_weight={name: 1000.0})
        assert (model.predict(corpus.X_test) == name).sum() > (first == name).sum()
        assert_array_equal(
            model.classes_[model.predict_proba(corpus.X_test).argmax(axis=1)], model.predict(corpus.X_test)
        )
    for bad in ("even", {0: 0.0}, 3):
        with pytest.raises(ValueError, match="class_weight"):
            model.set_params(class_weight=bad).predict(corpus.X_test)


def test_balanced_classes_count_as_if_as_frequent(classifier, corpus):
    rare = np.flatnonzero(corpus.y == 0)[6:]
    X, y = np.delete(corpus.X.toarray(), rare, axis=0), np.delete(corpus.y, rare)
    model = classifier().fit(X, y)
    before = model.predict_proba(corpus.X_test)[:, 0]
    after = model.set_params(class_weight="balanced").predict_proba(corpus.X_test)[:, 0]
    assert (after >= before - 1e-12).all()
    assert after.mean() > before.mean() + 0.01


def test_classes_that_come_later_have_not_been_seen(classifier, corpus):
    counted = classifier().fit(corpus.X, corpus.y).posterior_["classes"].counts
    model = classifier()
    for wanted in ([0, 1], [0, 1, 2]):
        rows = np.isin(corpus.y, wanted) if len(wanted) == 2 else corpus.y == 2
        model.partial_fit(corpus.X[rows], corpus.y[rows], classes=wanted)
    assert_array_equal(model.posterior_["classes"].counts, counted)


@pytest.mark.parametrize("multi_class", ["shared", "ovr"])
def test_evidence_of_calibration_is_older_than_the_labels(classifier, corpus, multi_class, state):
    """A second iteration knows the labels; what it would predict is no evidence of how predictions fare."""
    twice = classifier(multi_class=multi_class, expert={"n_iterations": 2})
    twice.fit(corpus.X[:128], corpus.y[:128])
    thrice = copy.deepcopy(twice).set_params(expert={**twice.expert, "n_iterations": 3})
    for model in (twice, thrice):
        model.partial_fit(corpus.X[128:192], corpus.y[128:192])
    assert state(twice) != state(thrice)
    assert twice.posterior_["temperature"] == thrice.posterior_["temperature"]


def test_parameters_set_later_are_those_of_answers(classifier, corpus):
    """However they are set: a dict of what experts turn may be changed in place."""
    model = classifier(expert={"prediction_sweeps": 8}).fit(corpus.X[:100], corpus.y[:100])
    few = model.decision_function(corpus.X_test)
    many = copy.deepcopy(model).set_params(expert={**model.expert, "prediction_sweeps": 40})
    assert (many.decision_function(corpus.X_test) != few).any()
    model.expert["prediction_sweeps"] = 40
    assert_array_equal(model.decision_function(corpus.X_test), many.decision_function(corpus.X_test))
    model.expert["prediction_sweeps"] = 1
    with pytest.raises(ValueError, match="prediction_sweeps is 1"):
        model.predict(corpus.X_test)


# What a model shows


def test_perplexity_is_that_of_completed_documents(classifier, corpus):
    model = classifier(n_passes=2).fit(corpus.X, corpus.y)
    frequency = (np.asarray(corpus.X.sum(axis=0)).ravel() + 0.5) / (corpus.X.sum() + 150)
    test = np.asarray(corpus.X_test.sum(axis=0)).ravel()
    unigram = np.exp(-(test * np.log(frequency)).sum() / test.sum())
    truth = corpus.bunch.document_topic[700:] @ corpus.bunch.topic_word.toarray()
    best = np.exp(-(corpus.X_test.toarray() * np.log(truth)).sum() / test.sum())
    assert best < model.perplexity(corpus.X_test) < 0.9 * unigram
    with pytest.raises(ValueError, match="two words"):
        model.perplexity(np.eye(300)[:2])


@pytest.mark.parametrize("multi_class", ["shared", "ovr"])
def test_explanation_adds_up(classifier, corpus, multi_class):
    model = classifier(multi_class=multi_class).fit(corpus.X, np.array(["a", "b", "c"])[corpus.y])
    names = np.array([f"word{i}" for i in range(300)])
    for target, decision in zip(model.classes_, model.decision_function(corpus.X_test[0])[0], strict=True):
        explanation = model.explain(corpus.X_test[0], target, names)
        assert explanation.target == target
        assert explanation.decision == decision
        by_topics = sum(part.contribution for part in explanation.topics)
        assert_allclose(explanation.base + by_topics + explanation.beside, decision, atol=1e-12)
        by_words = sum(part.contribution for part in explanation.words)
        assert_allclose(explanation.base + by_words, decision, atol=1e-5)
        assert sum(part.count for part in explanation.words) == corpus.X_test[0].sum()
        assert_allclose(sum(part.share for part in explanation.topics), 1.0, atol=1e-5)
        other = model.explain(corpus.X_test[1], target)  # all documents start from the same
        assert_allclose(other.base, explanation.base, atol=1e-5)
    best = model.explain(corpus.X_test[0].toarray()[0])
    assert best.target == model.predict(corpus.X_test[0])[0]
    probability = dict(zip(model.classes_, model.predict_proba(corpus.X_test[0])[0], strict=True))
    assert best.probability == probability[best.target] == max(probability.values())
    assert best.runner_up_probability == probability[best.runner_up] == sorted(probability.values())[1]
    assert str(best).startswith(f"{best.target}: +")
    assert f"next {best.runner_up}, " in str(best)
    assert best.topics[0].contribution > 0.0 or best.beside > 0.0
    assert "<table>" in best._repr_html_()
    with pytest.raises(ValueError, match="one at a time"):
        model.explain(corpus.X_test[:2])
    with pytest.raises(ValueError, match="the classes are 'a', 'b', 'c'"):
        model.explain(corpus.X_test[0], "d")


def test_what_the_average_document_has_is_the_base(classifier, corpus):
    """Topics are compared with documents whose topics are those of all documents learned."""
    model = classifier(decides="topics").fit(corpus.X, corpus.y)
    average = model.topic_sizes_ / model.topic_sizes_.sum()
    for task, target in enumerate(model.classes_):
        explanation = model.explain(corpus.X_test[0], target)
        assert explanation.base == pytest.approx(average @ model.coef_[task], abs=1e-5)
        for topic in explanation.topics:
            above = model.coef_[task, topic.topic] - average @ model.coef_[task]
            assert topic.weight == pytest.approx(above)
            assert topic.name == model.topic_names_[topic.topic]


def test_explanation_of_two_classes_is_of_the_one_predicted(classifier, corpus):
    model = classifier().fit(corpus.X, corpus.y > 0)
    for document in corpus.X_test[:6]:
        best, (predicted,) = model.explain(document), model.predict(document)
        assert best.target == predicted
        assert best.runner_up != predicted
        assert best.decision == abs(model.decision_function(document)[0])
        assert best.probability + best.runner_up_probability == pytest.approx(1.0)
        against = model.explain(document, not predicted)
        assert (against.decision, against.base) == (-best.decision, pytest.approx(-best.base))


def test_explanation_of_labels_has_no_runner_up(classifier, corpus):
    model = classifier().fit(corpus.X, np.eye(3, dtype=int)[corpus.y])
    best = model.explain(corpus.X_test[0])
    assert best.probability == model.predict_proba(corpus.X_test[0])[0].max()
    assert best.runner_up is None
    assert "next" not in str(best)


@pytest.mark.parametrize("multi_class", ["shared", "ovr"])
def test_explanation_of_no_known_word(classifier, corpus, multi_class):
    model = classifier(multi_class=multi_class).fit(corpus.X, corpus.y)
    nothing = model.explain(np.zeros((1, 300), int))
    assert (nothing.topics, nothing.words) == ((), ())
    assert nothing.base == nothing.decision == model.decision_function(np.zeros((1, 300), int)).max()
    assert "no known word" in str(nothing)
    assert "No known word" in nothing._repr_html_()


def test_words_that_tell_topics_apart(classifier, corpus):
    """A word of all documents is probable in every topic and tells none of them apart."""
    X = np.hstack([corpus.X.toarray(), np.full((700, 1), 8)])
    model = classifier().fit(X, corpus.y)
    big = np.argsort(-model.topic_sizes_)[:4]
    probable, apart = model.topics(3), model.topics(3, relevance=0.3)
    assert sum("300" in probable[k] for k in big) > sum("300" in apart[k] for k in big)
    assert model.topics(3, relevance=1.0) == probable
    masked = classifier().fit(X, corpus.y, topic_words=np.arange(301) != 300)
    assert not any("300" in words for words in masked.topics(10, relevance=0.0))
    with pytest.raises(ValueError, match="relevance is 2"):
        model.topics(3, relevance=2.0)


def test_topics_show_their_words(classifier, corpus):
    model = classifier().fit(corpus.X, corpus.y)
    names = [f"word{i}" for i in range(300)]
    tops = model.topics(4, names)
    assert len(tops) == len(model.components_)
    assert tops[3] == [names[w] for w in np.argsort(-model.components_[3], kind="stable")[:4]]
    assert model.topics(400)[0].__len__() == 300
    with pytest.raises(ValueError, match="300 words"):
        model.topics(3, names[:10])


def test_shapes_of_attributes(classifier, corpus):
    shared, separate = (classifier(multi_class=m).fit(corpus.X, corpus.y) for m in ("shared", "ovr"))
    for model in (shared, separate):
        n_topics, width = len(model.topic_word_), model.coef_.shape[1]
        assert model.topic_word_.shape == model.components_.shape == (n_topics, 300)
        assert_allclose(model.components_.sum(axis=1), 1.0)
        assert model.coef_.shape == (3, width)
        assert model.coef_cov_.shape == (3, width, width)
        assert model.transform(corpus.X_test).shape == (200, n_topics)
        assert len(model.get_feature_names_out()) == n_topics
    assert shared.coef_.shape[1] == len(shared.topic_word_)
    assert_allclose(separate.transform(corpus.X_test).sum(axis=1), 3.0)


# Joining models


def test_merge_of_common_ancestor_is_addition(classifier, corpus, word_counts):
    base = classifier().partial_fit(corpus.X[:200], corpus.y[:200], classes=[0, 1, 2]).settle()
    left = copy.deepcopy(base).partial_fit(corpus.X[200:450], corpus.y[200:450])
    right = copy.deepcopy(base).partial_fit(corpus.X[450:], corpus.y[450:])
    merged = copy.deepcopy(left).merge(right, ancestor=base)
    other_way = copy.deepcopy(right).merge(left, ancestor=base)
    for model in (merged, other_way):
        assert_array_equal(word_counts(model), np.asarray(corpus.X.sum(axis=0)).ravel())  # exactly
    assert_array_equal(np.sort(merged.topic_word_, axis=0), np.sort(other_way.topic_word_, axis=0))
    assert merged.n_documents_seen_ == 700
    assert merged.score(corpus.X_test, corpus.y_test) > 0.85


@pytest.mark.parametrize("multi_class", ["shared", "ovr"])
def test_merge_of_strangers_matches_topics(classifier, corpus, multi_class):
    left = classifier(multi_class=multi_class).fit(corpus.X[:350], corpus.y[:350])
    right = classifier(multi_class=multi_class, random_state=1).fit(corpus.X[350:, :250], corpus.y[350:])
    left.merge(right)
    assert left.n_documents_seen_ == 700
    assert left.score(corpus.X_test, corpus.y_test) > 0.85
    assert (left.transform(corpus.X_test) >= 0).all()


def test_merge_joins_classes_and_refuses_other_models(classifier, corpus, state):
    left = classifier().fit(corpus.X[corpus.y != 2], corpus.y[corpus.y != 2])
    right = classifier().fit(corpus.X[corpus.y != 0], corpus.y[corpus.y != 0])
    before = state(left)
    with pytest.raises(ValueError, match=r"eta is .* here and 0\.5 there"):
        left.merge(classifier(eta=0.5).fit(corpus.X, corpus.y))
    with pytest.raises(TypeError, match="cannot merge"):
        left.merge(BayesPAClassifier().fit(corpus.X, corpus.y))
    assert state(left) == before
    assert left.merge(right).classes_.tolist() == [0, 1, 2]


# Company


def test_pipelines(classifier):
    texts = [
        "the cat sat on the mat",
        "dogs bark at the cat",
        "stocks fell as rates rose",
        "the market and its rates",
    ]
    y = ["pets", "pets", "money", "money"]
    for vectorizer in (CountVectorizer(), HashingVectorizer(n_features=64, alternate_sign=False, norm=None)):
        pipeline = make_pipeline(vectorizer, classifier(2, n_passes=5, batch_size=2)).fit(texts * 20, y * 20)
        assert pipeline.predict(texts).tolist() == y


def test_grid_search_clone_and_joblib(classifier, corpus, tmp_path, state):
    experts = [{**classifier().expert, "n_sweeps": n} for n in (3, 4)]
    search = GridSearchCV(classifier(), {"expert": experts}, cv=2).fit(corpus.X[:200], corpus.y[:200])
    assert search.best_score_ > 0.6
    model = classifier(cost=100.0).fit(corpus.X, corpus.y)
    assert clone(model).get_params() == model.get_params()
    joblib.dump(model, tmp_path / "model")
    for loaded in (joblib.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert state(loaded) == state(model)
        assert_array_equal(loaded.decision_function(corpus.X_test), model.decision_function(corpus.X_test))
        assert state(loaded.partial_fit(corpus.X[:64], corpus.y[:64])) == state(
            copy.deepcopy(model).partial_fit(corpus.X[:64], corpus.y[:64])
        )


def test_pandas_output(classifier, corpus):
    pytest.importorskip("pandas")
    model = classifier().set_output(transform="pandas").fit(corpus.X, corpus.y)
    frame = model.transform(corpus.X_test)
    assert frame.columns.tolist() == model.get_feature_names_out().tolist()
    assert frame.shape == (200, len(model.components_))


def test_verbose_reports(classifier, corpus, capsys):
    classifier(verbose=1).fit(corpus.X, corpus.y)
    lines = capsys.readouterr().out.splitlines()
    assert 10 <= len(lines) <= 12
    assert "pass 1 of 1, batch 11 of 11, 700 documents, loss" in lines[-1]


@pytest.fixture
def ctrl_c():
    """Python's own handler, which a shell takes away from a program that it runs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_interrupt_leaves_the_batches_done(classifier, corpus, monkeypatch, state):
    """Ctrl-C when the fourth mini-batch is learned and reported: the model is that of four."""
    model, reports = classifier(verbose=2), []
    monkeypatch.setattr(
        "builtins.print", lambda line: (reports.append(line), len(reports) == 4 and _interrupt())
    )
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(corpus.X, corpus.y, classes=[0, 1, 2])
    monkeypatch.undo()
    assert model.n_documents_seen_ == 4 * 64
    four = classifier().partial_fit(corpus.X[: 4 * 64], corpus.y[: 4 * 64], classes=[0, 1, 2])
    assert state(model) == state(four)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    model.partial_fit(corpus.X[4 * 64 :], corpus.y[4 * 64 :])


def _interrupt():
    os.kill(os.getpid(), signal.SIGINT)
