"""Two processes learn halves of a corpus, and their models add up.

    python examples/two_machines.py

Both continue from a common ancestor, so that topic 7 of one is topic 7 of the other. Models travel as files.
"""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from bayespa import MedLDAClassifier, load, save
from bayespa.datasets import load_arxiv_sample


def work(folder: Path, part: int) -> Path:
    """Continue from the ancestor with one half of the corpus, perhaps on another machine."""
    model = load(folder / "ancestor.bayespa")
    model.partial_fit(sparse.load_npz(folder / f"words-{part}.npz"), np.load(folder / f"labels-{part}.npy"))
    result = folder / f"part-{part}.bayespa"
    save(model, result)
    return result


def main() -> None:
    """Learn a little, let two processes learn the rest, merge."""
    folder = Path.cwd()
    train, test = load_arxiv_sample(subset="train"), load_arxiv_sample(subset="test")
    vectorizer = CountVectorizer(stop_words="english", min_df=3)
    X, X_test = vectorizer.fit_transform(train.data), vectorizer.transform(test.data)
    for part in (0, 1):
        sparse.save_npz(folder / f"words-{part}.npz", X[2000 + part :: 2])
        np.save(folder / f"labels-{part}.npy", train.target[2000 + part :: 2])

    ancestor = MedLDAClassifier(random_state=0).partial_fit(X[:2000], train.target[:2000], classes=range(20))
    ancestor.settle()  # both learn after these documents, not once more with them
    save(ancestor, folder / "ancestor.bayespa")
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        one, two = (load(result) for result in processes.map(work, [folder, folder], [0, 1]))
    for name, model in (("ancestor", ancestor), ("one half more", one), ("the other half more", two)):
        accuracy = model.score(X_test, test.target)
        print(f"{name}: {model.n_documents_seen_} documents, accuracy {accuracy:.3f}")
    both = one.merge(two, ancestor)
    print(f"merged: {both.n_documents_seen_} documents, accuracy {both.score(X_test, test.target):.3f}")


if __name__ == "__main__":
    main()
