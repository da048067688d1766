"""The other programs behind one face: learn more, and say what documents are about or which label they have.

A model has `prepare` (counts to what the program takes, which is not timed), `alone` (it learned from
scratch) and `shares` (topic shares of prepared documents, or of those learned from) or `predict` (labels),
or both. `variants` makes models that sample a document for longer or shorter.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfTransformer

from benchmarks.corpora import Corpus, words

Floats = NDArray[np.float64]
Texts = list[list[str]]


def have(package: str) -> bool:
    """Return whether a package is installed."""
    return importlib.util.find_spec(package) is not None


class Tomotopy:
    """A model of tomotopy; `scores` makes scores of the labels of an inferred document, where it has any."""

    alone = False
    prepare = staticmethod(words)

    def __init__(
        self,
        model: Any,
        scores: Callable[[Any], Floats] | None = None,
        sweeps: int = 100,
        together: bool = False,
    ) -> None:
        self.model, self.scores, self.sweeps, self.together = model, scores, sweeps, together
        if scores is not None:
            self.predict = lambda texts: np.argmax([scores(d) for d in self._inferred(texts)], axis=1)

    def _inferred(self, texts: Texts) -> list[Any]:
        documents = [self.model.make_doc(text) for text in texts]
        self.model.infer(documents, iterations=self.sweeps, workers=1, together=self.together)
        return documents

    def variants(self, sweeps: int) -> dict[str, Tomotopy]:
        """Return it with so many sweeps; sampled together is quicker, but one document changes another's."""
        return {
            f"{sweeps} sweeps": Tomotopy(self.model, self.scores, sweeps),
            f"{sweeps} sweeps, together": Tomotopy(self.model, self.scores, sweeps, together=True),
        }

    def shares(self, texts: Texts | None = None) -> Floats:
        documents = self.model.docs if texts is None else self._inferred(texts)
        return np.array([document.get_topic_dist() for document in documents])


def _trained(
    model: Any,
    documents: list[tuple[list[str], dict[str, Any]]],
    learned: Tomotopy,
    checkpoints: tuple[int, ...],
) -> Iterator[Tomotopy]:
    for text, labels in documents:
        model.add_doc(text, **labels)
    done = 0
    for n_sweeps in checkpoints:
        model.train(n_sweeps - done, workers=1)
        done = n_sweeps
        yield learned


def _sweeps(quick: bool) -> tuple[int, ...]:
    return (20, 100) if quick else (10, 25, 50, 100, 200)


def tomotopy_lda(n_topics: int, corpus: Corpus, quick: bool) -> Iterator[Tomotopy]:
    """Learn latent Dirichlet allocation, with tomotopy's own optimisation of alpha."""
    import tomotopy

    model = tomotopy.LDAModel(k=n_topics, seed=1)
    return _trained(model, [(text, {}) for text in words(corpus.X)], Tomotopy(model), _sweeps(quick))


def tomotopy_plda(corpus: Corpus, quick: bool) -> Iterator[Tomotopy]:
    """Learn partially labelled LDA: a topic a label and 10 latent ones, its best setting of those tried."""
    import tomotopy

    model = tomotopy.PLDAModel(latent_topics=10, topics_per_label=1, seed=1)
    labels = [np.flatnonzero(y) if corpus.multilabel else [y] for y in corpus.y]
    documents = [
        (text, {"labels": [str(label) for label in own]})
        for text, own in zip(words(corpus.X), labels, strict=True)
    ]

    def scores(document: Any) -> Floats:
        shares, by_label = document.get_topic_dist(), np.zeros(corpus.n_labels)
        for topic, label in enumerate(model.topic_label_dict):
            by_label[int(label)] = shares[topic]
        return by_label

    # Of several labels its shares say which come first, not how many there are: a read-out says that.
    learned = Tomotopy(model, None if corpus.multilabel else scores)
    return _trained(model, documents, learned, _sweeps(quick))


def tomotopy_slda(n_topics: int, corpus: Corpus, quick: bool) -> Iterator[Tomotopy]:
    """Learn supervised LDA with one yes-or-no response a class."""
    import tomotopy

    model = tomotopy.SLDAModel(k=n_topics, vars="b" * corpus.n_labels, seed=1)
    classes = range(corpus.n_labels)
    documents = [
        (text, {"y": [float(y == label) for label in classes]})
        for text, y in zip(words(corpus.X), corpus.y, strict=True)
    ]
    return _trained(model, documents, Tomotopy(model, model.estimate), (3, 10) if quick else (3, 10, 30))


