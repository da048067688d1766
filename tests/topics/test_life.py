"""An estimator's life in any order: learn, look, save, load, copy, merge, forget, new words.

A twin lives the same life without those events that must change nothing: it is never looked at, saved or
copied. After every event both hold the same bits, and as many words as they were shown.
"""

import copy
import pickle
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from numpy.testing import assert_allclose

import bayespa
from bayespa.datasets import make_topic_corpus

CORPUS = make_topic_corpus(
    120, n_words=40, n_topics=4, n_labels=3, tokens_per_document=15, overlap=0.0, random_state=0
)
BATCH = 16
DOCUMENTS = st.tuples(st.integers(0, 80), st.integers(1, 40)).map(lambda place: slice(place[0], sum(place)))
MODELS = {
    "medlda": lambda: bayespa.MedLDAClassifier(
        n_topics=4, batch_size=BATCH, expert={"first_documents": BATCH, "first_sweeps": 5}, random_state=0
    ),
    "medhdp": lambda: bayespa.MedHDPClassifier(
        batch_size=BATCH,
        expert={"first_documents": None, "first_sweeps": 5, "min_tokens": 0.0, "n_iterations": 2},
        random_state=0,
    ),
}


class Life(RuleBasedStateMachine):
    """Subclasses say who lives it."""

    kind: str

    @initialize()
    def is_born(self):
        self.model, self.twin = MODELS[self.kind](), MODELS[self.kind]()
        self.columns, self.discount = 20, 1.0
        self.learned_words, self.waiting = np.zeros(40), []
        self.words, self.documents, self.learned = np.zeros(40), 0, False

    def learn(self, model, documents, labels):
        X = CORPUS.data[documents, : self.columns]
        model.partial_fit(X, labels, classes=[0, 1, 2])
        return X

    def count(self, X):
        """Count the words of X: forgetting acts before each mini-batch, and what waits counts as one."""
        for row in X.toarray():
            self.waiting.append(np.pad(row, (0, 40 - len(row))))
            self.words = self.discount * self.learned_words + sum(self.waiting)
            if len(self.waiting) == BATCH:
                self.learned_words, self.waiting = self.words, []

    def settle(self):
        for model in (self.model, self.twin):
            if self.learned:
                model.settle()
        self.learned_words, self.waiting = self.words, []

    @rule(documents=DOCUMENTS, known=st.integers(0, 4))
    def partial_fit(self, documents, known):
        """The label of every `known`-th document is known."""
        labels = [y if known and i % known == 0 else None for i, y in enumerate(CORPUS.target[documents])]
        for model in (self.model, self.twin):
            X = self.learn(model, documents, labels)
        self.count(X)
        self.documents, self.learned = self.documents + X.shape[0], True

    @rule(start=st.integers(0, 40))
    def fit(self, start):
        X, y = CORPUS.data[start : start + 40, : self.columns], CORPUS.target[start : start + 40]
        for model in (self.model, self.twin):
            model.fit(X, y)
        # In which order it learned, and so what it has forgotten, is the model's own secret.
        words = np.asarray(X.sum(axis=0)).ravel()
        self.words = np.pad(words, (0, 40 - len(words))) if self.discount == 1.0 else self.held()
        self.learned_words, self.waiting = self.words, []
        self.documents, self.learned = 40, True

    def held(self):
        prior = np.rint(self.model.eta_ * 2**20) / 2**20
        words = (self.model.topic_word_ - prior).sum(axis=0)
        return np.pad(words, (0, 40 - len(words)))

    @rule(more=st.integers(1, 10))
    def meet_words(self, more):
        self.columns = min(40, self.columns + more)

    @rule(discount=st.sampled_from([1.0, 0.9, 0.5]))
    def forget(self, discount):
        self.settle()  # else it is forgotten at the new rate when its mini-batch is whole
        self.discount = discount
        for model in (self.model, self.twin):
            model.set_params(discount=discount)

    @precondition(lambda self: self.learned)
    @rule(documents=DOCUMENTS)
    def look(self, documents):
        X = CORPUS.data[documents, : self.model.n_features_in_]
        probability = self.model.predict_proba(X)
        assert_allclose(probability.sum(axis=1), 1.0)
        assert set(self.model.predict(X)) <= {0, 1, 2}
        assert_allclose(self.model.transform(X).sum(axis=1), 1.0)
        assert self.model.explain(X[0]).target in {0, 1, 2}

    @precondition(lambda self: self.learned)
    @rule()
    def save_and_load(self):
        with tempfile.TemporaryDirectory() as folder:
            bayespa.save(self.model, Path(folder, "model"))
            self.model = bayespa.load(Path(folder, "model"))

    @precondition(lambda self: self.learned)
    @rule(how=st.sampled_from([copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))]))
    def be_copied(self, how):
        self.model = how(self.model)

    @precondition(lambda self: self.learned)
    @rule(mine=DOCUMENTS, theirs=DOCUMENTS)
    def merge(self, mine, theirs):
        self.settle()
        before = self.words
        for model in (self.model, self.twin):
            ancestor, other = copy.deepcopy(model), copy.deepcopy(model)
            X = self.learn(model, mine, CORPUS.target[mine])
            X_other = self.learn(other, theirs, CORPUS.target[theirs])
            model.merge(other, ancestor)
        self.count(X)
        with_mine, self.learned_words, self.waiting = self.words, before, []
        self.count(X_other)
        self.words = with_mine + self.words - before
        self.learned_words, self.waiting = self.words, []
        self.documents += X.shape[0] + X_other.shape[0]

    @invariant()
    def both_are_alike(self):
        if self.learned:
            mine, twins = (model.posterior_.to_arrays() for model in (self.model, self.twin))
            assert {n: a.tobytes() for n, a in mine.items()} == {n: a.tobytes() for n, a in twins.items()}

    @invariant()
    def nothing_is_lost(self):
        if self.learned:
            assert self.model.n_documents_seen_ == self.twin.n_documents_seen_ == self.documents
            assert_allclose(self.held(), self.words, atol=1e-2)


@pytest.mark.parametrize("kind", MODELS)
def test_life(kind, monkeypatch):
    monkeypatch.setattr("bayespa.topics.waiting.IN_ALL", 120)  # so many passes over few documents
    monkeypatch.setattr("bayespa.topics.waiting.PER_TASK", 40)
    monkeypatch.setattr("bayespa.topics.waiting.MOST_PASSES", 2)
    case = type(kind, (Life,), {"kind": kind}).TestCase
    case.settings = settings(
        max_examples=30,
        stateful_step_count=15,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    case("runTest").runTest()


def test_two_at_once_learn_what_they_learn_alone(monkeypatch):
    monkeypatch.setattr("bayespa.topics.waiting.MOST_PASSES", 4)

    def learn(seed):
        model = MODELS["medlda"]().set_params(n_jobs=2, random_state=seed)
        model.fit(CORPUS.data, CORPUS.target)
        return model.topic_word_.tobytes(), model.coef_.tobytes(), model.predict_proba(CORPUS.data).tobytes()

    alone = [learn(seed) for seed in range(6)]
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(learn, range(6))) == alone
