"""Packages whose public names are imported on first use, so that importing the package is fast."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def late(
    package: str, homes: Mapping[str, Sequence[str]], rooms: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package.

    Parameters
    ----------
    package : str
    homes : mapping
        Modules, and the names that are imported from each.
    rooms : sequence of str
        Subpackages that are imported, too.
    """
    home = {name: module for module, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name in home:
            found = getattr(import_module(home[name]), name)
            setattr(sys.modules[package], name, found)
            return found
        if name in rooms:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home, *rooms})

    return get, names
