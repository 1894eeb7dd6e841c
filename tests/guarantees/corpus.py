"""Tables that a certificate was wrong about once, each with what hid it, and what was asked of them.

Every way to compute δ has to be right about them, or refuse. A new entry is a table that broke something.
"""

import math
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
import pyarrow.compute as pc
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import gamma, norm, ortho_group
from tests.guarantees.soundness import Case, Kind, Table

import distpriv as dp
from distpriv.framework.arrays import Floats

__all__ = ["CASES"]

Group = tuple[Floats, Floats]
"""Rows, and how likely each is."""

GROUP = "g = 1"


def of_strata(
    strata: list[Floats], records: int, shares: tuple[float, float] = (0.0, 1.0), kind: Kind = "total", **rest: object
) -> Table:
    """Return two groups of rows; the share of the second is hidden."""
    both = np.concatenate(strata)
    columns = {f"x{k}": both[:, k] for k in range(both.shape[1])}
    columns["g"] = np.repeat([0.0, 1.0], [len(rows) for rows in strata])
    statistics = {name: (kind, name) for name in columns if name != "g"}
    return Table.of(columns, statistics, dp.Share(GROUP, values=shares), records=records, **rest)


def of_groups(
    groups: list[Group],
    records: int,
    shares: tuple[float, float] = (0.0, 1.0),
    kind: Kind = "total",
    views: tuple[Floats, ...] = (),
) -> Table:
    """Return the same of rows with weights."""
    rows, weights = (np.concatenate([group[k] for group in groups]) for k in (0, 1))
    columns = {f"x{k}": rows[:, k] for k in range(rows.shape[1])}
    statistics = {name: (kind, name) for name in columns}
    columns |= {"g": np.repeat([0.0, 1.0], [len(group[0]) for group in groups]), "w": 1e6 * weights}
    secret = dp.Share(GROUP, values=shares)
    return Table.of(columns, statistics, secret, records=records, weight="w", views=views)


def standardised(rows: Floats) -> Floats:
    """Return rows with mean 0 and covariance 1."""
    rows = rows - rows.mean(axis=0)
    return np.asarray(rows @ np.linalg.inv(np.linalg.cholesky(np.cov(rows.T, bias=True))).T)


def ring(radius: float, number: int, turned: float = 0.0) -> Floats:
    """Return points on a circle, the first of them turned by a share of the way to the next."""
    angles = 2 * np.pi * (np.arange(number) + turned) / number
    return radius * np.column_stack([np.cos(angles), np.sin(angles)])


# Sums that live near a lattice.


def one_huge_row() -> Table:
    """The circle with room for it was divided so coarsely that its own smoothing hid the two values."""
    rng, rows = np.random.default_rng(1), 50_000
    values = rng.normal(0, 1e-6, 2 * rows) + 2.4e-4 * np.repeat([0, 1], rows)
    values[[0, rows]] += 1
    return of_strata(list(values.reshape(2, rows, 1)), 2)


def ripple_in_one_scenario() -> Table:
    """Rows of one group are whole but for a little, those of the other mostly not."""
    rows, rng = 20_000, np.random.default_rng(3)
    steps = rng.choice([-1.0, 0.0, 1.0], (2, rows), p=[0.125, 0.75, 0.125])
    whole = steps + 0.03 * rng.normal(size=(2, rows))
    spread = rng.uniform(-0.5, 0.5, rows) + rng.choice([-1.0, 0.0, 1.0], rows, p=[1 / 12, 5 / 6, 1 / 12])
    strata = [whole[0] - whole[0].mean(), np.where(rng.random(rows) < 0.2, whole[1], spread)]
    strata[1] -= strata[1].mean()
    other, y = 0.3 * rng.normal(size=2 * rows), np.concatenate(strata)
    both = np.column_stack([other + y, other - 1.3 * y])
    views = (np.eye(2), np.array([[1.0, -1.0]]))
    return of_strata(list(both.reshape(2, rows, 2)), 20, (1 / 20, 18 / 20), views=views)


