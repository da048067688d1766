"""What to forget when labels change their meaning.

    python examples/drifting_stream.py

Every ten mini-batches each subject gets the label of the next one, so what was learned becomes false. Each
model predicts a mini-batch before it learns it. Topics decide alone, because words would recover by
themselves. The last one forgets by itself what has changed, which is the default.
"""

import numpy as np

from bayespa import MedLDAClassifier
from bayespa.datasets import make_topic_corpus

DISCOUNTS = (1.0, 0.9, 0.7, 0.5, "auto")
N_TOPICS = 4


def main() -> None:
    """Print the progressive accuracy of models that forget more and more."""
    models = {
        d: MedLDAClassifier(n_topics=8, decides="topics", discount=d, random_state=0) for d in DISCOUNTS
    }
    right = {d: [] for d in DISCOUNTS}
    stream = make_topic_corpus(
        6000, n_words=400, n_topics=N_TOPICS, n_labels=N_TOPICS, overlap=0.0, batch_size=200, random_state=0
    )
    for i, batch in enumerate(stream):
        y = (batch.target + i // 10) % N_TOPICS
        for discount, model in models.items():
            if i:
                right[discount].append(model.score(batch.data, y))
            model.partial_fit(batch.data, y, classes=range(N_TOPICS))
    for discount, scores in right.items():
        print(f"discount {discount}: accuracy {np.mean(scores):.2f}")


if __name__ == "__main__":
    main()
