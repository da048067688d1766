"""Every Python example of the documentation runs, as one program a page, and prints what the page shows."""

import re
from pathlib import Path

import pytest
from tools import gallery
from tools.pages import executed, pictures

import bayespa

ROOT = Path(__file__).parents[1]
DOCS = [page for page in sorted((ROOT / "docs").rglob("*.md")) if "generated" not in page.parts]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS]
DRAWN_BY_TOOLS = {"architecture.svg", "ways.svg", "serve-review.png", "serve-phone.png", "serve-stream.png"}
DRAWN_BY_TOOLS |= {gallery.picture(name) for name in gallery.PICTURES}


@pytest.fixture(params=PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def page(request):
    return request.param


def test_examples_print_and_draw_what_the_page_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    assert executed(page) == text, f"python tools/pages.py {page.relative_to(ROOT)} makes the page agree"
    drawn = {path.name for path in tmp_path.iterdir()}
    if page.name == "index.md":  # the front page shows a picture of the tutorial
        drawn |= set(pictures((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")))
    assert set(pictures(text)) <= drawn | DRAWN_BY_TOOLS


def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}, which does not exist"


def test_the_guide_says_the_mini_batch_of_the_signature():
    guide = (ROOT / "docs" / "guides" / "forget.md").read_text(encoding="utf-8")
    (said,) = re.findall(r"a mini-batch \(`batch_size`\) is (\d+) documents by\s+default", guide)
    for kind in (bayespa.BayesPAClassifier, bayespa.BayesPARegressor):
        assert kind().batch_size == int(said)


def test_the_front_page_has_the_numbers_of_the_suite():
    suite = (ROOT / "docs" / "suite.md").read_text(encoding="utf-8")
    front = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")

    def means(heading):
        table = suite[suite.index(f"## {heading}") :].split("\n\n")[1].splitlines()
        names = [cell.strip() for cell in table[0].split("|")]
        (row,) = [line.split("|") for line in table if line.startswith("| mean, one class (12)")]
        cells = {name: cell.strip(" *") for name, cell in zip(names, row, strict=True)}
        return {name: float(cell) for name, cell in cells.items() if name and cell}

    loss, right, seconds = means("Log loss"), means("Accuracy"), means("CPU seconds")
    said = " ".join(front.split())
    assert f"is {loss['medlda']:.2f}, that of logistic regression {loss['logistic, C=10']:.2f}" in said
    assert f"MedLDA ({right['LinearSVC']:.3f} and {right['medlda']:.3f})" in said
    assert f"in {seconds['LinearSVC']} seconds of CPU instead of {seconds['medlda']}" in said


def test_who_decides_is_said_with_the_numbers_that_are_kept():
    kept = (ROOT / "docs" / "quality.md").read_text(encoding="utf-8").split("| who decides | accuracy |")[1]
    numbers = re.findall(r"^\| .+ \| (0\.\d{3}) \|$", kept.split("\n\n")[0], flags=re.MULTILINE)
    assert len(numbers) == 4
    for text in ((ROOT / "README.md").read_text(encoding="utf-8"), bayespa.MedLDAClassifier.__doc__):
        said = text[: text.index("(`python -m experiments.who_decides`)")]
        assert re.findall(r"0\.\d{3}", said)[-4:] == numbers


def test_licences_of_all_dependencies_are_listed():
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lists = re.findall(r"^(?:dependencies|plot|data|serve) = (.*)", settings, flags=re.MULTILINE)
    listed = re.findall(r"^\| ([\w-]+) \|", (ROOT / "docs" / "licences.md").read_text(), flags=re.MULTILINE)
    assert set(re.findall(r'"([\w-]+)>=', "".join(lists))) <= set(listed), "make licences lists them anew"


def test_papers_of_a_release_have_its_version_and_its_dependencies():
    text = {
        name: (ROOT / name).read_text(encoding="utf-8")
        for name in ("pyproject.toml", "packaging/conda-forge/recipe.yaml", "CITATION.cff", "CHANGELOG.md")
    }
    settings, recipe, citation, changelog = text.values()
    wanted = re.findall(r'"(.*?)"', re.search(r"^dependencies = (.*)", settings, flags=re.MULTILINE)[1])
    assert [re.split(r"\W", one)[0] for one in wanted] == ["numpy", "scipy", "scikit", "click"]
    asked = recipe[recipe.index("  run:") : recipe.index("tests:")]
    assert asked.split("- python\n")[1].split() == [
        part for one in wanted for part in ("-", *re.sub(">=", " >=", one).split())
    ]
    built = re.findall(r'"(.*?)"', re.search(r"^requires = (.*)", settings, flags=re.MULTILINE)[1])
    hosts = recipe[recipe.index("  host:") : recipe.index("  run:")]
    assert len(built) == 2
    assert all(f"- {one.replace('>=', ' >=')}\n" in hosts for one in built)
    assert f'version: "{bayespa.__version__}"' in recipe
    assert f"version: {bayespa.__version__}\n" in citation
    assert re.search(r"^## \[(.*?)\]", changelog, flags=re.MULTILINE)[1] == bayespa.__version__


def test_make_targets_that_pages_name_exist(page):
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = re.findall(r"(?:^|`)make ([a-z0-9-]+)", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert set(named) <= targets
