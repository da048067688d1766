"""Look at what a model has learned: coherence and diversity of topics, calibration, reports."""

from bayespa.inspect.calibration import Reliability, reliability
from bayespa.inspect.coherence import c_v, diversity, npmi
from bayespa.inspect.progress import Progress
from bayespa.inspect.pyldavis import pyldavis_data
from bayespa.inspect.report import write_report

__all__ = [
    "Progress",
    "Reliability",
    "c_v",
    "diversity",
    "npmi",
    "pyldavis_data",
    "reliability",
    "write_report",
]
