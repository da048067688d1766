"""Sphinx builds the documentation with this (make docs)."""

import bayespa

project = "bayespa"
copyright = "the bayespa developers"
version = release = bayespa.__version__
# The last brings MathJax along, so that formulas need no network.
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "sphinx.ext.mathjax", "sphinx-mathjax-offline"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3  # links to sections of other pages
numpydoc_show_class_members = False  # estimators inherit dozens from scikit-learn
# Made by scikit-learn for its metadata routing, with references to its own glossary.
_ROUTED = ("fit", "partial_fit", "predict", "decision_function", "score")
autodoc_default_options = {"exclude-members": ", ".join(f"set_{method}_request" for method in _ROUTED)}
html_theme = "alabaster"
html_theme_options = {"page_width": "72rem", "body_max_width": "54rem"}
toc_object_entries_show_parents = "hide"