def near_multiples(offset: float, records: int, shares: tuple[float, float]) -> Table:
    """Values near multiples of 100, which are higher by less than that in one group."""
    rng, rows = np.random.default_rng(0), 4000
    x = 100.0 * rng.integers(0, 3, 2 * rows) + offset * np.repeat([0, 1], rows) + rng.normal(0, 0.5, 2 * rows)
    return of_strata(list(x.reshape(2, rows, 1)), records, shares, "mean")


ROWS = 3000


def shuffled_groups(rng: np.random.Generator) -> Floats:
    """Return a group for each of so many rows."""
    return rng.permutation(np.arange(ROWS) % 2).astype(np.float64)


def of_columns(
    group: Floats, columns: Mapping[str, Floats], records: int, kind: Kind = "total", **rest: object
) -> Table:
    """Return rows of two groups, four to six of ten records of one of them."""
    secret, statistics = dp.Share(GROUP, values=(0.4, 0.6)), {name: (kind, name) for name in columns}
    return Table.of({"g": group, **columns}, statistics, secret, records=records, **rest)


def near_lattice(records: int) -> Table:
    """Values near multiples of 100; those of one group are 13 higher."""
    rng = np.random.default_rng(1)
    group = shuffled_groups(rng)
    return of_columns(group, {"x": 100 * rng.integers(0, 2, ROWS) + rng.normal(0, 3, ROWS) + 13 * group}, records)


def near_lattice_together() -> Table:
    """Three columns, none of them on a lattice, that add up to something near multiples of 50."""
    rng = np.random.default_rng(2)
    group = shuffled_groups(rng)
    y, w = rng.normal(0, 5, ROWS), rng.normal(0, 8, ROWS)
    residue = 50 * (rng.random(ROWS) < 0.7 - 0.4 * group) + 20 * group  # its mean says nothing of the group
    z = residue - y - w / 2 + rng.normal(0, 1, ROWS)
    views = (np.array([[1.0, 1.0, 0.5]]), np.eye(3))
    return of_columns(group, {"y": y, "z": z, "w": w}, 20, views=views)


def round_prices() -> Table:
    """Whole prices in one group, and x.99 in the other."""
    rng = np.random.default_rng(3)
    group = shuffled_groups(rng)
    return of_columns(group, {"p": rng.integers(1, 5, ROWS) - 0.01 * group}, 50, "mean")


def rare_rows() -> Table:
    """One or two rows in a hundred decide."""
    rng = np.random.default_rng(4)
    group = shuffled_groups(rng)
    return of_columns(
        group, {"x": np.where(rng.random(ROWS) < 0.01 * group, 1000.0, 0.0) + rng.normal(0, 1, ROWS)}, 20, "mean"
    )


def parity_of_cents() -> Table:
    """The parity of the sum tells how many rows of one group there are."""
    rng, odd = np.random.default_rng(0), np.repeat([1, 0], 2000)
    cents = 2 * rng.integers(0, 250_000, size=4000) + odd
    secret = dp.Share(GROUP, values=(0.5, 0.55))
    return Table.of({"x": cents / 100, "g": odd.astype(float)}, {"a": ("mean", "x")}, secret, records=20)


