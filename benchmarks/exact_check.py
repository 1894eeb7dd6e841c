"""How long the exact check takes, pair by pair and with many pairs at once."""

import time

import numpy as np

import distpriv as dp

REPETITIONS = 20
PAIRS = 700


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


def many_pairs(size: int) -> None:
    """Print the time of many pairs in one batch and in a loop, the best of three runs each."""
    models = [model(size, seed) for seed in range(PAIRS)]
    laws = [made.distributions for made in models]
    shifts = np.array([law["a"].mean - law["b"].mean for law in laws])
    firsts, seconds = (np.array([law[name].covariance + 0.5 * np.eye(size) for law in laws]) for name in "ab")
    batch, loop = [], []
    for _ in range(3):
        start = time.perf_counter()
        dp.distances.gaussian_hockey_sticks(1.0, shifts, firsts, seconds)
        batch.append(time.perf_counter() - start)
        start = time.perf_counter()
        for pair in zip(shifts, firsts, seconds, strict=True):
            dp.distances.gaussian_hockey_stick(1.0, *pair)
        loop.append(time.perf_counter() - start)
    print(
        f"{PAIRS} pairs of {size} statistics: {min(batch):.3f} s in a batch, {min(loop):.3f} s in a loop, "
        f"{min(loop) / min(batch):.1f} times as long"
    )


def main() -> None:
    """Print the time of one ordered pair, the median over random models, and of many pairs at once."""
    for size in (1, 5, 20, 50):
        taken = []
        for seed in range(REPETITIONS):
            made = model(size, seed)
            start = time.perf_counter()
            dp.exact_delta(made, 0.5 * np.eye(size), epsilon=1.0)
            taken.append((time.perf_counter() - start) / len(made.protected_pairs))
        print(f"exact check, {size} statistics: {np.median(taken) * 1e3:.1f} ms for one ordered pair")
    for size in (1, 5, 20):
        many_pairs(size)


if __name__ == "__main__":
    main()
