"""Draw the pictures of docs/architecture.md: the rooms, and the ways of a mini-batch and of a prediction.

python tools/draw_architecture.py
"""

from html import escape
from pathlib import Path

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
BLUE, SAND, GREEN = ("#eef3f8", "#5b7083"), ("#fdf3e0", "#a5762b"), ("#e6f2ea", "#3f7d55")
LINE = 16


def text(x: float, y: float, words: str, *, bold: bool = False, anchor: str = "middle") -> str:
    """Return a line of text."""
    weight, colour = ("bold", "#1d2733") if bold else ("normal", "#45525f")
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{13 if bold else 12}" font-weight="{weight}" '
        f'text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'
    )


def box(x: int, y: int, width: int, title: str, *lines: str, colours: tuple[str, str] = BLUE) -> str:
    """Return a box with a title and lines below it."""
    fill, stroke = colours
    height = 28 + LINE * len(lines)
    parts = [
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{fill}" stroke="{stroke}"/>',
        text(x + width / 2, y + 19, title, bold=True),
        *(text(x + width / 2, y + 19 + LINE * i, line) for i, line in enumerate(lines, 1)),
    ]
    return "\n".join(parts)


def arrow(*points: tuple[int, int]) -> str:
    """Return a line through some points that ends in an arrow."""
    path = " L".join(f"{x} {y}" for x, y in points)
    return f'<path d="M{path}" stroke="#5b7083" stroke-width="1.5" fill="none" marker-end="url(#a)"/>'


def picture(width: int, height: int, label: str, *parts: str) -> str:
    """Return an SVG file."""
    size = 'viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
    head = f'<marker id="a" {size} orient="auto">'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" font-family="system-ui, Helvetica, Arial, sans-serif" role="img" '
            f'aria-label="{escape(label)}">',
            f'<defs>{head}<path d="M0 0 L8 4 L0 8 z" fill="#5b7083"/></marker></defs>',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )


def rooms() -> str:
    """Draw who may import whom."""
    return picture(
        760,
        482,
        "The rooms of bayespa, from programs at the top to kernels at the bottom",
        box(20, 20, 720, "cli, reproduce", "programs; the paper's experiments"),
        box(20, 84, 350, "inspect", "calibration, coherence, plots, reports"),
        box(390, 84, 350, "text", "models of texts: streams, checkpoints, files"),
        box(20, 148, 230, "linear", "PA, BayesPA"),
        box(265, 148, 230, "topics", "MedLDA, MedHDP and others"),
        box(510, 148, 230, "corpus, datasets", "documents, labels, words"),
        box(20, 212, 475, "estimators", "one value, published in one assignment", colours=SAND),
        box(20, 276, 475, "learning", "state, propose, apply; passes, forgetting", colours=SAND),
        box(20, 340, 475, "posteriors", "Gaussian, Dirichlet, ...: values that add; tables", colours=SAND),
        box(20, 404, 475, "native", "typed calls of the kernels in C++", colours=GREEN),
        box(510, 404, 230, "reference", "the same steps in NumPy", colours=GREEN),
        text(625, 300, "A room imports those"),
        text(625, 316, "below it, never those above"),
        text(625, 332, "(tests/test_layers.py)."),
        text(380, 468, "All of it over bayespa._native, compiled for three instruction sets."),
    )


def ways() -> str:
    """Draw one mini-batch through `partial_fit` on the left, one prediction on the right."""
    left = [
        ("partial_fit(X, y)", "topics.classifier, topics.estimator", BLUE),
        ("Corpus, Classes", "topics.documents, topics.classifier: counts and tasks, checked", BLUE),
        ("grown", "topics.model: room for new words and classes", BLUE),
        ("rounds", "learning: for each mini-batch", SAND),
        ("propose(posterior, batch, index)", "topics.model: topics, then words, then calibration", SAND),
        ("view, sample, medlda_step", "topics.medlda, topics.part, native.medlda; posteriors", GREEN),
        ("apply(state, step)", "learning, posteriors: state + statistics, all parts or none", SAND),
        ("_learned = ...", "topics.estimator: one assignment publishes it; knowledge follows", BLUE),
    ]
    right = [
        ("predict(X)", "topics.classifier", BLUE),
        ("snapshot", "topics.estimator: what was learned, once for the call", BLUE),
        ("Corpus, ids", "topics.documents: addresses from words and counts", BLUE),
        ("margins", "topics.knowledge: moments, totals, offset; computed once", SAND),
        ("infer, medlda_step", "topics.part, native.medlda", GREEN),
        ("words", "topics.words, native.linear: margins beside topics", GREEN),
        ("decided", "topics.classifier: who wins", BLUE),
    ]
    parts = [
        text(200, 24, "one mini-batch", bold=True),
        text(600, 24, "one prediction", bold=True),
    ]
    for x, steps in ((10, left), (410, right)):
        for i, (title, line, colours) in enumerate(steps):
            y = 40 + 64 * i
            parts.append(box(x, y, 380, title, line, colours=colours))
            if i:
                parts.append(arrow((x + 190, y - 20), (x + 190, y - 2)))
    return picture(
        800,
        560,
        "The way of a mini-batch through partial_fit, and of a document through predict",
        *parts,
    )


def main() -> None:
    """Write both files."""
    for name, drawn in (("architecture.svg", rooms()), ("ways.svg", ways())):
        (PICTURES / name).write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
