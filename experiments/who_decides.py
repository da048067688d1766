"""Who decides, and how much: topics and words of one MedLDAClassifier, together and each without the other.

    python -m experiments.who_decides

The arXiv sample, its training part to learn from and its test part to judge by, seed 0, all defaults. A
margin is what topics say plus what words say. Topics say their shares of a document times their weights. The
last line is another model, whose topics learn to decide alone. With 1,000 documents a hundredth is noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer

from bayespa import MedLDAClassifier
from bayespa.corpus import topic_words
from bayespa.datasets import load_arxiv_sample


def said_by_topics(model: MedLDAClassifier, X: Any) -> NDArray[np.float64]:
    """Return the part of `decision_function` (n, T) that is the topics': z̄ᵀw, of z̄ without its prior α."""
    topical = model._learned.features.topical
    own = X if topical is None else X[:, np.flatnonzero(topical)]
    alpha, length = model.alpha_, np.asarray(own.sum(axis=1), np.float64).reshape(-1, 1)
    proportions = model.transform(X)
    shares = (proportions * (alpha.sum() + length) - alpha) / np.maximum(length, 1.0)
    return np.where(length > 0.0, shares, proportions) @ model.coef_.T


def main() -> None:
    """Learn, and print the accuracies as rows of a table of docs/quality.md."""
    train, test = load_arxiv_sample(subset="train"), load_arxiv_sample(subset="test")
    vectorizer = CountVectorizer(token_pattern=r"\w+").fit(train.data)
    X, X_test = vectorizer.transform(train.data), vectorizer.transform(test.data)
    own = topic_words(vectorizer.get_feature_names_out())
    model = MedLDAClassifier(random_state=0).fit(X, train.target, topic_words=own)
    alone = MedLDAClassifier(decides="topics", random_state=0).fit(X, train.target, topic_words=own)
    together, topics = model.decision_function(X_test), said_by_topics(model, X_test)
    for name, margin in {
        "topics and words together": together,
        "its topics": topics,
        "its words": together - topics,
        "topics that learn to decide alone": alone.decision_function(X_test),
    }.items():
        print(f"| {name} | {(margin.argmax(axis=1) == test.target).mean():.3f} |")


if __name__ == "__main__":
    main()
