"""Run the Python examples of Markdown pages, and put what they print and draw into the pages.

    python tools/pages.py docs/tutorial.md ...

The examples of a page are one program. A block ```text behind a block ```python holds what that block prints;
an image ``pictures/NAME`` is the file NAME that an example writes. tests/test_documentation.py fails where a
page shows something else than its examples print; this makes it agree, after a change that is meant.
"""

import doctest
import io
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")  # figures open no windows

BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```$(?:\n\n?```text\n(?P<shown>.*?)^```$)?", re.MULTILINE | re.DOTALL
)


def executed(page: Path) -> str:
    """Run the examples of a page in the current folder; return the page with what they print.

    An example in the form of a doctest raises an error if it does not print what it shows.
    """
    text = page.read_text(encoding="utf-8")
    namespace = {"__name__": "__main__"}
    pieces, end = [], 0
    for block in BLOCK.finditer(text):
        blank = "\n" * text.count(
            "\n", 0, block.start("code")
        )  # so that a traceback names the line of the page
        if block["code"].startswith(">>>"):
            example = doctest.DocTestParser().get_doctest(
                block["code"], namespace, page.name, str(page), len(blank)
            )
            if doctest.DocTestRunner().run(example, clear_globs=False).failed:
                raise AssertionError(f"an example of {page} prints something else than it shows: see above")
            namespace = example.globs
            continue
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(blank + block["code"], str(page), "exec"), namespace)
        if block["shown"] is not None:
            pieces += [text[end : block.start("shown")], printed.getvalue()]
            end = block.end("shown")
    return "".join(pieces) + text[end:]


def pictures(text: str) -> list[str]:
    """Return the names of the pictures that a page shows."""
    return re.findall(r"!\[[^\]]*\]\((?:\.\./)?pictures/([^)]+)\)", text)


@contextmanager
def elsewhere() -> Iterator[Path]:
    """Work in an empty folder that vanishes."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)


def main() -> None:
    """Refresh the pages that are named on the command line."""
    kept = Path(__file__).resolve().parents[1] / "docs" / "pictures"
    for page in [Path(name).resolve() for name in sys.argv[1:]]:
        with elsewhere() as folder:
            text = executed(page)
            for name in pictures(text):
                if (folder / name).exists():
                    shutil.copy(folder / name, kept / name)
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
