"""Look at what a model has learnt: calibration, plots, reports."""
