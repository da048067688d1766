"""Inspect what a model has learned: coherence, diversity and number of topics, calibration, reports."""

from typing import TYPE_CHECKING

from bayespa.late import late

if TYPE_CHECKING:
    from bayespa.inspect.calibration import Reliability, reliability
    from bayespa.inspect.coherence import c_v, diversity, npmi
    from bayespa.inspect.numbers import Trial, Trials, compare_n_topics
    from bayespa.inspect.progress import Progress
    from bayespa.inspect.pyldavis import pyldavis_data
    from bayespa.inspect.report import write_report

__all__ = [
    "Progress",
    "Reliability",
    "Trial",
    "Trials",
    "c_v",
    "compare_n_topics",
    "diversity",
    "npmi",
    "pyldavis_data",
    "reliability",
    "write_report",
]

# Most of them import scikit-learn.
__getattr__, __dir__ = late(
    __name__,
    {
        "bayespa.inspect.calibration": (
            "Reliability",
            "reliability",
        ),
        "bayespa.inspect.coherence": (
            "c_v",
            "diversity",
            "npmi",
        ),
        "bayespa.inspect.numbers": (
            "Trial",
            "Trials",
            "compare_n_topics",
        ),
        "bayespa.inspect.progress": ("Progress",),
        "bayespa.inspect.pyldavis": ("pyldavis_data",),
        "bayespa.inspect.report": ("write_report",),
    },
)
