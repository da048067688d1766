import re
import sys

import pytest
from click.testing import CliRunner

import bayespa
from bayespa.cli import main


def run(*arguments):
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_version():
    assert bayespa.__version__ in run("--version")


def test_help_lists_the_commands():
    assert "demo" in run("--help")


@pytest.mark.parametrize("plots", [True, False])
def test_demo_learns_and_writes_a_page_that_stands_alone(tmp_path, monkeypatch, plots):
    if not plots:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
    output = run("demo", "--quick", "--output", str(tmp_path / "new" / "folder"))
    path = tmp_path / "new" / "folder" / "report.html"
    assert f"report: {path}" in output

    ours, majority = (
        float(re.search(rf"{name} +(0\.\d+)", output)[1]) for name in ("one pass", "commonest class")
    )
    assert ours > majority + 0.2
    html = path.read_text(encoding="utf-8")
    assert f"{ours:.3f}" in html
    assert ("<svg" in html) == plots
    assert ("bayespa[plot]" in html) != plots
    assert not re.search(
        r"<(script|link|img|iframe)\b|@import|(?:src|href)=[\"'](?!#|data:)|url\((?!#)", html
    )