class Lda:
    """A model of lda, which cannot go on learning."""

    alone = True

    def __init__(self, model: Any) -> None:
        self.model = model

    def prepare(self, X: csr_matrix) -> csr_matrix:
        return X

    def shares(self, X: csr_matrix | None = None) -> Floats:
        return self.model.doc_topic_ if X is None else self.model.transform(X)


def lda_lda(n_topics: int, corpus: Corpus, quick: bool) -> Iterator[Lda]:
    import lda

    for n_sweeps in (20,) if quick else (25, 100):
        yield Lda(lda.LDA(n_topics, n_iter=n_sweeps, random_state=1, refresh=10**9).fit(corpus.X))


class Gensim:
    """A model of gensim."""

    alone = False

    def __init__(self, model: Any, learned: list[Any]) -> None:
        self.model, self.learned = model, learned

    @staticmethod
    def prepare(X: csr_matrix) -> list[Any]:
        return [list(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in X]

    def shares(self, documents: list[Any] | None = None) -> Floats:
        gamma, _ = self.model.inference(self.learned if documents is None else documents)
        return np.asarray(gamma / gamma.sum(axis=1, keepdims=True), np.float64)


def gensim_lda(n_topics: int, corpus: Corpus, quick: bool) -> Iterator[Gensim]:
    """Learn by online variational Bayes, with gensim's own optimisation of alpha."""
    documents = Gensim.prepare(corpus.X)
    return _gensim_passes(n_topics, documents, corpus.X.shape[1], (1, 3) if quick else (1, 3, 10))


def _gensim_passes(
    n_topics: int, documents: list[Any], n_words: int, checkpoints: tuple[int, ...]
) -> Iterator[Gensim]:
    from gensim.models import LdaModel

    names = {word: str(word) for word in range(n_words)}
    model = LdaModel(None, n_topics, names, chunksize=512, alpha="auto", random_state=1, eval_every=None)
    done = 0
    for n_passes in checkpoints:
        model.update(documents, passes=n_passes - done)
        done = n_passes
        yield Gensim(model, documents)


class _TfIdf:
    """What the two online linear programs share: tf-idf of the training documents, and one pass."""

    alone, shares = True, None

    def __init__(self, corpus: Corpus) -> None:
        self.weights = TfidfTransformer(sublinear_tf=True).fit(corpus.X)

    @classmethod
    def checkpoints(cls, corpus: Corpus, quick: bool) -> Iterator[Any]:
        model = cls(corpus)
        return model.learned(model.prepare(corpus.X), corpus.y.tolist())


class VowpalWabbit(_TfIdf):
    """One-against-all with hinge loss."""

    def __init__(self, corpus: Corpus) -> None:
        import vowpalwabbit

        super().__init__(corpus)
        self.workspace = vowpalwabbit.Workspace(
            f"--oaa {corpus.n_labels} --loss_function hinge -b 22 --quiet"
        )

    def prepare(self, X: csr_matrix) -> list[str]:
        return [
            "| " + " ".join(f"{word}:{value:.5g}" for word, value in zip(row.indices, row.data, strict=True))
            for row in self.weights.transform(X)
        ]

    def learned(self, lines: list[str], y: list[int]) -> Iterator[VowpalWabbit]:
        for line, label in zip(lines, y, strict=True):
            self.workspace.learn(f"{label + 1} {line}")
        yield self

    def predict(self, lines: list[str]) -> NDArray[np.int64]:
        return np.array([self.workspace.predict(line) for line in lines]) - 1


class River(_TfIdf):
    """One-vs-rest of passive-aggressive learners, one example at a time."""

    def __init__(self, corpus: Corpus) -> None:
        from river import linear_model, multiclass

        super().__init__(corpus)
        self.model = multiclass.OneVsRestClassifier(linear_model.PAClassifier(C=0.01, mode=1))

    def prepare(self, X: csr_matrix) -> list[dict[int, float]]:
        rows = self.weights.transform(X)
        return [dict(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in rows]

    def learned(self, documents: list[dict[int, float]], y: list[int]) -> Iterator[River]:
        for x, label in zip(documents, y, strict=True):
            self.model.learn_one(x, label)
        yield self

    def predict(self, documents: list[dict[int, float]]) -> NDArray[np.int64]:
        return np.array([self.model.predict_one(document) for document in documents])
