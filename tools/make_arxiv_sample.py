"""Make the arXiv sample inside the package: ``python tools/make_arxiv_sample.py FOLDER_OF_PARQUET``."""

import json
import lzma
import sys
from collections import defaultdict
from pathlib import Path

from bayespa.datasets import fetch_arxiv20

OUTPUT = Path(__file__).parents[1] / "src" / "bayespa" / "datasets" / "arxiv_sample.jsonl.xz"
PAPERS_PER_CATEGORY = 250


def make_sample(data_home: str | Path) -> bytes:
    """Return the sample as JSON lines: papers evenly spaced in each first category, in order of time."""
    papers = fetch_arxiv20("all", data_home=data_home)
    members = defaultdict(list)
    for row, labels in enumerate(papers.labels):
        members[labels[0]].append(row)
    # The middles of equal stretches keep a category's growth over the years: the sample drifts as arXiv did.
    chosen = sorted(
        rows[(2 * i + 1) * len(rows) // (2 * PAPERS_PER_CATEGORY)]
        for rows in members.values()
        for i in range(PAPERS_PER_CATEGORY)
    )
    lines = (
        json.dumps(
            {
                "id": papers.ids[row],
                "created": papers.created[row],
                "labels": papers.labels[row],
                "text": papers.data[row],
            },
            ensure_ascii=False,
        )
        for row in chosen
    )
    return "".join(f"{line}\n" for line in lines).encode()


if __name__ == "__main__":
    OUTPUT.write_bytes(lzma.compress(make_sample(sys.argv[1]), preset=9 | lzma.PRESET_EXTREME))
