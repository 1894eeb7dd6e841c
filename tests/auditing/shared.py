"""What the tests of several attacks share."""

import numpy as np

import distpriv as dp
from distpriv.auditing.attacks import AttackerView, FittedAttack
from distpriv.auditing.releases import Releases, simulate_releases
from distpriv.noise.laws import NoiseLaw

A, B = "income = '>50K' @ 0.45", "income = '>50K' @ 0.55"

TOY = dp.gaussian_model(
    means={"a": [0.0, 0.0], "b": [1.0, 0.5]},
    covariances={"a": [[1.0, 0.2], [0.2, 1.0]], "b": [[1.2, 0.1], [0.1, 0.9]]},
    pairs=[("a", "b")],
)


def view(model: dp.QueryModel, noise: NoiseLaw, shadows: int = 2000, seed: int = 0) -> AttackerView:
    pair = model.protected_pairs[0]
    drawn = simulate_releases(model, pair, noise, shadows, seed=seed)
    return AttackerView(model=model, pair=pair, noise=noise, shadows=drawn)


def fresh(model: dp.QueryModel, noise: NoiseLaw, count: int = 40_000, seed: int = 99) -> Releases:
    return simulate_releases(model, model.protected_pairs[0], noise, count, seed=seed)


def accuracy(fitted: FittedAttack, releases: Releases) -> float:
    first, second = (fitted.score(part) for part in releases.released)
    return float(np.concatenate([first > 0, second <= 0]).mean())
