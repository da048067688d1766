"""The same seed gives the same bits: on other machines, which this one plays, and as they were before."""

import importlib.util
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from tools.machines import machines

ROOT = Path(__file__).parents[1]
HASHES = ROOT / "tests" / "golden" / "hashes.py"
ANEW = "if the change is meant, `python tests/golden/hashes.py --write` keeps the new bits"


def run(environment, *arguments):
    """Run Python in a process of its own."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    ).stdout


def changed(expected, found):
    """Return the names of what differs."""
    return [name for name in expected | found if expected.get(name) != found.get(name)]


@cache
def here():
    """Return the module of hashes, its papers, and the hashes of models in this process."""
    spec = importlib.util.spec_from_file_location("hashes", HASHES)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    papers = module.Papers()
    return module, papers, dict(module.of_models(papers, n_jobs=1))


def test_bits_are_those_of_every_other_machine():
    module, papers, of_models = here()
    expected = {**of_models, **dict(module.of_program(papers, n_jobs=1)), **dict(module.of_others(papers))}
    for name, environment in machines().items():
        if name == "this":
            continue
        found = json.loads(run(environment, HASHES, "--two-threads"))
        names = changed(expected, found)
        assert not names, f"not the same with {environment}, as on a {name}: {names}"


def test_bits_are_those_of_earlier_commits():
    module, _, of_models = here()
    found = module.kept(of_models)
    names = changed(json.loads(module.KEPT.read_text(encoding="utf-8")), found)
    assert not names, f"not the same as before: {names}; {ANEW}"


def test_the_oldest_machine_lacks_what_newer_ones_have():
    tell = "from tools.machines import _native, features; print(features(), _native.isa())"
    assert run(machines()["Nehalem"], "-c", tell) == "[] baseline\n"
