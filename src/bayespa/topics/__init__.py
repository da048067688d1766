"""Supervised topic models that learn from a stream."""

from bayespa.topics.medlda import MedLDAClassifier
from bayespa.topics.medlda_regressor import MedLDARegressor

__all__ = ["MedLDAClassifier", "MedLDARegressor"]
