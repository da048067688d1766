"""Topic models, most of them supervised, that learn from a stream."""

from bayespa.topics.medhdp import MedHDPClassifier, MedHDPRegressor
from bayespa.topics.medlda import MedLDAClassifier, MedLDARegressor
from bayespa.topics.online_lda import OnlineLDA

__all__ = ["MedHDPClassifier", "MedHDPRegressor", "MedLDAClassifier", "MedLDARegressor", "OnlineLDA"]
