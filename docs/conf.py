"""Sphinx builds the documentation with this (make docs)."""

import base64
import json
import shutil
from pathlib import Path

import bayespa

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"

project = "bayespa"
copyright = "the bayespa developers"
version = release = bayespa.__version__
# The last brings MathJax along, so that formulas need no network.
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3  # links to sections of other pages
numpydoc_show_class_members = False  # estimators inherit dozens from scikit-learn
# Made by scikit-learn for its metadata routing, with references to its own glossary.
_ROUTED = ("fit", "partial_fit", "predict", "decision_function", "score")
autodoc_default_options = {"exclude-members": ", ".join(f"set_{method}_request" for method in _ROUTED)}
default_role = "code"  # `names` in docstrings
templates_path = ["templates"]
exclude_patterns = ["templates"]
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "bayespa"
html_static_path = ["static"]
html_css_files = ["narrow.css"]
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": [], "tutorial": [], "examples": [], "command-line": []}  # nothing below them
html_show_sourcelink = False


def write_notebooks(app):
    """Write a page for each notebook of examples/, with what it printed and drew."""
    folder = HERE / "generated" / "notebooks"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in sorted(EXAMPLES.glob("*.ipynb")):
        parts = []
        for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
            source = "".join(cell["source"])
            parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
            for output in cell.get("outputs", []):
                data = output.get("data", {"text/plain": output.get("text", [])})
                if "image/png" in data:
                    picture = f"{path.stem}-{number}.png"
                    (folder / picture).write_bytes(base64.b64decode(data["image/png"]))
                    parts.append(f"![]({picture})")
                else:
                    parts.append(f"```text\n{''.join(data['text/plain']).rstrip()}\n```")
        (folder / f"{path.stem}.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def skip_fields(app, what, name, member, skip, options):
    """Leave out the fields of named tuples, which the signature has: Python calls them aliases."""
    return True if type(member).__name__ == "_tuplegetter" else None


def setup(app):
    """Sphinx calls this."""
    app.connect("builder-inited", write_notebooks)
    app.connect("autodoc-skip-member", skip_fields)
