"""The two properties of the paper, and their models by exact moments."""

import atexit
from functools import cache

from attrs import frozen

from distpriv.datasets import adult
from distpriv.experiments.setting import RECORDS
from distpriv.framework.arrays import Floats
from distpriv.framework.queries import Query, count, mean
from distpriv.framework.secrets import Share
from distpriv.modelling.exact_moments import dataset_moments
from distpriv.modelling.from_rows import model
from distpriv.modelling.model import QueryModel
from distpriv.modelling.reference import ReferenceTable

__all__ = [
    "GAPS",
    "INCOME",
    "PROPERTIES",
    "WORK_CLASS",
    "Property",
    "factors",
    "moments_at",
    "paper_query",
    "property_model",
    "reference_table",
]


@frozen(kw_only=True)
class Property:
    """A property of the datasets that is to be hidden: the share of records that satisfy a predicate."""

    name: str
    predicate: str
    gap: float
    """The Δp of the paper's Figure 2."""

    def shares(self, gap: float) -> tuple[float, float]:
        """Return the two shares that are Δp apart, around one half."""
        return round(0.5 - gap / 2, 6), round(0.5 + gap / 2, 6)


INCOME = Property(name="income", predicate="income = '>50K'", gap=0.1)
WORK_CLASS = Property(name="work class", predicate="workclass = 'Private'", gap=0.04)
PROPERTIES = (INCOME, WORK_CLASS)

GAPS = tuple(round(0.02 * k, 2) for k in range(1, 21))
"""The Δp of Figure 3."""


def paper_query() -> Query:
    """Return the five statistics of the paper, in its order."""
    return Query(
        mean_age=mean("age"),
        mean_education=mean("education_num"),
        never_married=count("marital_status = 'Never-married'"),
        female=count("sex = 'Female'"),
        mean_hours=mean("hours_per_week"),
    )


@cache
def property_model(secret: Property, gap: float) -> QueryModel:
    """Return the model of the paper's statistics with the property to be hidden up to Δp, by exact moments.

    >>> property_model(INCOME, 0.1).protected_pairs[0]
    ("income = '>50K' @ 0.45", "income = '>50K' @ 0.55")
    """
    share = Share(secret.predicate, values=secret.shares(gap))
    return model(adult(), paper_query(), share, records=RECORDS, processes=1, reference="population")


atexit.register(property_model.cache_clear)  # while the engines behind the models can still be closed in good order


def reference_table(secret: Property) -> ReferenceTable:
    """Return the table behind the models of a property."""
    return next(iter(property_model(secret, secret.gap).rows().tables.values()))


def moments_at(secret: Property, share: float) -> tuple[Floats, Floats]:
    """Return mean and covariance of the statistics at any share, between those that 100 records can have as well.

    The formula for whole records goes through all shares smoothly, so that curves can be solved for where they cross.
    """
    found = reference_table(secret).moments(secret.predicate)
    strata = [(found[True], share * RECORDS), (found[False], (1 - share) * RECORDS)]
    return dataset_moments(strata, factors(), replacement=False)


def factors() -> Floats:
    """Return what every statistic is of a mean over the rows."""
    return paper_query().factors(RECORDS)
