"""Every Python example of the documentation runs, in order, as one program a page."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.fixture(params=PAGES, ids=lambda page: page.name)
def page(request):
    return request.param


def test_python_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    namespace = {"__name__": "__main__"}
    for block in re.finditer(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        blank = "\n" * text.count("\n", 0, block.start(1))  # so that a traceback names the line of the page
        if block[1].startswith(">>>"):
            example = doctest.DocTestParser().get_doctest(
                block[1], namespace, page.name, str(page), len(blank)
            )
            assert doctest.DocTestRunner().run(example).failed == 0
        else:
            exec(compile(blank + block[1], str(page), "exec"), namespace)


def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}, which does not exist"


def test_make_targets_that_pages_name_exist(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert set(named) <= targets
