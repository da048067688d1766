"""The page: tables of results, and the targets that our defaults should meet."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean, stdev
from typing import Any

from experiments.suite.corpora import NUMBERS, READERS, SEVERAL
from experiments.suite.learners import LEARNERS, OURS, TRAINED

Cells = dict[tuple[str, str], list[dict[str, Any]]]  # what was found with each seed, by corpus and learner
TITLES = {
    "accuracy": "Accuracy (micro-F1 of several labels, R² of numbers)",
    "macro": "Macro-F1",
    "log loss": "Log loss (of several labels: of each yes or no)",
    "ece": "Expected calibration error, 15 bins",
    "auroc": "Does it know when it is wrong? AUROC of its uncertainty",
    "seconds": "CPU seconds to learn, from text",
}
LOWER = ("log loss", "ece", "seconds")  # where less is better
GROUPS = {
    "mean": [name for name in READERS if name not in NUMBERS],
    "mean, one class": [name for name in READERS if name not in NUMBERS + SEVERAL],
    "mean, numbers": list(NUMBERS),
}
SMALLEST = ("english_novels", "bbc_news", "hallmarks_cancer")  # without a target of calibration

NOTES = """\
`medlda` and `linear` are our models, with their defaults, so they use pairs of adjacent words, too. The
other learners are the peers. They get sublinear tf-idf of all words of at least two letters, digits or _,
in lower case; document frequencies are those of the training documents, in a stream those of the documents
so far. PA, AROW and VW see each document once. Several labels are learned one-vs-rest; if every training
document has a label, each prediction has at least the best one. Learners without probabilities are
uncertain where the lead of the best class, or the smallest margin of a label, is small. A document with
several labels is right if all of them are, and as sure as all that is said of it together. For the log
loss, probabilities are at least a millionth. The seconds of peers include tf-idf. Learners called "train"
are our models, run by `bayespa train` on a file; they are only in the table of orders.
"""


def name_of(record: dict[str, Any]) -> str:
    """Return a learner with what distinguishes its runs: settings, a tag in place of a digest, a limit."""
    settings = ", ".join(f"{name}={value}" for name, value in record["settings"].items())
    tag = record["version"] if record["learner"] in OURS and record.get("tagged") else ""
    limit = f"{record['limit']} documents" if record["limit"] else ""
    return " ".join([record["learner"], *(f"[{part}]" for part in (settings, tag, limit) if part)])


def latest(records: Iterable[dict[str, Any]]) -> Cells:
    """Return what was found by the latest code of each learner on each corpus."""
    runs: dict[tuple[str, str], dict[tuple[str, int], Any]] = {}
    for record in records:
        if "found" in record:
            own = runs.setdefault((record["corpus"], name_of(record)), {})
            own[record["version"], record["seed"]] = record["found"]
    cells = {}
    for cell, own in runs.items():
        last = list(own)[-1][0]
        cells[cell] = [found for (version, _), found in own.items() if version == last]
    return cells


def value(cells: Cells, corpus: str, learner: str, measure: str) -> float | None:
    """Return the mean over the seeds."""
    values = [found[measure] for found in cells.get((corpus, learner), []) if found.get(measure) is not None]
    return mean(values) if values else None


def group_mean(cells: Cells, corpora: Iterable[str], learner: str, measure: str) -> float | None:
    """Return the mean over corpora, of a learner that has them all."""
    values = [value(cells, corpus, learner, measure) for corpus in corpora]
    whole = [x for x in values if x is not None]
    return mean(whole) if whole and len(whole) == len(values) else None


def markdown(heads: list[str], lines: Iterable[list[str]]) -> list[str]:
    """Return the lines of a table."""
    return [f"| {' | '.join(line)} |" for line in (heads, ["---"] * len(heads), *lines)]


def shown(x: float | None, measure: str) -> str:
    """Return a number as the tables have it."""
    return "" if x is None else f"{x:.1f}" if measure == "seconds" else f"{x:.4f}"


def best_in_bold(values: list[float | None], measure: str) -> list[str]:
    """Return the cells of a line."""
    there = [x for x in values if x is not None]
    if not there or measure == "seconds":
        return [shown(x, measure) for x in values]
    best = shown((min if measure in LOWER else max)(there), measure)
    return [f"**{best}**" if shown(x, measure) == best else shown(x, measure) for x in values]


def table(cells: Cells, corpora: list[str], rows: list[str], measure: str) -> list[str]:
    """Return a table of a measure: a line a corpus, a column a learner; those that have all have means."""
    heads = [row for row in rows if any(value(cells, c, row, measure) is not None for c in corpora)]
    lines = []
    judged = [c for c in corpora if any(value(cells, c, row, measure) is not None for row in heads)]
    for corpus in judged:
        values = [value(cells, corpus, row, measure) for row in heads]
        lines.append([corpus, *best_in_bold(values, measure)])
    for name, group in GROUPS.items():
        among = [corpus for corpus in group if corpus in judged]
        means = [group_mean(cells, among, row, measure) for row in heads]
        if len(among) > 1 and any(x is not None for x in means):
            lines.append([f"{name} ({len(among)})", *best_in_bold(means, measure)])
    return ["", f"## {TITLES[measure]}", "", *markdown(["", *heads], lines)] if heads else []


def best_of(cells: Cells, corpus: str, rows: list[str], measure: str) -> tuple[float, str] | None:
    """Return the best value of a measure where more is better, and whose it is."""
    found = [(x, row) for row in rows if (x := value(cells, corpus, row, measure)) is not None]
    return max(found) if found else None


def differences(cells: Cells, corpora: list[str], ours: list[str], peers: list[str]) -> list[str]:
    """Return how far our models are above the best peer of each corpus."""
    parts: list[str] = []
    for measure in ("accuracy", "macro"):
        lines = []
        for corpus in corpora:
            if (best := best_of(cells, corpus, peers, measure)) is not None:
                own = [value(cells, corpus, row, measure) for row in ours]
                gaps = ["" if x is None else f"{x - best[0]:+.4f}" for x in own]
                lines.append([corpus, best[1], f"{best[0]:.4f}", *gaps])
        parts += ["", f"## {TITLES[measure]}: difference to the best peer", ""]
        parts += markdown(["", "best peer", "its value", *ours], lines)
    return parts


def claims(cells: Cells, corpora: list[str], row: str, peers: list[str]) -> list[str]:
    """Return the targets of a model of ours, and whether it meets them, on the corpora that it was run on."""
    own = [c for c in corpora if value(cells, c, row, "accuracy") is not None]
    classes = [c for c in own if c not in NUMBERS]

    def against(measure: str) -> list[str]:
        """Compare means over the corpora of all peers."""
        theirs = [(x, peer) for peer in peers if (x := group_mean(cells, classes, peer, measure)) is not None]
        mine = group_mean(cells, classes, row, measure)
        if not theirs or mine is None:
            return []
        best, peer = (min if measure in LOWER else max)(theirs)
        good = mine <= best if measure in LOWER else mine >= best
        text = f"mean {measure} {mine:.4f}, best single peer {best:.4f} ({peer})"
        return [f"- {'yes' if good else 'no'}: {text}"]

    def without(title: str, wrong: list[str]) -> str:
        return f"- {'no' if wrong else 'yes'}: {title}" + (f": not {', '.join(wrong)}" if wrong else "")

    behind, unsure, numbers = [], [], []
    for corpus in own:
        mine, best = value(cells, corpus, row, "accuracy"), best_of(cells, corpus, peers, "accuracy")
        error = value(cells, corpus, row, "ece")
        if mine is None or best is None:
            continue
        if corpus in NUMBERS:
            numbers += [f"{corpus} ({mine:.3f}, {best[0]:.3f})"] if mine < best[0] - 0.02 else []
        elif mine < best[0] - 0.005:
            behind.append(f"{corpus} ({mine - best[0]:+.4f} to {best[1]})")
        if error is not None and error > 0.03 and corpus not in SMALLEST:
            unsure.append(f"{corpus} ({error:.3f})")
    return [
        "",
        f"### {row}, {len(own)} corpora",
        "",
        *(line for measure in ("accuracy", "macro", "log loss") for line in against(measure)),
        without("accuracy within half a point of the best peer on every corpus", behind),
        without("calibration error of at most 0.03 on all but the smallest", unsure),
        *([without("R² of at least the best peer's less 0.02", numbers)] if own != classes else []),
    ]


def spread(cells: Cells) -> str:
    """Return how much accuracy varies with the seed."""
    values = [stdev(found["accuracy"] for found in runs) for runs in cells.values() if len(runs) > 1]
    n = max((len(runs) for runs in cells.values()), default=0)
    if not values:
        return "One seed."
    return f"Means of up to {n} seeds; their standard deviation of accuracy is {mean(values):.4f} on average."


def orders(records: list[dict[str, Any]]) -> list[str]:
    """Return accuracy by the order of the training documents, of runs in more than one."""
    by_order = {
        how: latest(r for r in records if r["order"] == how) for how in ("shuffled", "sorted", "time")
    }
    cells = {cell for how in ("sorted", "time") for cell in by_order[how]}
    lines = [
        [corpus, row, *(shown(value(by_order[how], corpus, row, "accuracy"), "accuracy") for how in by_order)]
        for corpus, row in sorted(cells, key=lambda cell: (cell[0], place(cell[1])))
    ]
    return ["", "## Accuracy by order", "", *markdown(["", "", *by_order], lines)] if lines else []


def streams(records: list[dict[str, Any]]) -> list[str]:
    """Return a table of streams."""
    lines = []
    for how in ("time", "shuffled", "sorted"):
        cells = latest(r for r in records if r["order"] == how)
        for corpus, row in sorted(cells, key=lambda cell: (cell[0], place(cell[1]))):
            values = [value(cells, corpus, row, m) for m in ("progressive", "accuracy")]
            lines.append([corpus, how, row, *(shown(x, "accuracy") for x in values)])
    heads = ["", "order", "", "progressive accuracy", "accuracy on the tenth that follows"]
    return ["", "## Streams", "", *markdown(heads, lines)] if lines else []


def place(row: str) -> tuple[int, str]:
    """Return the place of a learner among others."""
    return LEARNERS.index(row.split(" [")[0]), row


def page(records: list[dict[str, Any]], mode: str, order: str = "shuffled") -> str:
    """Return Markdown with all tables of a mode."""
    records = [r for r in records if r["mode"] == mode]
    single = [r for r in records if not r["stream"]]
    cells = latest(r for r in single if r["order"] == order and r["learner"] not in TRAINED)
    corpora = [name for name in READERS if any(corpus == name for corpus, _ in cells)]
    rows = sorted({row for _, row in cells}, key=place)
    ours = [row for row in rows if row.split(" [")[0] in OURS]
    peers = [row for row in rows if row not in ours]
    what = "the published test documents" if mode == "test" else "held-out training documents"
    how = "in the order of time" if order == "time" else order
    parts = [
        "# The suite",
        "",
        f"Our models and other learners on many corpora, with {what}. Training documents are {how}.",
        spread(cells),
        "",
        NOTES.rstrip(),
    ]
    for measure in TITLES:
        parts += table(cells, corpora, rows, measure)
    if ours and peers:
        parts += differences(cells, corpora, ours, peers)
        parts += ["", "## Targets"]
        parts += [line for row in ours for line in claims(cells, corpora, row, peers)]
    parts += [*orders(single), *streams([r for r in records if r["stream"]])]
    skipped = sorted({(r["learner"], r["skipped"]) for r in records if "skipped" in r})
    if skipped:
        parts += ["", "## Not run", "", *(f"- {learner}: {why}" for learner, why in skipped)]
    return "\n".join(parts) + "\n"
