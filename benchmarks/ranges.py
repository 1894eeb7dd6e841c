"""How fast the worst pair of a range of shares is found, against computing every pair in the same run.

CPU time, warm: the model is made, and one run of each does not count.
"""

import time
from collections.abc import Callable

import distpriv as dp
from distpriv.guarantees.exact_delta import pair_deltas, worst_gaussian_pair
from distpriv.noise.laws import GaussianNoise

SIZES = (200, 500, 1000)
SECRET = dp.Share("income = '>50K'", between=(0.3, 0.7), within=0.1)
QUERY = dp.Query(
    age=dp.mean("age"),
    never_married=dp.count("marital_status = 'Never-married'"),
    hours=dp.mean("hours_per_week"),
)


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU time of some work."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Compare both, with noise as wide as the statistics vary."""
    for records in SIZES:
        model = dp.model(dp.datasets.adult(), QUERY, SECRET, records=records)
        noise = GaussianNoise.of(next(iter(model.distributions.values())).covariance)
        pairs = model.protected_pairs
        every, ours = pair_deltas(model, pairs, noise, 1.0).max(), worst_gaussian_pair(model, noise, 1.0)[1]
        loop = cpu(lambda m=model, n=noise: pair_deltas(m, m.protected_pairs, n, 1.0))  # type: ignore[misc]
        found = cpu(lambda m=model, n=noise: worst_gaussian_pair(m, n, 1.0))  # type: ignore[misc]
        print(
            f"{records:,} records, {len(pairs):,} pairs: all of them {loop:.2f} s, those that can be worst "
            f"{found:.2f} s, {loop / found:.0f} times; the same number: {bool(every == ours)}"
        )


if __name__ == "__main__":
    main()
