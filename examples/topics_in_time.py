"""Follow the topics of a stream by their numbers: which have grown, which have gone.

    python examples/topics_in_time.py

MedHDP chooses how many topics there are. A topic keeps its number from birth to death, wherever it stands
among the others, so that what happened to it between two looks is a subtraction.
"""

import numpy as np

from bayespa import TextModel
from bayespa.datasets import load_arxiv_sample


def main() -> None:
    """Learn the papers in order of time, and print what changed from look to look."""
    papers = load_arxiv_sample(subset="train")
    labels = [names[0] for names in papers.labels]
    model = TextModel("medhdp", random_state=0)
    before: dict[int, float] = {}
    for start, end in ((0, 1500), (1500, 2500), (2500, 4000)):
        model.learn(papers.data[start:end], labels[start:end])
        model.settle()  # what is learned now keeps its number
        topics = model.estimator
        now = dict(zip(topics.topic_ids_.tolist(), topics.topic_tokens_.tolist(), strict=True))
        gone = len(before.keys() - now.keys())
        print(f"{papers.created[end - 1][:7]}: {len(now)} topics; {gone} gone since the last look")
        grown = np.array([tokens - before.get(number, 0.0) for number, tokens in now.items()])
        words = model.topics(5)
        for k in np.argsort(-grown)[:3]:
            category = model.class_names[topics.coef_[:, k].argmax()]
            print(f"  topic {topics.topic_ids_[k]}, {grown[k]:+.0f} words, {category}: {' '.join(words[k])}")
        before = now


if __name__ == "__main__":
    main()
