from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.metrics import log_loss, top_k_accuracy_score

import bayespa
from bayespa.corpus import Bag, BagVectorizer, OnlineVocabulary
from bayespa.inspect import reliability
from bayespa.text.scores import ProbabilityScores, Scores
from bayespa.topics.model import Model

TEXTS = ["the cat and the mouse", "stars and planets", "a mouse and a cat", "planets orbit stars"] * 20
CLASSES = ["animals", "sky", "animals", "sky"] * 20
PAIRS = [("animals",), ("sky", "far"), ("animals", "near"), ("sky",)] * 20


def model(kind="medlda", **options):
    return bayespa.TextModel(
        kind, random_state=0, **({"n_topics": 4, "batch_size": 8} if kind == "medlda" else {}), **options
    )


@pytest.mark.parametrize("kind", ["medlda", "medhdp", "linear"])
def test_classes_words_and_missing_labels_come_at_any_time(kind):
    found = model(kind).learn(TEXTS, [None, *CLASSES[1:]])
    more = ["bread and butter for breakfast"] * 30 + TEXTS[:30]
    found.learn(more, ["food"] * 30 + CLASSES[:30])
    assert set(found.class_names) == {"animals", "sky", "food"}
    assert found.predict(["butter and bread", "a cat", "orbit"]) == ["food", "animals", "sky"]
    np.testing.assert_allclose(found.predict_proba(TEXTS[:3]).sum(axis=1), 1.0)


def test_every_document_has_a_class_unless_some_had_none():
    texts = ["", "cat", "stars", "planets and a mouse"]
    for labels, least in (PAIRS, 1), ([(), *PAIRS[1:]], 0):
        found = model().learn(TEXTS, labels)
        assert found.seen_without_class == (least == 0)
        decision = found.estimator.decision_function(found.vectorizer.transform(texts))
        for given, row in zip(found.predict(texts), decision, strict=True):
            positive = {name for name, value in zip(found.class_names, row, strict=True) if value > 0.0}
            best = {found.class_names[int(row.argmax())]}
            assert set(given) == (positive or (best if least else set()))
        given = found.estimator.predict(found.vectorizer.transform(texts)).sum(axis=1)
        assert given.tolist() == [len(names) for names in found.predict(texts)]


def test_numbers():
    found = model("linear").learn(TEXTS, [1.0, -1.0, 1.0, -1.0] * 20)
    assert np.sign(found.predict(["cat", "stars"])).tolist() == [1.0, -1.0]
    with pytest.raises(ValueError, match="no probabilities"):
        found.predict_proba(["cat"])


@pytest.mark.parametrize(
    ("labels", "target", "classes"),
    [
        ([1, 2, np.int64(1), 2], "class", ["1", "2"]),  # as in files: whole numbers are names
        ([1.5, -1, float("nan"), -1.5], "number", []),
        (["animals", float("nan"), "", "sky"], "class", ["animals", "sky"]),
        (
            [["animals"], {"sky", "far"}, np.array(["animals", "near"]), []],
            "classes",
            ["animals", "far", "sky", "near"],
        ),
    ],
)
def test_labels_come_in_all_forms_that_tables_have(labels, target, classes):
    found = model().learn(TEXTS, labels * 20)
    assert (found.target, found.classes.names) == (target, classes)


def test_one_text_is_not_a_list_of_letters():
    found = model().learn(TEXTS, CLASSES)
    for use in (found.predict, found.predict_proba, found.count):
        with pytest.raises(TypeError, match="texts is a single text, 'the cat'; give a list"):
            use("the cat")


@pytest.mark.parametrize(
    ("texts", "labels", "error", "message"),
    [
        ([*TEXTS[:3], float("nan")], CLASSES[:4], TypeError, r"texts\[3\] is nan, not a text; leave it out"),
        (TEXTS[:4], CLASSES[:3], ValueError, "there are 4 texts and 3 labels; give one each"),
        (pd.DataFrame({"body": TEXTS, "n": 1}), CLASSES, TypeError, "texts is a table; .*: body, n"),
        (TEXTS, pd.DataFrame({"folder": CLASSES}), TypeError, "labels is a table; .*: folder"),
        (
            TEXTS,
            ["sky"] * 80,
            ValueError,
            "the first 80 documents have only one class, 'sky'; learning starts with two",
        ),
    ],
)
def test_what_is_no_column_of_texts_or_labels_is_named_and_nothing_is_learned(texts, labels, error, message):
    found = model(vectorizer=OnlineVocabulary(min_count=1))
    with pytest.raises(error, match=message):
        found.learn(texts, labels)
    assert repr(found) == "<TextModel medlda: nothing learned yet>"
    assert not found.vectorizer.words


