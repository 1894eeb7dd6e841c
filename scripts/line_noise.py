"""Confirm δ of noise along a line by ten million samples with exact densities for each case.

Usage: python -m scripts.line_noise     (a few minutes)
"""

import math

import numpy as np
from paper.setting import paper_query

import distpriv as dp
from distpriv.guarantees.bells import Bell
from distpriv.guarantees.line_bells import LineBell
from distpriv.guarantees.upper_bound import delta_upper_bound
from distpriv.noise.laws import NoiseLaw

DRAWS, CHUNK, DELTA = 10_000_000, 500_000, 1e-3
INCOME = dp.Share("income = '>50K'", values=(0.45, 0.55))
FAR = dp.Share("income = '>50K'", values=(0.3, 0.7))
BOTH = [INCOME, dp.Share("workclass = 'Private'", values=(0.48, 0.52))]
CASES: list[tuple[str, str, dp.Share | list[dp.Share], tuple[float, ...]]] = [
    ("certified_laplace", "income .45/.55", INCOME, (0.2, 1.0)),
    ("certified_laplace", "income .3/.7", FAR, (1.0,)),
    ("certified_laplace", "income and work class", BOTH, (1.0,)),
    ("certified_unimodal", "income .45/.55", INCOME, (0.2, 1.0)),
    ("certified_unimodal", "income and work class", BOTH, (1.0,)),
]


def sampled(model: dp.QueryModel, noise: NoiseLaw, epsilon: float) -> tuple[float, float]:
    """Return the largest δ of all ordered pairs, and its standard error."""
    if noise.line is None:
        raise AssertionError("the noise is along more than one line, or none.")
    axis, law = noise.line
    found = []
    for pair in model.protected_pairs:
        one, other = (
            LineBell(bell=Bell(mean=of.mean, covariance=of.covariance + noise.gaussian.covariance), axis=axis, law=law)
            for of in (model.distributions[name] for name in pair)
        )
        rng, total, squares = np.random.default_rng(0), 0.0, 0.0
        for _ in range(DRAWS // CHUNK):
            points = one.drawn(rng.normal(size=(CHUNK, model.dimension + 1)))
            lost = -np.expm1(np.minimum(epsilon - one.log_density(points) + other.log_density(points), 0.0))
            total, squares = total + float(lost.sum()), squares + float((lost**2).sum())
        mean = total / DRAWS
        found.append((mean, math.sqrt((squares / DRAWS - mean**2) / DRAWS)))
    return max(found)


def main() -> None:
    """Print every case: what is certified by moments, and what sampling says."""
    for name, words, secret, epsilons in CASES:
        model = dp.model(dp.datasets.adult(), paper_query(), secret, records=100, reference="population")
        for epsilon in epsilons:
            found = getattr(dp.mechanisms, name)(model, dp.PrivacyTarget(epsilon=epsilon, delta=DELTA))
            bound = delta_upper_bound(model, found, epsilon=epsilon)
            mean, error = sampled(model, found.noise, epsilon)
            length = found.noise.expected_l2
            said = f"{length:.2f} | {bound:.3g} | {mean:.4g} ± {error:.1g}"
            print(f"| `{name}`, {words} | {epsilon:g} | {said} |", flush=True)


if __name__ == "__main__":
    main()
