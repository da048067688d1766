"""Topic models, most of them supervised, that learn from a stream."""

from typing import TYPE_CHECKING

from bayespa.late import late

if TYPE_CHECKING:
    from bayespa.topics.gibbs_medlda import GibbsMedLDAClassifier
    from bayespa.topics.online_hdp import OnlineHDP
    from bayespa.topics.online_lda import OnlineLDA
    from bayespa.topics.public import MedHDPClassifier, MedHDPRegressor, MedLDAClassifier, MedLDARegressor

__all__ = [
    "GibbsMedLDAClassifier",
    "MedHDPClassifier",
    "MedHDPRegressor",
    "MedLDAClassifier",
    "MedLDARegressor",
    "OnlineHDP",
    "OnlineLDA",
]

# They import scikit-learn.
__getattr__, __dir__ = late(
    __name__,
    {
        "bayespa.topics.gibbs_medlda": ("GibbsMedLDAClassifier",),
        "bayespa.topics.online_hdp": ("OnlineHDP",),
        "bayespa.topics.online_lda": ("OnlineLDA",),
        "bayespa.topics.public": (
            "MedHDPClassifier",
            "MedHDPRegressor",
            "MedLDAClassifier",
            "MedLDARegressor",
        ),
    },
)
