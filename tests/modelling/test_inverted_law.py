"""What draws of frequencies say of a density, held against densities that are known."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import binom, poisson

from distpriv.framework.arrays import Floats
from distpriv.modelling.inverted_law import InvertedLaw, draws_for, error_of
from distpriv.modelling.tilted_law import TiltedLaw
from distpriv.modelling.tilted_stratum import TiltedStratum


def term_of(law: TiltedLaw, point: Floats) -> tuple[float, InvertedLaw]:
    """Return log q at a point, and what draws say beyond it."""
    found = law.saddlepoints(point[np.newaxis], np.zeros((1, len(point))))
    return float(found.log_densities[0]), InvertedLaw.at(law, found, 0, draws_for([law], 4096))


@pytest.mark.parametrize(("drawn", "replacement"), [(3, True), (4, True), (3, False), (6, False), (9, False)])
def test_it_is_the_density_of_all_datasets_and_not_to_some_order(drawn: int, replacement: bool) -> None:
    rows = np.random.default_rng(1).random((12, 1)) ** 3 * 2.5
    every = product(rows, repeat=drawn) if replacement else combinations(rows, drawn)
    sums = np.array([np.sum(chosen, axis=0) for chosen in every])
    stratum = TiltedStratum.of(rows - rows.mean(axis=0), np.ones(len(rows)), drawn, replacement=replacement)
    law = TiltedLaw.of([stratum], drawn * rows.mean(axis=0), np.eye(1))
    for away in (-1.0, 0.0, 1.5):
        point = sums.mean() + away * np.sqrt(sums.var() + 1.0) * np.ones(1)
        exact = math.log(np.exp(-((point - sums.T) ** 2) / 2).mean() / math.sqrt(2 * math.pi))
        leading, found = term_of(law, point)
        assert found.error < 0.05
        assert abs(leading + found.term - exact) <= found.error


def table_density(point: Floats, expected: list[Floats], deviation: float) -> float:
    """Return the logarithm of the density of noisy counts: Poisson numbers of several strata, given their totals."""
    sizes = [float(each.sum()) for each in expected]
    nodes, weights = np.polynomial.legendre.leggauss(64)
    angles = np.meshgrid(*([np.pi * nodes] * len(sizes)), indexing="ij")
    weight = np.prod(np.meshgrid(*([np.pi * weights] * len(sizes)), indexing="ij"), axis=0)
    logs = np.zeros(weight.shape, dtype=np.complex128)
    for cell, value in enumerate(point):
        numbers = np.arange(max(0, int(value - 9 * deviation)), int(max(value, 0) + 9 * deviation + 20))
        heights = -((value - numbers) ** 2) / (2 * deviation**2) - gammaln(numbers + 1)
        mean = sum(each[cell] * np.exp(1j * angle) for each, angle in zip(expected, angles, strict=True))
        powers = np.multiply.outer(np.log(mean), numbers) + heights
        logs += np.log(np.exp(powers - powers.real.max(axis=-1, keepdims=True)).sum(axis=-1)) + powers.real.max(axis=-1)
    logs -= sum(size * (1 + 1j * angle) for size, angle in zip(sizes, angles, strict=True))
    top = float(logs.real.max())
    inside = math.log(float((np.exp(logs - top) * weight).sum().real)) + top - len(sizes) * math.log(2 * math.pi)
    numbers_too = sum(poisson.logpmf(round(size), size) for size in sizes)
    return inside - float(numbers_too) - len(point) * math.log(deviation * math.sqrt(2 * math.pi))


@pytest.mark.parametrize(("cells", "deviation"), [(4, 1.0), (12, 1.5)])
def test_the_law_of_a_table_is_known_where_its_second_order_term_is_large(cells: int, deviation: float) -> None:
    rng, sizes = np.random.default_rng(3), [60, 40]
    shares = [rng.dirichlet(np.full(cells, 5.0)) for _ in sizes]
    strata = [
        TiltedStratum.of(np.eye(cells) - share, 1e6 * share, size, replacement=True)
        for share, size in zip(shares, sizes, strict=True)
    ]
    expected = [size * share for share, size in zip(shares, sizes, strict=True)]
    mean = np.sum(expected, axis=0)
    law = TiltedLaw.of(strata, mean, deviation**2 * np.eye(cells))
    drawn = sum(rng.multinomial(size, share) for share, size in zip(shares, sizes, strict=True))
    for point in (mean, drawn + deviation * rng.normal(size=cells)):
        leading, found = term_of(law, point)
        assert abs(leading + found.term - table_density(point, expected, deviation)) <= found.error
        assert found.error < 0.05


@pytest.mark.parametrize(("drawn", "rows"), [(3, None), (40, None), (5, 12), (40, 100)])
def test_the_chance_of_a_number_is_that_of_coins(drawn: int, rows: int | None) -> None:
    stratum = TiltedStratum.of(np.zeros((2, 1)), np.full(2, (rows or 10) / 2), drawn, replacement=rows is None)
    chance = poisson.logpmf(drawn, drawn) if rows is None else binom.logpmf(drawn, rows, drawn / rows)
    bell = -math.log(2 * math.pi * stratum.variance) / 2
    assert stratum.log_number_error == pytest.approx(chance - bell, abs=1e-9)
    assert stratum.log_number_error == pytest.approx(stratum.number_term, abs=0.05 / drawn)


def test_the_second_order_term_is_one_by_rows_and_by_statistics() -> None:
    rng = np.random.default_rng(2)
    few, many = rng.exponential(size=(9, 4)), rng.exponential(size=(40, 4))
    laws = []
    for often in (1, 4):  # the same law, with each row there once or four times
        strata = [
            TiltedStratum.of(
                np.repeat(rows - rows.mean(axis=0), often, axis=0),
                np.full(often * len(rows), 1 / often),
                5,
                replacement=True,
            )
            for rows in (few[:6], many[:9])
        ]
        laws.append(TiltedLaw.of(strata, np.zeros(4), 0.5 * np.eye(4)))
    points = rng.normal(size=(1, 4))
    terms = [law.second_order(law.saddlepoints(points, np.zeros((1, 4))), 0) for law in laws]
    assert terms[0] == pytest.approx(terms[1], rel=1e-9)


def test_one_draw_that_counts_for_all_others_is_not_believed() -> None:
    moves = np.zeros(1000)
    moves[0] = 500.0
    assert error_of(moves) > 0.5
    assert error_of(np.array([np.inf, 0.0])) == math.inf
