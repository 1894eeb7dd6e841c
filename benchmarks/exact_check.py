"""How long the exact check takes, and how close it is to the curve of one Gaussian where that applies."""

import time

import numpy as np

import distpriv as dp

REPETITIONS = 20


def model(size: int, seed: int) -> dp.QueryModel:
    """Make a pair of Gaussians with covariances that differ."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(size, size)) / np.sqrt(size)
    covariance = factor @ factor.T + np.eye(size)
    other = covariance * np.outer(*[rng.uniform(0.9, 1.1, size)] * 2)
    shift = rng.normal(size=size) / np.sqrt(size)
    return dp.gaussian_model(
        means={"a": np.zeros(size), "b": shift}, covariances={"a": covariance, "b": other}, pairs=[("a", "b")]
    )


def main() -> None:
    """Print the time of one ordered pair, the median over random models."""
    for size in (1, 5, 20, 50):
        taken = []
        for seed in range(REPETITIONS):
            made = model(size, seed)
            start = time.perf_counter()
            dp.exact_delta(made, 0.5 * np.eye(size), epsilon=1.0)
            taken.append((time.perf_counter() - start) / len(made.protected_pairs))
        print(f"exact check, {size} statistics: {np.median(taken) * 1e3:.1f} ms for one ordered pair")


if __name__ == "__main__":
    main()
