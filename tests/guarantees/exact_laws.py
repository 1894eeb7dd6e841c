"""An oracle: δ of sums of one to three numbers over rows, with any noise, by Fourier transforms.

Rows are drawn with or without replacement, so the characteristic function of their sum is known exactly; times the
noise's it is that of the release. What is computed is H_ε of a *post-processed* release: turned, wrapped around a box,
and with a little more Gaussian noise where there would be too many frequencies. Post-processing only lowers H_ε, so a
certificate whose δ is below the result less its error is false, and no choice made here can accuse a true one.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray
from scipy.special import gammaln

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.noise.laws import Noise

__all__ = ["ExactDelta", "Oracle", "Stratum", "SumLaw", "exact_delta", "exact_deltas"]

Waves = NDArray[np.complex128]


@frozen(kw_only=True, eq=False)
class Stratum:
    """Kinds of rows, how many rows are of each kind (or their weights), and how many rows are drawn."""

    values: Floats
    counts: Floats
    drawn: int
    replacement: bool

    @classmethod
    def of(cls, values: Floats, drawn: int, *, replacement: bool, weights: Floats | None = None) -> "Stratum":
        """Gather equal rows into kinds."""
        kinds, which = np.unique(values, axis=0, return_inverse=True)
        counts = np.bincount(which.ravel(), weights=weights, minlength=len(kinds)).astype(np.float64)
        kept = counts > 0
        return cls(values=kinds[kept], counts=counts[kept], drawn=drawn, replacement=replacement)

    @property
    def rows(self) -> float:
        """How many rows there are."""
        return float(self.counts.sum())

    @property
    def mean(self) -> Floats:
        """That of one row."""
        return np.asarray(self.counts @ self.values / self.rows)

    @property
    def covariance(self) -> Floats:
        """That of the sum of the rows drawn."""
        apart = self.values - self.mean
        one = (apart.T * self.counts) @ apart / self.rows
        left = 1.0 if self.replacement else (self.rows - self.drawn) / max(self.rows - 1, 1)
        return np.asarray(one * self.drawn * left)


def _drawn(strata: Iterable[Stratum]) -> tuple[Stratum, ...]:
    return tuple(each for each in strata if each.drawn)


@frozen(kw_only=True, eq=False)
class SumLaw:
    """The distribution of the statistics in one scenario: sums over the rows drawn from each stratum."""

    strata: tuple[Stratum, ...] = field(converter=_drawn)

    @property
    def mean(self) -> Floats:
        """That of the statistics."""
        return np.asarray(sum(each.drawn * each.mean for each in self.strata))

    @property
    def covariance(self) -> Floats:
        """That of the statistics."""
        return np.asarray(sum(each.covariance for each in self.strata))


@frozen(kw_only=True)
class Oracle:
    """What the computation may cost, and how exact it is."""

    points: tuple[int, int, int] = (2**18, 2**22, 2**22)
    """Of the grid, for one to three statistics."""
    work: float = 1.5e9
    """The largest number of frequencies times kinds of rows; beyond it Gaussian noise is added."""
    fastest: float = 8.3
    """At this frequency Gaussian noise of deviation 1 leaves 1e-15."""
    cell: float = 0.03
    """The largest cell of the grid, in deviations of the release, if there are points enough."""
    noise_cell: float = 0.1
    """The same in deviations of its Gaussian noise."""
    reach: float = 8.0
    """Deviations that the box reaches beyond the means; what is farther out is wrapped around."""
    tail: float = 1e-7
    """Noise that is not Gaussian is farther out than the box with about this probability, and wrapped around."""
    negligible: float = 1e-18
    """Frequencies at which the noise leaves less than this are left out; without replacement, noise and rows."""


@frozen(kw_only=True)
class ExactDelta:
    """The largest H_ε of the ordered pairs, from below."""

    delta: float
    error: float
    """Of rounding, and of the sum over a grid in place of an integral."""
    smoothing: float
    """The variance of the Gaussian noise added for the computation, as a share of all, in the worst direction."""
    pair: tuple[str, str]

    @property
    def least(self) -> float:
        """What δ is at least."""
        return self.delta - self.error


DEFAULT = Oracle()


def exact_delta(model: dp.QueryModel, noise: Noise, epsilon: float) -> float:
    """Return the largest H_ε of a model's pairs, for its own rows drawn with replacement."""
    rows, laws = model.rows().row_laws(), {}
    for name, drawn in rows.drawn.items():
        kinds = [(rows.strata[number].values, *rows.strata[number].kinds, size) for number, size in drawn.items()]
        laws[name] = SumLaw(
            strata=[Stratum(values=v[k], counts=c, drawn=size, replacement=True) for v, k, c, size in kinds]
        )
    return exact_deltas(laws, noise, epsilon, model.protected_pairs).delta


