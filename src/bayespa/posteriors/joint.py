"""Several posteriors as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bayespa.posteriors.posterior import Floats, Posterior

if TYPE_CHECKING:
    from typing_extensions import Self


class Joint(dict[str, Any]):
    """Independent posteriors with a name each, and the arithmetic of one posterior.

    An immutable dictionary: ``Joint(posterior, topics=other)`` replaces a part.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespa.posteriors import Columns, Dirichlet, Gaussian
    >>> prior = Joint(topics=Dirichlet.prior(2, 3, eta=0.5), weights=Gaussian.prior(1, 2))
    >>> posterior = prior + Joint(topics=Columns(np.array([0]), Dirichlet([[1], [2]])))
    >>> posterior["topics"].concentration
    array([[1.5, 0.5, 0.5],
           [2.5, 0.5, 0.5]])
    """

    def __add__(self, statistics: Joint) -> Self:
        return self.changed(plus=statistics)

    def __sub__(self, statistics: Joint) -> Self:
        return self.changed(minus=statistics)

    def changed(self, plus: Joint | None = None, minus: Joint | None = None) -> Self:
        """Return self - minus + plus, in the parts that they have."""
        added, taken = plus or Joint(), minus or Joint()
        names = {**taken, **added}
        return type(self)(self, **{n: self[n].changed(added.get(n), taken.get(n)) for n in names})

    def _each(self, method: str, *others: Any) -> Self:
        return type(self)(
            **{
                name: getattr(part, method)(*(o[name] if isinstance(o, Joint) else o for o in others))
                for name, part in self.items()
            }
        )

    def discounted(self, rho: float, prior: Self) -> Self:
        """Forget: prior + rho (posterior - prior), in every part."""
        return self._each("discounted", rho, prior)

    def merge(self, other: Self, prior: Self) -> Self:
        """Merge two learners: self + other - prior, in every part."""
        return self._each("merge", other, prior)

    def extended(self, prior: Self) -> Self:
        """Extend every part to its size in `prior`."""
        return self._each("extended", prior)

    def to_arrays(self) -> dict[str, Floats]:
        """Return all natural parameters, with names ``part.array``."""
        return {f"{name}.{key}": a for name, part in self.items() for key, a in part.to_arrays().items()}

    @classmethod
    def from_arrays(cls, types: Mapping[str, type[Posterior]], arrays: Mapping[str, Floats]) -> Self:
        """Restore the parts, with the given types, from what `to_arrays` returned."""
        return cls(
            **{
                name: kind.from_arrays(
                    {key.split(".", 1)[1]: a for key, a in arrays.items() if key.split(".", 1)[0] == name}
                )
                for name, kind in types.items()
            }
        )
