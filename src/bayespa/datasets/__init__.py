"""Corpora: one inside the package, loaders of published ones, and a generator."""

from bayespa.datasets.arxiv import fetch_arxiv20, load_arxiv_sample
from bayespa.datasets.gml import fetch_gml, load_gml
from bayespa.datasets.newsgroups import fetch_20newsgroups
from bayespa.datasets.reuters import fetch_reuters21578
from bayespa.datasets.synthetic import make_topic_corpus

__all__ = [
    "fetch_20newsgroups",
    "fetch_arxiv20",
    "fetch_gml",
    "fetch_reuters21578",
    "load_arxiv_sample",
    "load_gml",
    "make_topic_corpus",
]
