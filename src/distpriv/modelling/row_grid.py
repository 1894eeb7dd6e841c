r"""Rows on whole steps, cell by cell, and the characteristic function of the two or three statistics they add up to.

Where every statistic has its steps, the rows of a stratum are counts of cells, and their transform is a product of
small matrices at all frequencies of a grid at once. Without replacement that of k rows comes from those of fewer by
Newton's identities (`docs/proofs/exact_law.md`, "Several statistics").
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from distpriv.errors import InvalidInput, InvalidModel
from distpriv.framework.arrays import Floats, array_field
from distpriv.modelling.model import QueryModel
from distpriv.modelling.projected_law import Transform
from distpriv.modelling.row_lattice import spacing
from distpriv.modelling.row_laws import RowLaws

__all__ = ["MOST_STATISTICS", "SMALLEST_STEP", "Cells", "RowGrid", "Sheared", "reference_rows", "row_grid"]

MOST_STATISTICS = 3

MOST_CELLS = 2**21
"""From the lowest to the highest cell of a stratum, along all statistics."""

MOST_WORK = 2**32
"""Terms times rows times frequencies of a draw without replacement."""

ON_STEPS = 1e-6
"""By which share of a step a dataset may be off the lattice, all of its rows together."""

SMALLEST_STEP = 1e-140
"""The square of a smaller one is no number."""

NEGLIGIBLE = 1e-14
"""What is left out of a sum."""


@frozen(kw_only=True)
class Sheared:
    """Axes for sums that vary most along one line: one statistic, and of each other what a multiple of it leaves over.

    >>> line = Sheared(order=(1, 0), slopes=(0.5,))
    >>> line.matrix.tolist()
    [[0.0, 1.0], [1.0, -0.5]]
    """

    order: tuple[int, ...]
    """The statistics, the one that the others are sheared by first."""
    slopes: tuple[float, ...]
    """Which multiple of the first is taken off each of the others."""

    @property
    def matrix(self) -> Floats:
        """What turns the statistics into numbers along the axes."""
        found = np.eye(len(self.order))[list(self.order)]
        found[1:, self.order[0]] -= self.slopes
        return found

    def slowed(self, frequencies: Sequence[Floats]) -> Floats:
        """Return by how much the first statistic's own frequency is below that along the first axis."""
        mesh = np.meshgrid(*frequencies[1:], indexing="ij", sparse=True)
        return np.asarray(sum((slope * t for slope, t in zip(self.slopes, mesh, strict=True)), np.zeros(())))

    def of_statistics(self, frequencies: Sequence[Floats]) -> list[Floats]:
        """Return the frequencies of the statistics themselves, as arrays that fit together."""
        mesh = np.meshgrid(*frequencies, indexing="ij", sparse=True)
        first = mesh[0] - self.slowed(frequencies)[np.newaxis] if any(self.slopes) else mesh[0]
        found = dict(zip(self.order, [first, *mesh[1:]], strict=True))
        return [found[which] for which in range(len(self.order))]


