"""Resident memory of a process."""

from __future__ import annotations

import os
from pathlib import Path


def peak_megabytes() -> float:
    """Return the largest resident memory of this process so far."""
    # Not ru_maxrss: a process that was spawned inherits its parent's.
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def resident_megabytes(process: int | str = "self") -> float:
    """Return the resident memory of this process, or of that with a number, now."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
