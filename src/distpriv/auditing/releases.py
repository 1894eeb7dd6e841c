"""Simulated releases of both scenarios of a pair."""

import numpy as np
from attrs import frozen

from distpriv.auditing.populations import Population
from distpriv.framework.arrays import Floats
from distpriv.framework.scenarios import Pair
from distpriv.noise.laws import NoiseLaw

__all__ = ["Releases", "simulate_releases"]


@frozen(kw_only=True, eq=False)
class Releases:
    """Statistics of datasets of the pair's first scenario and of its second, one row a dataset."""

    clean: tuple[Floats, Floats]
    released: tuple[Floats, Floats]
    """The same with noise."""

    @property
    def undefended(self) -> "Releases":
        """The same datasets, released without noise."""
        return Releases(clean=self.clean, released=self.clean)

    def with_noise(self, noise: NoiseLaw, seed: int) -> "Releases":
        """Release the same datasets with fresh noise."""
        first, second = self.clean
        added = noise.simulate(len(first) + len(second), seed)
        return Releases(clean=self.clean, released=(first + added[: len(first)], second + added[len(first) :]))


def simulate_releases(population: Population, pair: Pair, noise: NoiseLaw, count: int, *, seed: int) -> Releases:
    """Draw datasets, half of either scenario, and release each.

    >>> from distpriv.modelling.given import gaussian_model
    >>> from distpriv.noise.laws import GaussianNoise
    >>> model = gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> found = simulate_releases(model, ("a", "b"), GaussianNoise.isotropic(1, 2.0), 100, seed=0)
    >>> found.released[0].shape, found.released[1].shape
    ((50, 1), (50, 1))
    """
    seeds = np.random.SeedSequence(seed).generate_state(2)
    first = population.samples(pair[0], count - count // 2, int(seeds[0]))
    second = population.samples(pair[1], count // 2, int(seeds[0]))
    return Releases(clean=(first, second), released=(first, second)).with_noise(noise, int(seeds[1]))
