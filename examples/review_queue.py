"""Let the model decide if it is certain, and people otherwise; the model learns their answers.

    python examples/review_queue.py

Documents come 250 at a time. If the probability is below SURE, people decide (here: the labels of the
sample), and the model learns their answers. The other documents are filed. People have less and less to do.
"""

import numpy as np

from bayespa import TextModel
from bayespa.datasets import load_arxiv_sample

SURE = 0.9
FIRST = 1000  # documents that people label before there is a model


def main() -> None:
    """Print how many documents people label, and the accuracy of the others."""
    papers = load_arxiv_sample(subset="train")
    texts, labels = papers.data, [names[0] for names in papers.labels]
    model = TextModel(random_state=0).learn(texts[:FIRST], labels[:FIRST])
    filed = wrong = 0
    for start in range(FIRST, len(texts), 250):
        batch = slice(start, start + 250)
        probability = model.predict_proba(texts[batch])
        decided = np.array(model.class_names)[probability.argmax(axis=1)]
        sure = probability.max(axis=1) >= SURE
        filed += int(sure.sum())
        wrong += int((decided != labels[batch])[sure].sum())
        # All texts teach words; where nobody looked, no label is known.
        answers = [None if known else label for label, known in zip(labels[batch], sure, strict=True)]
        model.learn(texts[batch], answers)
        print(f"after {start:5}: people read {np.mean(~sure):4.0%}")
    print(f"{filed} filed without a person, {1 - wrong / filed:.1%} of them right")


if __name__ == "__main__":
    main()
