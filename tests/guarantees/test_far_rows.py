"""Rare rows far out in several directions at once, which skewness, kurtosis and single combinations hardly see."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from scipy.special import ndtri

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.guarantees.checked_law import LARGEST_GATE
from distpriv.guarantees.far_rows import far_rows_gate
from distpriv.guarantees.law_check import LEAST_DELTA, rows_behind, second_order_delta
from distpriv.noise.laws import GaussianNoise, NoiseLaw

CORNERS, RING = 8, 24
RECORDS, SOME_OR_MOST = 300, (0.3, 0.8)


def ring_of(radius: float, number: int, turned: float = 0.0) -> Floats:
    """Return points on a circle, the first of them turned by a share of the way to the next."""
    angles = 2 * np.pi * (np.arange(number) + turned) / number
    return radius * np.column_stack([np.cos(angles), np.sin(angles)])


def groups_of(records: int, out: float, rare: float) -> list[tuple[Floats, Floats]]:
    """Return rows and chances of two groups; in the second some lie so many deviations of a sum out."""
    many = np.concatenate([ring_of(math.sqrt(2), RING), np.zeros((RING, 2))])
    corners = ring_of(out * math.sqrt(records / 2), CORNERS, turned=0.25)
    even = np.full(len(many), 1 / len(many))
    chance = rare / records
    with_rare = np.concatenate([(1 - chance) * even, np.full(CORNERS, chance / CORNERS)])
    return [(many, even), (np.concatenate([many, corners]), with_rare)]


def model_of(
    groups: list[tuple[Floats, Floats]], records: int, shift: float, shares: tuple[float, float] = (0, 1)
) -> dp.QueryModel:
    """Return the model of three means, the first of which is what the groups differ in."""
    inner = np.array([0.1, 0.55, 1.0])  # and one more, so that the fourth cumulant is 0
    squares, fourths = (inner**2).sum(), (inner**4).sum()
    outer = math.sqrt(3 * squares + math.sqrt(12 * squares**2 - 4 * fourths))
    steps = np.array([*inner, outer, *-inner, -outer])
    blocks = [
        np.column_stack([np.full(len(rows), x + shift * group), rows, 1e6 * chances, np.full(len(rows), group)])
        for group, (rows, chances) in enumerate(groups)
        for x in steps
    ]
    table = pa.table(dict(zip(("x", "y", "z", "w", "g"), np.concatenate(blocks).T, strict=True)))
    query = dp.Query(x=dp.mean("x"), y=dp.mean("y"), z=dp.mean("z"))
    secret = dp.Share("g = 1", values=shares)
    return dp.model(table, query, secret, records=records, replacement=True, reference="population", weight="w")


def least_delta(groups: list[tuple[Floats, Floats]], records: int, gaussian: Floats, epsilon: float) -> float:
    """Return H_ε of the last two means alone, by Fourier inversion: no more than that of all three."""
    points, half = 512, 16 * math.sqrt(float(gaussian.max())) + 60 / records
    frequencies = np.pi * np.fft.fftfreq(points, 1 / points) / half
    grid = np.stack(np.meshgrid(frequencies, frequencies, indexing="ij"), axis=-1)
    hidden = np.exp(-np.einsum("abi,ij,abj->ab", grid, gaussian, grid) / 2)
    masses = []
    for rows, chances in groups:
        transform = sum(
            chance * np.exp(1j * (grid @ (row / records))) for row, chance in zip(rows, chances, strict=True)
        )
        masses.append(np.fft.fft2(transform**records * hidden).real / points**2)
    ratio = math.exp(epsilon)
    return max(float(np.maximum(one - ratio * other, 0).sum()) for one, other in (masses, masses[::-1]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "epsilon", "delta", "out", "rare"),
    [
        ("certified_laplace", 0.5, 1e-5, 6.0, 4e-5),
        ("certified_laplace", 0.5, 1e-4, 5.5, 3e-4),
        ("certified_gaussian", 0.5, 1e-5, 6.0, 4e-5),
    ],
)
def test_rare_rows_around_the_line_of_the_noise_are_hidden_or_nothing_is_certified(
    name: str, epsilon: float, delta: float, out: float, rare: float
) -> None:
    records = 10
    groups = groups_of(records, out, rare)
    model = model_of(groups, records, shift=0.5)
    made = getattr(dp.mechanisms, name)(model, dp.PrivacyTarget(epsilon=epsilon, delta=delta))
    if made.certificate.holds_at("checked"):
        assert least_delta(groups, records, made.noise.covariance[1:, 1:], epsilon) <= 1.02 * made.certificate.delta


def test_noise_too_narrow_for_them_is_not_relied_on_and_wide_noise_is() -> None:
    model = model_of(groups_of(10, 6.0, 4e-5), 10, shift=0.5)
    rows = rows_behind(model)
    assert rows is not None
    narrow, wide = 1e-3 * np.eye(3), 100.0 * np.eye(3)
    assert far_rows_gate(model, rows, narrow, 1e-5) > LARGEST_GATE
    assert far_rows_gate(model, rows, wide, 1e-5) == 0


def test_where_no_delta_is_left_all_rows_count() -> None:
    model = model_of(groups_of(10, 6.0, 4e-5), 10, shift=0.5)
    rows = rows_behind(model)
    assert rows is not None
    assert far_rows_gate(model, rows, 1e-3 * np.eye(3), 0.0) >= far_rows_gate(model, rows, 1e-3 * np.eye(3), 1e-5)


def test_rows_of_next_to_no_weight_take_nobodys_place() -> None:
    groups = groups_of(40, 5.5, 2e-5)
    rows, chances = groups[1]
    astray = np.column_stack([np.zeros(500), np.linspace(15, 40, 500)])
    decoys = (np.concatenate([rows, astray]), np.concatenate([chances, np.full(500, 1e-22)]))
    gates = []
    for second in (groups[1], decoys):
        model = model_of([groups[0], second], 40, shift=0.5)
        found = rows_behind(model)
        assert found is not None
        gates.append(far_rows_gate(model, found, 1e-4 * np.eye(3), 1e-5))
    assert gates[1] == pytest.approx(gates[0], rel=0.05)
    assert gates[0] > LARGEST_GATE


def test_other_noise_is_not_relied_on_for_a_smaller_delta_than_points_are_chosen_for() -> None:
    """Where a δ of 1e-8 is decided none of the points lies: a hundred times as much was true of rows made for it."""
    rng = np.random.default_rng(1)
    table = pa.table(
        {"x": rng.normal(size=400) + np.arange(400) % 2, "y": rng.normal(size=400), "g": np.arange(400) % 2}
    )
    query, secret = dp.Query(x=dp.total("x"), y=dp.total("y")), dp.Share("g = 1", values=(0.3, 0.8))
    model = dp.model(table, query, secret, records=300, replacement=True, reference="population")
    small = dp.mechanisms.certified_laplace(model, dp.PrivacyTarget(1.0, 0.9 * LEAST_DELTA))
    assert small.noise.is_gaussian or not small.certificate.holds_at("checked")
    assert dp.mechanisms.certified_laplace(model, dp.PrivacyTarget(1.0, 1e-3)).certificate.holds_at("checked")


@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_adults_have_none_that_tell(adult: pa.Table, paper_query: dp.Query, delta: float) -> None:
    model = dp.model(adult, paper_query, dp.Share("income = '>50K'", values=(0.45, 0.55)), records=100)
    rows = rows_behind(model)
    assert rows is not None
    assert 0 < far_rows_gate(model, rows, np.diag(model.floor**2), delta) < LARGEST_GATE


@pytest.mark.slow
def test_nor_are_they_missed_where_another_secret_has_most_of_the_pairs() -> None:
    """Three kinds of rows, each five deviations out along its own total: each combination sees a third of them."""
    records, kinds, rare, size = 200, 3, 8e-5, 1000
    bell, rng = ndtri((np.arange(size) + 0.5) / size), np.random.default_rng(3)

    def many(first: float) -> Floats:
        drawn = np.column_stack([rng.permutation(bell / bell.std()) for _ in range(kinds + 1)])
        turned = drawn @ np.linalg.inv(np.linalg.cholesky(np.cov(drawn.T, bias=True))).T
        return np.asarray(turned + first * np.eye(kinds + 1)[0])

    out = np.concatenate([np.full((kinds, 1), 0.3), 5 * math.sqrt(records) * np.eye(kinds)], axis=1)
    plain = [many(0.0), many(0.6)]
    others = np.concatenate([many(0.3), out])
    seldom = np.append(np.ones(size), np.full(kinds, rare / 10 * size / (1 - kinds * rare / 10)))
    totals = np.round(np.concatenate([*plain, others, others]), 6)
    a = np.repeat([0, 1, 0, 1], [size, size, size + kinds, size + kinds])
    b = np.repeat([0, 1], [2 * size, 2 * (size + kinds)])
    weight = np.concatenate([np.full(2 * size, 1e6), seldom, seldom])
    table = pa.table({"a": a, "b": b, "w": weight, **{f"x{k}": totals[:, k] for k in range(kinds + 1)}})
    query = dp.Query(**{f"s{k}": dp.total(f"x{k}") for k in range(kinds + 1)})
    secrets = [dp.Share("a = 1", between=(0.4, 0.6), within=0.05), dp.Share("b = 1", values=(0, 0.05))]
    model = dp.model(table, query, secrets, records=records, reference="population", weight="w")
    rows, noise = rows_behind(model), GaussianNoise.of(np.diag([165.0, 2.0, 2.0, 2.0]))
    assert rows is not None
    target = dp.PrivacyTarget(1.0, 1e-4)  # 4.6 deviations along any of three totals tell 1.4e-4 of the datasets apart
    assert second_order_delta(model, rows, noise, target, 1e-4)[1] > LARGEST_GATE


def delta_of_two(
    model: dp.QueryModel, noise: NoiseLaw, law: Floats, rare: tuple[float, float], epsilon: float
) -> float:
    """Return H_ε of two independent totals, the first of which has the shift and all noise along a line.

    Given the second, the first has less of ε left: δ is the mean of its H at ε less the log-ratio of the second.
    """
    (far, chance), gaussian = rare, noise.gaussian.covariance
    numbers = [round(share * RECORDS) for share in SOME_OR_MOST]

    def frequencies(points: int, half: float) -> Floats:
        return np.asarray(np.pi * np.fft.fftfreq(points, 1 / points) / half)

    first = frequencies(1 << 15, 40 * math.sqrt(RECORDS + noise.covariance[0, 0]))
    shared = np.exp(1j * np.outer(first, law)).mean(axis=1) ** RECORDS * np.exp(-gaussian[0, 0] * first**2 / 2)
    if noise.line is not None:
        shared = shared * noise.line[1].transform(first * noise.line[0][0])
    shifts = [model.distributions[name].mean[0] for name in model.distributions]
    ones = [np.maximum(np.fft.ifft(shared * np.exp(-1j * first * (at - np.mean(shifts)))).real, 1e-19) for at in shifts]
    second = frequencies(1 << 13, 3 * far + 10 * math.sqrt(RECORDS + gaussian[1, 1]))
    plain = np.exp(1j * np.outer(second, law)).mean(axis=1)
    with_rare = (1 - chance) * plain + chance * np.cos(second * far)
    hidden = np.exp(-gaussian[1, 1] * second**2 / 2)
    others = [np.maximum(np.fft.ifft(with_rare**k * plain ** (RECORDS - k) * hidden).real, 1e-19) for k in numbers]
    left, deltas = np.linspace(-7, 7, 1401), []
    for i, j in ((0, 1), (1, 0)):
        sticks = [float(np.maximum(ones[i] - math.exp(at) * ones[j], 0)[ones[i] > 1e-15].sum()) for at in left]
        likely = others[i] > 1e-14
        spent = np.log(others[i] / others[j])
        deltas.append(float((others[i] * np.interp(epsilon - spent, left, sticks))[likely].sum()))
    return max(deltas)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "out", "rare", "delta"),
    [
        ("certified_gaussian", 3.5, 4e-5, 1e-7),
        ("certified_gaussian", 5.0, 6e-8, 1e-9),
        ("certified_laplace", 4.5, 2e-4, 1e-5),
        ("certified_gaussian", 5.0, 1e-5, 1e-7),
        ("certified_gaussian", 3.0, 1e-5, 1e-4),
    ],
)
def test_rows_that_one_scenario_has_a_little_more_of_leave_less_of_epsilon_to_hide_the_shift(
    name: str, out: float, rare: float, delta: float
) -> None:
    bell = ndtri((np.arange(31) + 0.5) / 31)
    bell = bell / bell.std()
    far, chance = out * math.sqrt(RECORDS), rare / (SOME_OR_MOST[1] * RECORDS)
    x, y = (each.ravel() for each in np.meshgrid(bell, bell))
    even = np.full(len(x), 1 / len(x))
    blocks = [
        np.column_stack([x, y, even, np.zeros(len(x))]),
        np.column_stack([x + 0.1, y, (1 - chance) * even, np.ones(len(x))]),
        *(np.column_stack([bell + 0.1, np.full(31, at), np.full(31, chance / 62), np.ones(31)]) for at in (far, -far)),
    ]
    table = pa.table(dict(zip(("x", "y", "w", "g"), np.concatenate(blocks).T, strict=True)))
    table = table.set_column(2, "w", pc.multiply(table["w"], 1e6))
    query, secret = dp.Query(x=dp.total("x"), y=dp.total("y")), dp.Share("g = 1", values=SOME_OR_MOST)
    model = dp.model(table, query, secret, records=RECORDS, replacement=True, reference="population", weight="w")
    made = getattr(dp.mechanisms, name)(model, dp.PrivacyTarget(epsilon=1.0, delta=delta))
    if made.certificate.holds_at("checked"):
        assert delta_of_two(model, made.noise, bell, (far, chance), 1.0) <= 1.02 * made.certificate.delta
