"""What a statistic of the rows is: its value on a dataset, the spacing of its values, what one record can do to it.

A statistic says *what* is computed, in SQL text over the columns; engines and models decide how. Every kind has a file
of its own, and is listed here.
"""

from distpriv.framework.statistics.functions import FunctionOfRows, function
from distpriv.framework.statistics.groups import (
    GROUP_QUANTILE,
    GROUP_VARIANCE,
    GroupQuantile,
    GroupVariance,
    group_quantile,
    group_variance,
)
from distpriv.framework.statistics.quantiles import QUANTILE, Quantile, quantile
from distpriv.framework.statistics.row_means import MEANS, RowMean, count, mean, proportion, total
from distpriv.framework.statistics.statistic import Form, RowValue, Statistic
from distpriv.framework.statistics.variances import VARIANCE, Variance, variance

__all__ = [
    "FORMS", "Form", "FunctionOfRows", "GroupQuantile", "GroupVariance", "Quantile", "RowMean", "RowValue", "Statistic",
    "Variance", "count", "function", "group_quantile", "group_variance", "mean", "proportion", "quantile", "total",
    "variance",
]  # fmt: skip

FORMS = {form.word: form for form in (*MEANS.values(), VARIANCE, QUANTILE, GROUP_QUANTILE, GROUP_VARIANCE)}
"""Every kind of statistic that can be written, by its word."""
