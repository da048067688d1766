"""Modules import downwards only, names say one thing each, and what is done often goes a short way."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from benchmarks.walk import changes, walks

SOURCE = Path(__file__).parents[1] / "src"

# From the bottom to the top. A room imports those below it; those of one line know nothing of each other.
LAYERS = [
    ["_native"],
    ["native", "checks", "classes", "late", "ranking"],
    ["posteriors", "reference"],
    ["learning"],
    ["estimators", "workers"],
    ["linear", "topics", "corpus"],
    ["datasets", "sources", "text"],
    [""],  # the package itself: the names that users import
    ["inspect", "mlflow"],
    ["reproduce", "serve"],
    ["cli"],
]
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}


@cache
def modules():
    """The module of each file, as a syntax tree under its name."""
    found = {}
    for path in sorted((SOURCE / "bayespa").rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def is_module(name):
    path = SOURCE.joinpath(*name.split("."))
    return name == "bayespa._native" or path.is_dir() or path.with_suffix(".py").exists()


@cache
def imports():
    """What is imported: the module that does it, the other, and a name of this one or None."""
    found = []
    for importer, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found += [(importer, alias.name, None) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    found.append(
                        (importer, whole, None) if is_module(whole) else (importer, node.module, alias.name)
                    )
    return found


def room(module):
    return f"{module}.".split(".")[1]


def test_rooms_import_downwards_only():
    wrong = {
        f"{importer} imports {module}"
        for importer, module, _ in imports()
        if module.split(".")[0] == "bayespa"
        and room(importer) != room(module)
        and LEVEL[room(module)] >= LEVEL[room(importer)]
    }
    assert not wrong


def test_modules_of_a_room_import_each_other_downwards():
    """There is no circle, so each can be read before those that import it."""
    below = defaultdict(set)
    for importer, module, _ in imports():
        if module in modules() and module != importer:
            below[importer].add(module)
    done, path = set(), []

    def visit(module):
        assert module not in path, " imports ".join([*path[path.index(module) :], module])
        if module not in done:
            path.append(module)
            for other in sorted(below[module]):
                visit(other)
            done.add(path.pop())

    for module in modules():
        visit(module)


def test_the_twins_know_the_types_of_native_calls_alone():
    for importer, module, name in imports():
        if room(importer) == "reference" and room(module) == "native":
            assert name is None or name[0].isupper(), f"{importer} imports {module}.{name}"


def test_a_class_has_a_name_of_its_own():
    places = defaultdict(list)
    for module, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module)
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_nobody_imports_what_is_private_to_another():
    for importer, module, name in imports():
        private = [part for part in [*module.split("."), name or ""] if part.startswith("_")]
        if private and module not in ("__future__", "bayespa._native") and not module.startswith("sklearn"):
            package = module.rpartition(".")[0]  # of a private module: its own package may
            assert name is not None, f"{importer} imports {module}"
            assert not name.startswith("_"), f"{importer} imports {module}.{name}"
            assert importer.startswith(package), f"{importer} imports {module}"


@pytest.mark.parametrize(("what", "modules", "turns"), [("partial_fit", 12, 62), ("predict", 10, 40)])
def test_what_is_done_often_goes_a_short_way(what, modules, turns):
    """At most these; `python -m benchmarks.walk` says through which."""
    visited = next(visited for name, visited in walks().items() if what in name)
    assert len(set(visited)) <= modules
    assert changes(visited) <= turns