def exact_deltas(
    laws: Mapping[str, SumLaw],
    noise: Noise,
    epsilon: float,
    pairs: Iterable[tuple[str, str]],
    *,
    view: Floats | None = None,
    oracle: Oracle = DEFAULT,
) -> ExactDelta:
    """Return the largest H_ε of ordered pairs, or of one to three combinations of the statistics, the view's rows."""
    pairs = list(pairs)
    shown = np.eye(noise.dimension) if view is None else np.atleast_2d(view)
    grid = _Grid.of([laws[name] for name in {name for pair in pairs for name in pair}], noise, shown, oracle)
    masses: dict[str, Floats] = {}

    def masses_of(name: str) -> Floats:
        if name not in masses:
            masses[name] = grid.masses(laws[name])
        return masses[name]

    found = [ExactDelta(delta=0.0, error=0.0, smoothing=grid.smoothing, pair=pairs[0])]
    for one, other in dict.fromkeys(pairs):
        delta, error = _hockey_stick(masses_of(one), masses_of(other), epsilon)
        found.append(ExactDelta(delta=delta, error=error, smoothing=grid.smoothing, pair=(one, other)))
    return max(found, key=lambda each: each.least)


@frozen(kw_only=True, eq=False)
class _Grid:
    """A box in coordinates in which the release has variance 1 and its Gaussian noise is independent."""

    frame: Floats
    """From the statistics to these coordinates."""
    start: Floats
    lengths: Floats
    frequencies: tuple[Floats, ...]
    """Along each axis; along the last one only those that are not negative."""
    sizes: tuple[int, ...]
    """Of the grid of masses, which is finer than there are frequencies for."""
    damping: Waves
    """The characteristic function of the noise, in the box's coordinates; 0 where it is left out."""
    smoothing: float
    oracle: Oracle

    @classmethod
    def of(cls, laws: Sequence[SumLaw], noise: Noise, view: Floats, oracle: Oracle) -> "_Grid":
        spread = view @ (np.mean([law.covariance for law in laws], axis=0) + noise.covariance) @ view.T
        whiten = np.linalg.inv(np.linalg.cholesky(spread))
        shares, turn = np.linalg.eigh(whiten @ view @ noise.gaussian.covariance @ view.T @ whiten.T)
        shares, frame = np.maximum(shares, 0.0), turn.T @ whiten @ view
        means = np.array([frame @ law.mean for law in laws])
        variances = np.max([np.diag(frame @ law.covariance @ frame.T) for law in laws], axis=0) + shares
        lengths = np.ptp(means, axis=0) + 2 * oracle.reach * np.sqrt(variances) + 2 * _far(noise, frame, oracle.tail)
        size, kinds = len(frame), max(len(each.values) for law in laws for each in law.strata)
        least, most = 1e-12, oracle.points[size - 1]
        while True:
            variances = np.maximum(shares, least)
            counts = np.ceil(oracle.fastest / np.sqrt(variances) * lengths / (2 * np.pi)).astype(int)
            halves = np.prod(2 * counts[:-1] + 1.0) * (counts[-1] + 1)
            if halves * kinds <= oracle.work and np.prod(2.0 ** np.ceil(np.log2(2 * counts + 2))) <= most:
                break
            least *= 1.2
        sizes = 2 ** np.ceil(np.log2(2 * counts + 2)).astype(int)
        while np.prod(sizes) * 2 <= most:  # where cells are largest, in deviations of the release or of its noise
            cells = lengths / sizes / np.minimum(oracle.cell, np.sqrt(variances) * oracle.noise_cell)
            if cells.max() <= 1:
                break
            sizes[np.argmax(cells)] *= 2
        axes = [np.arange(-count, count + 1) for count in counts[:-1]] + [np.arange(counts[-1] + 1)]
        angular = tuple(2 * np.pi * axis / length for axis, length in zip(axes, lengths, strict=True))
        mesh = np.stack(np.meshgrid(*angular, indexing="ij"), axis=-1)
        added = variances - shares
        damping = noise.characteristic_function(mesh @ frame) * np.exp(-(mesh**2 @ np.maximum(added, 0.0)) / 2)
        return cls(
            frame=frame,
            start=(means.min(axis=0) + means.max(axis=0) - lengths) / 2,
            lengths=lengths,
            frequencies=angular,
            sizes=tuple(sizes.tolist()),
            damping=np.where(np.abs(damping) > oracle.negligible, damping, 0.0),
            smoothing=float(added.max(initial=0.0)),
            oracle=oracle,
        )

    def masses(self, law: SumLaw) -> Floats:
        """Return the probability of every cell, as the density at its corner times its size."""
        turned = self.damping * self._phases(self.frame @ law.mean - self.start)
        for each in law.strata:
            turned = turned * self._sum_of_rows(each, np.abs(turned))
        filled = np.zeros((*self.sizes[:-1], self.sizes[-1] // 2 + 1), dtype=np.complex128)
        where = [np.arange(-(len(axis) // 2), len(axis) // 2 + 1) for axis in self.frequencies[:-1]]
        filled[np.ix_(*where, np.arange(len(self.frequencies[-1])))] = np.conj(turned)
        return np.asarray(np.fft.irfftn(filled, s=self.sizes, axes=tuple(range(len(self.sizes)))))

    def _phases(self, at: Floats) -> Waves:
        """Return e^{iuᵀa} on the grid of frequencies."""
        found = np.ones((1,) * len(at), dtype=np.complex128)
        for axis, (angular, place) in enumerate(zip(self.frequencies, at.tolist(), strict=True)):
            shape = [1] * len(at)
            shape[axis] = -1
            found = found * np.exp(1j * angular * place).reshape(shape)
        return found

    def _means(self, stratum: Stratum, times: int = 1) -> Waves:
        """Return the mean of e^{i·times·uᵀ(x − mean)} over a stratum's rows, on the grid of frequencies."""
        values = (stratum.values - stratum.mean) @ self.frame.T * times
        waves = [np.exp(1j * np.outer(axis, values[:, k])) for k, axis in enumerate(self.frequencies)]
        weighted = waves[-1] * (stratum.counts / stratum.rows)
        if len(waves) == 1:
            return np.asarray(weighted.sum(axis=1))
        if len(waves) == 2:
            return np.asarray(waves[0] @ weighted.T)
        return np.array([(row * waves[1]) @ weighted.T for row in waves[0]])

    def _sum_of_rows(self, stratum: Stratum, rest: Floats) -> Waves:
        """Return the characteristic function of the sum of the rows drawn, about its mean."""
        drawn, one = stratum.drawn, self._means(stratum)
        with np.errstate(divide="ignore"):
            log_sizes = np.log(np.abs(one)) * drawn * (1.0 if stratum.replacement else 1 - drawn / stratum.rows)
        if stratum.replacement:
            return np.asarray(np.exp(log_sizes + 1j * drawn * np.angle(one)))
        if drawn > stratum.rows:
            raise ValueError("more rows are drawn than there are")
        return _without_replacement(
            lambda times: self._means(stratum, times),
            (rest > 0) & (np.log(np.maximum(rest, 1e-300)) + log_sizes > math.log(self.oracle.negligible)),
            drawn,
            stratum.rows,
        )


def _without_replacement(means: Callable[[int], Waves], kept: NDArray[np.bool_], drawn: int, rows: float) -> Waves:
    r"""Return the mean product of e^{iuᵀx} over sets of rows, by Newton's identities on elementary symmetric functions.

    :math:`a_k = \frac N k \sum_{r ≥ 1} (-1)^{r-1} ρ_r a_{k-r} φ(ru),\ ρ_r = \prod_{v<r} \frac{k-v}{N-k+1+v}`
    """
    terms = 1
    while terms < drawn and math.exp(_log_ratio(drawn, rows, terms)) > 1e-19:
        terms += 1
    powers = [means(times)[kept] for times in range(1, terms + 1)]
    sums = [np.ones(int(kept.sum()), dtype=np.complex128)]
    for size in range(1, drawn + 1):
        total, ratio = np.zeros_like(sums[0]), 1.0
        for number in range(1, min(size, terms) + 1):
            ratio *= (size - number + 1) / (rows - size + number)
            total += (-1) ** (number - 1) * ratio * rows / size * sums[-number] * powers[number - 1]
        sums = [*sums[-(terms - 1) :], total] if terms > 1 else [total]
    found = np.zeros(kept.shape, dtype=np.complex128)
    found[kept] = sums[-1]
    return found


def _log_ratio(drawn: int, rows: float, number: int) -> float:
    """Return log ρ_r · N/k."""
    above = gammaln(drawn + 1) - gammaln(drawn - number + 1)
    below = gammaln(rows - drawn + number + 1) - gammaln(rows - drawn + 1)
    return float(above - below + math.log(rows / drawn))


def _far(noise: Noise, frame: Floats, tail: float) -> Floats:
    """Return how far out noise that is not Gaussian is along each axis."""
    laplace = -math.log(tail) * np.abs(frame @ (noise.laplace_axes * noise.laplace_scales)).sum(axis=1)
    return np.asarray(laplace if noise.is_sum_of_parts else noise.widths[0] * np.abs(frame @ noise.axes[:, 0]))


def _hockey_stick(one: Floats, other: Floats, epsilon: float) -> tuple[float, float]:
    """Return P(A) − e^ε Q(A) for a set A of cells, which is at most H_ε, and its error.

    Cells that rounding may have made are not among A; how much the sum over every other cell differs says what a grid
    twice as fine would change.
    """
    ratio = math.exp(epsilon)
    rounding = (1 + ratio) * max(-float(one.min()), -float(other.min()), 1e-19)
    gains = np.where(one > 30 * rounding, np.maximum(one - ratio * other, 0.0), 0.0)
    total, corners = float(gains.sum()), np.ndindex(*(2,) * gains.ndim)
    parts = [float(gains[tuple(slice(at, None, 2) for at in corner)].sum()) for corner in corners]
    coarse = max(abs(part * len(parts) - total) for part in parts)
    return total, coarse / 3 + rounding * int((gains > 0).sum())
