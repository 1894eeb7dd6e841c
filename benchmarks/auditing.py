"""How fast one repetition of the paper's attack is, against a plain pandas loop in the same run."""

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import distpriv as dp
from benchmarks.modelling import INCOME, QUERY, seconds
from distpriv.auditing.experiment import attack_accuracies

SHADOWS = TESTS = 200
REPETITIONS = 50
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
SHARE = 10_000 / 45_222
"""What the paper allocates to shadows, and to tests."""


def statistics(subset: pd.DataFrame) -> list[float]:
    """Compute the paper's five statistics."""
    return [
        subset["age"].mean(),
        subset["education_num"].mean(),
        (subset["marital_status"] == "Never-married").sum(),
        (subset["sex"] == "Female").sum(),
        subset["hours_per_week"].mean(),
    ]


def subsets(frame: pd.DataFrame, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw datasets of both scenarios, one after the other, as the paper does."""
    high, low = frame[frame["income"] == ">50K"], frame[frame["income"] != ">50K"]
    drawn = [
        statistics(pd.concat([high.sample(positives), low.sample(100 - positives)]))
        for positives in (45, 55)
        for _ in range(count // 2)
    ]
    return np.array(drawn), np.repeat([1, 0], count // 2)


def plain_loop(frame: pd.DataFrame, deviations: list[float]) -> list[float]:
    """Split the rows, train on shadows, and test on releases with isotropic Gaussian noise."""
    mixed = frame.sample(20_000)
    shadows, labels = subsets(mixed.iloc[:10_000], SHADOWS)
    tests, truths = subsets(mixed.iloc[10_000:], TESTS)
    centre, spread = shadows.mean(axis=0), shadows.std(axis=0)
    classifier = LogisticRegression().fit((shadows - centre) / spread, labels)
    rng = np.random.default_rng()
    noisy = [tests + rng.normal(0, deviation, tests.shape) for deviation in deviations]
    return [classifier.score((released - centre) / spread, truths) for released in noisy]


def main() -> None:
    """Compare both, with the same datasets, mechanisms and classifier."""
    adult = dp.datasets.adult()
    frame = adult.to_pandas()
    model = dp.model(adult, QUERY, INCOME, records=100, reference="population")
    targets = [dp.PrivacyTarget(epsilon=epsilon, delta=1e-3) for epsilon in EPSILONS]
    laws = {f"{t.epsilon:g}": dp.mechanisms.expected_value_gaussian(model, t, radius="classic").noise for t in targets}
    deviations = [law.expected_rms / 5**0.5 for law in laws.values()]
    loop = seconds(lambda: plain_loop(frame, deviations), repetitions=3)
    ours = seconds(
        lambda: attack_accuracies(
            model, laws, attacks=["naive"], shadows=SHADOWS, tests=TESTS, repetitions=REPETITIONS, shares=(SHARE, SHARE)
        )
    )
    ours /= REPETITIONS
    print(f"Adult, one repetition of the attack on {len(laws)} mechanisms, plain pandas loop: {loop:.3f} s")
    print(
        f"Adult, one repetition of the attack on {len(laws)} mechanisms: {ours * 1e3:.1f} ms, {loop / ours:.0f} times"
    )


if __name__ == "__main__":
    main()
