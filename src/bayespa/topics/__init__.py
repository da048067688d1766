"""Topic models, most of them supervised, that learn from a stream."""

from bayespa.topics.gibbs_medlda import GibbsMedLDAClassifier
from bayespa.topics.medhdp import MedHDPClassifier, MedHDPRegressor
from bayespa.topics.medlda import MedLDAClassifier, MedLDARegressor
from bayespa.topics.online_hdp import OnlineHDP
from bayespa.topics.online_lda import OnlineLDA

__all__ = [
    "GibbsMedLDAClassifier",
    "MedHDPClassifier",
    "MedHDPRegressor",
    "MedLDAClassifier",
    "MedLDARegressor",
    "OnlineHDP",
    "OnlineLDA",
]
