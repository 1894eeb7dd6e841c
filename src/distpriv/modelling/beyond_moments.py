"""What the rows behind a model say of its law beyond means and covariances, before any mechanism is chosen."""

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats
from distpriv.modelling.row_laws import RowLaws
from distpriv.modelling.spectrum import spectrum, unknown_covariance
from distpriv.modelling.tilted_law import tilted_laws

if TYPE_CHECKING:
    from distpriv.modelling.model import QueryModel

__all__ = ["LawCheck", "law_check"]


@frozen(kw_only=True)
class LawCheck:
    """How far statistics that are sums over rows are from a bell curve, with the least noise that they may have.

    >>> import distpriv as dp
    >>> query, secret = dp.Query(age=dp.mean("age")), dp.Share("income = '>50K'", values=(0.45, 0.55))
    >>> check = dp.model(dp.datasets.adult(), query, secret, records=100).law_check
    >>> check.rows, check.skewness["age"] < 0.1, check.excess_kurtosis["age"] < 0.02
    ((11208, 34014), True, True)
    >>> check.correction < 0.01, check.ripple, check.peak
    (True, 0.0, None)
    >>> print(check)  # doctest: +ELLIPSIS
    11,208 and 34,014 rows; skewness up to 0.069, excess kurtosis up to 0.0...; a bell curve errs by about 0.0...
    """

    rows: tuple[int, ...]
    """How many rows each stratum has."""
    skewness: dict[str, float]
    """The largest third standardised cumulant of each statistic, up to its sign; 0 for a bell curve."""
    excess_kurtosis: dict[str, float]
    """The largest fourth standardised cumulant of each statistic, up to its sign; 0 for a bell curve."""
    correction: float
    """|c₂|: by which share of itself the density errs at its mean to the second order, in the worst scenario."""
    ripple: float
    """By which share of itself the density ripples beyond the bell curve, at the peaks that were found."""
    peak: tuple[float, ...] | None
    """The frequency of the highest ripple, one number a statistic; none where nothing repeats."""

    def __str__(self) -> str:
        rows = " and ".join(f"{count:,}" for count in self.rows)
        repeats = "nothing repeats" if self.peak is None else f"something repeats, with a ripple of {self.ripple:.1e}"
        return (
            f"{rows} rows; skewness up to {max(self.skewness.values()):.2g}, excess kurtosis up to "
            f"{max(self.excess_kurtosis.values()):.2g}; a bell curve errs by about {self.correction:.1g} of itself; "
            f"{repeats}"
        )


def law_check(model: "QueryModel") -> LawCheck | None:
    """Return what the rows say of a model with noise at its floor; None where there are none, or no sums over them."""
    if model.simulator is None or model.provenance.method != "exact moments":
        return None
    rows, floor = model.simulator.row_laws(), np.diag(model.floor**2)
    covariances = {name: law.covariance for name, law in model.distributions.items()}
    found = spectrum(rows, covariances, floor)
    heights = [
        max(2 * peak.ripple(unknown_covariance(c, floor), name) for name, c in covariances.items())
        for peak in found.peaks
    ]
    third, fourth = _cumulants(rows, covariances)
    return LawCheck(
        rows=tuple(rows.rows_of(stratum) for stratum in range(len(rows.strata))),
        skewness=dict(zip(model.names, third.tolist(), strict=True)),
        excess_kurtosis=dict(zip(model.names, fourth.tolist(), strict=True)),
        correction=max(abs(law.term_at_rest) for law in tilted_laws(model, rows, floor).values()),
        ripple=float(sum(heights)),
        peak=tuple(found.peaks[int(np.argmax(heights))].frequency.tolist()) if heights else None,
    )


def _cumulants(rows: RowLaws, covariances: dict[str, Floats]) -> tuple[Floats, Floats]:
    """Return the largest standardised third and fourth cumulants of every statistic, as if rows were independent."""
    moments = [[each.average(each.about_mean**power) for power in (2, 3, 4)] for each in rows.strata]
    third, fourth = [], []
    for name, sizes in rows.drawn.items():
        variance = np.diag(covariances[name])
        unit = np.where(variance > 0, variance, 1.0)
        third.append(sum(size * moments[s][1] for s, size in sizes.items()) / unit**1.5)
        fourth.append(sum(size * (moments[s][2] - 3 * moments[s][0] ** 2) for s, size in sizes.items()) / unit**2)
    return np.abs(third).max(axis=0), np.abs(fourth).max(axis=0)