def gauss_hermite() -> Table:
    """Of one record no more can be unknown than it varies by, and noise was widened without end."""
    normal, others = ndtri((np.arange(24) + 0.5) / 24), ndtri((np.arange(150) + 0.5) / 150)
    strata = []
    for points in (3, 4):
        values, weights = np.polynomial.hermite_e.hermegauss(points)
        counts = np.round(weights / weights.sum() * 36).astype(int)
        counts[points // 2] += 36 - counts.sum()
        column = (np.repeat(values, counts)[:, np.newaxis] * math.sqrt(0.75) + 0.5 * normal).ravel()
        one, other = np.tile(others, len(column)), np.repeat(column, len(others))
        strata.append(np.column_stack([one + other, one - 1.3 * other]))
    return of_strata(strata, 1, views=(np.array([[1.0, -1.0]]),))


def lobes() -> Table:
    """Few of the rows vary, and of those one combination of six is near a lattice."""
    rng, size, step = np.random.default_rng(0), 6, 1.5
    rows = rng.normal(size=(3000, size))
    rows = np.concatenate([rows, -rows])
    rows[:, 0] = step * np.round(rows[:, 0] / step) + rng.normal(0, 0.01 * step, 6000)
    rows -= rows.mean(axis=0)
    rows[:, 0] += step / 2
    turn = ortho_group.rvs(size, random_state=0)
    strata = [rng.normal(0, 1e-4, (50, size)) @ turn.T, rows @ turn.T]
    return of_strata(strata, 10_000, (0.0030, 0.0031), views=(turn[:, :1].T,))


def carried_by_few() -> Table:
    """Sixteen of 100,000 records make one combination whole, and those of another group, alike in moments, do not."""
    rng, rows, others, carriers = np.random.default_rng(1), 100_000, 20_000, 16
    whole, rest = np.zeros(rows), 1e-4 * rng.normal(size=rows)
    whole[:carriers] = 1.0
    rest[:carriers] += 0.5 * np.sign(rng.normal(size=carriers))
    rest[carriers : carriers + 100] += math.sqrt(0.5 * carriers / 100) * rng.normal(size=100)
    every = np.column_stack([whole, rest - rest.mean()])
    alike = standardised(rng.normal(size=(others, 2))) @ np.linalg.cholesky(np.cov(every.T, bias=True)).T
    first, second = every.std(axis=0)
    turn = np.column_stack([1 + rng.uniform(-0.5, 0.5, 2), 0.5 * rng.normal(size=2) * first / second])
    strata = [every @ turn.T, (alike + every.mean(axis=0)) @ turn.T]
    return of_strata(strata, rows, (0.0, 1 / (2 * carriers)), views=(np.linalg.inv(turn)[:1],))


# Shapes that moments do not tell apart.


def turned_skewness(size: int, seed: int) -> Table:
    """Rows of two groups with equal covariances and almost equal means, one combination skewed one way or the other."""
    rng, rows = np.random.default_rng(seed), 5000
    others = rng.normal(size=(rows, size - 1))
    hidden = (rng.random(rows) < 0.1) + 0.1 * rng.normal(size=rows).clip(-2, 2)
    known = np.column_stack([np.ones(rows), others])
    hidden -= known @ np.linalg.lstsq(known, hidden, rcond=None)[0]
    hidden /= hidden.std()
    one, other = np.column_stack([hidden, others]), np.column_stack([-hidden, others])
    other[:, 1] += 0.02
    turn = ortho_group.rvs(size, random_state=seed)
    return of_strata([one @ turn.T, other @ turn.T], 100, views=(turn[:, :1].T, turn[:, :2].T))


def skewness_turned_along_several(count: int) -> Table:
    """Rows of two groups with equal covariances, skewed the other way along independent columns."""
    rng, rows = np.random.default_rng(4), 3000
    one = standardised(np.column_stack([rng.wald(1.0, 4.5, size=(rows, count)), rng.normal(size=rows)]))
    other = one * np.append(-np.ones(count), 1)
    other[:, count] += 0.012
    unit = np.eye(count + 1)
    return of_strata([one, other], 200, views=(unit[[0, 1, count]],))


def crossed(one: Floats, other: Floats) -> Table:
    """Two independent columns: the first has another shape in the other group, the second another mean."""
    even = norm.ppf((np.arange(32) + 0.5) / 32)
    strata = [
        np.column_stack([each.ravel() for each in np.meshgrid((x - x.mean()) / x.std(), even / even.std())])
        for x in (one, other)
    ]
    strata[1][:, 1] += 3.0 / math.sqrt(500)
    return of_strata(strata, 500)


SKEWED = gamma(1).ppf((np.arange(32) + 0.5) / 32)


def turned_among_others() -> Table:
    """Four more secrets, each with rows that are moved by turns, have most of the pairs."""
    rng, rows = np.random.default_rng(1), 150
    one = np.column_stack([(rng.random((rows, 3)) < 0.15) + 0.1 * rng.normal(size=(rows, 3)), rng.normal(size=rows)])
    one = standardised(one)
    turn = ortho_group.rvs(4, random_state=1)
    both = np.concatenate([one, one * [-1, -1, -1, 1]]) @ turn.T
    every = np.concatenate([both + 0.1 * (k % 2) * np.eye(4)[-1] for k in range(4)])
    columns = {f"x{k}": every[:, k] for k in range(4)}
    group, side = np.repeat(np.arange(4.0), 2 * rows), np.tile(np.repeat([0.0, 1.0], rows), 4)
    return Table.of(
        {**columns, "g": group, "h": side},
        {name: ("total", name) for name in columns},
        [*(dp.Share(f"g = {k}", values=(0.0, 1.0)) for k in range(4)), dp.Share("h = 1", values=(0.01, 0.99))],
        records=100,
        properties={**{f"g = {k}": (group == k).astype(float) for k in range(4)}, "h = 1": side},
        views=(turn[:, :2].T,),
    )


# Rare rows far out.


def far_corners(records: int, out: float, rare: float, decoys: int = 0) -> Table:
    """Three means; a few rows of one group lie far out in several directions of the last two."""
    inner = np.array([0.1, 0.55, 1.0])  # and one more, so that the fourth cumulant is 0
    squares, fourths = (inner**2).sum(), (inner**4).sum()
    outer = math.sqrt(3 * squares + math.sqrt(12 * squares**2 - 4 * fourths))
    steps = np.array([*inner, outer, *-inner, -outer])
    many = np.concatenate([ring(math.sqrt(2), 24), np.zeros((24, 2))])
    corners, even, chance = ring(out * math.sqrt(records / 2), 8, 0.25), np.full(48, 1 / 48), rare / records
    astray = np.column_stack([np.zeros(decoys), np.linspace(15, 40, decoys)])
    chances = [(1 - chance) * even, np.full(8, chance / 8), np.full(decoys, 1e-22)]
    planes = [(many, even), (np.concatenate([many, corners, astray]), np.concatenate(chances))]
    groups = [
        (
            np.concatenate([np.column_stack([np.full(len(rows), x + 0.5 * side), rows]) for x in steps]),
            np.tile(often, len(steps)),
        )
        for side, (rows, often) in enumerate(planes)
    ]
    return of_groups(groups, records, kind="mean", views=(np.eye(3)[1:], np.eye(3)))


def a_little_more_of_rare_rows(out: float, rare: float) -> Table:
    """Rows that one scenario has a little more of leave less of ε to hide the shift."""
    records, shares = 300, (0.3, 0.8)
    bell = ndtri((np.arange(31) + 0.5) / 31)
    bell = bell / bell.std()
    far, chance = out * math.sqrt(records), rare / (shares[1] * records)
    plane = np.column_stack([each.ravel() for each in np.meshgrid(bell, bell)])
    even = np.full(len(plane), 1 / len(plane))
    ends = [np.column_stack([bell + 0.1, np.full(31, at)]) for at in (far, -far)]
    second = (
        np.concatenate([plane + np.array([0.1, 0.0]), *ends]),
        np.append((1 - chance) * even, np.full(62, chance / 62)),
    )
    return of_groups([(plane, even), second], records, shares)


def normal_rings(records: int) -> Group:
    """Return rings with the first eight moments of a normal law, so that as many rows add up to about one."""
    halves, chances = np.polynomial.laguerre.laggauss(4)
    radii = np.sqrt(2 * halves / records)
    return np.concatenate([ring(r, 12, k % 2 / 2) for k, r in enumerate(radii)]), np.repeat(chances / 12, 12)


def ring_far_out(records: int, far: float, kinds: tuple[int, int]) -> Group:
    """Return two rings, one of them far out, with the same second and fourth moments."""

    def within(chance: float) -> float:
        return (2 / records - chance * far**2) / (1 - chance)

    def fourth(chance: float) -> float:
        return chance * far**4 + (1 - chance) * within(chance) ** 2 - 8 / records**2

    rare = brentq(fourth, 1e-12, 1.998 / (records * far**2))
    places = np.concatenate([ring(math.sqrt(within(rare)), kinds[0]), ring(far, kinds[1], 0.5)])
    return places, np.repeat(np.array([1 - rare, rare]) / kinds, kinds)


def rings(records: int, far: float, kinds: tuple[int, int] = (12, 12), fourth: bool = False) -> Table:
    """No cumulant up to the fourth tells the groups apart, but for the mean of a number that is independent of them."""
    nodes, chances = np.polynomial.hermite_e.hermegauss(7)
    beside = np.array([1, 3, 6, 8, 8, 6, 3, 1]) / 36 if fourth else np.ones(1)
    values = np.linspace(-2, 2, 8) / math.sqrt(records) if fourth else np.zeros(1)
    groups = []
    for side, (places, often) in enumerate((normal_rings(records), ring_far_out(records, far, kinds))):
        x = (nodes + side / math.sqrt(records)) / math.sqrt(records)
        blocks = [np.column_stack([np.full(len(places), at), places]) for at in x]
        rows, weights = np.concatenate(blocks), np.outer(chances / chances.sum(), often).ravel()
        if fourth:
            rows = np.column_stack([np.tile(rows, (8, 1)), np.repeat(values, len(rows))])
        groups.append((rows, np.outer(beside, weights).ravel()))
    size = groups[0][0].shape[1]
    return of_groups(groups, records, views=(np.eye(size)[1:3], np.eye(size)[:3]))


def large_rows(seed: int, records: int, jump: float) -> Table:
    """Two rows of each of two small groups, or one drawn twice, are larger."""
    rng, strata = np.random.default_rng(seed), []
    for _ in range(2):
        rows = rng.normal(10, 2, size=(120, 2))
        rows[rng.integers(120, size=2), 0] += jump
        strata.append(np.round(rows, 1))
    return of_strata(strata, records, (0.25, 0.75))


def far_along_the_line() -> Table:
    """One row of two thousand moves the mean by twenty deviations, along the Laplace noise."""
    rng = np.random.default_rng(1)
    beside, group = rng.normal(size=4000), np.repeat([1.0, 0.0], 2000)
    x = np.round(rng.normal(size=4000) + 0.3 * group + 0.2 * beside) * 5.0
    x[0] = 500.0
    columns = {"g": group, "x": x, "y": np.round(40 + 10 * (0.3 * (group - 0.5) + beside), -1)}
    statistics: dict[str, tuple[Kind, str]] = {"s0": ("mean", "x"), "s1": ("mean", "y")}
    return Table.of(columns, statistics, dp.Share("g = 1", values=(0.0, 1.0)), records=20)


def count_and_mean() -> Table:
    """A count and a mean of forty records; much mass has a log-ratio of just ε."""
    rng = np.random.default_rng(1032)
    strata = [
        np.column_stack([rng.random(600) < p, np.round(rng.random(600) + p, 3)]).astype(float) for p in (0.4, 0.6)
    ]
    return of_strata(strata, 40, (0.25, 0.75))


def web_of_one_row() -> Table:
    """At a large ε what a transform rounds, times e^ε, was more than all that is rare."""
    rows, records = 2000, 20_000
    amounts = np.random.default_rng(1).integers(0, 100, 2 * rows).astype(np.float64)
    amounts[rows] = 1e7
    return of_strata(list(amounts.reshape(2, rows, 1)), records, (0.0, 20 / records), "mean")


# Adult.


def adult(
    statistics: Mapping[str, tuple[Kind, str]],
    secret: str,
    values: tuple[float, float],
    records: int,
    numbers: Mapping[str, Floats] | None = None,
) -> Table:
    """Return statistics of Adult, of columns and of predicates that one column has a level."""
    rows = dp.datasets.adult()
    wanted = [secret, *(text for _, text in statistics.values() if text not in (numbers or {}))]

    def read(text: str) -> Floats:
        column, equals, level = text.partition(" = ")
        found = pc.equal(rows[column], level.strip("'")) if equals else rows[column]
        return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.float64)

    known = {text: read(text) for text in wanted} | dict(numbers or {})
    return Table(
        source=rows,
        statistics=statistics,
        numbers=known,
        secret=dp.Share(secret, values=values),
        properties=known,
        records=records,
    )


