"""Accuracy and speed of one pass over the embedded arXiv abstracts, beside scikit-learn's linear models."""

import time

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import ComplementNB
from sklearn.svm import LinearSVC

from bayespa import BayesPAClassifier
from bayespa.datasets import load_arxiv_sample

MODELS = {
    "BayesPA, Gibbs": BayesPAClassifier(classifier="gibbs", random_state=0),
    "BayesPA, averaging": BayesPAClassifier(classifier="averaging", random_state=0),
    "SGD with hinge loss, one pass": SGDClassifier(max_iter=1, tol=None, random_state=0),
    "complement naive Bayes": ComplementNB(),
    "linear SVM, until it converges": LinearSVC(random_state=0),
}


def main() -> None:
    train, test = load_arxiv_sample(subset="train"), load_arxiv_sample(subset="test")
    words = TfidfVectorizer(stop_words="english", sublinear_tf=True)
    X, X_test = words.fit_transform(train.data), words.transform(test.data)
    print(f"{'':32} accuracy   seconds   documents/s")
    for name, model in MODELS.items():
        start = time.perf_counter()
        model.fit(X, train.target)
        seconds = time.perf_counter() - start
        accuracy = model.score(X_test, test.target)
        print(f"{name:32} {accuracy:8.3f} {seconds:9.3f} {len(train.data) / seconds:13,.0f}")


if __name__ == "__main__":
    main()