@frozen(kw_only=True, eq=False)
class Cells:
    """The rows of a stratum: how many have which whole numbers of steps."""

    places: NDArray[np.int64]
    """One cell a row."""
    counts: NDArray[np.int64]
    weights: Floats | None = None
    """How likely a row is in each cell, where rows have weights; they are then drawn independently."""

    @property
    def rows(self) -> int:
        """How many rows there are in all."""
        return int(self.counts.sum())

    @property
    def chances(self) -> Floats:
        """How likely a row is in each cell."""
        return np.asarray(self.counts / self.rows) if self.weights is None else self.weights

    def dense(self) -> Floats:
        """Return the chances as a block, from the lowest to the highest cell."""
        lowest = self.places.min(axis=0)
        block = np.zeros(self.places.max(axis=0) - lowest + 1)
        block[tuple((self.places - lowest).T)] = self.chances
        return block

    def transform(self, frequencies: Sequence[Floats], sheared: Sheared) -> Transform:
        """Return E e^{itᵀk} of a row at all combinations of the frequencies along sheared axes."""
        order = list(sheared.order)
        found: NDArray[Any] = np.transpose(self.dense(), order)
        lowest = self.places.min(axis=0)[order].tolist()
        values = [low + np.arange(size) for low, size in zip(lowest, found.shape, strict=True)]
        for axis in range(1, len(order)):
            turns = np.exp(1j * np.outer(frequencies[axis], values[axis]))
            found = np.moveaxis(np.tensordot(turns, found, axes=(1, axis)), 0, axis)
        if any(sheared.slopes):
            less = sheared.slowed(frequencies)
            found = found * np.exp(-1j * np.multiply.outer(values[0], less))
        return np.asarray(np.tensordot(np.exp(1j * np.outer(frequencies[0], values[0])), found, axes=(1, 0)))

    def largest(self, size: int, one: Floats, *, replacement: bool) -> Floats:
        """Return a bound on |E e^{itᵀK}| of the sum of so many rows, from that of one row."""
        if replacement:
            return np.asarray(one**size)
        assert self.weights is None, "rows with weights are drawn independently"
        weight = size * (1 - size / self.rows)
        return np.minimum(1.0, math.sqrt(max(1.0, 8 * weight)) * np.exp(-weight * (1 - one)))

    def drawn(self, sizes: Sequence[int], multiples: Sequence[Transform], *, replacement: bool) -> list[Transform]:
        """Return the transforms of the sums of so many rows, drawn at random, for each size.

        Args:
            sizes: how many rows are drawn; without replacement half of them all at most.
            multiples: the transform of one row at the frequencies, and at 2, 3, … times them where `terms` says so.
            replacement: whether a row is drawn again and again.
        """
        if replacement:
            return [np.asarray(multiples[0] ** size) for size in sizes]
        assert self.weights is None, "rows with weights are drawn independently"
        before = [np.ones_like(multiples[0])]
        found = {0: before[0]}
        for size in range(1, max(sizes) + 1):
            share, total = 1.0, np.zeros_like(multiples[0])
            for r, (earlier, turned) in enumerate(zip(reversed(before), multiples, strict=False), start=1):
                share *= (size - r + 1) / (self.rows - size + r)
                total += (self.rows / size * share * (1 if r % 2 else -1)) * (earlier * turned)
            before = [*before[-len(multiples) + 1 :], total] if len(multiples) > 1 else [total]
            if size in sizes:
                found[size] = total
        return [found[size] for size in sizes]

    def terms(self, sizes: Sequence[int], *, replacement: bool) -> int:
        """Return how many multiples of the frequencies matter for draws of so many rows."""
        most = max(sizes, default=0)
        if replacement or most == 0:
            return 1
        ratio = most / (self.rows - most + 1)
        return most if ratio > 1 / 2 else min(most, math.ceil(math.log(NEGLIGIBLE / self.rows) / math.log(ratio)))


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

    @property
    def records(self) -> int:
        """How many rows a dataset has."""
        return sum(next(iter(self.drawn.values())).values())

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
        found = np.zeros(len(tilts))
        for which, size in self.drawn[scenario].items():
            cells = self.strata[which]
            values = cells.places @ direction
            exponents = np.multiply.outer(tilts, values - cells.chances @ values)
            highest = exponents.max(axis=1)
            found = found + size * (highest + np.log(np.exp(exponents - highest[:, np.newaxis]) @ cells.chances))
        return found

    def transforms(
        self, frequencies: Sequence[Floats], sheared: Sheared, weights: Floats
    ) -> tuple[dict[str, Transform], float]:
        """Return E e^{itᵀK} of the statistics, in steps, and how much was left out where weights make it negligible.

        All combinations of frequencies along sheared axes are looked at.
        """
        ones = [cells.transform(frequencies, sheared) for cells in self.strata]
        sizes = [np.asarray(np.abs(one), dtype=np.float64) for one in ones]
        least, left_out = np.zeros(weights.shape, dtype=bool), 0.0
        for drawn in self.drawn.values():
            bound = np.abs(weights)
            for which, size in drawn.items():
                bound = bound * self.strata[which].largest(size, sizes[which], replacement=self.replacement)
            least |= bound > NEGLIGIBLE
            left_out = max(left_out, float((bound[bound <= NEGLIGIBLE] ** 2).sum()))
        parts = {
            which: self._drawn(which, ones[which], frequencies, sheared, least) for which in range(len(self.strata))
        }
        found = {}
        for name, drawn in self.drawn.items():
            found[name] = np.zeros(weights.shape, dtype=np.complex128)
            found[name][least] = np.prod([parts[which][size] for which, size in drawn.items()], axis=0)
        return found, math.sqrt(left_out)

    def _drawn(
        self, which: int, one: Transform, frequencies: Sequence[Floats], sheared: Sheared, kept: NDArray[np.bool_]
    ) -> dict[int, Transform]:
        """Return the transforms of all draws from a stratum that some scenario has, where they matter."""
        cells = self.strata[which]
        sizes = sorted({drawn[which] for drawn in self.drawn.values() if which in drawn})
        # Of more than half of the rows: what is left behind is a draw too, and both together are all rows.
        few = [size if self.replacement or 2 * size <= cells.rows else cells.rows - size for size in sizes]
        terms = cells.terms(few, replacement=self.replacement)
        if terms * max(few, default=0) * int(kept.sum()) > MOST_WORK:
            raise InvalidModel(
                f"{max(sizes):,} of {cells.rows:,} rows without replacement take too long for an exact law: say "
                "replacement=True, or use coupled_gaussian."
            )
        multiples = [one[kept]] + [
            cells.transform([r * t for t in frequencies], sheared)[kept] for r in range(2, terms + 1)
        ]
        laws = cells.drawn(few, multiples, replacement=self.replacement)
        whole = outer(
            [
                np.exp(1j * t * all_)
                for t, all_ in zip(frequencies, sheared.matrix @ (cells.counts @ cells.places), strict=True)
            ]
        )
        return {
            size: law if size == left else whole[kept] * np.conj(law)
            for size, left, law in zip(sizes, few, laws, strict=True)
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, lists and text."""
        return {
            "measure": "cells",
            "steps": self.steps.tolist(),
            "lowest": self.lowest.tolist(),
            "replacement": self.replacement,
            "off": self.off,
            "sample": self.sample,
            "strata": [
                {"places": s.places.tolist(), "counts": s.counts.tolist()}
                | ({} if s.weights is None else {"weights": s.weights.tolist()})
                for s in self.strata
            ],
            "drawn": {name: {str(which): size for which, size in sizes.items()} for name, sizes in self.drawn.items()},
        }

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> Self:
        """Return what `to_dict` wrote down."""
        strata = [
            Cells(
                places=np.array(s["places"], dtype=np.int64),
                counts=np.array(s["counts"], dtype=np.int64),
                weights=_weights(s.get("weights"), len(s["counts"]), replacement=bool(written["replacement"])),
            )
            for s in written["strata"]
        ]
        sizes = {name: {int(which): int(k) for which, k in given.items()} for name, given in written["drawn"].items()}
        if any(s.places.shape != (len(s.counts), len(written["steps"])) or (s.counts < 1).any() for s in strata):
            raise InvalidInput("these are no cells of rows: every one has a place along each statistic and a count.")
        return cls(
            steps=written["steps"],
            lowest=written["lowest"],
            replacement=bool(written["replacement"]),
            off=float(written["off"]),
            sample=bool(written["sample"]),
            strata=tuple(strata),
            drawn=sizes,
        )


def _weights(written: Sequence[float] | None, cells: int, *, replacement: bool) -> Floats | None:
    """Return the probabilities of cells, or say why they are none."""
    if written is None:
        return None
    weights = np.array(written, dtype=np.float64)
    if weights.shape != (cells,) or not (weights >= 0).all() or abs(float(weights.sum()) - 1) > 1e-9 or not replacement:
        raise InvalidInput("these are no weights of cells: there is one for each, they sum to 1, and rows are redrawn.")
    return weights


def outer(along: Sequence[Transform]) -> Transform:
    """Return the products of one number from each list."""
    found = along[0]
    for each in along[1:]:
        found = np.multiply.outer(found, each)
    return found


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
    rows = reference_rows(model)
    if model.strata and (model.dimension > 1 or any(stratum.weights is not None for stratum in rows.strata)):
        raise InvalidModel(
            "exact laws of several statistics, or of rows with weights, are of a reference that is the whole "
            "population, and this one is a sample: say reference='population' if it is, or use certified_gaussian or "
            "coupled_gaussian."
        )
    together = np.concatenate([stratum.values for stratum in rows.strata])
    lowest = together.min(axis=0)
    steps = np.array([spacing([column]) for column in together.T])
    for name, step in zip(model.names, steps.tolist(), strict=True):
        if step and not SMALLEST_STEP < step < 1 / SMALLEST_STEP:
            raise InvalidModel(f"the unit of {name!r} is out of proportion: rescale the column in its expression.")
        if step == 0:
            raise InvalidModel(
                f"the values of {name!r} are on no steps, and exact laws are of statistics on whole steps: round the "
                "column in its expression, or use certified_gaussian."
            )
    records = max(sum(sizes.values()) for sizes in rows.drawn.values())
    off = records * np.abs((together - lowest) / steps - np.round((together - lowest) / steps)).max(axis=0)
    for name, step, share in zip(model.names, steps.tolist(), off.tolist(), strict=True):
        if share > ON_STEPS:
            raise InvalidModel(
                f"the values of {name!r} are on steps of {step:g} but for some that are off them: round the column in "
                "its expression."
            )
    strata = []
    for stratum in rows.strata:
        whole = np.round((stratum.values - lowest) / steps).astype(np.int64)
        places, cell, counts = np.unique(whole, axis=0, return_inverse=True, return_counts=True)
        if math.prod((places.max(axis=0) - places.min(axis=0) + 1).tolist()) > MOST_CELLS:
            raise InvalidModel(
                f"rows of {', '.join(model.names)} have too many different values together for an exact law: give the "
                "columns coarser units in their expressions."
            )
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


def reference_rows(model: QueryModel) -> RowLaws:
    """Return the rows of the reference behind a model's statistics, or say why they cannot be had.

    Raises:
        InvalidModel: statistics are no sums over rows, or not all of them are at hand.
    """
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
    return rows
