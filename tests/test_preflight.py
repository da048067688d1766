"""tools/preflight on machines that lack something, played by scripts on an otherwise empty PATH."""

import os
import subprocess
from pathlib import Path

import pytest

PREFLIGHT = Path(__file__).parents[1] / "tools" / "preflight"

GOOD = "exit 0"
OLD = 'case "$2" in *version_info*) exit 1;; esac'
WITHOUT_VENV = 'case "$2" in *ensurepip*) exit 1;; esac'
WITHOUT_HEADERS = 'case "$2" in *Python.h*) exit 1;; esac'


@pytest.fixture
def preflight(tmp_path):
    def run(python=None, compiler=None, name="python3", **environment):
        for command, script in [(name, python), ("g++", compiler)]:
            if script is not None:
                (tmp_path / command).write_text(f"#!/bin/sh\n{script}\n")
                (tmp_path / command).chmod(0o755)
        return subprocess.run(
            ["/bin/sh", PREFLIGHT],
            env={"PATH": str(tmp_path), **environment},
            capture_output=True,
            text=True,
        )

    return run


def test_a_good_machine_passes_in_silence(preflight):
    result = preflight(python=GOOD, compiler=GOOD)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("python", "compiler", "packages"),
    [
        (None, GOOD, "python3 python3-venv python3-dev"),
        (OLD, GOOD, "python3 python3-venv python3-dev"),
        (WITHOUT_VENV, GOOD, "python3-venv"),
        (WITHOUT_HEADERS, GOOD, "python3-dev"),
        (GOOD, None, "g++"),
        (GOOD, "exit 1", "g++"),
        (WITHOUT_VENV, None, "python3-venv g++"),
    ],
)
def test_one_line_names_the_packages_to_install(preflight, python, compiler, packages):
    result = preflight(python, compiler)
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert result.stderr.endswith(f": sudo apt-get install {packages}\n")


def test_another_interpreter_has_packages_of_its_own(preflight):
    result = preflight(WITHOUT_VENV, GOOD, name="python3.12", PYTHON="python3.12")
    assert result.stderr.endswith(": sudo apt-get install python3.12-venv\n")


def test_another_compiler_is_tried(preflight):
    assert preflight(GOOD, None, CXX="nothing").returncode == 1
    assert preflight(GOOD, 'test "$1" = -pipe', CXX="g++ -pipe").returncode == 0


def test_this_machine_passes():
    assert subprocess.run(["/bin/sh", PREFLIGHT], env=os.environ, check=False).returncode == 0
