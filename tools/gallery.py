"""Draw the pictures of docs/examples.md, of the numbers that the scripts of examples/ print.

python tools/gallery.py     all; or only those that are named, such as two_machines
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import MaxNLocator

ROOT = Path(__file__).resolve().parents[1]
BLUE, GREY = "#1f77b4", "#b0b0b0"


def bars(axes, names, values):
    """Draw horizontal bars, the first on top, and write each value beside its bar."""
    drawn = axes.barh(range(len(names)), values, color=BLUE, height=0.6)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.spines[["top", "right"]].set_visible(False)
    return drawn


def sort_a_csv(printed, axes):
    """Draw which words speak for the label of the first row."""
    label = re.search(r"because\n([^\s:]+):", printed)[1]
    found = re.findall(r"^ +([+-][\d.]+)  (\S+ × \d+)$", printed, re.MULTILINE)[:8]
    bars(axes, [word for _, word in found], [float(weight) for weight, _ in found])
    axes.set(xlabel=f"what each word adds to the score of {label}")


def review_queue(printed, axes):
    """Draw how much people read, against the documents that have come."""
    found = re.findall(r"after +(\d+): people read +(\d+)%", printed)
    axes.plot([int(n) for n, _ in found], [int(share) for _, share in found], marker="o", color=BLUE)
    axes.set(xlabel="documents so far", ylabel="people read, %", ylim=(0, 60))
    axes.spines[["top", "right"]].set_visible(False)


def drifting_stream(printed, axes):
    """Draw the accuracy of each discount."""
    found = re.findall(r"discount ([\d.]+|auto): accuracy ([\d.]+)", printed)
    said = {"1.0": ", forgets nothing", "auto": ", forgets what has changed"}
    names = [f"{discount}{said.get(discount, '')}" for discount, _ in found]
    axes.bar_label(bars(axes, names, [float(accuracy) for _, accuracy in found]), padding=3)
    axes.set(xlabel="accuracy before learning", ylabel="discount", xlim=(0, 1))


def two_machines(printed, axes):
    """Draw the accuracy of the ancestor, of each half, and of both merged."""
    found = re.findall(r"^(.*): (\d+) documents, accuracy ([\d.]+)$", printed, re.MULTILINE)
    names, seen, accuracy = zip(*found, strict=True)
    at = range(len(found))
    axes.plot([float(value) for value in accuracy], at, "o", color=BLUE, markersize=9)
    axes.set_yticks(at, [f"{name},\n{n} documents" for name, n in zip(names, seen, strict=True)])
    axes.invert_yaxis()
    axes.margins(x=0.15, y=0.2)
    axes.grid(axis="x", color=GREY, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set(xlabel="accuracy on test documents")


def topics_in_time(printed, axes):
    """Draw which topics have grown most from look to look."""
    names, values = [], []
    for look in re.split(r"\n(?=\d{4}-)", printed):
        month = look[:7]
        for grown, words in re.findall(r", \+(\d+) words, \S+: (\S+ \S+)", look):
            names.append(f"{words}  {month}")
            values.append(int(grown))
    bars(axes, names, values)
    axes.set(xlabel="words that the topic has gained")


PICTURES = {
    draw.__name__: draw for draw in (sort_a_csv, review_queue, drifting_stream, two_machines, topics_in_time)
}


def picture(name):
    """Return the name of the picture of an example."""
    return f"example-{name.replace('_', '-')}.png"


def main():
    """Run the scripts in empty folders, and draw."""
    for name in sys.argv[1:] or PICTURES:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, ROOT / "examples" / f"{name}.py"]
            printed = subprocess.run(
                command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True
            ).stdout
        figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
        PICTURES[name](printed, axes)
        figure.savefig(ROOT / "docs" / "pictures" / picture(name), dpi=100)
        plt.close(figure)


if __name__ == "__main__":
    main()
