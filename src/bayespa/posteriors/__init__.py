"""Conjugate posteriors as natural parameters: learning is addition.

A posterior is a few arrays. A mini-batch contributes statistics of the same shape, and every operation is
arithmetic on them::

    posterior + statistics                            learn a mini-batch
    posterior.changed(plus=now, minus=before)         learn it again, counted once
    posterior.discounted(rho, prior)                  forget: prior + rho (posterior - prior)
    posterior.merge(other, prior)                     join two learners: posterior + other - prior
        posterior.extended(prior)                         add new tasks, words, topics or features

Posteriors are immutable, and their arrays are read-only. Learning is cheap all the same: see
`bayespa.posteriors.table`.

Statistics, and differences of posteriors, have the type of the posterior but are not distributions:
``require_proper`` and the expectations refuse them. A posterior does not hold its prior; pass it where it is
needed. A prior takes no memory, because its entries share one value.

Arrays are float64, with tasks, topics or sticks along the first axis. Arrays that kernels read by feature or
by word are feature-major in memory: ``shift`` of a diagonal or isotropic Gaussian, ``precision`` of a
diagonal one and ``concentration`` of a Dirichlet are transposed views of C-contiguous (D, T) and (W, K)
tables.
"""

from bayespa.posteriors.categorical import Categorical
from bayespa.posteriors.dirichlet import Counts, Dirichlet
from bayespa.posteriors.gaussian import Gaussian
from bayespa.posteriors.joint import Joint
from bayespa.posteriors.posterior import Columns, Posterior, Sums, Tally
from bayespa.posteriors.sticks import Sticks

__all__ = [
    "Categorical",
    "Columns",
    "Counts",
    "Dirichlet",
    "Gaussian",
    "Joint",
    "Posterior",
    "Sticks",
    "Sums",
    "Tally",
]