def test_columns_of_tables_are_learned():
    table = pd.DataFrame({"body": TEXTS, "folder": pd.Categorical([None, *CLASSES[1:]]), "stars": 0.5})
    words = "8 words and 12 pairs"
    assert repr(model().learn(table.body, table.folder)) == f"<TextModel medlda: {words}, 2 classes>"
    assert repr(model().learn(table.body, table.stars)) == f"<TextModel medlda: {words}, numbers>"


@pytest.mark.parametrize(
    "vectorizer",
    [
        CountVectorizer().fit(TEXTS),
        HashingVectorizer(n_features=64, norm=None, alternate_sign=False),
        OnlineVocabulary(min_count=1),
    ],
)
def test_vectorizers_are_saved(vectorizer, tmp_path):
    found = model(vectorizer=vectorizer).learn(TEXTS, CLASSES)
    bayespa.save(found, tmp_path / "m")
    loaded = bayespa.load(tmp_path / "m")
    assert loaded.predict(TEXTS[:4]) == found.predict(TEXTS[:4])
    assert loaded.topics(3) == found.topics(3)


def test_labels_that_do_not_fit_change_nothing(tmp_path):
    found = model().learn(TEXTS, CLASSES)
    bayespa.save(found, tmp_path / "a")
    for labels in (["animals", 1.5], ["animals", ("sky",)]):
        with pytest.raises(ValueError, match=r"labels\[1\] is .* does not fit target='class'"):
            found.learn(["new words, new words, new words", "b"], labels)
    bayespa.save(found, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("learned", [False, True])
def test_an_interrupt_leaves_the_model_as_it_was(learned, tmp_path, monkeypatch):
    """New classes among several mini-batches, of which the second is cut short."""
    monkeypatch.setattr("bayespa.topics.waiting.IN_ALL", 40)  # so most documents do not wait
    monkeypatch.setattr("bayespa.topics.waiting.PER_TASK", 0)
    found = model(classes=["animals", "sky"], expert={"first_documents": 8})
    if learned:
        found.learn(TEXTS, CLASSES)
    seen = []

    def interrupted(self, posterior, *arguments):
        seen.append(posterior)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return propose(self, posterior, *arguments)

    propose = Model.propose
    monkeypatch.setattr(Model, "propose", interrupted)
    with pytest.raises(KeyboardInterrupt):
        found.learn(TEXTS, ["food", *CLASSES[1:]])
    monkeypatch.undo()
    assert found.fitted == learned
    assert found.classes.names == ["animals", "sky"]
    if learned:
        bayespa.save(found, tmp_path / "m")
        assert bayespa.load(tmp_path / "m").predict(TEXTS[:2]) == CLASSES[:2]
    found.learn(TEXTS, ["food", *CLASSES[1:]])
    assert found.estimator.n_documents_seen_ == len(TEXTS) * (1 + learned)


def test_parameters_that_may_be_set_at_any_time_are_those_of_answers():
    found = model().learn(TEXTS, CLASSES)
    found.estimator.set_params(expert={"prediction_sweeps": 2})
    before = found.predict_proba(TEXTS[:4])
    found.estimator.set_params(expert=None)
    assert (found.predict_proba(TEXTS[:4]) != before).any()


def test_the_estimator_is_that_of_scikit_learn_and_the_model_the_same_without():
    found = model().learn(TEXTS, CLASSES)
    assert type(found.estimator) is bayespa.MedLDAClassifier
    assert is_classifier(found.estimator)
    assert not isinstance(found.learner, BaseEstimator)
    assert found.estimator.get_params() == {
        name: getattr(found.learner, name) for name in found.learner._get_param_names()
    }
    assert found.estimator.score(found.counts(TEXTS), CLASSES) == 1.0
    again = clone(found.estimator)
    assert type(again) is bayespa.MedLDAClassifier
    assert not hasattr(again, "n_features_in_")


def test_before_anything_is_learned():
    for call in (model().predict, model(target="class").predict, model().explain, model().predict_proba):
        with pytest.raises(NotFittedError, match="learned nothing yet"):
            call(["text"])
    with pytest.raises(ValueError, match="kind='svm' is unknown; use one of 'medlda', 'medhdp', 'linear'"):
        bayespa.TextModel("svm")
    with pytest.raises(ValueError, match="none of the first 2 documents has a label"):
        model().learn(["a", "b"], [None, None])


def test_explanations_add_up():
    for kind in ("medlda", "linear"):
        found = model(kind).learn(TEXTS, CLASSES)
        explanation = found.explain("cat and mouse")
        total = sum(word.contribution for word in explanation.words)
        assert explanation.decision == pytest.approx(explanation.base + total, abs=1e-6)
        (predicted,) = found.predict(["cat and mouse"])
        assert explanation.target == predicted
        others = dict(zip(found.class_names, found.predict_proba(["cat and mouse"])[0], strict=True))
        assert explanation.probability == pytest.approx(others.pop(predicted))
        assert others == {explanation.runner_up: pytest.approx(explanation.runner_up_probability)}
        assert "no known word" in str(found.explain("qwerty"))


def test_linear_models_explain_numbers_and_refuse_unknown_classes():
    found = model("linear").learn(TEXTS, [1.0, -1.0, 1.0, -1.0] * 20)
    explanation = found.explain("cat and mouse")
    (predicted,) = found.predict(["cat and mouse"])
    total = sum(word.contribution for word in explanation.words)
    assert predicted == pytest.approx(explanation.decision) == pytest.approx(total + explanation.base)
    with pytest.raises(ValueError, match="target is 'sea', and the classes are 'animals', 'sky'"):
        model("linear").learn(TEXTS, CLASSES).explain("cat", "sea")


def test_bags_are_learned():
    bags = [Bag(np.array([i % 2, 2]), np.array([3, 1])) for i in range(80)]
    found = model().learn(bags, CLASSES)
    assert found.predict(bags[:2]) == ["animals", "sky"]
    assert found.words() == ["0", "1", "2"]
    assert model("linear").learn(bags, CLASSES).predict(bags[:2]) == ["animals", "sky"]
    with pytest.raises(TypeError, match=r"documents are bags of words, not texts; count them with BagVec"):
        model(vectorizer=OnlineVocabulary()).learn(bags, CLASSES)
    with pytest.raises(TypeError, match=r"documents are texts, not bags of words; count them with OnlineV"):
        model(vectorizer=BagVectorizer()).learn(TEXTS, CLASSES)


def test_scores_are_those_of_scikit_learn():
    from sklearn.metrics import accuracy_score, f1_score, mean_absolute_error, r2_score

    rng = np.random.default_rng(0)
    y, guess = rng.choice(list("abcd"), 200), rng.choice(list("abcde"), 200)
    scores = Scores("class")
    scores.add(y.tolist(), guess.tolist())
    names = list("abcde")
    expected = {
        "accuracy": accuracy_score(y, guess),
        "macro F1": f1_score(y, guess, average="macro", labels=names, zero_division=0),
    }
    assert scores.summary() == pytest.approx(expected)
    Y, G = rng.random((100, 4)) < 0.3, rng.random((100, 4)) < 0.3
    scores = Scores("classes")
    scores.add(*([tuple(np.array(list("abcd"))[row]) for row in matrix] for matrix in (Y, G)))
    expected = {
        "micro F1": f1_score(Y, G, average="micro"),
        "macro F1": f1_score(Y, G, average="macro"),
        "exact matches": accuracy_score(Y, G),
    }
    assert scores.summary() == pytest.approx(expected)
    t, p = rng.normal(size=50), rng.normal(size=50)
    scores = Scores("number")
    scores.add(t.tolist(), p.tolist())
    found = Scores.from_state(scores.to_state()).summary()
    assert found["MAE"] == pytest.approx(mean_absolute_error(t, p))
    assert found["R2"] == pytest.approx(r2_score(t, p))


def test_scores_of_probabilities_are_those_of_scikit_learn():
    draws = np.random.default_rng(0)
    names = [f"c{i}" for i in range(8)]
    probability = draws.dirichlet(np.full(8, 0.5), 400)
    y = [names[draws.choice(8, p=row)] for row in probability]
    scores = ProbabilityScores("class", names)
    scores.add(y[:100], probability[:100])
    scores.add([*y[100:], None], np.vstack([probability[100:], probability[:1]]))
    found = scores.summary()
    assert found["log loss"] == pytest.approx(log_loss(y, probability, labels=names))
    assert found["ECE"] == pytest.approx(reliability(y, probability, names).error)
    for k in (3, 5):
        expected = top_k_accuracy_score(y, probability, k=k, labels=names)
        assert found[f"top {k} accuracy"] == pytest.approx(expected)
    assert not scores.unknown
    assert ProbabilityScores("class", names).summary() == {}


def test_scores_of_probabilities_of_several_classes():
    draws = np.random.default_rng(0)
    names = ["a", "b", "c", "d"]
    probability = draws.random((300, 4))
    y = draws.random((300, 4)) < probability
    labels = [tuple(np.array(names)[row]) for row in y]
    scores = ProbabilityScores("classes", names)
    scores.add(labels, probability)
    found = scores.summary()
    assert set(found) == {"log loss", "ECE"}
    assert found["log loss"] == pytest.approx(log_loss(y.ravel(), probability.ravel()))
    assert found["ECE"] < 0.06
    scores.add([("a", "new")], probability[:1])
    assert (scores.n_unknown, dict(scores.unknown)) == (1, {"new": 1})


def test_unknown_classes_are_wrong_and_have_no_log_loss():
    scores = ProbabilityScores("class", ["a", "b"])
    scores.add(["c", "c"], np.array([[1.0, 0.0], [0.5, 0.5]]))
    assert scores.summary() == {"ECE": 0.75}
    scores.add(["a"], np.array([[0.25, 0.75]]))
    assert scores.summary()["log loss"] == pytest.approx(np.log(4.0))


def test_stop_words_are_kept_in_files(tmp_path):
    texts = ["le chat dort", "le chien mange", "la souris dort", "le loup mange"] * 20
    for stop_words in (None, "english", {"le", "la"}):
        model = bayespa.TextModel(n_topics=2, stop_words=stop_words).learn(texts, ["a", "b"] * 40)
        bayespa.save(model, tmp_path / "m")
        loaded = bayespa.load(tmp_path / "m")
        kept = loaded.stop_words
        assert (set(kept) if isinstance(kept, list) else kept) == stop_words
        assert any("le" in words for words in loaded.topics(3)) == (not isinstance(stop_words, set))
    with pytest.raises(ValueError, match="stop_words='french' is unknown"):
        bayespa.TextModel(stop_words="french")


CARDS = ["a credit card lost", "my card gives credit", "the credit card is gone", "give my card credit"] * 20


def pairs_of(model):
    return [word for word in model.words() if " " in word]


@pytest.mark.parametrize("kind", ["medlda", "medhdp", "linear"])
def test_pairs_of_words_decide_but_are_in_no_topic(kind):
    learned = model(kind).learn(CARDS, ["lost", "given"] * 40)
    assert learned.n_runs == len(pairs_of(learned))
    assert "10 words and 11 pairs" in repr(learned)
    weights = dict(zip(learned.words(), learned.estimator.word_coef_[0], strict=True))
    assert learned.class_names == ["given", "lost"]
    assert weights["credit card"] > 0.0 > weights["card credit"]
    assert any(share.word == "credit card" for share in learned.explain(CARDS[0]).words)
    assert not any(learned.estimator.topic_words_[[" " in word for word in learned.words()]])
    if kind != "linear":
        assert not any(" " in word for words in learned.topics(30, 0.5)[:1] for word in words[:4])


def test_topics_alone_count_no_pairs():
    assert model(decides="topics").learn(CARDS, ["lost", "given"] * 40).n_runs == 0


def test_without_pairs_models_are_those_of_words_alone():
    words = OnlineVocabulary(500_000, min_count=1, min_length=1)
    alone = model("linear", vectorizer=words).learn(CARDS, ["lost", "given"] * 40)
    assert alone.estimator._learned.features.runs is None
    assert "runs_" not in alone.estimator._to_file()
    assert not pairs_of(alone)


@pytest.mark.parametrize("kind", ["medlda", "linear"])
def test_how_a_stream_is_cut_changes_no_pair(kind):
    found = []
    for size in (8, 16, 40):
        one = bayespa.TextModel(kind, random_state=0, batch_size=8, n_passes=1, expert={"first_sweeps": 0})
        for start in range(0, 80, size):
            one.learn(CARDS[start : start + size], (["lost", "given"] * 40)[start : start + size])
        found.append(one)
    assert all(one.words() == found[0].words() for one in found)
    assert all(one.estimator.posterior_ == found[0].estimator.posterior_ for one in found)


def test_models_that_took_pairs_for_words_go_on_so(tmp_path):
    """Models of earlier versions, of a vocabulary of pairs, have no roles of them."""
    pairs = OnlineVocabulary(min_count=1, min_length=1, ngrams=2)
    old = model("linear", vectorizer=pairs).learn(CARDS[:40], ["lost", "given"] * 20)
    estimator = old.estimator
    features = replace(estimator._learned.features, topical=None, runs=None)
    estimator._learned = replace(estimator._learned, features=features)
    bayespa.save(old, tmp_path / "m")
    loaded = bayespa.load(tmp_path / "m")
    loaded.learn(["another credit card", "some new words"], ["lost", "given"])
    assert loaded.estimator._learned.features.runs is None
    assert loaded.estimator.topic_words_[loaded.words().index("new words")]
