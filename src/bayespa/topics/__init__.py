"""Supervised topic models that learn from a stream."""

from bayespa.topics.medhdp import MedHDPClassifier, MedHDPRegressor
from bayespa.topics.medlda import MedLDAClassifier, MedLDARegressor

__all__ = ["MedHDPClassifier", "MedHDPRegressor", "MedLDAClassifier", "MedLDARegressor"]
