"""Inspect what a model has learned: coherence, diversity and number of topics, calibration, reports."""

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
