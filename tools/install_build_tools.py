"""Install what the build asks for into this environment: builds without isolation are incremental.

With --list, print all that it may ask for instead.
"""

import subprocess
import sys
from collections.abc import Iterable

from build import ProjectBuilder


def install(requirements: Iterable[str]) -> None:
    """Install requirements with the pip of this interpreter; only errors are printed."""
    pip = [sys.executable, "-m", "pip", "-qq", "--disable-pip-version-check", "install"]
    if wanted := sorted(requirements):
        subprocess.run([*pip, *wanted], check=True)


builder = ProjectBuilder(".")
if "--list" in sys.argv:
    print(*sorted({*builder.build_system_requires, "cmake", "ninja"}), sep="\n")
else:
    install(builder.build_system_requires)
    install(builder.get_requires_for_build("editable"))  # cmake and ninja, where the system has none
