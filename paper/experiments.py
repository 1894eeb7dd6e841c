"""All experiments in the order of the paper."""

import math
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

import distpriv as dp
from paper.attacks import figure_4, table_3
from paper.errors import figure_2, figure_3, table_2
from paper.models import model_of_rows, moments, strata
from paper.published import FEMALE_VARIANCES
from paper.repetitions import draw_datasets
from paper.result import Newer, Result, Sampled, compared
from paper.setting import DELTA, INCOME, Setting, paper_query

BEYOND: dict[str, Callable[..., Any]] = {
    "CertM (G)": partial(dp.mechanisms.certified_gaussian, objective="noise"),
    "CertM (L)": dp.mechanisms.certified_laplace,
    "CoupM (G)": dp.mechanisms.coupled_gaussian,
}
"""Mechanisms that the paper does not have, which take the covariances as they are."""


def figure_5(setting: Setting) -> Result:
    """Return statistics of sampled datasets with the fitted and the exact normal distribution."""
    rng, names = np.random.default_rng([setting.seed, 5]), list(paper_query().names)
    samples = []
    for share in INCOME.shares():
        values = draw_datasets(rng, strata(INCOME), [share], setting.datasets)[share]
        mean, covariance = moments(INCOME, share)
        for statistic in ("mean_age", "female"):
            k = names.index(statistic)
            samples.append(
                Sampled(
                    statistic=statistic,
                    share=share,
                    values=tuple(values[:, k].tolist()),
                    fitted=(float(values[:, k].mean()), float(values[:, k].var(ddof=1))),
                    exact=(float(mean[k]), float(covariance[k, k])),
                )
            )
    comparisons = [
        compared(
            f"variance of the number of women, p = {one.share:g}",
            FEMALE_VARIANCES[one.share],
            (one.exact if setting.protocol == "exact" else one.fitted)[1],
            one.exact[1] * math.sqrt(2 / (setting.datasets - 1)),
            setting,
        )
        for one in samples
        if one.statistic == "female"
    ]
    return Result(
        name="figure_5",
        title="Figure 5: normal approximations, income",
        samples=tuple(samples),
        comparisons=tuple(comparisons),
    )


def beyond(setting: Setting) -> Result:  # noqa: ARG001 - the same in either protocol
    """Return the errors of newer mechanisms at the points of Table 2."""
    return _beyond()


@cache
def _beyond() -> Result:
    newer = []
    for shorthand, mechanism in BEYOND.items():
        for epsilon in (0.2, 1.0, 5.0):
            target = dp.PrivacyTarget(epsilon=epsilon, delta=DELTA)
            made = mechanism(model_of_rows(INCOME), target)
            newer.append(
                Newer(
                    mechanism=shorthand,
                    epsilon=epsilon,
                    error=made.noise.expected_l2,
                    delta=made.certificate.delta,
                    assurance=made.certificate.assurance,
                )
            )
    return Result(name="beyond", title="Mechanisms beyond the paper at the points of Table 2", newer=tuple(newer))


EXPERIMENTS: Mapping[str, Callable[[Setting], Result]] = {
    run.__name__: run for run in (table_2, figure_2, figure_3, figure_4, table_3, figure_5, beyond)
}
