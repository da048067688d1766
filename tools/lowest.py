"""Print the lowest versions that pyproject.toml allows, as constraints for pip (make lowest, wheel-test)."""

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 12):
    sys.exit(
        f"Python {sys.version_info.major}.{sys.version_info.minor} is newer than the lowest versions; "
        "Python 3.10 and 3.11 can install them"
    )
settings = Path(__file__).resolve().parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8")
for name, version in re.findall(r'"([\w-]+)>=([\w.]+)', settings):
    print(f"{name}=={version}")
