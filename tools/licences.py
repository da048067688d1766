"""Write docs/licences.md: the licences of all packages that an installation may bring, from their metadata.

    python tools/licences.py

Run in an environment that has the extras plot, data, ray, kafka, nats, redis and serve.
"""

from importlib.metadata import distribution, metadata
from pathlib import Path

from packaging.requirements import Requirement

PAGE = Path(__file__).resolve().parents[1] / "docs" / "licences.md"
HEAD = """\
# Licences of dependencies

bayespa itself is under the BSD 3-Clause licence. `make licences` makes this page from the metadata of the
packages that are installed when it runs; other versions may need others.

## Compiled in

| package | licence |
|---|---|
{compiled}
## Installed with it

| package | licence | for |
|---|---|---|
"""
OLD_NAMES = {"BSD License": "BSD", "Apache Software License": "Apache-2.0", "MIT License": "MIT"}


def licence(name: str) -> str:
    """Return the licence of an installed package, as short as its metadata allow."""
    about = metadata(name)
    if expression := about.get("License-Expression"):
        return str(expression)
    kinds = [line.split(" :: ")[-1] for line in about.get_all("Classifier") or [] if "License ::" in line]
    if kinds:
        return ", ".join(OLD_NAMES.get(kind, kind) for kind in kinds)
    return (about.get("License") or "not said").splitlines()[0]


def needs(name: str, extra: str = "") -> set[str]:
    """Return the packages that one needs here, itself or by others, with the requirements of an extra."""
    found = set()
    for requirement in map(Requirement, distribution(name).requires or []):
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            found |= {requirement.name.lower(), *needs(requirement.name)}
    return found


def main() -> None:
    """Write the page."""
    rows: dict[str, str] = {}
    for extra in ("", "plot", "data", "ray", "kafka", "nats", "redis", "serve"):
        for name in needs("bayespa", extra):
            rows.setdefault(name.replace("_", "-"), f"`bayespa[{extra}]`" if extra else "always")
    lines = [f"| {name} | {licence(name)} | {use} |" for name, use in sorted(rows.items())]
    compiled = f"| nanobind | {licence('nanobind')} |\n"
    PAGE.write_text(HEAD.format(compiled=compiled) + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
