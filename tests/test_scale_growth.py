import json
import math
from pathlib import Path

import pytest
from attrs import evolve
from benchmarks.scale import measured, population, refuse_disagreement, results, written
from benchmarks.scale_growth import TINY, Cluster, Point, at_scale, exponent, growth, points_of
from hypothesis import given
from hypothesis import strategies as st

START_UP, A_ROW, BYTES_A_ROW = 2.0, 1e-6, 16


def linear(rows: int, width: int = 5, way: str = "spark") -> Point:
    seconds = START_UP + A_ROW * rows
    return Point(
        way=way,
        rows=rows,
        width=width,
        file_bytes=BYTES_A_ROW * rows,
        wall=(seconds + 1.0, seconds),
        cpu=(2 * seconds,),
        peak=(10**8, 2 * 10**8),
        load=(0.0, 0.0),
    )


POINTS = [linear(rows) for rows in (TINY, 10**5, 10**6, 10**7, 10**8)]


@given(st.floats(0.2, 3.0), st.floats(1e-9, 1e3))
def test_the_exponent_of_a_power_is_found(power: float, factor: float) -> None:
    rows = [1e6, 3e6, 1e7, 1e8]
    assert exponent(rows, [factor * n**power for n in rows]) == pytest.approx(power, rel=1e-9)


def test_one_size_has_no_exponent() -> None:
    with pytest.raises(ValueError, match="two sizes"):
        exponent([1e6], [1.0])


def test_a_start_up_that_took_longer_has_no_exponent() -> None:
    slow = evolve(POINTS[0], wall=(1e3,))
    found = growth([slow, *POINTS[1:]], "spark", 5)
    assert math.isnan(found.wall_exponent)
    assert found.cpu_exponent == pytest.approx(1.0, abs=0.001)


def test_start_up_is_taken_off_before_the_exponent_is_fitted() -> None:
    found = growth([*POINTS, linear(10**6, width=20), linear(10**6, way="duckdb")], "spark", 5)
    assert found.wall_exponent == pytest.approx(1.0, abs=0.001)
    assert found.cpu_exponent == pytest.approx(1.0, abs=0.001)
    assert exponent([p.rows for p in POINTS[3:]], [p.least("wall") for p in POINTS[3:]]) < 0.95
    assert found.memory_ratio == 1.0
    assert found.start_up == pytest.approx(START_UP, abs=0.01)


def test_quadratic_time_and_growing_memory_are_seen() -> None:
    points = [POINTS[0]] + [
        evolve(p, cpu=(2 * START_UP + (p.rows / 1e6) ** 2,), peak=(10**8 + p.rows,)) for p in POINTS[1:]
    ]
    found = growth(points, "spark", 5)
    assert found.cpu_exponent == pytest.approx(2.0, abs=0.01)
    assert found.memory_ratio == pytest.approx(2 / 1.01)


def test_an_extrapolation_is_the_arithmetic_it_says() -> None:
    cluster = Cluster(executors=10, cores=4, task_bytes=16 * 10**7, collect_rate=1e6)
    found = at_scale(growth(POINTS, "spark", 5), 10**10, cluster, clock="cpu", cores=2)
    assert found.file_bytes == 16 * 10**10
    assert (found.tasks, found.waves) == (1000, 25)
    assert found.scan_seconds == pytest.approx(10**10 * 2 * A_ROW / 40, rel=1e-4)
    assert found.collected_bytes == 8 * 1000 * 2 * (2 + 15 + 25)
    assert found.seconds == pytest.approx(found.start_up + found.scan_seconds + found.collected_bytes / 1e6)
    assert found.read_rate == pytest.approx(16 * 10**10 / 10 / found.scan_seconds)


def test_cores_that_wait_count_where_the_clock_is_taken() -> None:
    grown = growth(POINTS, "spark", 5)
    by_clock = at_scale(grown, 10**10, Cluster(), clock="wall", cores=4)
    assert by_clock.scan_seconds == pytest.approx(
        2 * at_scale(grown, 10**10, Cluster(), clock="cpu", cores=4).scan_seconds, rel=1e-3
    )


@given(st.integers(1, 500), st.integers(10**8, 10**11))
def test_more_executors_never_take_longer_and_never_less_than_their_share(executors: int, rows: int) -> None:
    grown = growth(POINTS, "spark", 5)
    few, many = (at_scale(grown, rows, Cluster(executors=k), clock="cpu", cores=2) for k in (executors, 2 * executors))
    assert many.scan_seconds <= few.scan_seconds
    assert few.scan_seconds >= rows * grown.core_seconds_a_row("cpu", 2) / (4 * executors) * (1 - 1e-9)


def test_results_are_read_as_they_werewritten() -> None:
    assert points_of(json.loads(written(results(POINTS)))) == POINTS


def test_ways_that_disagree_are_refused() -> None:
    agreed = evolve(linear(10**6), mean=(1.0,), variance=(2.0,))
    other = evolve(agreed, way="pandas", variance=(2.1,))
    refuse_disagreement([agreed, linear(10**6, way="sampling"), evolve(other, rows=10**7), evolve(other, width=20)])
    with pytest.raises(SystemExit, match="pandas has another variance than spark"):
        refuse_disagreement([agreed, other])


@pytest.mark.slow
def test_a_measurement_counts_time_and_memory_of_its_own_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.scale.MOST_REPETITIONS", 2)
    monkeypatch.setattr("benchmarks.scale_population.BLOCK", TINY)
    with population(TINY, 5, tmp_path) as path:
        point = measured("duckdb", path, TINY, 5)
    assert path.exists()
    assert len(point.wall) == len(point.peak) == 2
    assert min(*point.wall, *point.cpu) > 0.05
    assert 5e7 < min(point.peak) < 2e9
    assert len(point.mean) == len(point.variance) == 5


def test_a_population_without_a_folder_does_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.scale_population.BLOCK", TINY)
    with population(TINY, 5, None) as path:
        assert path.exists()
    assert not path.exists()
