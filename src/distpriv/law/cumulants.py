r"""The second-order term of saddlepoint densities, at many points at once.

With ρ the standardised cumulants of the tilted distribution,
:math:`c_2 = ρ_4/8 - ρ_{13}^2/8 - ρ_{23}^2/12` (McCullagh 1987, eq. 6.15). Each stratum's number of rows is a variable
beside the statistics, which are a conditional distribution given it; its own term is taken off again.
"""

import numpy as np
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats
from distpriv.modelling.tilted_law import Saddlepoints, TiltedLaw

__all__ = ["second_order_terms"]

AT_ONCE = 4_000_000
"""Numbers in the largest array: 32 MB."""


def second_order_terms(law: TiltedLaw, at: Saddlepoints, which: NDArray[np.intp]) -> Floats:
    """Return c₂ at some of the saddlepoints; 0 where there is none.

    >>> from distpriv.modelling.tilted_stratum import TiltedStratum
    >>> values = np.random.default_rng(0).exponential(size=(50, 2))
    >>> stratum = TiltedStratum.of(values - values.mean(axis=0), np.ones(50), 20, replacement=False)
    >>> law = TiltedLaw.of([stratum], np.zeros(2), np.eye(2))
    >>> at = law.saddlepoints(np.array([[0.0, 0.0], [3.0, -2.0]]), np.zeros((2, 2)))
    >>> alone = [law.second_order(at, 0), law.second_order(at, 1)]
    >>> bool(np.allclose(second_order_terms(law, at, np.arange(2)), alone))
    True
    """
    size = len(law.mean)
    rows = max((len(stratum.values) for stratum in law.strata), default=1)
    chunk = max(1, AT_ONCE // (rows * size * size))
    parts = [_terms(law, at, which[start : start + chunk]) for start in range(0, len(which), chunk)]
    found = np.concatenate(parts) if parts else np.zeros(0)
    return np.where(at.found[which], found, 0.0)


def _terms(law: TiltedLaw, at: Saddlepoints, which: NDArray[np.intp]) -> Floats:
    size = len(law.mean)
    roots = np.linalg.inv(np.linalg.cholesky(at.covariances[which]))
    fourth, alone, crossed = np.zeros(len(which)), np.zeros(len(which)), np.zeros(len(which))
    vectors, tensors = np.zeros((len(which), size)), np.zeros((len(which), size * size, size))
    for stratum, levels in zip(law.strata, at.levels, strict=True):
        two, three, four = stratum.cumulants_at(at.tilts[which], levels[which])
        number = two.sum(axis=1)
        rows = stratum.values - (two @ stratum.values / number[:, np.newaxis])[:, np.newaxis]
        rows = rows @ roots.transpose(0, 2, 1)
        lengths = 1 / number[:, np.newaxis] + (rows**2).sum(axis=2)
        fourth += (four * lengths**2).sum(axis=1)
        alone += (three * lengths).sum(axis=1) ** 2 / number
        vectors += ((three * lengths)[:, np.newaxis] @ rows)[:, 0]
        products = (rows[:, :, :, np.newaxis] * rows[:, :, np.newaxis]).reshape(*rows.shape[:2], -1)
        tensors += products.transpose(0, 2, 1) @ (three[:, :, np.newaxis] * rows)
        pairs = ((three[:, np.newaxis] @ products)[:, 0] ** 2).sum(axis=1)
        singles = ((three[:, np.newaxis] @ rows)[:, 0] ** 2).sum(axis=1)
        crossed += 3 * pairs / number + 3 * singles / number**2 + three.sum(axis=1) ** 2 / number**3
    third = (alone + (vectors**2).sum(axis=1)) / 8 + (crossed + (tensors**2).sum(axis=(1, 2))) / 12
    return np.asarray(fourth / 8 - third - sum(stratum.number_term for stratum in law.strata))
