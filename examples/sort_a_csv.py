"""Learn from a CSV file, label the rows of another one, and explain the labels.

    python examples/sort_a_csv.py train.csv new.csv --text body --label folder

Without files it makes two from the abstracts inside the package.
"""

import argparse
import csv
from collections import Counter
from pathlib import Path

from bayespa import TextModel, save
from bayespa.corpus import read, shuffle
from bayespa.datasets import load_arxiv_sample
from bayespa.text.stream import learn_stream


def write_samples() -> tuple[Path, Path]:
    """Write train.csv and new.csv, with the columns body and folder."""
    for name, subset in (("train.csv", "train"), ("new.csv", "test")):
        papers = load_arxiv_sample(subset=subset)
        with open(name, "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(["body", "folder"])
            rows.writerows((text, labels[0]) for text, labels in zip(papers.data, papers.labels, strict=True))
    return Path("train.csv"), Path("new.csv")


def main(arguments: list[str] | None = None) -> None:
    """Learn, sort, explain."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="what to learn, and what to sort")
    parser.add_argument("--text", default="body")
    parser.add_argument("--label", default="folder")
    options = parser.parse_args(arguments)
    train, new = options.files or write_samples()

    # A table is often sorted by label; from that no online learner learns well.
    documents = shuffle(read(train, text=options.text, label=options.label), 10_000, random_state=0)
    model = TextModel(random_state=0)
    for run in learn_stream(model, documents):
        print(f"\r{run.documents} rows learned", end="", flush=True)
    print(f", accuracy before learning {run.scores.summary()['accuracy']:.2f}")
    save(model, "model.bayespa")

    texts = [str(document.content) for document in read(new, text=options.text, label=None)]
    folders = model.predict(texts)
    with open("sorted.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(zip(folders, texts, strict=True))
    for folder, n in Counter(folders).most_common(3):
        print(f"{n:5} to {folder}")
    print(f"the first, because\n{model.explain(texts[0])}")


if __name__ == "__main__":
    main()
