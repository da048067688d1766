"""Online Bayesian max-margin learning: posteriors that add, classifiers and topics from a stream in one pass."""

__version__ = "0.1.0"
