r"""Rows on whole steps, cell by cell: what exact laws of up to three statistics are made from.

Where every statistic has its steps, the rows of a stratum are counts of cells, and the characteristic function of one
row is a sum over cells. Drawing k of N rows is drawing each with probability p = k/N, given that there are k, so that

.. math:: |\varphi| \le \sqrt{8 k (1 - k/N)} \; e^{-k (1 - k/N)(1 - |\varphi_1|)}

(`docs/proofs/exact_law.md`, "Several statistics"): where noise leaves nothing of that it need not be computed.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from distpriv.errors import InvalidInput, InvalidModel
from distpriv.framework.arrays import Floats, array_field
from distpriv.law.fourier import NEGLIGIBLE, Transform, series_terms, sum_transform
from distpriv.modelling.model import QueryModel
from distpriv.modelling.row_lattice import spacing

__all__ = ["MOST_STATISTICS", "Cells", "RowGrid", "row_grid"]

MOST_STATISTICS: Final = 3


def _whole(values: Any) -> NDArray[np.int64]:
    return np.asarray(values, dtype=np.int64)


@frozen(kw_only=True, eq=False)
class Cells:
    """The rows of a stratum: how many have which whole numbers of steps."""

    places: NDArray[np.int64] = field(converter=_whole)
    """One cell a row."""
    counts: NDArray[np.int64] = field(converter=_whole)
    weights: Floats | None = array_field(optional=True)
    """How likely a row is in each cell, where rows have weights; they are then drawn independently."""

    def __attrs_post_init__(self) -> None:
        if self.places.ndim != 2 or self.counts.shape != self.places.shape[:1] or (self.counts < 1).any():
            raise InvalidInput("these are no cells of rows: every one has a place along each statistic and a count.")
        weights = self.chances
        if weights.shape != self.counts.shape or not (weights >= 0).all() or abs(float(weights.sum()) - 1) > 1e-9:
            raise InvalidInput("these are no weights of cells: there is one for each, and they sum to 1.")

    @property
    def rows(self) -> int:
        """How many rows there are in all."""
        return int(self.counts.sum())

    @property
    def chances(self) -> Floats:
        """How likely a row is in each cell."""
        return np.asarray(self.counts / self.rows) if self.weights is None else self.weights

    def transform(self, frequencies: Sequence[Floats], axes: Floats) -> Transform:
        """Return E e^{itᵀAk} of a row at all combinations of the frequencies along axes, the rows of A.

        >>> cells = Cells(places=np.array([[0, 1], [2, 1]]), counts=np.array([1, 1]))
        >>> cells.transform([np.array([0.0, np.pi / 2]), np.array([np.pi])], np.eye(2)).round(9).ravel() + 0.0
        array([-1.+0.j,  0.+0.j])
        """
        return _transform(self.places @ axes.T, self.chances, frequencies)

    def largest(self, size: int, one: Floats, *, replacement: bool) -> Floats:
        """Return a bound on |E e^{itᵀK}| of the sum of `size` rows, from that of one row."""
        if replacement:
            return np.asarray(one**size)
        weight = size * (1 - size / self.rows)
        return np.minimum(1.0, math.sqrt(max(1.0, 8 * weight)) * np.exp(-weight * (1 - one)))


def _transform(points: Floats, chances: Floats, frequencies: Sequence[Floats]) -> Transform:
    """Return Σ p e^{itᵀx} at all combinations of frequencies: a sum over the rest for every first coordinate."""
    along, group = np.unique(points[:, 0], return_inverse=True)
    turns = np.exp(1j * np.outer(frequencies[0], along))
    if len(frequencies) == 1:
        return np.asarray(turns @ np.bincount(group.ravel(), chances))
    order = np.argsort(group.ravel(), kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(group.ravel()))[:-1])
    rests = [_transform(points[part][:, 1:], chances[part], frequencies[1:]) for part in parts]
    return np.asarray(np.tensordot(turns, rests, axes=(1, 0)))


@frozen(kw_only=True, eq=False)
class RowGrid:
    """Statistics that are sums over rows on whole steps, in every scenario."""

    steps: Floats = array_field()
    lowest: Floats = array_field()
    """What a row of no steps adds to each statistic."""
    strata: tuple[Cells, ...]
    drawn: Mapping[str, Mapping[int, int]]
    """How many rows of which strata the datasets of each scenario have."""
    replacement: bool
    off: float = 0.0
    """By how many steps a dataset may be off the lattice, since rows are."""
    sample: bool = False
    """Whether the rows are a sample of those that datasets may have; otherwise they are all of them."""

    def __attrs_post_init__(self) -> None:
        if any(cells.places.shape[1:] != self.steps.shape for cells in self.strata):
            raise InvalidInput("these are no cells of rows: every one has a place along each statistic and a count.")
        if any(cells.weights is not None for cells in self.strata) and not self.replacement:
            raise InvalidInput("these are no weights of cells: rows with weights are redrawn.")

    @property
    def records(self) -> int:
        """How many rows a dataset has."""
        return sum(next(iter(self.drawn.values())).values())

    @property
    def range(self) -> tuple[int, int]:
        """The least and the largest value of the first statistic, in steps."""
        ends = [(int(cells.places[:, 0].min()), int(cells.places[:, 0].max())) for cells in self.strata]
        sums = [[sum(size * ends[s][side] for s, size in of.items()) for of in self.drawn.values()] for side in (0, 1)]
        return min(sums[0]), max(sums[1])

    def moments(self, scenario: str) -> tuple[Floats, Floats]:
        """Return the mean and the covariance of the statistics, in steps."""
        means, covariance = np.zeros(len(self.steps)), np.zeros((len(self.steps),) * 2)
        for which, size in self.drawn[scenario].items():
            cells = self.strata[which]
            mean = cells.chances @ cells.places
            away = cells.places - mean
            left = 1.0 if self.replacement else (cells.rows - size) / max(1, cells.rows - 1)
            means += size * mean
            covariance += size * left * (away.T * cells.chances) @ away
        return means, covariance

    def log_moments(self, scenario: str, direction: Floats, tilts: Floats) -> Floats:
        """Return a bound on log E e^{s(wᵀK − mean)} of a combination w: that with replacement (Hoeffding 1963).

        >>> cells = Cells(places=np.array([[0], [1]]), counts=np.array([1, 1]))
        >>> rows = RowGrid(steps=[1], lowest=[0], strata=(cells,), drawn={"a": {0: 4}}, replacement=True)
        >>> rows.log_moments("a", np.ones(1), np.array([2.0])).round(4)  # 4 log cosh 1
        array([1.7351])
        """
        logs = np.zeros(len(tilts))
        for which, size in self.drawn[scenario].items():
            cells = self.strata[which]
            values = cells.places @ direction
            exponents = np.multiply.outer(tilts, values - cells.chances @ values)
            highest = exponents.max(axis=1)
            logs = logs + size * (highest + np.log(np.exp(exponents - highest[:, np.newaxis]) @ cells.chances))
        return logs

    def box(
        self,
        direction: Floats,
        outside: float,
        variance: float = 0.0,
        added: Callable[[Floats], Floats] = np.zeros_like,
    ) -> tuple[float, float]:
        """Return from where to where a combination is in all scenarios, but for so much at each end.

        By Chernoff's bound, with noise of a variance and a logarithm of E e^{sZ} if there is any.
        """
        ends = []
        for name in self.drawn:
            mean, covariance = self.moments(name)
            # At which tilts, in units of one over the deviation, the bound is tried.
            tilts = np.geomspace(1e-4, 1e2, 241) / max(math.sqrt(direction @ covariance @ direction + variance), 0.1)
            sides = [self.log_moments(name, direction, s) + added(s) for s in (tilts, -tilts)]
            values = (np.array(sides) - math.log(outside / 2)) / tilts
            reach = float(values.min(axis=1).max())
            ends += [float(mean @ direction) - reach, float(mean @ direction) + reach]
        return min(ends), max(ends)

    def transforms(
        self, frequencies: Sequence[Floats], axes: Floats, weights: Floats
    ) -> tuple[dict[str, Transform], float]:
        """Return E e^{itᵀAK} of the statistics, in steps, and how much was left out where weights make it negligible.

        At all combinations of frequencies along the axes, the rows of A.
        """
        if max(map(len, frequencies)) * max(len(cells.counts) for cells in self.strata) > 2**26:
            raise InvalidModel(
                "rows have too many different values together for an exact law: give the columns coarser units in "
                "their expressions."
            )
        ones = [cells.transform(frequencies, axes) for cells in self.strata]
        sizes = [np.asarray(np.abs(one), dtype=np.float64) for one in ones]
        needed, left_out = np.zeros(weights.shape, dtype=bool), 0.0
        for drawn in self.drawn.values():
            bound = np.abs(weights)
            for which, size in drawn.items():
                bound = bound * self.strata[which].largest(size, sizes[which], replacement=self.replacement)
            needed |= bound > NEGLIGIBLE
            left_out = max(left_out, float((bound[bound <= NEGLIGIBLE] ** 2).sum()))
        parts = [self._drawn(which, ones[which], frequencies, axes, needed) for which in range(len(self.strata))]
        laws = {}
        for name, drawn in self.drawn.items():
            laws[name] = np.zeros(weights.shape, dtype=np.complex128)
            laws[name][needed] = np.prod([parts[which][size] for which, size in drawn.items()], axis=0)
        return laws, math.sqrt(left_out)

    def _drawn(
        self, which: int, one: Transform, frequencies: Sequence[Floats], axes: Floats, needed: NDArray[np.bool_]
    ) -> dict[int, Transform]:
        """Return the transforms of all draws from a stratum that some scenario has, where they are needed."""
        cells = self.strata[which]
        sizes = {drawn[which] for drawn in self.drawn.values() if which in drawn}
        if self.replacement:
            return {size: np.asarray(one[needed] ** size) for size in sizes}
        terms = max((series_terms(size, cells.rows) for size in sizes), default=1)
        if terms * int(needed.sum()) > 2**26:
            raise InvalidModel(
                f"{max(sizes):,} of {cells.rows:,} rows without replacement take too long for an exact law: say "
                "replacement=True, or use coupled_gaussian."
            )
        multiples = np.array(
            [one[needed]] + [cells.transform([r * t for t in frequencies], axes)[needed] for r in range(2, terms + 1)]
        )

        def powers(part: slice, power: NDArray[np.int64]) -> Transform:
            return np.asarray(multiples[: len(power), part].T)

        everything = axes @ (cells.counts @ cells.places)
        turns = sum(
            (t * along for t, along in zip(np.meshgrid(*frequencies, indexing="ij"), everything.tolist(), strict=True)),
            np.zeros(needed.shape),
        )
        whole = np.exp(1j * turns[needed])
        return {size: sum_transform(size, cells.rows, multiples.shape[1], powers, whole) for size in sizes}


def row_grid(model: QueryModel) -> RowGrid:
    """Return the rows behind a model of up to three statistics cell by cell, or say why that cannot be.

    Raises:
        InvalidModel: there are more statistics, no sums over rows that are all at hand, or no steps.

    >>> import distpriv as dp
    >>> query = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"))
    >>> secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    >>> rows = row_grid(dp.model(dp.datasets.adult(), query, secret, records=100, reference="population"))
    >>> rows.steps, [len(cells.counts) for cells in rows.strata]
    (array([0.01, 1.  ]), [125, 145])
    """
    if model.dimension > MOST_STATISTICS:
        raise InvalidModel(
            f"exact laws are of up to {MOST_STATISTICS} statistics, and {model.dimension} are released together: use "
            "certified_gaussian, or coupled_gaussian for assurance 'proved'."
        )
    if model.simulator is None or model.provenance.method != "exact moments":
        raise InvalidModel(
            "exact laws are of counts, totals and means over reference rows, and this model has none: use "
            "coupled_gaussian."
        )
    rows = model.rows().row_laws()
    if any(rows.rows_of(which) != len(stratum) for which, stratum in enumerate(rows.strata)):
        raise InvalidModel(
            "exact laws need all rows of the reference in memory: use a smaller one, or coupled_gaussian."
        )
    if model.strata and any(stratum.weights is not None for stratum in rows.strata):
        raise InvalidModel(
            "exact laws of rows with weights are of a reference that is the whole population, and this one is a sample:"
            " say reference='population' if it is, or use certified_gaussian or coupled_gaussian."
        )
    together = np.concatenate([stratum.values for stratum in rows.strata])
    lowest = together.min(axis=0)
    steps = np.array([spacing([column]) for column in together.T])
    for name, step in zip(model.names, steps.tolist(), strict=True):
        if step and not 1e-140 < step < 1e140:
            raise InvalidModel(f"the unit of {name!r} is out of proportion: rescale the column in its expression.")
        if step == 0:
            raise InvalidModel(
                f"the values of {name!r} are on no steps, and exact laws are of statistics on whole steps: round the "
                "column in its expression, or use certified_gaussian."
            )
    most_off = 1e-6  # by which share of a step all rows of a dataset together may be off
    records = max(sum(sizes.values()) for sizes in rows.drawn.values())
    off = records * np.abs((together - lowest) / steps - np.round((together - lowest) / steps)).max(axis=0)
    for name, step, share in zip(model.names, steps.tolist(), off.tolist(), strict=True):
        if share > most_off:
            raise InvalidModel(
                f"the values of {name!r} are on steps of {step:g} but for some that are off them: round the column in "
                "its expression."
            )
    strata = []
    for stratum in rows.strata:
        whole = np.round((stratum.values - lowest) / steps).astype(np.int64)
        places, cell, counts = np.unique(whole, axis=0, return_inverse=True, return_counts=True)
        weights = (
            None
            if stratum.weights is None
            else np.asarray(np.bincount(cell.ravel(), stratum.weights), dtype=np.float64)
        )
        strata.append(Cells(places=places, counts=counts.astype(np.int64), weights=weights))
    return RowGrid(
        steps=steps,
        lowest=lowest,
        strata=tuple(strata),
        drawn=rows.drawn,
        replacement=rows.replacement,
        off=float(off.sum()),
        sample=bool(model.strata),
    )