def rare_beside(column: str, rare: str, secret: str, values: tuple[float, float], records: int) -> Table:
    """A mean beside the count of a rare predicate, whose lower tail ends abruptly."""
    return adult({"mean": ("mean", column), "rare": ("count", rare)}, secret, values, records)


def residue() -> Table:
    """A statistic composed so that what is left of it modulo 20 is the secret."""
    rows = dp.datasets.adult()
    women, rich = (pc.equal(rows[k], v).to_numpy().astype(float) for k, v in (("sex", "Female"), ("income", ">50K")))
    text = "20 * CAST(sex = 'Female' AS INT) + CAST(income = '>50K' AS INT) + 0.01 * (age % 7)"
    numbers = {text: 20 * women + rich + 0.01 * (rows["age"].to_numpy() % 7)}
    return adult({"x": ("mean", text)}, RICH, (0.45, 0.55), 100, numbers)


MEXICO, PRIVATE, RICH = "native_country = 'Mexico'", "workclass = 'Private'", "income = '>50K'"
DOCTOR, WIDOWED = "education = 'Doctorate'", "marital_status = 'Widowed'"
GAUSSIAN, ESTIMATES, LAPLACE = "certified_gaussian", "certified_gaussian, estimates", "certified_laplace"
BOTH = (GAUSSIAN, LAPLACE)

