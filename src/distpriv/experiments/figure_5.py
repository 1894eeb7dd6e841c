"""Figure 5: sampled statistics beside the normal laws that they are taken to have."""

import math

import numpy as np

from distpriv.experiments.properties import INCOME, property_model
from distpriv.experiments.published import FEMALE_VARIANCES
from distpriv.experiments.result import Comparison, Result, Sampled, compared, result
from distpriv.experiments.setting import Setting
from distpriv.progress import Progress, silent

__all__ = ["figure_5"]

NAME, TITLE = "figure_5", "Figure 5: Gaussian approximations, income"

SHOWN = {"mean_age": "years", "female": "persons"}
"""Which statistics, and their units."""


def figure_5(setting: Setting, progress: Progress = silent) -> Result:
    """Return statistics of sampled datasets at both shares, with the fitted and the exact normal law."""
    model = property_model(INCOME, INCOME.gap)
    samples = []
    for share, scenario in zip(INCOME.shares(INCOME.gap), model.protected_pairs[0], strict=True):
        values, law = model.samples(scenario, setting.subsets, setting.seed), model.distributions[scenario]
        for statistic, unit in SHOWN.items():
            k = model.names.index(statistic)
            fitted = values[:, k].mean(), np.var(values[:, k], ddof=1)
            exact = law.mean[k], law.covariance[k, k]
            samples.append(
                Sampled(statistic=statistic, unit=unit, share=share, values=values[:, k], fitted=fitted, exact=exact)
            )
    progress(NAME, 1, 1)
    comparisons = [_compared(one, setting) for one in samples if one.statistic == "female"]
    return result(NAME, TITLE, setting, samples=samples, comparisons=comparisons)


def _compared(one: Sampled, setting: Setting) -> Comparison:
    """Compare the variance with the published one, which has the error of a sample of so many Gaussian numbers."""
    ours = one.exact[1] if setting.protocol == "exact" else one.fitted[1]
    error = one.exact[1] * math.sqrt(2 / (setting.subsets - 1))
    label = f"variance of the number of women, p = {one.share:g}"
    return compared(label, FEMALE_VARIANCES[one.share], ours, error, setting)
