"""Print the lowest versions that pyproject.toml allows, as constraints for pip (make lowest)."""

import re
from pathlib import Path

settings = Path(__file__).resolve().parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8")
for name, version in re.findall(r'"([\w-]+)>=([\w.]+)', settings):
    print(f"{name}=={version}")