_ENTRIES: list[tuple[str, Callable[[], Table], tuple[str, ...], float, float]] = [
    ("one huge row", one_huge_row, (GAUSSIAN, ESTIMATES), 1, 1e-3),
    ("a ripple in one scenario", ripple_in_one_scenario, (ESTIMATES,), 0.05, 1e-3),
    ("near multiples, offset 13", lambda: near_multiples(13, 20, (0.4, 0.6)), (*BOTH, ESTIMATES), 1, 1e-3),
    ("near multiples, offset 12", lambda: near_multiples(12, 10, (0.3, 0.7)), (*BOTH, ESTIMATES), 1, 1e-3),
    ("near a lattice", lambda: near_lattice(20), BOTH, 1, 1e-3),
    ("near a lattice, more rows", lambda: near_lattice(40), BOTH, 1, 1e-3),
    ("near a lattice, small epsilon", lambda: near_lattice(40), BOTH, 0.2, 1e-3),
    ("near a lattice together", near_lattice_together, BOTH, 1, 1e-3),
    ("round prices", round_prices, BOTH, 1, 1e-3),
    ("rare rows", rare_rows, BOTH, 1, 1e-3),
    ("parity of cents", parity_of_cents, BOTH, 1, 1e-3),
    ("one record of two", gauss_hermite, (LAPLACE,), 0.1, 1e-3),
    ("lobes of rows that vary", lobes, (GAUSSIAN,), 0.2, 1e-2),
    ("carried by few", carried_by_few, (GAUSSIAN,), 0.05, 5e-3),
    ("turned skewness", lambda: turned_skewness(5, 4), (*BOTH, ESTIMATES), 2, 1e-4),
    ("turned skewness of four", lambda: turned_skewness(4, 1), (GAUSSIAN,), 1, 0.02),
    ("skewness turned along two", lambda: skewness_turned_along_several(2), BOTH, 1, 2e-3),
    ("skewness turned along four", lambda: skewness_turned_along_several(4), BOTH, 1, 2e-3),
    ("skewed or normal", lambda: crossed(SKEWED, norm.ppf((np.arange(32) + 0.5) / 32)), (LAPLACE,), 1, 1e-3),
    ("skewed or mirrored", lambda: crossed(SKEWED, -SKEWED), (LAPLACE,), 1, 1e-3),
    ("turned among others", turned_among_others, (GAUSSIAN,), 1, 1e-3),
    ("far corners", lambda: far_corners(10, 6.0, 4e-5), BOTH, 0.5, 1e-5),
    ("far corners, large epsilon", lambda: far_corners(10, 6.0, 4e-5), (LAPLACE,), 1, 1e-5),
    ("far corners, nearer", lambda: far_corners(10, 5.5, 3e-4), (LAPLACE,), 0.5, 1e-4),
    ("far corners and decoys", lambda: far_corners(40, 5.5, 2e-5, decoys=500), (GAUSSIAN,), 0.5, 1e-5),
    ("a little more at 3.5", lambda: a_little_more_of_rare_rows(3.5, 4e-5), (GAUSSIAN,), 1, 1e-7),
    ("a little more, very rare", lambda: a_little_more_of_rare_rows(5.0, 6e-8), (GAUSSIAN,), 1, 1e-9),
    ("a little more at 4.5", lambda: a_little_more_of_rare_rows(4.5, 2e-4), (LAPLACE,), 1, 1e-5),
    ("a little more at 5", lambda: a_little_more_of_rare_rows(5.0, 1e-5), (GAUSSIAN,), 1, 1e-7),
    ("a little more at 3", lambda: a_little_more_of_rare_rows(3.0, 1e-5), (GAUSSIAN,), 1, 1e-4),
    ("rings of 20", lambda: rings(20, 1.95), (LAPLACE,), 0.5, 1e-5),
    ("rings of 14 at 1", lambda: rings(14, 1.0), (LAPLACE,), 0.5, 1e-5),
    ("rings of 14 at 1.5", lambda: rings(14, 1.5), (LAPLACE,), 0.5, 1e-5),
    ("rings of 14 at 2.2", lambda: rings(14, 2.2), (LAPLACE,), 0.5, 1e-5),
    ("rings of 100", lambda: rings(100, 1.97), (GAUSSIAN,), 1, 1e-7),
    ("rings of 200", lambda: rings(200, 1.97), (GAUSSIAN,), 1, 1e-8),
    ("rings beside a fourth", lambda: rings(100, 1.97, (60, 40), fourth=True), (GAUSSIAN,), 1, 1e-7),
    ("large rows 845087", lambda: large_rows(845087, 300, 60), (LAPLACE,), 1.5, 1e-5),
    ("large rows 268788", lambda: large_rows(268788, 200, 50), (LAPLACE,), 1, 1e-4),
    ("large rows 11", lambda: large_rows(11, 300, 70), (LAPLACE,), 0.7, 1e-4),
    ("large rows 285067", lambda: large_rows(285067, 300, 50), (LAPLACE,), 1.5, 1e-4),
    ("large rows 12", lambda: large_rows(12, 200, 60), (LAPLACE,), 1, 1e-4),
    ("a row far out along the line", far_along_the_line, (LAPLACE,), 2, 1e-2),
    ("a row far out along the line, 7e-5", far_along_the_line, (LAPLACE,), 4, 7e-5),
    ("a count and a mean, 3e-5", count_and_mean, (LAPLACE,), 1, 3e-5),
    ("a count and a mean, 2e-4", count_and_mean, (LAPLACE,), 0.7, 2e-4),
    ("a count and a mean, 1e-3", count_and_mean, (LAPLACE,), 1, 1e-3),
    ("a row of 1e7, epsilon 25", web_of_one_row, (GAUSSIAN,), 25, 7e-3),
    ("a row of 1e7, epsilon 34", web_of_one_row, (GAUSSIAN,), 34, 7e-3),
    ("a residue", residue, BOTH, 1, 1e-3),
    ("few ages", lambda: adult({"age": ("mean", "age")}, RICH, (0.45, 0.55), 20), BOTH, 1, 1e-3),
    ("Mexicans by sector", lambda: rare_beside("education_num", MEXICO, PRIVATE, (0.1, 0.5), 200), (LAPLACE,), 1, 1e-5),
    ("older Mexicans by sector", lambda: rare_beside("age", MEXICO, PRIVATE, (0.1, 0.7), 500), (LAPLACE,), 2, 2.5e-5),
    ("doctors by income, 500", lambda: rare_beside("age", DOCTOR, RICH, (0.1, 0.9), 500), (LAPLACE,), 2.5, 2e-5),
    ("doctors by income, 200", lambda: rare_beside("age", DOCTOR, RICH, (0.3, 0.7), 200), (LAPLACE,), 1, 1e-5),
    ("widowed by income", lambda: rare_beside("education_num", WIDOWED, RICH, (0.1, 0.5), 500), (LAPLACE,), 2, 1e-5),
]


def _case(name: str, table: Callable[[], Table], mechanism: str, epsilon: float, delta: float) -> Callable[[], Case]:
    return lambda: Case(name=name, table=table(), mechanism=mechanism, epsilon=epsilon, delta=delta)


CASES: dict[str, Callable[[], Case]] = {
    f"{name}, {mechanism}": _case(name, cache(table), mechanism, epsilon, delta)
    for name, table, mechanisms, epsilon, delta in _ENTRIES
    for mechanism in mechanisms
}
"""How to make each case, by the name of its table and the mechanism."""
