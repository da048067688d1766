"""What the paper claims, what we measured, and verdicts by rules."""

from __future__ import annotations

from dataclasses import dataclass

SAME = 0.01  # accuracies that differ by less are the same: about two standard errors of 7,505 messages
COMPARABLE = 0.02  # accuracies that differ by less are comparable
ORDER = 8.0  # times as fast is "about one order of magnitude"


@dataclass(frozen=True)
class Claim:
    """A claim of the paper with our numbers."""

    paper: str
    ours: str
    holds: bool

    @property
    def verdict(self) -> str:
        """Return the verdict in words.

        >>> Claim("", "", True).verdict
        'holds'
        """
        return "holds" if self.holds else "does not hold"
