"""What the command line says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """How much is measured, and on what."""

    quick: bool = False
    data_home: str | None = None

    @property
    def repeats(self) -> int:
        """Rounds in which programs take turns."""
        return 2 if self.quick else 5
