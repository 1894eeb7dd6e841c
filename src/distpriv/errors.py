"""Everything distpriv refuses to do, and what it says about it.

::

    DistprivError
    ├── AssumptionViolated                  a theorem's hypothesis, without which its formula means nothing
    ├── NotCertified                        no mechanism's certificate holds as was asked
    │   └── BudgetSpent                     all releases of a dataset together would be more than was allowed
    ├── LedgerUnavailable                   the ledger cannot be read or written, so nothing is released
    ├── LedgerChanged                       another release was written since the history was read
    ├── BundleNotWritten                    a release is in the ledger, and its bundle is not on the disk
    └── InvalidInput (also a ValueError)    what was given cannot be used
        ├── InvalidTarget                   an ε, δ or attack accuracy outside its range
        ├── InvalidQuery                    a statistic or a query that makes no sense
        ├── InvalidSecret                   a secret, a scenario or a pair that makes no sense
        ├── InvalidExpression               SQL text that is refused or does not fit the table
        ├── InvalidSource                   a file, a table or a column that cannot be read
        │   └── MissingValues               nulls or NaN where numbers are needed
        ├── InvalidModel                    moments, samples or draws that are no model of the query
        └── InvalidPolicy                   a policy file that cannot be followed; names the key and the line

Every message is one sentence that says what was wrong, where, and what to do about it.
"""

__all__ = [
    "AssumptionViolated",
    "BudgetSpent",
    "BundleNotWritten",
    "DistprivError",
    "InvalidExpression",
    "InvalidInput",
    "InvalidModel",
    "InvalidPolicy",
    "InvalidQuery",
    "InvalidSecret",
    "InvalidSource",
    "InvalidTarget",
    "LedgerChanged",
    "LedgerUnavailable",
    "MissingValues",
    "NotCertified",
]


class DistprivError(Exception):
    """The root of the tree: catch this to catch everything distpriv raises on purpose."""


class AssumptionViolated(DistprivError):
    """The model lacks a hypothesis of a theorem without which its formula means nothing; names the theorem."""


class NotCertified(DistprivError):
    """No mechanism's certificate holds at the target and the trust that were asked for."""


class BudgetSpent(NotCertified):
    """All releases of a dataset together would be more than its ledger allows."""


class LedgerUnavailable(DistprivError):
    """The ledger cannot be read or written, so nothing is released."""


class LedgerChanged(DistprivError):
    """Another release of the dataset was written since its history was read."""


class BundleNotWritten(DistprivError):
    """A release is in the ledger, and its bundle could not be written; asking again completes it."""


class InvalidInput(DistprivError, ValueError):
    """Something that was given cannot be used."""


class InvalidTarget(InvalidInput):
    """An ε, a δ or an attack accuracy outside its range."""


class InvalidQuery(InvalidInput):
    """A statistic or a query that makes no sense."""


class InvalidSecret(InvalidInput):
    """A secret, a scenario or a protected pair that makes no sense."""


class InvalidExpression(InvalidInput):
    """SQL text that is refused or does not fit the table."""


class InvalidSource(InvalidInput):
    """A file, a table or a column that cannot be read."""


class MissingValues(InvalidSource):
    """Nulls or NaN where numbers are needed."""


class InvalidModel(InvalidInput):
    """Moments, samples or draws that are no model of the query."""


class InvalidPolicy(InvalidInput):
    """A policy file that cannot be followed; names the key and the line."""
