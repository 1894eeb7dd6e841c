"""What is no noise, and noise that cannot be drawn."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from distpriv.errors import InvalidInput
from distpriv.framework.records import Format
from distpriv.noise.integers import IntegerGaussian, IntegerLaplace, IntegerPiecewise
from distpriv.noise.lattice import on_lattice
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoiseLaw, SumNoise, UnimodalNoise

NOISE: Format[NoiseLaw] = Format(NoiseLaw)  # type: ignore[arg-type] # a union of classes
AXIS, INF, TENTHS = np.array([[0.6], [-0.8]]), math.inf, [0.1] * 10
LINE = GaussianNoise(axes=AXIS, variances=np.array([1.0]))
NO_STAIRS: list[dict[str, Any]] = [
    {"axes": np.eye(2)},
    {"axes": np.array([[0.6], [0.6]])},
    {"edges": [0.0, 1.0]},
    {"edges": [0.5, 1.0, 2.0]},
    {"edges": [0.0, 2.0, 1.0]},
    {"masses": [0.5, 0.25]},
    {"masses": [1.5, -0.5]},
    {"masses": [0.25, 0.75]},
    {"edges": np.arange(11.0), "masses": TENTHS},  # that sum to 1 in floating point only
]
NO_PIECES: list[tuple[list[float], list[float]]] = [
    ([0.0, 1.0], [0.5, 0.5]),
    ([0.0, 0.0], [1.0]),
    ([1.0, 0.0], [1.0]),
    ([0.0, INF], [1.0]),
    ([0.0, 1.0], [math.nan]),
    ([0.0, 1.0, 2.0], [1.5, -0.5]),
    ([0.0, 1.0], [0.0]),
    ([], []),
]
NO_AXES: list[tuple[Any, list[float]]] = [
    ([[1.0], [1.0]], [1.0]),
    (np.eye(2), [1.0]),
    (np.eye(2), [1.0, -1.0]),
    (np.eye(2), [1.0, INF]),
    (np.ones(2), [1.0, 1.0]),
]
NO_LAWS: list[Any] = [
    None,
    {},
    {"law": "cauchy"},
    {"law": "gaussian"},
    {"law": "laplace", "axes": [[1.0]], "scales": ["x"]},
]
NO_SCALES = (0.0, -1.0, 0.5, 2.0**41, INF, math.nan, "wide")


@pytest.mark.parametrize(
    ("make", "given"),
    [
        *((GaussianNoise, {"axes": np.array(axes), "variances": np.array(sizes)}) for axes, sizes in NO_AXES),
        *((LaplaceNoise, {"axes": np.array(axes), "scales": np.array(sizes)}) for axes, sizes in NO_AXES),
        *((UnimodalNoise, {"axes": AXIS, "edges": [0.0, 1.0, 2.0], "masses": [0.5, 0.5], **no}) for no in NO_STAIRS),
        *((kind, {"scale": scale}) for kind in (IntegerLaplace, IntegerGaussian) for scale in NO_SCALES),
        *((IntegerPiecewise, {"edges": np.array(no[0]), "masses": np.array(no[1])}) for no in NO_PIECES),
        *((NOISE.of, {"value": values}) for values in NO_LAWS),
        *((LINE.characteristic_function, {"frequencies": no}) for no in (1.0, [1.0], [[1.0, 2.0, 3.0]])),
        (on_lattice, {"noise": LaplaceNoise.isotropic(1, 1e-300)}),
        (on_lattice, {"noise": SumNoise(parts=(LINE, LINE))}),
        (on_lattice, {"noise": LaplaceNoise.isotropic(2, 0.3), "bits": 41}),
    ],
)
def test_what_is_no_noise_is_refused(make: Any, given: dict[str, Any]) -> None:
    assert sum(map(Fraction, TENTHS)) != 1
    with pytest.raises(InvalidInput):
        make(**given)
