"""A service that learns while it answers: ``bayespa serve``, with the extra ``bayespa[serve]``."""
